//! A BPF array that both sides write: its words as atomics. All `unsafe` of the ledger is here.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags};

use crate::abi;
use crate::map::{Mapping, Record};
use crate::object::Error;

// SAFETY: integers and arrays of integers; abi.h asserts the size.
unsafe impl Record for abi::cpuledger_cpu {}
// SAFETY: integers and arrays of integers; abi.h asserts the size.
unsafe impl Record for abi::cpuledger_slot {}
// SAFETY: arrays of integers; abi.h asserts the size.
unsafe impl Record for abi::cpuledger_slot_rest {}
// SAFETY: integers and arrays of integers; abi.h asserts the size.
unsafe impl Record for abi::cpuledger_control {}
// SAFETY: an array of integers; abi.h asserts the size.
unsafe impl Record for abi::cpuledger_bucket {}
// SAFETY: an integer.
unsafe impl Record for u64 {}

const WORD_BYTES: usize = size_of::<u64>();

/// The records of a BPF array or data section, mapped for reading and writing.
pub(super) struct Shared<R: Record> {
    mapping: Mapping,
    count: u32,
    record: PhantomData<R>,
}

impl<R: Record> Shared<R> {
    /// Maps the `count` records of the map.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn new(map: &impl AsFd, count: u32) -> Result<Shared<R>, Error> {
        const { assert!(size_of::<R>().is_multiple_of(WORD_BYTES) && align_of::<R>() <= WORD_BYTES) };
        let bytes = count as usize * size_of::<R>();
        let mapping = Mapping::new(map, bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)
            .map_err(|errno| Error::from_errno("to map a shared BPF array", errno))?;
        Ok(Shared { mapping, count, record: PhantomData })
    }

    /// The word at `offset` of record `index`.
    ///
    /// # Panics
    /// Outside the array, which only a mistake in this crate can cause.
    pub(super) fn word(&self, index: u32, offset: usize) -> &AtomicU64 {
        assert!(index < self.count && offset + WORD_BYTES <= size_of::<R>() && offset.is_multiple_of(8));
        // SAFETY: in the mapping, which lives as long as `self`; aligned, as the mapping, the size of a record and `offset`
        // are multiples of 8; all accesses, from here and by the programs, are single loads and stores or atomic.
        unsafe {
            &*self
                .mapping
                .address()
                .as_ptr()
                .add(index as usize * size_of::<R>() + offset)
                .cast::<AtomicU64>()
        }
    }

    /// The half word at `offset` of record `index`; only [`Shared::copy`] reads it as part of a word.
    ///
    /// # Panics
    /// As [`Shared::word`].
    pub(super) fn half(&self, index: u32, offset: usize) -> &AtomicU32 {
        assert!(index < self.count && offset + 4 <= size_of::<R>() && offset.is_multiple_of(4));
        // SAFETY: as in `word`, with multiples of 4.
        unsafe {
            &*self
                .mapping
                .address()
                .as_ptr()
                .add(index as usize * size_of::<R>() + offset)
                .cast::<AtomicU32>()
        }
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
