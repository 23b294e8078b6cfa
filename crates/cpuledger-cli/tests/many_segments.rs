//! A recording of more segments than a process may have open files.

mod recorded_frames;

use std::process::{Command, Stdio};

use recorded_frames::{frame, record};
use serde_json::Value;

const SEGMENTS: u64 = 300;

#[test]
fn what_reads_a_recording_needs_few_open_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    for second in 0..SEGMENTS {
        record(&recording, [frame(second, &[(7, b"worker", 0, 1_000_000, 0)], &[], 7)]);
    }
    let run = |line: &str| {
        let script = format!("ulimit -n 64; exec {} {line}", env!("CARGO_BIN_EXE_cpuledger"));
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(&folder).stdin(Stdio::null()).env("TZ", "UTC");
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        (String::from_utf8(output.stdout).expect("UTF-8"), said)
    };
    let intervals = |line: &str| {
        let report: Value = serde_json::from_str(&run(line).0).expect("JSON");
        report["intervals"].as_u64().expect("a number")
    };
    assert_eq!(intervals("report recording --format json"), SEGMENTS);
    let narrow = "--since '2026-03-01 00:04:00' --until '2026-03-01 00:04:03'";
    assert_eq!(intervals(&format!("report recording --format json {narrow}")), 3);
    let (text, _) = run(&format!("top --batch --replay recording --format json {narrow}"));
    assert_eq!(text.lines().count(), 3, "{text}");
    let (_, said) = run("export recording --output tables --format csv");
    assert!(said.contains("300 intervals and"), "{said}");
}
