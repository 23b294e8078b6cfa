//! The clocks of this machine.
//!
//! # Three clocks
//!
//! All times are CLOCK_MONOTONIC, which stops while the machine is suspended. So a suspended interval is as long as the machine was awake in it,
//! and no CPU has capacity during suspension.
//!
//! Starts are CLOCK_BOOTTIME, as in /proc. So are the ends of tasks and the cuts of snapshots, which are compared with starts: the hook and the walk
//! read both clocks. Instants of that clock have a type of their own (`Boottime`). So the compiler refuses to compare them with the other clock,
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

use cpuledger_model::Boottime;
use cpuledger_model::framing::Circumstances;
use cpuledger_model::make;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_BOOTTIME now.
pub fn boottime() -> Boottime {
    Boottime::from_ns(clock_ns(ClockId::Boottime))
}

/// CLOCK_MONOTONIC now, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// CPU time of this thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
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

/// What a frame says of the interval of this number that has ended at `end_ns`, CLOCK_MONOTONIC. `suspended_ns` is how long the machine was suspended
/// when the interval before ended, and becomes what it is now.
pub fn circumstances(sequence: u64, end_ns: u64, suspended_ns: &mut u64) -> Circumstances<'static> {
    let before_ns = std::mem::replace(suspended_ns, self::suspended_ns());
    make!(Circumstances {
        boot_id: None,
        sequence: Some(sequence),
        end: Some(Boottime::from_ns(end_ns + *suspended_ns)),
        end_realtime_ns: Some(realtime_ns_at(end_ns)),
        suspended_ns: Some(suspended_ns.saturating_sub(before_ns)),
    })
}

/// Minimum length of a suspension: two clock readings are rarely further apart.
const NEVER_SUSPENDED_NS: u64 = 1_000_000;

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
