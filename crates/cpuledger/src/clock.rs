//! Instants of the clock that starts of tasks are told by.
//!
//! CLOCK_BOOTTIME goes on while the machine is suspended, CLOCK_MONOTONIC stands still: they agree until the first suspension,
//! and never again. Starts and ends of tasks, and the cuts that they are compared with, are [`Boottime`]. A plain number
//! with `_ns` is an instant of CLOCK_MONOTONIC, or a duration that does not count suspension. The compiler refuses to compare
//! the two, or to add a lifetime to a start.
//!
//! # Three clocks
//!
//! All times are CLOCK_MONOTONIC, which stops while the machine is suspended. So a suspended interval is as long as the machine was awake in it,
//! and no CPU has capacity during suspension.
//!
//! Starts are CLOCK_BOOTTIME, as in /proc. So are the ends of tasks and the cuts of snapshots, which are compared with starts: the hook and the walk
//! read both clocks. Instants of that clock have a type of their own (`clock.rs`). So the compiler refuses to compare them with the other clock,
//! or to add a lifetime, which does not count suspension.
//!
//! The scheduler charges tasks by a clock of its own (`rq->clock`). It has read that some time before the switch hook runs: at the beginning of
//! the switch or, on an idle CPU, already at the wake-up. So a run segment ends at the scheduler's instant, not at the hook's (`switch_instant` in
//! `segment.bpf.h`). The clocks have different origins. The hook keeps the least difference that was seen lately on each CPU, which may grow by
//! 61 parts of a million of the time; what exceeds it is the lag. The same on both ends of a segment, the unknown rest of the difference cancels out. A
//! lag of more than 1 ms is a clock that has jumped, and a kernel without `cfs_rq.rq` does not show that clock: there the hook's own reading counts.
//! An instant is never before the last one of the CPU, nor before the one at which the task that comes has left another CPU. So what the reader
//! has closed stays closed. For the protocol it is a hook whose clock is behind. Before, semaphores, signals and pipes had 2 to 11 % less
//! CPU time than their cgroup: 2 µs a turn on an idle CPU.
//!
//! A model (`tests/model/`) checks the protocol between hook and reader. It makes the same accesses in the same order. loom runs it through
//! the interleavings of one or two CPUs and the reader, with deaths, folds, late cuts and clocks that differ. Each step that is left out or moved
//! must make the books wrong. The model does not cover the fork hook, the index, or what the kernel hides; its README
//! has the list. The compiled hooks and the real reader run on simulated machines too (`crates/cpuledger-bpf/src/ledger/machine.rs`). There
//! CPUs are held up at random accesses, and tasks fork, exec and die.

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
