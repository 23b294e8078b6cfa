//! What a listing from /proc costs in system calls, as strace counts them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpuledger_load::Sleepers;
use cpuledger_load::scene::alone;

/// Processes beside what the machine runs anyway.
const PROCESSES: usize = 300;

/// Beside openat, read and close a process: loading the program, opening /proc, finding out what it can say.
const CONSTANT: usize = 125;

/// How the population may change between runs of the example.
const DRIFT: usize = 30;

/// An example of this package; `cargo test` builds them beside the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.ancestors().nth(2).map(|profile| profile.join("examples").join(name)).expect("a profile folder")
}

/// The numbers that the example printed, and its calls by name.
fn trace(arguments: &[&str]) -> (Vec<usize>, BTreeMap<String, usize>) {
    let path = std::env::temp_dir().join(format!(
        "cpuledger-procfs-trace-{}-{}",
        std::process::id(),
        arguments.join("-")
    ));
    let output = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&path)
        .arg(example("procfs"))
        .args(arguments)
        .env_remove("LD_LIBRARY_PATH") // cargo's, for which the loader looks into many folders
        .output()
        .expect("strace runs: install the package strace");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut calls = summary(&path);
    calls.remove("fcntl"); // of the standard library, which checks each close in a debug build
    std::fs::remove_file(&path).expect("the trace is ours");
    let printed = String::from_utf8(output.stdout).expect("numbers");
    (printed.split_whitespace().map(|number| number.parse().expect("a number")).collect(), calls)
}

/// Calls by name, from the table of `strace -c`: % time, seconds, usecs/call, calls, [errors,] syscall.
fn summary(path: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(path).expect("a trace");
    let calls: BTreeMap<String, usize> = text
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let name = words.last().filter(|name| words.len() >= 5 && **name != "total")?;
            Some(((*name).to_owned(), words[3].parse().ok()?))
        })
        .collect();
    assert!(calls.contains_key("openat") && calls.contains_key("getdents64"), "no table: {text}");
    calls
}

fn total(calls: &BTreeMap<String, usize>) -> usize {
    calls.values().sum()
}

#[test]
fn processes_cost_three_system_calls_each() {
    let _alone = alone();
    let _sleepers = Sleepers::start(PROCESSES, PROCESSES).expect("processes that sleep");
    let (counts, calls) = trace(&["1"]);
    let processes = counts[0];
    assert!(processes >= PROCESSES, "{processes}");
    let sum = total(&calls);
    assert!(sum <= 3 * processes + CONSTANT, "{sum} calls for {processes} processes: {calls:?}");
    assert!(sum >= 3 * processes, "{sum} calls for {processes} processes: strace has not seen them");
}

#[test]
fn a_further_snapshot_costs_nothing_but_its_processes() {
    let _alone = alone();
    let _sleepers = Sleepers::start(PROCESSES, PROCESSES).expect("processes that sleep");
    let ((_, one), (counts, eleven)) = (trace(&["1"]), trace(&["11"]));
    let each = (total(&eleven) - total(&one)) as f64 / 10.0;
    // Rewinding the directory, and reading it to its end.
    let expected = (3 * counts[0] + 3) as f64;
    assert!((each - expected).abs() <= 3.0 * DRIFT as f64, "{each} calls a snapshot, not {expected}");
}

#[test]
fn processes_cost_the_same_whatever_threads_they_have() {
    let _alone = alone();
    let few = trace(&["1"]);
    let _sleepers = Sleepers::start(2000, 1).expect("threads that sleep");
    let many = trace(&["1"]);
    let difference = total(&many.1).abs_diff(total(&few.1));
    assert!(difference <= 3 * DRIFT, "{difference} calls more for 2,000 threads of one process");
}

#[test]
fn threads_cost_three_system_calls_each_only_when_asked_for() {
    let _alone = alone();
    let _sleepers = Sleepers::start(2000, 1).expect("threads that sleep");
    let (counts, calls) = trace(&["1", "tasks"]);
    let (processes, tasks) = (counts[0], counts[1]);
    assert!(tasks >= 2000, "{tasks}");
    let sum = total(&calls);
    // A process with several threads costs opening, reading to its end and closing its list of them.
    let limit = 3 * (processes + tasks) + 4 * processes + CONSTANT;
    assert!(sum <= limit, "{sum} calls for {tasks} tasks of {processes} processes: {calls:?}");
}
