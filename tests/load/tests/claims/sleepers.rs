use std::time::{Duration, Instant};

use cpuledger_load::{Error, RaisedLimits, Sleepers};

use crate::proc::{
    exists, is_dead, need_root, stat_field, stat_number, status_numbers, threads, tids, wait_until,
};

/// Far more than it takes (see the next test), also where the machine is busy.
const TWENTY_THOUSAND_LIMIT: Duration = Duration::from_secs(120);

#[test]
fn twenty_thousand_threads_come_and_go() {
    let start = Instant::now();
    let sleepers = Sleepers::start(20_000, 1).expect("20,000 threads");
    let [process] = *sleepers.processes() else { panic!("one process: {:?}", sleepers.processes()) };
    assert_eq!(sleepers.threads(), 20_000);
    assert_eq!(threads(process.pid), 20_000);
    let tids = tids(process.pid);
    assert_eq!(tids.len(), 20_000);
    for tid in tids.iter().step_by(1_999) {
        assert_eq!(stat_field(&format!("{}/task/{tid}", process.pid), 3), "S");
    }
    drop(sleepers);
    assert!(!exists(process.pid), "a sleeper is left");
    assert!(start.elapsed() < TWENTY_THOUSAND_LIMIT, "took {:?}", start.elapsed());
}

#[test]
fn a_hundred_thousand_threads_come_and_go_root() {
    need_root();
    let _limits = RaisedLimits::for_threads(100_000).expect("limits that can be raised");
    let start = Instant::now();
    let sleepers = Sleepers::start(100_000, 1).expect("100,000 threads");
    let started = start.elapsed();
    let pid = sleepers.processes()[0].pid;
    assert_eq!(threads(pid), 100_000);
    let stop = Instant::now();
    sleepers.stop().expect("a good end");
    assert!(!exists(pid), "a sleeper is left");
    println!("100,000 threads: started in {started:?}, stopped in {:?}", stop.elapsed());
}

#[test]
fn threads_are_spread_over_processes() {
    let sleepers = Sleepers::start(100, 7).expect("100 threads");
    let processes = sleepers.processes().to_vec();
    assert_eq!(processes.len(), 7);
    for process in &processes {
        assert_eq!(threads(process.pid), process.threads);
        assert!((14..=15).contains(&process.threads), "not even: {processes:?}");
    }
    for process in &processes[1..] {
        assert_eq!(stat_number(&process.pid.to_string(), 4), i64::from(processes[0].pid), "the parent");
    }
    sleepers.stop().expect("a good end");
    for process in &processes {
        assert!(!exists(process.pid), "{process:?} is left");
    }
}

#[test]
fn one_thread_is_the_program_itself() {
    let sleepers = Sleepers::start(1, 1).expect("one thread");
    assert_eq!(threads(sleepers.processes()[0].pid), 1);
}

#[test]
fn sleepers_never_run() {
    let sleepers = Sleepers::start(50, 2).expect("50 threads");
    let [first, second] = *sleepers.processes() else { panic!("two processes") };
    let switches = || -> Vec<u64> {
        let others = tids(first.pid).into_iter().filter(|&tid| tid != first.pid).chain(tids(second.pid));
        others.flat_map(|tid| status_numbers(tid, "voluntary_ctxt_switches")).collect()
    };
    wait_until("all sleep", || {
        let states =
            tids(first.pid).into_iter().chain(tids(second.pid)).map(|tid| stat_field(&tid.to_string(), 3));
        states.into_iter().all(|state| state == "S")
    });
    let before = switches();
    assert_eq!(before.len(), 49);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(switches(), before);
}

#[test]
fn a_killed_program_takes_its_processes_along() {
    let sleepers = Sleepers::start(60, 6).expect("60 threads");
    let processes = sleepers.processes().to_vec();
    kill(processes[0].pid);
    for process in processes {
        wait_until("the sleepers die with their parent", || is_dead(process.pid));
    }
}

#[test]
fn a_limit_in_the_way_is_one_sentence() {
    let Err(Error::GaveUp(sentence)) = Sleepers::start(10_000_000, 1) else {
        panic!("10,000,000 threads started")
    };
    assert!(sentence.starts_with("cpuledger-load: no room for 10000000 threads beside the "), "{sentence}");
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
}

#[test]
fn fewer_threads_than_processes_make_no_sense() {
    assert!(matches!(Sleepers::start(3, 4), Err(Error::GaveUp(_))));
}

/// Kills a process that this test has started.
pub fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a living process");
}
