//! The words of a ring outside of its frames, and the seals that keep it as it is.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rustix::fs::SealFlags;

use super::protocol::{self, Memory};

/// What a ring begins with: `cpulring` in memory.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"cpulring");
/// The version of the layout, which is that of the module `ring`.
pub const VERSION: u64 = 1;
/// Maximum number of entries of a directory.
pub const MAX_FRAMES: usize = 4096;
/// Maximum number of bytes of a data area.
pub const MAX_BYTES: usize = 1 << 30;

/// The seals of a ring. Only the mapping that is older than these can write.
pub(super) const SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::FUTURE_WRITE).union(SealFlags::SEAL);

/// The places of what the header holds, in words.
pub(super) const MAGIC_WORD: usize = 0;
pub(super) const VERSION_WORD: usize = 1;
pub(super) const FRAMES_WORD: usize = 2;
pub(super) const DATA_WORDS_WORD: usize = 3;
pub(super) const FUTEX_WORD: usize = 8;

const _: () = assert!(FUTEX_WORD < protocol::LATEST && protocol::LATEST < protocol::DIRECTORY);

/// In the futex: the ring has moved.
pub(super) const MOVED: u32 = 1;
/// In the futex: one published frame.
pub(super) const ONE_FRAME: u32 = 2;

/// The bit by which a reader waits that has found this value in the futex. So those that wait for one frame can be told from those
/// that wait for the next.
pub(super) fn turn_of(futex: u32) -> NonZeroU32 {
    NonZeroU32::new(1 << ((futex / ONE_FRAME) % u32::BITS)).unwrap_or(NonZeroU32::MAX)
}

impl Memory for [AtomicU64] {
    fn load(&self, word: usize) -> u64 {
        self[word].load(Ordering::Relaxed)
    }

    fn store(&self, word: usize, value: u64) {
        self[word].store(value, Ordering::Relaxed);
    }

    fn acquire(&self) {
        fence(Ordering::Acquire);
    }

    fn release(&self) {
        fence(Ordering::Release);
    }
}

/// How large a ring is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Bytes of the data area: at least twice the longest frame.
    pub bytes: usize,
    /// Frames that it holds at most.
    pub frames: usize,
}
