//! Instants of the clock that starts of tasks are told by.
//!
//! CLOCK_BOOTTIME goes on while the machine is suspended, CLOCK_MONOTONIC stands still: they agree until the first suspension,
//! and never again. Starts and ends of tasks, and the cuts that they are compared with, are [`Boottime`]. A plain number
//! with `_ns` is an instant of CLOCK_MONOTONIC, or a duration that does not count suspension. The compiler refuses to compare
//! the two, or to add a lifetime to a start.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// `USER_HZ`: the ticks in which files of /proc, and so ps, tell CPU time and starts, rounded down.
pub const TICK_NS: u64 = 10_000_000;

/// An instant of CLOCK_BOOTTIME, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Boottime(u64);

impl Boottime {
    /// Now.
    pub fn now() -> Boottime {
        Boottime(clock_ns(ClockId::Boottime))
    }

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
}

/// CLOCK_MONOTONIC now, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: the time this machine has been suspended.
pub fn suspended_ns() -> u64 {
    let before = monotonic_ns();
    let boottime = clock_ns(ClockId::Boottime);
    let after = monotonic_ns();
    // Two readings cannot be simultaneous: below a microsecond's scale there was no suspension, only their distance.
    let ahead = boottime.saturating_sub(before + (after - before) / 2);
    if ahead < NEVER_SUSPENDED_NS { 0 } else { ahead }
}

/// What CLOCK_REALTIME was, or will be, when CLOCK_MONOTONIC is this, if no clock is set meanwhile.
pub fn realtime_ns_at(monotonic: u64) -> u64 {
    let ahead_ns = clock_ns(ClockId::Realtime).wrapping_sub(monotonic_ns());
    monotonic.wrapping_add(ahead_ns)
}

/// Minimum length of a suspension: two clock readings are rarely further apart.
const NEVER_SUSPENDED_NS: u64 = 1_000_000;

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
