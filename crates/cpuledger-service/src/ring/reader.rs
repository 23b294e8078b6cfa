//! A reader's side of a ring.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};
use rustix::time::{ClockId, clock_gettime};

use super::error::RingError;
use super::layout::{
    DATA_WORDS_WORD, FRAMES_WORD, MAGIC, MAGIC_WORD, MAX_BYTES, MAX_FRAMES, MOVED, SEALS, STATE_WORD, Size,
    VERSION, VERSION_WORD, waiting_at,
};
use super::protocol::{self, Copied, DIRECTORY, Geometry, Memory};
use crate::mapping::{Mapping, WORD};
use crate::sealed::{check_seals, failed, length_of};

/// Readers that each reader wakes when it was woken.
pub const PASSED_ON: u32 = 2;

/// Attempts at the last frame, while the owner publishes others.
const ATTEMPTS: usize = 8;

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// There is at least one frame to copy.
    Frame,
    /// There was none in time.
    TimedOut,
    /// There will be none in this ring: subscribe again.
    Moved,
}

/// Which frame was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Its number.
    pub sequence: u64,
    /// Frames before it that this reader has neither got nor can get any more.
    pub missed: u64,
}

/// A ring, mapped for reading only.
#[derive(Debug)]
pub struct Reader {
    mapping: Mapping,
    geometry: Geometry,
    /// The number of the frame that comes next for this reader.
    next: u64,
}

impl Reader {
    /// Maps the ring of a descriptor. The next frame will be the first that is published from now on; [`Reader::latest`] has the last.
    ///
    /// # Errors
    /// When it lacks a seal, because its owner could then end this process by making it shorter. When it is no ring, or has a layout that
    /// is not known, or the kernel refuses to map it.
    pub fn open(fd: impl AsFd) -> Result<Reader, RingError> {
        check_seals(&fd, SEALS)?;
        let bytes = length_of(&fd)?;
        let words = usize::try_from(bytes).unwrap_or(usize::MAX) / WORD;
        if words <= DIRECTORY {
            return Err(RingError::NoRing("it is too short"));
        }
        if words > DIRECTORY + MAX_FRAMES * protocol::ENTRY + MAX_BYTES / WORD {
            return Err(RingError::NoRing("it is too long"));
        }
        let mapping = Mapping::new(&fd, words, false).map_err(failed("mmap"))?;
        match header_of(&mapping) {
            Ok((geometry, next)) => Ok(Reader { mapping, geometry, next }),
            // Its memory may have been taken back while it was looked at.
            Err(_) if has_ended(&mapping) => Err(RingError::Ended),
            Err(error) => Err(error),
        }
    }

    /// Waits until there is a frame to copy, at most for `timeout`. A call waits once by futex, as a rule.
    ///
    /// The timeout is never left out: another reader may keep the owner's wakes from this one (see [the module](super)).
    ///
    /// # Errors
    /// When the kernel refuses the futex.
    pub fn wait(&self, timeout: Duration) -> Result<Next, RingError> {
        // A look takes no system call.
        if timeout.is_zero() {
            let state = load_acquire(self.mapping.futex(STATE_WORD));
            return Ok(self.ready(state).unwrap_or(Next::TimedOut));
        }
        let deadline = deadline(timeout);
        loop {
            if let Some(next) = self.wait_until(deadline)? {
                return Ok(next);
            }
        }
    }

    /// The same for a caller that has to look after a signal: `None` says that a handler of this thread has run, and the wait is over before its
    /// time.
    ///
    /// # Errors
    /// As [`Reader::wait`].
    pub fn wait_interruptibly(&self, timeout: Duration) -> Result<Option<Next>, RingError> {
        self.wait_until(deadline(timeout))
    }

    /// `None`: a signal has interrupted it.
    fn wait_until(&self, deadline: Timespec) -> Result<Option<Next>, RingError> {
        let state = self.mapping.futex(STATE_WORD);
        loop {
            // It is read before the number: if a frame comes in between, the wait ends at once.
            let seen = load_acquire(state);
            if let Some(next) = self.ready(seen) {
                return Ok(Some(next));
            }
            let (word, value) = waiting_at(seen);
            let word = self.mapping.futex(word);
            let waited = futex::wait_bitset(word, Flags::empty(), value, Some(&deadline), NonZeroU32::MAX);
            match waited {
                // At the expense of this reader, not of the owner. It fails only for an address that is none.
                Ok(()) => drop(futex::wake(word, Flags::empty(), PASSED_ON)),
                Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                Err(errno) => return Err(failed("futex")(errno).into()),
            }
            if let Some(next) = self.ready(load_acquire(state)) {
                return Ok(Some(next));
            }
            // A wake without a frame, or a word that changes all the time: the deadline holds all the same.
            if is_past(deadline) {
                return Ok(Some(Next::TimedOut));
            }
            if waited == Err(Errno::INTR) {
                return Ok(None);
            }
        }
    }

