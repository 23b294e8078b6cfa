//! The memory of the service after a storm of tasks: what it took goes back. Needs root.

mod service;

use std::time::{Duration, Instant};

use cpuledger_load::scene::alone;
use cpuledger_load::{RaisedLimits, Sleepers};
use cpuledger_proc::task::stat::{Stat, parse_stat};
use cpuledger_service::client::Client;
use cpuledger_service::varlink::Subscribe;
use service::{Service, TIMEOUT};

/// How many processes live and die at once.
const PROCESSES: usize = 12_000;
/// What is not given back: parts of pages, and room that the next intervals need.
const SLACK_KIB: u64 = 5 * 1024;

/// What it holds, in KiB.
fn held(service: &Service) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.child.id())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("the kernel tells it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn what_a_storm_took_goes_back_root() {
    let _alone = alone();
    let service = Service::start("");
    let mut client = Client::connect(&service.socket(), TIMEOUT).expect("it listens");
    // So that frames are made and kept.
    let subscribed = client.subscribe(&Subscribe::default());
    let _reader = subscribed.expect("a ring");
    std::thread::sleep(Duration::from_secs(2));
    let before = held(&service);
    let _limits = RaisedLimits::for_threads(PROCESSES).expect("limits can be raised");
    let storm = Sleepers::start(PROCESSES, PROCESSES).expect("they start");
    std::thread::sleep(Duration::from_secs(1));
    let at_most = held(&service);
    drop(storm);
    assert!(
        at_most > before + 2 * SLACK_KIB,
        "{before} KiB before and {at_most} KiB in the storm: it was none"
    );
    let begin = Instant::now();
    while held(&service) > before * 6 / 5 + SLACK_KIB {
        let held = held(&service);
        assert!(
            begin.elapsed() < TIMEOUT,
            "{before} KiB before a storm, and {held} KiB after it ({at_most} in it)"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Beside thousands of runnable tasks it would cut seconds late.
#[test]
fn the_thread_that_closes_intervals_comes_before_others_root() {
    let service = Service::start("");
    // It listens before it has all threads.
    Client::connect(&service.socket(), TIMEOUT).expect("it listens").info().expect("it answers");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", service.child.id())).expect("it lives");
    let urgency = |task: std::io::Result<std::fs::DirEntry>| {
        let folder = task.expect("a thread").path();
        let stat = std::fs::read(folder.join("stat")).expect("it lives");
        let Stat { comm, nice, policy, rt_priority, .. } = parse_stat(&stat).expect("a line");
        let status = std::fs::read_to_string(folder.join("status")).expect("it lives");
        let may = status.lines().filter(|line| line.starts_with("Cap") || line.starts_with("NoNewPrivs"));
        let may: Vec<String> = may.map(str::to_owned).collect();
        (String::from_utf8_lossy(comm).into_owned(), (nice, policy, rt_priority), may)
    };
    let all: Vec<_> = tasks.map(urgency).collect();
    // SCHED_RR is 2. Calls of users are answered by a thread as any other, and so is what a thread starts that helps it for a while.
    let urgent: Vec<_> = all.iter().filter(|(_, urgency, _)| *urgency != (0, 0, 0)).collect();
    assert_eq!(urgent.len(), 1, "{all:?}");
    assert_eq!((urgent[0].0.as_str(), urgent[0].1), ("books", (-20, 2, 1)), "{all:?}");
    // It reads the state of containers, which is root's as it is.
    let (cgroups, others): (Vec<_>, Vec<_>) = all.iter().partition(|(name, ..)| name == "cgroups");
    for (_, _, may) in cgroups {
        assert!(may.iter().any(|line| line.ends_with("CapEff:\t0000000000000000")), "{may:?}");
    }
    for (name, _, may) in &others {
        assert_eq!(*may, others[0].2, "{name} may what the others may");
    }
}
