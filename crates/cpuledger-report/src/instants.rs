//! When an interval was.

use serde::{Deserialize, Serialize};

/// When an interval was, CLOCK_REALTIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instants {
    /// Its begin.
    pub start_realtime_ns: u64,
    /// Its end.
    pub end_realtime_ns: u64,
}

/// A time line: buckets of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLine {
    /// Where the first begins, CLOCK_REALTIME.
    pub since_ns: u64,
    /// The length of each.
    pub bucket_ns: u64,
    pub(crate) buckets: u32,
}