    fn ready(&self, state: u32) -> Option<Next> {
        let has_frame = protocol::latest(self.mapping.words()) >= self.next;
        let has_moved = state & MOVED != 0 || has_ended(&self.mapping);
        has_frame.then_some(Next::Frame).or(has_moved.then_some(Next::Moved))
    }

    /// Copies the next frame, or the oldest that is left if that was overwritten. `None`: there is none yet.
    ///
    /// # Errors
    /// When the memory holds what no owner writes. The next call goes on behind it.
    pub fn copy(&mut self, frame: &mut Vec<u8>) -> Result<Option<Frame>, RingError> {
        let held = self.held();
        for sequence in (*held.start()).max(self.next)..=*held.end() {
            let copied = self.copy_number(sequence, frame);
            if copied != Copied::Gone {
                let missed = sequence - self.next;
                self.next = sequence.saturating_add(1);
                return match copied {
                    Copied::Whole => Ok(Some(Frame { sequence, missed })),
                    _ => Err(RingError::Damaged { sequence }),
                };
            }
        }
        Ok(None)
    }

    /// Copies the last frame that there is, for a first screen; [`Reader::copy`] goes on behind it. `None`: there is none.
    ///
    /// # Errors
    /// As [`Reader::copy`].
    pub fn latest(&mut self, frame: &mut Vec<u8>) -> Result<Option<Frame>, RingError> {
        for _ in 0..ATTEMPTS {
            let sequence = protocol::latest(self.mapping.words());
            if sequence == 0 {
                return Ok(None);
            }
            let copied = self.copy_number(sequence, frame);
            if copied != Copied::Gone {
                self.next = sequence.saturating_add(1);
                return match copied {
                    Copied::Whole => Ok(Some(Frame { sequence, missed: 0 })),
                    _ => Err(RingError::Damaged { sequence }),
                };
            }
        }
        Ok(None)
    }

    /// Goes on with frame `sequence`: for a reader that has got the ones before it from the ring that this one follows.
    pub fn resume_at(&mut self, sequence: u64) {
        self.next = sequence;
    }

    /// The number of the frame that comes next for this reader.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// How large the ring is.
    pub fn size(&self) -> Size {
        let Geometry { frames, data_words } = self.geometry;
        Size { bytes: data_words as usize * WORD, frames: frames as usize }
    }

    /// Whether the owner has marked the ring as moved. Frames that are still in it can be copied, until it takes the memory back.
    pub fn has_moved(&self) -> bool {
        self.mapping.futex(STATE_WORD).load(Ordering::Relaxed) & MOVED != 0 || has_ended(&self.mapping)
    }

    /// The numbers that the directory may hold. The owner may be at work on those after it.
    pub(super) fn held(&self) -> RangeInclusive<u64> {
        let latest = protocol::latest(self.mapping.words());
        (latest.saturating_sub(self.geometry.frames) + 1).max(1)..=latest
    }

    pub(super) fn copy_number(&self, sequence: u64, frame: &mut Vec<u8>) -> Copied {
        protocol::copy(self.mapping.words(), self.geometry, sequence, frame)
    }
}

/// The sizes that the header tells, checked, and the number of the next frame.
fn header_of(mapping: &Mapping) -> Result<(Geometry, u64), RingError> {
    let header = mapping.words();
    if header.load(MAGIC_WORD) != MAGIC {
        return Err(RingError::NoRing("it begins with something else"));
    }
    let found = header.load(VERSION_WORD);
    if found != VERSION {
        return Err(RingError::Version { found });
    }
    let geometry = Geometry { frames: header.load(FRAMES_WORD), data_words: header.load(DATA_WORDS_WORD) };
    let is_possible = (2..=MAX_FRAMES as u64).contains(&geometry.frames)
        && (8..=(MAX_BYTES / WORD) as u64).contains(&geometry.data_words);
    if !is_possible || geometry.words() != header.len() {
        return Err(RingError::NoRing("its sizes contradict its length"));
    }
    let next = protocol::latest(header).saturating_add(1);
    Ok((geometry, next))
}

/// Whether the owner has taken the memory of a ring back.
fn has_ended(mapping: &Mapping) -> bool {
    mapping.words().load(MAGIC_WORD) == 0
}

/// By a relaxed load, as memory that is mapped for reading only asks for, and a fence.
fn load_acquire(word: &AtomicU32) -> u32 {
    let value = word.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    value
}

/// The instant of the monotonic clock at which `timeout` is over.
fn deadline(timeout: Duration) -> Timespec {
    let timeout = Timespec::try_from(timeout).ok();
    let deadline = timeout.and_then(|timeout| clock_gettime(ClockId::Monotonic).checked_add(timeout));
    deadline.unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

fn is_past(deadline: Timespec) -> bool {
    clock_gettime(ClockId::Monotonic) >= deadline
}
