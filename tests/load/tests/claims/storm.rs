use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpuledger_load::{Error, Storm, StormPlan};

use crate::proc::{TICK_US, children_cpu_us, exists, is_dead, read, stat_number, wait_until};
use crate::sleepers::kill;

const WHILE: Duration = Duration::from_millis(500);

/// The machine's count of forks (processes and threads) since it started.
fn forks() -> u64 {
    let stat = String::from_utf8(read("/proc/stat")).expect("text");
    stat.lines().find_map(|line| line.strip_prefix("processes ")?.parse().ok()).expect("a count of processes")
}

#[test]
fn processes_are_counted_and_their_time_is_told() {
    let before = forks();
    let storm = Storm::start(&StormPlan { workers: 2, ..StormPlan::default() }).expect("a storm");
    assert_eq!(storm.workers().len(), 2);
    sleep(WHILE);
    let seen_us: u64 = storm.workers().iter().map(|&worker| children_cpu_us(worker)).sum();
    let (pid, workers) = (storm.pid(), storm.workers().to_vec());
    let stormed = storm.stop().expect("a good end");
    assert!(stormed.made >= 10, "{stormed:?}");
    assert_eq!(stormed.failed, 0);
    assert!(forks() - before >= stormed.made, "{stormed:?}: more than the kernel knows of");
    let made_cpu_ns = stormed.made_cpu_ns.expect("known for processes");
    assert!(made_cpu_ns > 0 && made_cpu_ns < stormed.cpu_ns, "{stormed:?}");
    assert!(seen_us <= made_cpu_ns / 1000, "{stormed:?}: less than /proc has seen: {seen_us} µs");
    for pid in workers.into_iter().chain([pid]) {
        assert!(!exists(pid), "{pid} is left");
    }
}

#[test]
fn threads_are_counted() {
    let before = forks();
    let storm =
        Storm::start(&StormPlan { workers: 2, threads: true, ..StormPlan::default() }).expect("a storm");
    sleep(WHILE);
    let seen_us: u64 = storm
        .workers()
        .iter()
        .map(|&pid| {
            let ticks = stat_number(&pid.to_string(), 14) + stat_number(&pid.to_string(), 15);
            ticks.cast_unsigned() * TICK_US
        })
        .sum();
    let stormed = storm.stop().expect("a good end");
    assert!(stormed.made >= 10 && stormed.failed == 0, "{stormed:?}");
    assert!(forks() - before >= stormed.made, "{stormed:?}: more than the kernel knows of");
    assert_eq!(stormed.made_cpu_ns, None);
    assert!(stormed.cpu_ns / 1000 >= seen_us, "{stormed:?}: less than /proc has seen: {seen_us} µs");
}

#[test]
fn a_storm_with_a_duration_ends_by_itself() {
    let start = Instant::now();
    let storm = Storm::start(&StormPlan { seconds: Some(1), ..StormPlan::default() }).expect("a storm");
    let stormed = storm.finish(Duration::from_secs(120)).expect("a good end");
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert!(stormed.made > 0);
}

#[test]
fn failures_are_counted() {
    let plan = StormPlan { exec: Some(PathBuf::from("/bin/false")), ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("a storm");
    sleep(WHILE);
    let stormed = storm.stop().expect("a good end");
    assert!(stormed.made > 0 && stormed.failed == stormed.made, "{stormed:?}");
}

#[test]
fn what_cannot_be_executed_is_refused() {
    let plan = StormPlan { exec: Some(PathBuf::from("/nothing/here")), ..StormPlan::default() };
    let Err(Error::GaveUp(sentence)) = Storm::start(&plan) else { panic!("it storms") };
    assert!(sentence.contains("/nothing/here cannot be executed"), "{sentence}");
}

#[test]
fn a_killed_storm_is_over() {
    let storm = Storm::start(&StormPlan { workers: 3, ..StormPlan::default() }).expect("a storm");
    kill(storm.pid());
    for &worker in storm.workers() {
        wait_until("the workers die with their parent", || is_dead(worker));
    }
}
