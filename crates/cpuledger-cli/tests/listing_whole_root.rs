//! A listing lacks no task that /proc shows, whatever its source, even if the kernel hides tasks from programs. Needs root.

use std::collections::BTreeSet;
use std::process::Command;

use cpuledger_load::{Sleepers, Storm, StormPlan, is_emulated};
use serde_json::Value;

/// The first process of the machine, which some hosts keep from BPF programs.
const INIT: i32 = 1;

/// What a command writes.
fn output(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
        .args(line.split(' '))
        .env_remove("COLUMNS")
        .output()
        .expect("cpuledger starts");
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), sentence.as_str()), (Some(0), ""), "{line}");
    // The text of status has names of tasks as they are.
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The numbers that lines are made of.
fn numbers(text: &str) -> BTreeSet<Vec<i32>> {
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{word} is a number"));
    text.lines().map(|line| line.split_whitespace().map(number).collect()).collect()
}

/// The numbers among the names in a directory; none where it is gone.
fn listed(directory: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Every process of /proc, or every task as its process and itself, with its start, so that none is taken for another.
fn tasks(has_threads: bool) -> BTreeSet<(Vec<i32>, String)> {
    let mut tasks = BTreeSet::new();
    for pid in listed("/proc") {
        let tids = if has_threads { listed(&format!("/proc/{pid}/task")) } else { vec![pid] };
        for tid in tids {
            let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")) else { continue };
            let start = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19));
            let numbers = if has_threads { vec![pid, tid] } else { vec![pid] };
            tasks.insert((numbers, start.expect("a start").to_owned()));
        }
    }
    tasks
}

/// Each task that is there before a listing and after it is in it.
fn no_task_is_missing(has_threads: bool, list: impl FnOnce() -> BTreeSet<Vec<i32>>) {
    let before = tasks(has_threads);
    let listed = list();
    let after = tasks(has_threads);
    let stayed: BTreeSet<Vec<i32>> =
        before.intersection(&after).map(|(numbers, _)| numbers.clone()).collect();
    assert!(
        stayed.contains(&if has_threads { vec![INIT; 2] } else { vec![INIT] }),
        "/proc shows the first process"
    );
    let missing: Vec<_> = stayed.difference(&listed).collect();
    assert!(missing.is_empty(), "{missing:?} of {} are not listed", stayed.len());
}

#[test]
fn ps_lists_every_task_root() {
    // Enough threads for `auto` to choose the walk.
    let _sleepers = Sleepers::start(if is_emulated() { 500 } else { 1_200 }, 2).expect("threads that sleep");
    for source in ["auto", "walk"] {
        for (line, has_threads) in [
            ("ps -e -o pid= --source", false),
            ("ps ax -o pid= --sort -pid --source", false),
            ("ps -eL -o pid=,lwp= --source", true),
            ("ps axH -o pid=,lwp= --sort lwp --source", true),
        ]
        .into_iter()
        // On an emulated CPU `auto`, which is one of the other sources, is asked for half of them.
        .skip(if is_emulated() && source == "auto" { 2 } else { 0 })
        {
            no_task_is_missing(has_threads, || numbers(&output(&format!("{line} {source}"))));
        }
    }
}

#[test]
fn ps_lists_every_task_while_tasks_come_and_go_root() {
    let storm = Storm::start(&StormPlan::default()).expect("a storm");
    for _ in 0..if is_emulated() { 2 } else { 3 } {
        no_task_is_missing(false, || numbers(&output("ps -e -o pid= --source walk")));
        no_task_is_missing(true, || numbers(&output("ps -eL -o pid=,lwp= --source walk")));
    }
    drop(storm);
}

#[test]
fn the_first_process_is_found_by_its_number_root() {
    assert_eq!(output("ps -p 1 -o pid= --source walk").trim(), "1");
    assert_eq!(output("ps -q 1 -o pid= --source walk").trim(), "1");
    let threads = listed("/proc/1/task").len();
    let rows = output("ps -L -p 1 -o lwp=,nlwp= --source walk");
    assert!(rows.lines().count().abs_diff(threads) <= 1, "{threads} threads:\n{rows}");
    let full = output("ps -eLf --source walk");
    assert!(full.lines().any(|line| line.split_whitespace().nth(1) == Some("1")), "{full}");
    // Its name is that of its file.
    let comm = std::fs::read_to_string("/proc/1/comm").expect("a name");
    assert_eq!(output("ps -p 1 -o comm= --source walk").trim(), comm.trim());
}

#[test]
fn top_lists_every_task_root() {
    for source in ["ledger", "walk"] {
        let line = format!("top --batch --all -H -n 2 -d 0.1 --format json --source {source}");
        let mut last = Value::Null;
        let rows = |last: &Value, kind: &str, keys: &[&str]| -> BTreeSet<Vec<i32>> {
            let number = |row: &Value, key: &str| row[key].as_i64().expect("a number") as i32;
            let rows = last[kind].as_array().expect("rows").iter();
            rows.map(|row| keys.iter().map(|key| number(row, key)).collect()).collect()
        };
        no_task_is_missing(true, || {
            last = serde_json::from_str(output(&line).lines().last().expect("an interval")).expect("JSON");
            rows(&last, "tasks", &["pid", "tid"])
        });
        assert!(rows(&last, "processes", &["pid"]).contains(&vec![INIT]), "{source}");
        let once = rows(&last, "tasks", &["tid"]).len();
        assert_eq!(once, last["tasks"].as_array().expect("rows").len(), "{source}: no task is there twice");
        // Rows of those that the kernel keeps from programs are named, and begin at a tick.
        let told: Vec<i64> =
            last["from_procfs"].as_array().expect("a list").iter().filter_map(Value::as_i64).collect();
        for row in last["tasks"]
            .as_array()
            .expect("rows")
            .iter()
            .filter(|row| row["tid"].as_i64().is_some_and(|tid| told.contains(&tid)))
        {
            // One that had a CPU at a cut is in the books with that time.
            if source == "ledger" && row["cpu_ns"].as_u64().is_some_and(|ns| ns > 0) {
                continue;
            }
            assert_eq!(row["start_time_ns"].as_u64().map(|start| start % 10_000_000), Some(0), "{row}");
            // The hooks are not shown its switches. (Of others there may be rows as they were too young for the walk.)
            if row["pid"] == INIT {
                assert_eq!(row["cpu_ns"].is_null(), source == "ledger", "{row}");
            }
        }
    }
    assert!(
        output("top --batch --all -n 1 -d 0.05 -p 1 --source ledger")
            .lines()
            .any(|line| { line.split_whitespace().next() == Some("1") })
    );
}

#[test]
fn status_lists_every_task_root() {
    let pids = || {
        let text = output("status --all --source walk");
        let pids = text.lines().filter_map(|line| line.strip_prefix("Pid:\t"));
        pids.map(|pid| vec![pid.parse().expect("a number")]).collect()
    };
    no_task_is_missing(false, pids);
}

/// The switch to a hidden task may be shown where the one away from it is not: what it has used is unknown, not 0.
#[test]
fn no_hidden_task_has_used_nothing_root() {
    for line in output("top --batch --all -H -n 15 -d 0.05 --format json --source ledger").lines() {
        let interval: Value = serde_json::from_str(line).expect("JSON");
        let told = interval["from_procfs"].as_array().expect("a list");
        let rows = interval["tasks"].as_array().expect("rows").iter();
        for row in rows.filter(|row| told.contains(&row["tid"])) {
            assert_ne!(row["cpu_ns"].as_u64(), Some(0), "{row}");
        }
    }
}
