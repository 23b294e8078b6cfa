//! A file mapped into this process as atomic words: all the `unsafe` of this crate.

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{SealFlags, fcntl_get_seals};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Bytes of a word.
pub(crate) const WORD: usize = size_of::<u64>();

/// The beginning of a file, mapped shared, until it is dropped. Other processes may change what it holds at any time, so words are
/// atomic.
///
/// Whether it is mapped for writing is known to the code that made it. A store into one that is not ends this process by SIGSEGV,
/// which is no undefined behaviour.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: NonNull<u8>,
    words: usize,
}

impl Mapping {
    /// Maps the first `words` words of `file`. The file must have that length and keep it: beyond the end of a file, a load ends
    /// the process by SIGBUS.
    pub(crate) fn new(file: impl AsFd, words: usize, is_writable: bool) -> Result<Mapping, Errno> {
        let protection = if is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let bytes = words.checked_mul(WORD).ok_or(Errno::OVERFLOW)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing else is touched.
        let address = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0) }?;
        Ok(Mapping {
            address: NonNull::new(address.cast()).expect("mmap never answers with address 0"),
            words,
        })
    }

    /// All words. Code that uses [`Mapping::futex`] leaves the word of the futex alone.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page, so it is aligned, has these words, and lives as long as `self`. Any bits are a
        // valid word. Other processes may store at any time, which atomics allow. Relaxed loads of this size compile to plain load
        // instructions on 64-bit machines, so they may be made of memory that is mapped for reading only.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr().cast::<AtomicU64>(), self.words) }
    }

    /// The first half of a word as a futex.
    pub(crate) fn futex(&self, word: usize) -> &AtomicU32 {
        assert!(word < self.words, "the futex is in the mapping");
        // SAFETY: it is in the mapping, by the line above, and aligned, because a word is. For the rest, see `words`.
        unsafe { &*self.address.as_ptr().add(word * WORD).cast::<AtomicU32>() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made in `new` with this length; code that uses the memory borrows this value meanwhile. An error could only mean
        // that it is already gone.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.words * WORD) };
    }
}

// SAFETY: it is owned by this value alone, is not bound to a thread, and gives out nothing but atomics and bytes that do not change.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

/// The seals of a file of which neither the length nor a byte can change.
pub(crate) const CONSTANT: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);

/// The beginning of a file that can change no more.
#[derive(Debug)]
pub(crate) struct Constant(Mapping);

impl Constant {
    /// Maps the first `words` words of a file that has them, and all seals of [`CONSTANT`].
    pub(crate) fn new(file: impl AsFd, words: usize) -> Result<Constant, Errno> {
        if !fcntl_get_seals(&file)?.contains(CONSTANT) {
            return Err(Errno::PERM);
        }
        Ok(Constant(Mapping::new(file, words, false)?))
    }

    /// The first `count` bytes.
    pub(crate) fn bytes(&self, count: usize) -> &[u8] {
        assert!(count <= self.0.words * WORD, "the bytes are in the mapping");
        // SAFETY: they are in the mapping, by the line above. They do not change: the kernel sets F_SEAL_WRITE only where no mapping
        // for writing is left, and allows none and no write afterwards. `new` has seen that seal, and seals are never taken off.
        unsafe { std::slice::from_raw_parts(self.0.address.as_ptr(), count) }
    }
}
