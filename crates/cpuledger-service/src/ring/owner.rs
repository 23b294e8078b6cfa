//! The owner's side of a ring.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::{FallocateFlags, fallocate, fcntl_add_seals, fstat, ftruncate};
use rustix::param::page_size;
use rustix::thread::futex::{self, Flags};

use super::error::RingError;
use super::layout::{
    DATA_WORDS_WORD, FRAMES_WORD, MAGIC, MAGIC_WORD, MAX_BYTES, MAX_FRAMES, MOVED, ONE_FRAME, SEALS,
    STATE_WORD, Size, VERSION, VERSION_WORD, WAIT_WORDS, waiting_at,
};
use super::protocol::{Copied, DIRECTORY, ENTRY, Geometry, Memory, Writer};
use super::reader::Reader;
use crate::mapping::{Mapping, WORD};
use crate::sealed::{failed, memory_file, reopened};

/// Readers that the owner itself wakes when it publishes a frame. They wake the others.
pub const FIRST_WOKEN: u32 = 2;
/// Readers that it wakes when it looks again. They wake others, too, so there is no need for all at once.
pub const LATER_WOKEN: u32 = 64;

/// The kernel takes the number of tasks to wake as an `int`.
const ALL: u32 = i32::MAX as u32;

fn geometry(size: Size) -> Result<Geometry, RingError> {
    let Size { bytes, frames } = size;
    if !(2..=MAX_FRAMES).contains(&frames) || !(64..=MAX_BYTES).contains(&bytes) {
        return Err(RingError::Size { frames, bytes });
    }
    Ok(Geometry { frames: frames as u64, data_words: bytes.div_ceil(WORD) as u64 })
}

/// A ring and the only mapping that writes to it. When it is dropped, its readers learn that it has moved.
#[derive(Debug)]
pub struct Ring {
    mapping: Mapping,
    /// The only descriptor that can write: the memory is taken back by it.
    file: Arc<OwnedFd>,
    /// Open for reading only: what readers get.
    readable: OwnedFd,
    geometry: Geometry,
    writer: Writer,
    /// The count of published frames, twice.
    state: u32,
}

impl Ring {
    /// Makes an empty ring whose first frame has the number 1. `name` is what /proc/PID/maps shows, after `/memfd:`.
    ///
    /// # Errors
    /// When no ring has that size, when there is no memory, the kernel refuses a step, or /proc is not mounted.
    pub fn create(name: &str, size: Size) -> Result<Ring, RingError> {
        let geometry = geometry(size)?;
        let file = memory_file(name)?;
        let bytes = (geometry.words() * WORD) as u64;
        ftruncate(&file, bytes).map_err(failed("ftruncate"))?;
        // Without it, memory that runs out later would end this process by a signal.
        fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(failed("fallocate"))?;
        let mapping = Mapping::new(&file, geometry.words(), true).map_err(failed("mmap for writing"))?;
        let words = mapping.words();
        words.store(FRAMES_WORD, geometry.frames);
        words.store(DATA_WORDS_WORD, geometry.data_words);
        words.store(VERSION_WORD, VERSION);
        for state in [0, ONE_FRAME] {
            let (word, value) = waiting_at(state);
            words.store(word, u64::from_ne_bytes(first_half(value)));
        }
        words.store(MAGIC_WORD, MAGIC);
        fcntl_add_seals(&file, SEALS).map_err(failed("F_ADD_SEALS"))?;
        let readable = reopened(&file)?;
        Ok(Ring {
            mapping,
            file: Arc::new(file),
            readable,
            geometry,
            writer: Writer::new(geometry, 1),
            state: 0,
        })
    }

    /// Makes a ring that goes on where another has ended: with the frames that `old` still holds and that fit, and with the numbers that
    /// follow. The old one may be that of a process that has ended, or a smaller one of this process.
    ///
    /// # Errors
    /// As [`Ring::create`].
    pub fn successor(name: &str, size: Size, old: &Reader) -> Result<Ring, RingError> {
        let mut ring = Ring::create(name, size)?;
        let mut frame = Vec::new();
        let numbers = old.held();
        for sequence in numbers.clone() {
            if old.copy_number(sequence, &mut frame) == Copied::Whole {
                ring.writer.skip_to(sequence);
                ring.writer.write(ring.mapping.words(), &frame);
            }
        }
        ring.writer.skip_to(numbers.end().saturating_add(1));
        Ok(ring)
    }

