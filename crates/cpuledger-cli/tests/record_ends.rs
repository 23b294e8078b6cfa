//! When `record` ends, and what it does at the limit of the size of files.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use cpuledger_recording::Recording;

/// A machine may be slow; without its fault a command has ended long before.
const PATIENCE: Duration = Duration::from_secs(60);

fn record(folder: &std::path::Path, before: &str, options: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_cpuledger");
    let line = format!("{before} exec {binary} record \"$0\" --source procfs --min-free 0 {options}");
    let mut command = Command::new("timeout");
    command.args([&PATIENCE.as_secs().to_string(), "sh", "-c", &line]).arg(folder).stdin(Stdio::null());
    command.output().expect("it runs")
}

#[test]
fn a_duration_ends_an_interval_that_is_longer() {
    for (duration, interval) in [("0.3", "1000"), ("0.3", "0.2")] {
        let folder = tempfile::tempdir().expect("a folder");
        let begin = Instant::now();
        let output = record(folder.path(), "", &format!("--duration {duration} --interval {interval}"));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(begin.elapsed() < PATIENCE / 2);
        let mut recording = Recording::open(folder.path()).expect("a recording");
        let (first, last) = (recording.first().expect("one"), recording.last().expect("one"));
        let [first, last] = [first, last].map(|place| recording.entry(place).expect("it is there"));
        let length_ns = last.end_ns - first.start_ns;
        assert!(length_ns >= 250_000_000, "{length_ns} ns");
    }
}

#[test]
fn at_the_limit_of_the_size_of_files_recording_pauses() {
    let folder = tempfile::tempdir().expect("a folder");
    // 8 or 16 KiB, by the shell.
    let output = record(folder.path(), "ulimit -f 16;", "--interval 0.02 --duration 3");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}: {said}", output.status);
    assert!(said.contains("recording pauses: File too large"), "{said}");
    let mut recording = Recording::open(folder.path()).expect("a recording");
    let records = recording.len();
    assert!(records > 0);
    let mut next = recording.first();
    while let Some(place) = next {
        assert!(recording.read(place).expect("it reads").is_some(), "none is torn");
        next = recording.next(place);
    }
    for (_, segment) in recording.segments() {
        assert!(segment.header().is_some());
    }
}
