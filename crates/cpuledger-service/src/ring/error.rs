//! What can go wrong with a ring.

use super::layout::{MAX_BYTES, MAX_FRAMES, VERSION};
use crate::sealed::SealError;

/// Why there is no ring, or no frame in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// The kernel refuses the memory, or a seal is missing.
    #[error("ring of frames: {0}")]
    Memory(#[from] SealError),
    /// The owner asks for a size that no ring has.
    #[error(
        "a ring of {frames} frames and {bytes} bytes: 2 to {max_frames} frames and 64 to {max_bytes} bytes are possible",
        max_frames = MAX_FRAMES,
        max_bytes = MAX_BYTES
    )]
    Size {
        /// The frames.
        frames: usize,
        /// The bytes.
        bytes: usize,
    },
    /// A frame is longer than half of the data area.
    #[error(
        "a frame of {length} bytes does not fit into this ring, which takes {longest}: make a larger one"
    )]
    TooLong {
        /// The length of the frame.
        length: usize,
        /// That of the longest possible one.
        longest: usize,
    },
    /// Its owner has taken its memory back.
    #[error("the ring has ended: subscribe again")]
    Ended,
    /// The descriptor is no ring.
    #[error("no ring of frames: {0}")]
    NoRing(&'static str),
    /// The layout is one that this version does not know.
    #[error("a ring of layout {found}, and this program knows layout {known}: update the older of the two", known = VERSION)]
    Version {
        /// The version of its layout.
        found: u64,
    },
    /// The memory holds what no owner writes.
    #[error("frame {sequence} of the ring is damaged: its owner does not follow the protocol")]
    Damaged {
        /// The number of the frame.
        sequence: u64,
    },
}
