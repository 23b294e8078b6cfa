//! What `top --record` keeps, `top --replay` prints as it was printed. Needs root.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use cpuledger_load::{Mixture, MixturePlan, Storm, StormPlan};
use serde_json::Value;

fn top(options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["top", "--batch"]).args(options).stdin(Stdio::null());
    // There is no service.
    command.env("CPULEDGER_SOCKET", "/nowhere");
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Lines of a run, with another name of the source.
fn lines(output: &Output, source: &str) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).expect("JSON is UTF-8");
    let (before, after) = (format!("\"source\":\"{source}\""), "\"source\":\"replay\"");
    text.lines().map(|line| line.replacen(&before, after, 1)).collect()
}

/// Prints intervals of a storm while they are recorded, then the recording.
fn assert_replays(plan: &StormPlan, source: &str, options: &[&str]) {
    let storm = Storm::start(plan).expect("a storm");
    assert_replays_load(source, options, 50);
    storm.stop().expect("it ends");
}

/// Likewise of a load that runs, in whose first interval more than `least_dead` tasks die.
fn assert_replays_load(source: &str, options: &[&str], least_dead: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("recording");
    let path = folder.to_str().expect("UTF-8");
    let common = [&["--format", "json"], options].concat();
    let live = top(&[&common[..], &["--source", source, "-n", "6", "-d", "0.5", "--record", path]].concat());
    let live = lines(&live, source);
    let replayed = lines(&top(&[&common[..], &["--replay", path]].concat()), "replay");
    assert_eq!(live.len(), 6);
    assert_eq!(replayed.len(), live.len());
    for (replayed, live) in replayed.iter().zip(&live) {
        assert!(live.contains("\"source\":\"replay\""));
        assert!(replayed == live, "{replayed}\n---\n{live}");
    }
    let first: Value = serde_json::from_str(&live[0]).expect("JSON");
    let dead = first["exited"].as_array().map_or(0, Vec::len);
    assert!(dead > least_dead, "{dead} died");
    assert_merges(&folder, &live, options);
}

/// How long an interval is.
fn length_ns(interval: &Value) -> u64 {
    let [start, end] = ["start_ns", "end_ns"].map(|key| interval[key].as_u64().expect("a time"));
    end - start
}

/// Intervals of 1.5 s, to half an interval, are the sums of those that they are made of. A late cut makes one longer.
fn assert_merges(folder: &Path, live: &[String], options: &[&str]) {
    const WANTED_NS: u64 = 1_500_000_000;
    let path = folder.to_str().expect("UTF-8");
    let options = [&["--format", "json", "--replay", path, "-d", "1.5"], options].concat();
    let merged = lines(&top(&options), "replay");
    let parse = |line: &String| -> Value { serde_json::from_str(line).expect("JSON") };
    let mut rest = live.iter().map(parse).peekable();
    for merged in merged.iter().map(parse) {
        let mut parts = vec![rest.next().expect("it is made of some")];
        let mut long_ns = length_ns(&parts[0]);
        while long_ns + length_ns(&parts[parts.len() - 1]) / 2 < WANTED_NS
            && let Some(part) = rest.next()
        {
            long_ns += length_ns(&part);
            parts.push(part);
        }
        let last = parts.last().expect("it is made of some");
        assert_eq!((&merged["start_ns"], &merged["end_ns"]), (&parts[0]["start_ns"], &last["end_ns"]));
        let dead: usize = parts.iter().map(|part| part["exited"].as_array().expect("a list").len()).sum();
        assert_eq!(merged["exited"].as_array().map(Vec::len), Some(dead), "each death is told");
        for key in ["capacity_ns", "attributed_ns", "idle_ns", "unattributed_ns"] {
            let sum: Option<u64> = parts.iter().map(|part| part[key].as_u64()).sum();
            assert_eq!(merged[key].as_u64(), sum, "{key}");
        }
        let rows = merged["processes"].as_array().expect("a list");
        let sum: u64 = rows.iter().filter_map(|row| row["cpu_ns"].as_u64()).sum();
        assert_eq!(merged["attributed_ns"].as_u64(), Some(sum), "to the nanosecond");
    }
    assert!(merged.len() < live.len() && rest.next().is_none(), "all are in it");
}

#[test]
fn a_fork_storm_is_replayed_to_the_byte_root() {
    let plan = StormPlan { workers: 2, ..StormPlan::default() };
    assert_replays(&plan, "ledger", &[]);
    assert_replays(&plan, "ledger", &["-H", "--all"]);
}

#[test]
fn a_thread_storm_is_replayed_to_the_byte_root() {
    assert_replays(&StormPlan { workers: 2, threads: true, ..StormPlan::default() }, "ledger", &["-H"]);
}

#[test]
fn a_build_is_replayed_to_the_byte_root() {
    let plan = MixturePlan { shells: 1, compilers: 2, thread_makers: 0, pairs: 0 };
    let _build = Mixture::of(&plan).expect("compilers");
    assert_replays_load("ledger", &["-H"], 0);
    assert_replays_load("ledger", &[], 0);
}

/// Other sources know less, and what is not known stays unknown.
#[test]
fn the_walk_is_replayed_to_the_byte_root() {
    assert_replays(&StormPlan { workers: 1, ..StormPlan::default() }, "walk", &["-H"]);
}
