//! A ring of frames in sealed memory: one owner writes, any number of readers map it for reading only.
//!
//! # What it is for
//! A reader costs the owner next to nothing, and can do nothing to the owner or to other readers. The descriptor that it gets is open for reading
//! only, and only root may open it again for writing. So a reader can neither write, nor map it for writing, nor punch a hole into it.
//! Its length is sealed.
//!
//! # Layout
//! Words of 64 bits in the byte order of the machine.
//!
//! | word | what it holds |
//! |---|---|
//! | 0 | [`MAGIC`] |
//! | 1 | [`VERSION`] of the layout |
//! | 2 | entries of the directory, *N* |
//! | 3 | words of the data area, *D* |
//! | 8 | in its first half, the state: twice the count of published frames, plus 1 if the ring has moved |
//! | 9, 10 | in their first halves, the two futexes: the state when the last reader that waited there was to wake |
//! | 16 | number of the last frame; 0 if there is none |
//! | 64 … | the directory: *N* entries of 8 words: sequence lock, position, length in bytes, 5 unused words |
//! | 64 + 8 *N* … | the data area: *D* words, used as a ring |
//!
//! Frame *s* has entry *s* modulo *N*. Its lock is 2 *s* while the frame is whole, and an odd number while there is none. Its position
//! counts words since the ring was made: it begins at word *position* modulo *D* of the data area, and goes on at its beginning. A
//! frame has at most half of the data area, so the last one is whole while the next is written.
//!
//! # Protocol
//! The owner closes the locks of the frames that it is about to overwrite, and writes the new one. Then it opens its lock, stores its
//! number, the state, and last a futex. A reader looks at the lock, copies, and looks at the lock again. If that has changed, what it has
//! copied may be torn and is dropped. It asks for one number, so a lock that has been closed and opened again differs.
//!
//! A reader believes nothing that it reads. It takes the sizes once and checks them against the length of the file, which cannot
//! change. Positions and lengths are checked, or taken modulo, at each use. Each call makes a limited number of attempts.
//!
//! # How the readers wake
//! One futex call that wakes 1,000 readers takes the owner 1.2 ms, where one that wakes two takes 20 µs. So the owner wakes
//! [`FIRST_WOKEN`] of them, and each reader that was woken wakes [`PASSED_ON`] others, at its own expense. A reader that
//! does not pass it on, on purpose or because it was killed, leaves others asleep. [`Ring::wake_rest`] wakes those. The owner calls it
//! when 1,000 readers have had time to wake each other, and finds nothing to do as a rule. A reader may even move others to a futex of
//! its own, which the kernel allows with a mapping for reading. So a reader always waits with a timeout: then it is late, but not lost.
//!
//! Readers wait in turn at one of two futexes: at the first for the next frame after an even count, at the second after an odd one. So those that
//! should be awake are not among those that rightly wait. The kernel would go through all of these, which took the owner up to
//! 0.6 ms a frame beside 1,000 readers.
//!
//! # A new owner
//! A service that restarts with the descriptor kept makes a ring of its own, with [`Ring::successor`]. It begins with the frames of the old
//! one and counts on from there, so a reader misses none. An owner that lives on marks the old ring as moved. One that was killed
//! cannot: its readers learn it from the connection that ends.
//!
//! # Whose memory it is
//! The pages are charged to the owner, which has made them, and a reader may keep its descriptor for as long as it likes. So the owner takes
//! the memory of a ring back when it has ended ([`Retired::free`]): it closes all locks, and punches a hole over the file. What is left
//! to the owner is the inode. A reader finds zeros, and takes them for the end of the ring. The page that it reads them from is its own.
//! No seal against writing protects the ring, for that would forbid the hole.

mod error;
mod layout;
mod owner;
mod protocol;
mod reader;

pub use error::RingError;
pub use layout::{MAGIC, MAX_BYTES, MAX_FRAMES, Size, VERSION};
pub use owner::{FIRST_WOKEN, LATER_WOKEN, Retired, Ring};
pub use reader::{Frame, Next, PASSED_ON, Reader};

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod interleavings;
