use std::time::Duration;

use cpuledger_load::{Burn, BurnPlan, Burned};

use crate::proc::TICK_US;
use crate::proc::{children_cpu_us, exists, is_dead, stat_field, task_cpu_ns, tids, wait_until};

const LIMIT: Duration = Duration::from_secs(60);
/// What burning too much and ending costs at most. Interrupts on a busy machine are in it.
const SLACK_NS: u64 = 5_000_000;

fn assert_about(burned: &Burned, ns: u64) {
    assert!((ns..ns + SLACK_NS).contains(&burned.ns), "{burned:?} should be about {ns} ns");
}

/// The library has not reaped the program before `finish`, so its last figures can be read.
fn wait_for_zombie(burn: &Burn) {
    wait_until("all have burned", || stat_field(&burn.pid().to_string(), 3) == "Z");
}

#[test]
fn the_kernel_agrees_on_what_was_burned() {
    let burn = Burn::start(&BurnPlan { cpu_ms: 100, ..BurnPlan::default() }).expect("a burn");
    let pid = burn.pid();
    wait_for_zombie(&burn);
    let kernel_ns = task_cpu_ns(pid, pid);
    let burned = burn.finish(LIMIT).expect("a good end");
    let [leader] = &burned[..] else { panic!("one burner: {burned:?}") };
    assert_about(leader, 100_000_000);
    assert_eq!((leader.tid, leader.pid, leader.ppid), (pid, pid, std::process::id().cast_signed()));
    assert_eq!(leader.comm, "cpuledger-load");
    assert!(
        (leader.ns..leader.ns + SLACK_NS).contains(&kernel_ns),
        "{leader:?}, but the kernel says {kernel_ns}"
    );
    assert!(!exists(pid));
}

#[test]
fn each_thread_and_child_burns() {
    let burn = Burn::start(&BurnPlan { cpu_ms: 30, threads: 3, children: 2, ..BurnPlan::default() })
        .expect("a burn");
    let pid = burn.pid();
    let mut burned = burn.finish(LIMIT).expect("a good end");
    burned.sort_by(|a, b| a.comm.cmp(&b.comm));
    burned.iter().for_each(|burned| assert_about(burned, 30_000_000));
    let names: Vec<&str> = burned.iter().map(|burned| burned.comm.as_str()).collect();
    assert_eq!(names, ["burn-child-0", "burn-child-1", "burn-thread-0", "burn-thread-1", "burn-thread-2"]);
    for child in &burned[..2] {
        assert!(child.ppid == pid && child.pid == child.tid && child.pid != pid, "{child:?} of {pid}");
    }
    for thread in &burned[2..] {
        assert!(thread.pid == pid && thread.tid != pid, "{thread:?} of {pid}");
    }
}

#[test]
fn the_time_of_reaped_children_is_the_parent_s() {
    let burn = Burn::start(&BurnPlan { cpu_ms: 60, children: 2, ..BurnPlan::default() }).expect("a burn");
    wait_for_zombie(&burn);
    let us = children_cpu_us(burn.pid());
    let burned = burn.finish(LIMIT).expect("a good end");
    assert_eq!(burned.len(), 2);
    assert!(us + 2 * TICK_US >= 120_000, "{us} µs of {burned:?}");
}

#[test]
fn the_time_of_ignored_children_belongs_to_no_process() {
    let plan = BurnPlan { cpu_ms: 60, children: 2, ignore_sigchld: true, ..BurnPlan::default() };
    let burn = Burn::start(&plan).expect("a burn");
    wait_for_zombie(&burn);
    assert_eq!(children_cpu_us(burn.pid()), 0);
    let burned = burn.finish(LIMIT).expect("a good end");
    assert_eq!(burned.len(), 2);
    burned.iter().for_each(|burned| assert_about(burned, 60_000_000));
}

#[test]
fn a_dropped_burn_is_over() {
    let plan = BurnPlan { cpu_ms: 3_600_000, threads: 1, children: 1, ..BurnPlan::default() };
    let burn = Burn::start(&plan).expect("a burn");
    let pid = burn.pid();
    wait_until("the thread burns", || tids(pid).len() == 2);
    let children = crate::proc::children(pid);
    assert_eq!(children.len(), 1);
    drop(burn);
    assert!(!exists(pid));
    wait_until("the child dies with its parent", || is_dead(children[0]));
}
