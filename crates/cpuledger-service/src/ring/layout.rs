//! The words of a ring outside of its frames, and the seals that keep it as it is.

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

/// The seals of a ring: its length is what it was. A seal against writing would also keep the owner from giving its memory back.
pub(super) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// The places of what the header holds, in words.
pub(super) const MAGIC_WORD: usize = 0;
pub(super) const VERSION_WORD: usize = 1;
pub(super) const FRAMES_WORD: usize = 2;
pub(super) const DATA_WORDS_WORD: usize = 3;
pub(super) const STATE_WORD: usize = 8;
/// Those that wait for a frame with an odd number behind an even one wait at the first, the others at the second.
pub(super) const WAIT_WORDS: [usize; 2] = [9, 10];

const _: () = assert!(WAIT_WORDS[1] < protocol::LATEST && protocol::LATEST < protocol::DIRECTORY);

/// In the state: the ring has moved.
pub(super) const MOVED: u32 = 1;
/// In the state: one published frame.
pub(super) const ONE_FRAME: u32 = 2;

/// Where a reader waits that has found this state, and the value that it finds there until the next frame is published.
pub(super) fn waiting_at(state: u32) -> (usize, u32) {
    let of_frames = state & !MOVED;
    (WAIT_WORDS[(of_frames / ONE_FRAME % 2) as usize], of_frames.wrapping_sub(ONE_FRAME))
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
