//! Long listings, whose lines several threads make: each line is there once, in the order of procps.

mod procps;

use cpuledger_load::Sleepers;
use procps::{ours, theirs};

/// Parts of a listing have some 2,000 tasks: here are several in one process, and processes that end within one.
const TASKS: usize = 12_000;

/// The lines that begin with one of these pids.
fn lines_of(pids: &[i32], text: &str) -> Vec<String> {
    let pid = |line: &str| line.split_whitespace().next().and_then(|word| word.parse().ok());
    let is_theirs = |line: &&str| pid(line).is_some_and(|pid: i32| pids.contains(&pid));
    text.lines().filter(is_theirs).map(str::to_owned).collect()
}

#[test]
fn lines_come_in_the_order_of_procps_root() {
    for processes in [1, 7] {
        let sleepers = Sleepers::start(TASKS, processes).expect("the sleepers start");
        let pids: Vec<i32> = sleepers.processes().iter().map(|process| process.pid).collect();
        for arguments in [&["-eLo", "pid,tid,comm"][..], &["axm", "-o", "pid,tid,comm"]] {
            let [ours, theirs] =
                [ours("walk", arguments), theirs(arguments)].map(|text| lines_of(&pids, &text));
            assert!(theirs.len() >= if arguments.len() == 2 { TASKS } else { processes });
            assert_eq!(ours, theirs, "{arguments:?} of {processes} processes");
        }
        // A page has 100 lines: those are made by one thread.
        let pages = ours("walk", &["-eLo", "pid,tid,comm", "--headers", "--rows", "100"]);
        assert_eq!(
            lines_of(&pids, &pages),
            lines_of(&pids, &ours("walk", &["-eLo", "pid,tid,comm", "--no-headers"]))
        );
        sleepers.stop().expect("the sleepers end");
    }
}
