//! What others have deleted, or moved, while it was written.

use std::path::PathBuf;

/// A part of a recording that is not in it any more: a segment that was being written, or a directory of segments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: deleted or moved while it was written: {:.3} s are lost", path.display(), *length_ns as f64 / 1e9)]
#[non_exhaustive]
pub struct Deleted {
    /// Where it was.
    pub path: PathBuf,
    /// How long the intervals are together that this writer had written there.
    pub length_ns: u64,
}
