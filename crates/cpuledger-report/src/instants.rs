//! When an interval was.

/// When an interval was, CLOCK_REALTIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instants {
    /// Its begin.
    pub start_realtime_ns: u64,
    /// Its end.
    pub end_realtime_ns: u64,
}