    /// Publishes a frame and returns its number: stores, and one system call, which wakes the first readers.
    ///
    /// # Errors
    /// When it is longer than [`Ring::longest`]. The ring is as it was.
    pub fn publish(&mut self, frame: &[u8]) -> Result<u64, RingError> {
        let sequence = self
            .writer
            .write(self.mapping.words(), frame)
            .ok_or(RingError::TooLong { length: frame.len(), longest: self.longest() })?;
        let (word, _) = waiting_at(self.state);
        self.state = self.state.wrapping_add(ONE_FRAME);
        self.store(STATE_WORD, self.state);
        self.store(word, self.state);
        self.wake(word, FIRST_WOKEN);
        Ok(sequence)
    }

    /// Wakes [`LATER_WOKEN`] of the readers that wait for a frame which is already there, because another reader has not passed it on.
    /// Returns how many have been woken. To be called for each frame when the readers have had time to wake each other, which
    /// takes 1,000 of them some 10 ms. While there were any, it is to be called again.
    pub fn wake_rest(&self) -> usize {
        let (word, _) = waiting_at(self.state.wrapping_sub(ONE_FRAME));
        self.wake(word, LATER_WOKEN)
    }

    /// Leaves out the number of an interval that is not published, so that a reader knows what it has missed.
    pub fn skip(&mut self) {
        self.writer.skip_to(self.next_number() + 1);
    }

    /// Tells the readers that there will be no further frame: they subscribe again. Dropping the ring does the same. Frames that are in it
    /// can be copied until [`Retired::free`].
    pub fn retire(self) -> Retired {
        Retired(Arc::clone(&self.file))
    }

    /// For an owner that follows when this process has ended: it reads the frames, and takes the memory back ([`Retired::of`]).
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn for_successor(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// The number that the next frame will have.
    pub fn next_number(&self) -> u64 {
        self.writer.next()
    }

    /// How large the data area is.
    pub fn size(&self) -> usize {
        self.geometry.data_words as usize * WORD
    }

    /// The length of the longest frame that fits.
    pub fn longest(&self) -> usize {
        self.geometry.longest() as usize
    }

    /// What a reader gets: a descriptor that is open for reading only.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }

    fn store(&self, word: usize, value: u32) {
        self.mapping.futex(word).store(value, Ordering::Release);
    }

    /// Wakes readers. It fails only for an address that is none.
    fn wake(&self, word: usize, most: u32) -> usize {
        futex::wake(self.mapping.futex(word), Flags::empty(), most).unwrap_or(0)
    }
}

/// The word whose first half in memory is this value.
fn first_half(value: u32) -> [u8; WORD] {
    let mut bytes = [0; WORD];
    bytes[..size_of::<u32>()].copy_from_slice(&value.to_ne_bytes());
    bytes
}

/// A ring to which nothing is published any more.
#[derive(Debug)]
pub struct Retired(Arc<OwnedFd>);

impl Retired {
    /// The ring of an owner that has ended, which has left this descriptor.
    pub fn of(file: OwnedFd) -> Retired {
        Retired(Arc::new(file))
    }

    /// Takes the memory back, at once, whatever readers keep of it: descriptors or mappings. They find a ring that has ended, and what they
    /// touch of it is theirs.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn free(self) -> Result<(), RingError> {
        let length = fstat(&self.0).map_err(failed("fstat"))?.st_size.unsigned_abs();
        let mapping =
            Mapping::new(&self.0, length as usize / WORD, true).map_err(failed("mmap for writing"))?;
        let words = mapping.words();
        let frames = words.get(FRAMES_WORD).map_or(0, |frames| frames.load(Ordering::Relaxed));
        let directory = DIRECTORY + (frames as usize).min(MAX_FRAMES) * ENTRY;
        // All locks are closed before a frame loses a byte, so no reader takes zeros for a frame.
        words.iter().take(directory).for_each(|word| word.store(0, Ordering::Relaxed));
        words.release();
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Of a page that is not whole, the kernel would only clear the part.
        let pages = length.next_multiple_of(page_size() as u64);
        Ok(fallocate(&self.0, punch, 0, pages).map_err(failed("fallocate, to take memory back"))?)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.store(STATE_WORD, self.state | MOVED);
        for word in WAIT_WORDS {
            self.store(word, self.state | MOVED);
            self.wake(word, ALL);
        }
    }
}
