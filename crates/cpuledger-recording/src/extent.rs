//! From when to when something was recorded, by both clocks.

/// From when to when something was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// CLOCK_MONOTONIC.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// The earliest and the latest that CLOCK_REALTIME was, which may be set in between.
    pub(crate) start_realtime_ns: u64,
    pub(crate) end_realtime_ns: u64,
}

/// By how much CLOCK_REALTIME may go beside CLOCK_MONOTONIC in this time without being set: adjtime(3) and NTP make it faster or slower.
pub(crate) fn slack_ns(length_ns: u64) -> u64 {
    length_ns / 100 + 10_000_000
}

impl Extent {
    /// That of both.
    pub(crate) fn with(self, other: Extent) -> Extent {
        Extent {
            start_ns: self.start_ns.min(other.start_ns),
            end_ns: self.end_ns.max(other.end_ns),
            start_realtime_ns: self.start_realtime_ns.min(other.start_realtime_ns),
            end_realtime_ns: self.end_realtime_ns.max(other.end_realtime_ns),
        }
    }

    /// By CLOCK_MONOTONIC.
    pub(crate) fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Whether it begins where that one of the same boot ends, by both clocks: CLOCK_REALTIME was not set in between, and the machine not
    /// suspended.
    pub(crate) fn follows(&self, before: &Extent) -> bool {
        let slack_ns = slack_ns(self.length_ns().max(before.length_ns()));
        self.start_ns == before.end_ns && self.start_realtime_ns.abs_diff(before.end_realtime_ns) <= slack_ns
    }

    /// Whether one clock says something else than the other.
    pub(crate) fn was_set(&self) -> bool {
        let by_calendar_ns = self.end_realtime_ns.saturating_sub(self.start_realtime_ns);
        let is_reversed = self.end_realtime_ns < self.start_realtime_ns;
        is_reversed || by_calendar_ns.abs_diff(self.length_ns()) > slack_ns(self.length_ns())
    }

    /// For how long the machine was off between two boots, as far as that is certain: a clock that was wrong in one of them, at any time,
    /// only makes it less.
    pub(crate) fn off_ns(&self, behind: &Extent) -> u64 {
        behind.start_realtime_ns.saturating_sub(self.end_realtime_ns)
    }
}
