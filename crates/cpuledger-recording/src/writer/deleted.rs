//! What others have deleted, or moved, while it was written.

use std::fmt;
use std::path::PathBuf;

/// A part of a recording that is not in it any more: a segment that was being written, or a directory of segments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// Where it was.
    pub path: PathBuf,
    /// How long the intervals are together that this writer had written there.
    pub length_ns: u64,
}

impl fmt::Display for Deleted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.length_ns as f64 / 1e9;
        write!(
            formatter,
            "{}: deleted or moved while it was written: {seconds:.3} s are lost",
            self.path.display()
        )
    }
}
