//! The example `two_snapshots`: what tasks of a load used between two snapshots, over each transport, beside the kernel's own clocks of that
//! load. Needs root.

#[path = "../examples/two_snapshots/transports.rs"]
mod transports;

use std::collections::HashSet;
use std::time::Duration;

use cpuledger::TaskId;
use cpuledger_load::scene::scene;
use cpuledger_load::{Burn, BurnPlan, is_emulated};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use transports::{Snapshots, Transport, difference};

/// A tick of /proc/PID/stat.
const TICK_NS: u64 = 10_000_000;
/// A thread that runs may be told as of the last tick of its CPU, of which a virtual CPU may lose some.
const BEHIND_NS: u64 = 20_000_000;
const THREADS: usize = 3;

/// By how much the sum over this number of tasks may be off at one of both ends.
fn slack_ns(transport: Transport, tasks: usize) -> u64 {
    let scale = if is_emulated() { 50 } else { 1 };
    let each_ns = match transport {
        // User and system time are rounded down to ticks, each by itself.
        Transport::File => 2 * TICK_NS + BEHIND_NS,
        Transport::Netlink | Transport::Walk => BEHIND_NS,
        Transport::Ledger => 1_000_000,
    };
    each_ns * tasks as u64 * scale
}

/// CPU time of all threads of a process, dead ones included, by its own clock.
fn clock_ns(clock: ClockId) -> u64 {
    clock_gettime(clock).expect("the process lives").num_nanoseconds().unsigned_abs()
}

/// User and system time of all children that were waited for.
fn reaped_ns() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a process has children's usage");
    (usage.user_time() + usage.system_time()).num_nanoseconds().unsigned_abs()
}

#[test]
fn living_threads_used_what_their_clock_says_root() {
    scene(|| {
        for transport in Transport::ALL {
            let plan = BurnPlan { cpu_ms: 600_000, threads: THREADS, ..BurnPlan::default() };
            let burn = Burn::start(&plan).expect("threads burn");
            let clock = clock_getcpuclockid(Pid::from_raw(burn.pid())).expect("it has a clock");
            let mut snapshots = Snapshots::open(transport).expect("the transport opens; it needs root");
            let before = clock_ns(clock);
            snapshots.take().expect("a snapshot");
            let first = clock_ns(clock);
            std::thread::sleep(Duration::from_secs(1));
            let second = clock_ns(clock);
            let interval = snapshots.take().expect("a snapshot");
            let after = clock_ns(clock);
            let used: Vec<_> =
                difference(interval).into_iter().filter(|used| used.pid.0 == burn.pid()).collect();
            let told_ns: u64 = used.iter().map(|used| used.cpu_ns - used.stolen_ns.unwrap_or(0)).sum();
            let (least_ns, most_ns) = (second - first, after - before);
            println!("{transport}: {told_ns} ns told, {least_ns} to {most_ns} ns by its clock");
            let tasks: HashSet<TaskId> = used.iter().map(|used| used.task).collect();
            let burners = used.iter().filter(|used| used.comm.as_bytes().starts_with(b"burn")).count();
            assert!(tasks.len() == used.len() && burners >= THREADS, "{transport}: {used:?}");
            // Threads that run are as of the last tick in the clock of their process, too.
            let slack_ns = slack_ns(transport, THREADS + 1).max(slack_ns(Transport::Walk, THREADS));
            assert!(
                (least_ns.saturating_sub(slack_ns)..=most_ns + slack_ns).contains(&told_ns),
                "{transport}: {told_ns} ns told, {least_ns} to {most_ns} ns by its clock"
            );
        }
    });
}

/// Nobody lists them at either snapshot.
#[test]
fn children_that_lived_between_two_snapshots_are_in_the_sum_root() {
    scene(|| {
        for transport in Transport::ALL {
            let mut snapshots = Snapshots::open(transport).expect("the transport opens; it needs root");
            snapshots.take().expect("a snapshot");
            let before = reaped_ns();
            let plan = BurnPlan { cpu_ms: 150, children: THREADS, ..BurnPlan::default() };
            let burned = Burn::start(&plan).and_then(|burn| burn.finish(Duration::from_secs(120)));
            let truth_ns = reaped_ns() - before;
            assert_eq!(burned.expect("all burn").len(), THREADS);
            let interval = snapshots.take().expect("a snapshot");
            let own = std::process::id().cast_signed();
            let row = interval.processes.iter().find(|row| row.task.pid.0 == own).expect("we ran");
            let Some(inherited_ns) = row.usage.exited_children_ns else {
                assert_eq!((transport, interval.exited.is_none()), (Transport::File, true));
                continue;
            };
            let told_ns = inherited_ns - row.usage.exited_children_stolen_ns.unwrap_or(0);
            println!("{transport}: {told_ns} ns told, {truth_ns} ns were reaped");
            // The end of a child, after its parent was told, is in no usage.
            let slack_ns = slack_ns(transport, THREADS + 1);
            assert!(told_ns.abs_diff(truth_ns) <= slack_ns, "{transport}: {told_ns}, {truth_ns} ns");
            let dead_ns: u64 =
                difference(interval).iter().filter(|used| used.is_dead).map(|used| used.cpu_ns).sum();
            assert!(dead_ns + slack_ns >= truth_ns, "{transport}: {dead_ns} ns of the dead, {truth_ns} ns");
        }
    });
}
