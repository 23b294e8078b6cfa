//! Instants of the clock that says when tasks started.
//!
//! CLOCK_BOOTTIME goes on while the machine is suspended, CLOCK_MONOTONIC stands still: they agree until the first suspension,
//! and never again. Starts and ends of tasks, and the cuts that they are compared with, are [`Boottime`]. A plain number
//! with `_ns` is an instant of CLOCK_MONOTONIC, or a duration that does not count suspension. The compiler refuses to compare
//! the two, or to add a lifetime to a start.

use cpuledger_proc::task::stat::parse_stat;
use serde::{Deserialize, Serialize};

/// `USER_HZ`: the ticks in which files of /proc, and so ps, tell CPU time and starts, rounded down.
pub const TICK_NS: u64 = 10_000_000;

/// An instant of CLOCK_BOOTTIME, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Boottime(u64);

impl Boottime {
    /// From a number that is known to be of this clock.
    pub const fn from_ns(ns: u64) -> Boottime {
        Boottime(ns)
    }

    /// The number, for output and for sources that deal in numbers.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// The time since an earlier instant, suspension included; 0 where that is later.
    pub fn since_ns(self, earlier: Boottime) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The distance of two instants.
    pub fn distance_ns(self, other: Boottime) -> u64 {
        self.0.abs_diff(other.0)
    }

    /// This instant, if it may be reported too early by this time. Do not add a lifetime so: that does not count suspension.
    pub fn with_slack_ns(self, slack_ns: u64) -> Boottime {
        Boottime(self.0.saturating_add(slack_ns))
    }

    /// The number of whole units of this length since the boot: /proc tells starts in ticks.
    pub fn ticks(self, tick_ns: u64) -> u64 {
        self.0 / tick_ns
    }

    /// Whether this is the `stat` of a task that started then: a number alone may be another's by now. Each source tells a start to the tick or
    /// better: where it can only estimate one, of a task that is gone, nothing acts on it.
    pub fn is_start_in(self, stat: &[u8]) -> bool {
        parse_stat(stat).is_some_and(|stat| stat.start_ticks == self.ticks(TICK_NS))
    }
}
