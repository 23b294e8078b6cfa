//! What is exported.

use cpuledger_recording::Entry;

use crate::format::Format;

/// What is exported, and how.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The format of the files.
    pub format: Format,
    /// Only intervals whose middle is at this instant or later, CLOCK_REALTIME.
    pub since_realtime_ns: u64,
    /// Only intervals whose middle is before this instant.
    pub until_realtime_ns: u64,
}

impl Options {
    /// All of a recording.
    pub fn all(format: Format) -> Options {
        Options { format, since_realtime_ns: 0, until_realtime_ns: u64::MAX }
    }

    /// Whether the interval is in the span. Of two spans that meet, each interval is in one.
    pub(crate) fn wants(&self, entry: &Entry) -> bool {
        let middle = u64::midpoint(entry.start_realtime_ns(), entry.end_realtime_ns);
        (self.since_realtime_ns..self.until_realtime_ns).contains(&middle)
    }

    pub(crate) fn overlaps(&self, from_ns: u64, to_ns: u64) -> bool {
        to_ns > self.since_realtime_ns && from_ns < self.until_realtime_ns
    }
}
