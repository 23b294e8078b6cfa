//! Spans of a recording, as they are asked for.

/// An instant as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// CLOCK_REALTIME, in nanoseconds since 1970. It may have come never, once, or more often.
    Realtime(u64),
    /// This many nanoseconds before the end of the last interval, in the order of the recording.
    BeforeEnd(u64),
}

/// A part of a recording. An interval is in it if its middle is: so of two spans that meet, each interval is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub since: When,
    /// Its end, which is not in it any more.
    pub until: When,
}

/// An instant of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant {
    pub(crate) realtime_ns: u64,
    /// How long before the end of the recording.
    pub(crate) age_ns: u64,
}

impl Span {
    /// All of a recording.
    pub const ALL: Span = Span { since: When::Realtime(0), until: When::Realtime(u64::MAX) };

    /// Whether its end is known to be before its begin, or the same.
    pub fn is_empty(&self) -> bool {
        match (self.since, self.until) {
            (When::Realtime(since), When::Realtime(until)) => since >= until,
            (When::BeforeEnd(since), When::BeforeEnd(until)) => since <= until,
            _ => false,
        }
    }

    /// Whether the calendar says where it begins or ends.
    pub(crate) fn is_of_calendar(&self) -> bool {
        let is_named = |when: When, all: When| matches!(when, When::Realtime(_)) && when != all;
        is_named(self.since, Span::ALL.since) || is_named(self.until, Span::ALL.until)
    }

    /// Whether it has begun at an instant.
    pub(crate) fn has_begun(&self, at: Instant) -> bool {
        match self.since {
            When::Realtime(since) => at.realtime_ns >= since,
            When::BeforeEnd(since) => at.age_ns <= since,
        }
    }

    /// Whether it has begun before an instant.
    pub(crate) fn begins_before(&self, at: Instant) -> bool {
        match self.since {
            When::Realtime(since) => at.realtime_ns > since,
            When::BeforeEnd(since) => at.age_ns < since,
        }
    }

    /// Whether it ends later than an instant.
    pub(crate) fn goes_on(&self, at: Instant) -> bool {
        match self.until {
            When::Realtime(until) => at.realtime_ns < until,
            When::BeforeEnd(until) => at.age_ns > until,
        }
    }

    pub(crate) fn has(&self, at: Instant) -> bool {
        self.has_begun(at) && self.goes_on(at)
    }
}
