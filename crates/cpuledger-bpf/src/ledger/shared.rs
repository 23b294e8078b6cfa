//! A BPF array that both sides write: its words as atomics. All `unsafe` of the ledger is here.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::{AnyBitPattern, Pod};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::error::Error;
use crate::map::Mapping;

/// A cache line: of x86, and of most arm64.
const LINE_BYTES: usize = 64;
const WORD_BYTES: usize = size_of::<u64>();

/// Of arm64; parts of a mapping begin at multiples of it.
const LARGEST_PAGE_BYTES: usize = 64 * 1024;

/// Records in a part of an array that is mapped by parts: a multiple of the page size for every size of record and of page.
const PART_RECORDS: u32 = 4096;

/// Offset of the entry for an interval in a pair of accumulators at `offset`.
pub(super) fn of_parity(offset: usize, interval: u64) -> usize {
    offset + 8 * (interval & 1) as usize
}

/// Reads and zeroes an accumulator. Nearly all are zero: those are not written.
pub(super) fn take_word(word: &AtomicU64) -> u64 {
    match word.load(Ordering::Relaxed) {
        0 => 0,
        _ => word.swap(0, Ordering::Relaxed),
    }
}

/// The records of a BPF array or data section, mapped for reading and writing.
pub(super) struct Shared<R: AnyBitPattern> {
    /// `None` once all is mapped.
    map: Option<OwnedFd>,
    /// Each holds `part_records` records, but for the last, which holds what is left.
    parts: Vec<Mapping>,
    part_records: u32,
    count: u32,
    record: PhantomData<R>,
}

/// Why an array cannot be mapped. Each kernel that has the hooks can map arrays; libbpf makes one that cannot be mapped, and says nothing, if it has no
/// file descriptor left to find that out.
fn cause_of(errno: Errno) -> Errno {
    if errno == Errno::INVAL { Errno::MFILE } else { errno }
}

impl<R: AnyBitPattern> fmt::Debug for Shared<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<R: AnyBitPattern> Shared<R> {
    /// Maps the `count` records of the map.
    pub(super) fn new(map: &impl AsFd, count: u32) -> Result<Shared<R>, Error> {
        let mut shared = Shared::of_parts(count, count.max(1));
        shared.extend(map, count)?;
        Ok(shared)
    }

    /// The `count` records of the map, none of which is mapped yet: the kernel counts each mapped page as memory of this process,
    /// and of a large array little is used on most machines.
    ///
    /// # Errors
    /// When there is no file descriptor.
    pub(super) fn unmapped(map: &impl AsFd, count: u32) -> Result<Shared<R>, Error> {
        const { assert!((PART_RECORDS as usize * size_of::<R>()).is_multiple_of(LARGEST_PAGE_BYTES)) };
        let map = rustix::io::fcntl_dupfd_cloexec(map, 0)
            .map_err(|errno| Error::from_errno("to keep a shared BPF array", errno))?;
        Ok(Shared { map: Some(map), ..Shared::of_parts(count, PART_RECORDS) })
    }

    fn of_parts(count: u32, part_records: u32) -> Shared<R> {
        const { assert!(size_of::<R>().is_multiple_of(WORD_BYTES) && align_of::<R>() <= LINE_BYTES) };
        Shared { map: None, parts: Vec::new(), part_records, count, record: PhantomData }
    }

    /// Maps the records before `end`, as far as they are not.
    pub(super) fn map_up_to(&mut self, end: u32) -> Result<(), Error> {
        let Some(map) = self.map.take() else { return Ok(()) };
        let extended = self.extend(&map, end);
        self.map = Some(map).filter(|_| self.mapped() < self.count);
        extended
    }

    fn extend(&mut self, map: &impl AsFd, end: u32) -> Result<(), Error> {
        while self.mapped() < end.min(self.count) {
            let first = self.mapped();
            let records = self.part_records.min(self.count - first) as usize;
            let (offset, bytes) = (u64::from(first) * size_of::<R>() as u64, records * size_of::<R>());
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let part = Mapping::new(map, offset, bytes, protection, MapFlags::SHARED)
                .map_err(|errno| Error::from_errno("to map a shared BPF array", cause_of(errno)))?;
            self.parts.push(part);
        }
        Ok(())
    }

    /// How many records are mapped.
    pub(super) fn mapped(&self) -> u32 {
        (self.parts.len() as u32).saturating_mul(self.part_records).min(self.count)
    }

    /// Where record `index` is.
    ///
    /// # Panics
    /// Outside what is mapped, which only a mistake in this crate can cause.
    fn record(&self, index: u32) -> *mut u8 {
        assert!(index < self.mapped());
        let part = &self.parts[(index / self.part_records) as usize];
        let offset = (index % self.part_records) as usize * size_of::<R>();
        // SAFETY: the part holds this record: all have `part_records` of them, but for the last, which ends at `mapped()`.
        unsafe { part.address().as_ptr().add(offset) }
    }

    /// The word at `offset` of record `index`.
    ///
    /// # Panics
    /// Outside the mapped records, which only a mistake in this crate can cause.
    pub(super) fn word(&self, index: u32, offset: usize) -> &AtomicU64 {
        #[cfg(test)]
        super::turns::access();
        assert!(offset + WORD_BYTES <= size_of::<R>() && offset.is_multiple_of(8));
        // SAFETY: it is in the mapping, which lives as long as `self`. It is aligned, because the mapping, the size of a record
        // and `offset` are multiples of 8. All accesses, from here and by the programs, are single loads and stores or atomic.
        unsafe { &*self.record(index).add(offset).cast::<AtomicU64>() }
    }

    /// Loads a word of each cache line of a record. The value has no meaning.
    ///
    /// # Panics
    /// As [`Shared::word`].
    pub(super) fn fetch(&self, index: u32) -> u64 {
        let lines = (0..size_of::<R>()).step_by(LINE_BYTES);
        lines.map(|offset| self.word(index, offset).load(Ordering::Relaxed)).fold(0, |sum, word| sum ^ word)
    }

    /// The half word at `offset` of record `index`; only [`Shared::copy`] reads it as part of a word.
    ///
    /// # Panics
    /// As [`Shared::word`].
    pub(super) fn half(&self, index: u32, offset: usize) -> &AtomicU32 {
        #[cfg(test)]
        super::turns::access();
        assert!(offset + 4 <= size_of::<R>() && offset.is_multiple_of(4));
        // SAFETY: as in `word`, with multiples of 4.
        unsafe { &*self.record(index).add(offset).cast::<AtomicU32>() }
    }

    /// Reads and zeroes a part of record `index`, word by word, as [`take_word`] does.
    ///
    /// # Panics
    /// As [`Shared::word`], and for a part that is not of words.
    pub(super) fn take<T: Pod>(&self, index: u32, offset: usize) -> T {
        let mut taken = T::zeroed();
        let words: &mut [u64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut taken));
        for (place, word) in words.iter_mut().enumerate() {
            *word = take_word(self.word(index, offset + place * WORD_BYTES));
        }
        taken
    }

    /// A copy of record `index`, word by word: what a program writes meanwhile may be old or new.
    pub(super) fn copy(&self, index: u32) -> R {
        let mut record = MaybeUninit::<R>::uninit();
        for word in 0..size_of::<R>() / WORD_BYTES {
            let value = self.word(index, word * WORD_BYTES).load(Ordering::Relaxed);
            // SAFETY: `word` is below the number of words of the record.
            unsafe { record.as_mut_ptr().cast::<u64>().add(word).write_unaligned(value) };
        }
        // SAFETY: every word has been written, and any bytes are a valid record.
        unsafe { record.assume_init() }
    }
}
