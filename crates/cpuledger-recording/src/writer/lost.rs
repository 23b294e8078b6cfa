//! Longer intervals that could not be written.

use std::fmt;
use std::path::PathBuf;

/// What a tier of longer intervals has not: it could not be written when it was merged. A tier of shorter ones may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The directory of the tier.
    pub path: PathBuf,
    /// How many intervals were merged in it.
    pub intervals: u64,
    /// How long they are together.
    pub length_ns: u64,
}

impl fmt::Display for Lost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.length_ns as f64 / 1e9;
        let (path, intervals) = (self.path.display(), self.intervals);
        let plural = if intervals == 1 { "interval" } else { "intervals" };
        write!(
            formatter,
            "{path}: could not be written: {seconds:.3} s, of {intervals} {plural}, are lost there"
        )
    }
}
