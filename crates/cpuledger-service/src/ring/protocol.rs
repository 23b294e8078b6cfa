//! The protocol between the owner of a ring and its readers, on words of memory: which word is written when, and how a reader finds
//! out that what it has copied was overwritten meanwhile.
//!
//! It knows no mapping, so a test runs it on the memory of loom, which lets each load see any value that the fences permit.

use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of a word.
const WORD: u64 = size_of::<u64>() as u64;

/// The words of a ring, shared by the owner and its readers. Loads and stores promise no order; fences do.
pub(crate) trait Memory {
    /// A relaxed load.
    fn load(&self, word: usize) -> u64;
    /// A relaxed store.
    fn store(&self, word: usize, value: u64);
    /// An acquire fence.
    fn acquire(&self);
    /// A release fence.
    fn release(&self);
}

/// The word with the sequence number of the last frame.
pub(crate) const LATEST: usize = 16;
/// Where the directory begins.
pub(crate) const DIRECTORY: usize = 64;
/// Words of an entry of the directory: a cache line.
pub(crate) const ENTRY: usize = 8;
/// In an entry, the sequence lock: twice the number of the frame, or an odd number while there is none.
const LOCK: usize = 0;
/// In an entry, where the frame begins, in words since the ring was made.
const POSITION: usize = 1;
/// In an entry, the length of the frame in bytes.
const LENGTH: usize = 2;

/// The largest number that a ring goes on with: twice the numbers behind it still fit into a word.
const LAST_START: u64 = u64::MAX / 4;

/// The sizes of a ring. A reader takes them once, when it has checked them against the length of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Entries of the directory.
    pub(crate) frames: u64,
    /// Words of the data area.
    pub(crate) data_words: u64,
}

impl Geometry {
    /// Where the data area begins.
    pub(crate) fn data(self) -> usize {
        DIRECTORY + self.frames as usize * ENTRY
    }

    pub(crate) fn words(self) -> usize {
        self.data() + self.data_words as usize
    }

    /// The longest frame, in bytes. It is half of the data area, so that writing a frame leaves the one before it whole.
    pub(crate) fn longest(self) -> u64 {
        self.data_words / 2 * WORD
    }

    /// Where the entry of a frame begins, with its lock.
    pub(crate) fn entry(self, sequence: u64) -> usize {
        DIRECTORY + (sequence % self.frames) as usize * ENTRY
    }

    /// The two pieces of the data area that `words` words from `position` on lie in. The second is empty, unless they go over the end.
    fn pieces(self, position: u64, words: u64) -> [Range<usize>; 2] {
        let begin = position % self.data_words;
        let first = words.min(self.data_words - begin);
        let piece = |begin: u64, end: u64| self.data() + begin as usize..self.data() + end as usize;
        [piece(begin, begin + first), piece(0, words - first)]
    }
}

/// What the owner remembers. It never believes what it reads of the memory.
#[derive(Debug)]
pub(crate) struct Writer {
    geometry: Geometry,
    /// The number of the next frame.
    next: u64,
    /// Where it begins, in words since the ring was made.
    head: u64,
    /// Number and position of the frames that are whole, the oldest first.
    whole: VecDeque<(u64, u64)>,
}

impl Writer {
    /// For fresh memory; the first frame gets the number `first`, which is at least 1.
    pub(crate) fn new(geometry: Geometry, first: u64) -> Writer {
        let whole = VecDeque::with_capacity(geometry.frames as usize);
        Writer { geometry, next: first.max(1), head: 0, whole }
    }

    /// The number of the next frame.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Leaves out numbers, so that the next frame gets `sequence`, if that is still to come and possible.
    pub(crate) fn skip_to(&mut self, sequence: u64) {
        if sequence <= LAST_START {
            self.next = self.next.max(sequence);
        }
    }

    /// Writes a frame and returns its number. `None`: it is longer than [`Geometry::longest`].
    pub(crate) fn write(&mut self, memory: &(impl Memory + ?Sized), frame: &[u8]) -> Option<u64> {
        if frame.len() as u64 > self.geometry.longest() {
            return None;
        }
        let (sequence, begin) = (self.next, self.head);
        let end = begin + (frame.len() as u64).div_ceil(WORD);
        self.close_overwritten(memory, end);
        // A reader that sees a word of this frame sees the locks closed.
        memory.release();
        let (whole, rest) = frame.as_chunks::<{ WORD as usize }>();
        let mut last = [0; WORD as usize];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(&last);
        let mut words = whole.iter().chain(last);
        for piece in self.geometry.pieces(begin, end - begin) {
            for (place, word) in piece.zip(words.by_ref()) {
                memory.store(place, u64::from_ne_bytes(*word));
            }
        }
        let entry = self.geometry.entry(sequence);
        memory.store(entry + POSITION, begin);
        memory.store(entry + LENGTH, frame.len() as u64);
        // A reader that sees the lock open sees the frame.
        memory.release();
        memory.store(entry + LOCK, 2 * sequence);
        // A reader that sees the number sees the lock open.
        memory.release();
        memory.store(LATEST, sequence);
        self.whole.push_back((sequence, begin));
        (self.next, self.head) = (sequence + 1, end);
        Some(sequence)
    }

    /// Closes the locks of the frames that lose their entry, or a word of their data, to one that ends at `end`.
    fn close_overwritten(&mut self, memory: &(impl Memory + ?Sized), end: u64) {
        while let Some(&(sequence, begin)) = self.whole.front() {
            let keeps_entry = sequence + self.geometry.frames > self.next;
            let keeps_data = begin + self.geometry.data_words >= end;
            if keeps_entry && keeps_data {
                break;
            }
            memory.store(self.geometry.entry(sequence) + LOCK, 2 * sequence + 1);
            self.whole.pop_front();
        }
    }
}

/// What became of an attempt to copy a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    /// The frame is in the buffer.
    Whole,
    /// It has been overwritten, or is not there yet. What is in the buffer is nothing.
    Gone,
    /// The entry holds what no owner writes.
    Damaged,
}

/// The number of the last frame; 0: there is none.
pub(crate) fn latest(memory: &(impl Memory + ?Sized)) -> u64 {
    let latest = memory.load(LATEST);
    memory.acquire();
    latest
}

/// Copies the frame of this number: one attempt, of a length that [`Geometry::longest`] limits, whatever the memory holds.
pub(crate) fn copy(
    memory: &(impl Memory + ?Sized),
    geometry: Geometry,
    sequence: u64,
    frame: &mut Vec<u8>,
) -> Copied {
    frame.clear();
    let entry = geometry.entry(sequence);
    let open = sequence.wrapping_mul(2);
    if memory.load(entry + LOCK) != open {
        return Copied::Gone;
    }
    // What is read from here on is of this frame or of a later one.
    memory.acquire();
    let (position, length) = (memory.load(entry + POSITION), memory.load(entry + LENGTH));
    let is_possible = length <= geometry.longest();
    if is_possible {
        frame.resize(length.next_multiple_of(WORD) as usize, 0);
        let mut rest = frame.chunks_exact_mut(WORD as usize);
        for piece in geometry.pieces(position, length.div_ceil(WORD)) {
            for (place, bytes) in piece.zip(rest.by_ref()) {
                bytes.copy_from_slice(&memory.load(place).to_ne_bytes());
            }
        }
        frame.truncate(length as usize);
    }
    // If any of it was of a later frame, the lock is seen closed, or with another number.
    memory.acquire();
    match memory.load(entry + LOCK) == open {
        true if is_possible => Copied::Whole,
        true => Copied::Damaged,
        false => Copied::Gone,
    }
}
