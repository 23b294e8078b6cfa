//! How many intervals `report`, `top --replay` and `export` find in a span of a recording.

use std::path::Path;
use std::process::{Command, Output};

use cpuledger_load::with_export;
use serde_json::Value;

/// The binary, with a recording behind these arguments, in this time zone.
pub fn run(arguments: &[&str], path: &Path, zone: &str) -> Output {
    let mut command = Command::new(with_export(env!("CARGO_BIN_EXE_cpuledger")));
    command.args(arguments).arg(path).env("TZ", zone).output().expect("it runs")
}

/// How many intervals the report has of a span.
pub fn reported(path: &Path, span: &[&str]) -> u64 {
    let output = run(&[&["report", "--format", "json"][..], span].concat(), path, "UTC");
    if output.status.code() == Some(1) {
        assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is recorded in that span"));
        return 0;
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["intervals"].as_u64().expect("a number")
}

/// How many the replay prints; gaps are none.
pub fn replayed(path: &Path, span: &[&str]) -> u64 {
    let output = run(&[&["top", "-b", "--format", "json"][..], span, &["--replay"]].concat(), path, "UTC");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let intervals = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let is_gap = |interval: &Value| interval["unattributed_by"]["not_attached_ns"] == interval["capacity_ns"];
    intervals.filter(|interval| !is_gap(interval)).count() as u64
}

/// How many the export has: the rows of intervals.
pub fn exported(path: &Path, span: &[&str]) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().to_str().expect("UTF-8");
    let output = run(&[&["export", "--format", "csv", "-o", to][..], span].concat(), path, "UTC");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let says_nothing = said.ends_with("nothing is recorded of that time\n");
    assert_eq!(output.status.code(), Some(i32::from(says_nothing)), "{said}");
    let last = said.lines().nth_back(usize::from(says_nothing)).expect("a line");
    let words: Vec<&str> = last.split(' ').collect();
    let place = words.iter().position(|word| word.starts_with("interval")).expect("a number of intervals");
    let intervals = words[place - 1].parse().expect("a number");
    assert_eq!(says_nothing, intervals == 0, "{said}");
    intervals
}
