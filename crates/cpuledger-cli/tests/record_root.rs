//! `cpuledger record` and `top --record`: what is recorded is what was shown, whatever ends the recording. Needs root.

mod recorder;
mod service;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use cpuledger::{Interval, clock};
use cpuledger_load::ForkingShells;
use cpuledger_load::scene::alone;
use cpuledger_recording::Recording;
use recorder::{Recorder, cpuledger, intervals, record, segments};
use rustix::process::Signal;
use serde_json::Value;
use service::Service;

fn assert_no_gap(intervals: &[Interval]) {
    for two in intervals.windows(2) {
        assert_eq!(two[0].end_ns, two[1].start_ns, "they follow each other");
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn it_records_for_a_time_and_says_what_root() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("books");
    let _shells = ForkingShells::start(1).expect("shells");
    let options = ["--interval", "0.1", "--duration", "1.05", "--min-free", "0"];
    let output = record(&folder, &options).output().expect("it runs");
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let [begin, end] = lines[..] else { panic!("two lines: {said}") };
    let name = folder.display();
    let expected =
        format!("cpuledger: recording to {name}: intervals of 0.1 s from the ledger; Ctrl-C ends it");
    assert_eq!(begin, expected);
    let files = segments(&folder.join("all"));
    assert_eq!(files, ["0000000000000000.seg"], "it is closed");
    let bytes = fs::metadata(folder.join("all").join(&files[0])).expect("a file").len();
    let intervals = intervals(&folder);
    assert_no_gap(&intervals);
    let length_ns: u64 = intervals.iter().map(Interval::length_ns).sum();
    let length = length_ns as f64 / 1e9;
    let count = intervals.len();
    assert_eq!(
        end,
        format!("cpuledger: recorded {count} intervals, {length:.3} s, to {name}: {bytes} bytes")
    );
    // 1.05 s are 11 intervals, and fewer where cuts are late.
    assert!((2..=11).contains(&count) && length >= 1.05, "{count} intervals of {length} s");
    assert!(
        intervals.iter().any(|interval| interval.exited.as_ref().is_some_and(|exited| !exited.is_empty()))
    );
    assert_eq!(fs::metadata(&folder).expect("a folder").permissions().mode() & 0o777, 0o750);
}

#[test]
fn signals_end_it_in_order_root() {
    let _alone = alone();
    for signal in [Signal::INT, Signal::TERM] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::start(folder.path(), &["--interval", "30", "--min-free", "0"]);
        // As timeout(1) does.
        recorder.signal(signal);
        recorder.signal(signal);
        assert_eq!(recorder.wait(), Some(0), "{}", recorder.said.text());
        recorder.said.wait_for("recorded 1 interval, 0.");
        assert_eq!(segments(&folder.path().join("all")), ["0000000000000000.seg"]);
    }
}

#[test]
fn a_directory_has_one_writer_root() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--interval", "0.05", "--min-free", "0"];
    let mut first = Recorder::start(folder.path(), &options);
    let second = record(folder.path(), &options).output().expect("it runs");
    let expected = format!("cpuledger: {}: another process records here\n", folder.path().display());
    assert_eq!((second.status.code(), said(&second)), (Some(1), expected));
    first.signal(Signal::INT);
    assert_eq!(first.wait(), Some(0));
}

/// Whether there is a segment behind that many, with an interval.
fn has_interval(tier: &Path, before: usize) -> bool {
    let Some(name) = segments(tier).into_iter().nth(before) else { return false };
    Recording::open(&tier.join(name)).is_ok_and(|mut recording| recording.first().is_some())
}

/// For how long a recorder that is dead, or dies, has waited for a CPU.
fn waited_for_cpu_ns(recorder: &Recorder) -> u64 {
    let path = format!("/proc/{}/schedstat", recorder.child.id());
    let text = fs::read_to_string(path).expect("it is not waited for");
    text.split(' ').nth(1).expect("three figures").parse().expect("a number")
}

/// It is killed at any moment. What has ended before is in the recording, and the next recorder begins a new segment.
#[test]
fn a_killed_recorder_loses_one_interval_at_most_root() {
    const INTERVAL_NS: u64 = 20_000_000;
    /// How late an interval is closed beside what the recorder waited for a CPU.
    const LATE_NS: u64 = 100_000_000;
    let _alone = alone();
    let runs = if std::env::var_os("CPULEDGER_TEST_FULL").is_some() { 1000 } else { 25 };
    let folder = tempfile::tempdir().expect("a folder");
    let tier = folder.path().join("all");
    let (mut killed_without, mut begun) = (0, 0);
    for run in 0..runs {
        let before = segments(&tier).len();
        let mut recorder = Recorder::start(folder.path(), &["--interval", "0.02", "--min-free", "0"]);
        if run % 2 == 0 {
            // It has an interval, however busy the machine is.
            recorder.wait_for(|| has_interval(&tier, before));
        }
        // 0 to 100 ms, in steps that meet no multiple of the interval.
        std::thread::sleep(Duration::from_micros(run * 37_123 % 100_000));
        recorder.child.kill().expect("SIGKILL is sent");
        let killed_ns = clock::monotonic_ns();
        let waited_ns = waited_for_cpu_ns(&recorder);
        assert_eq!(recorder.wait(), None);
        let own = segments(&tier);
        if own.len() == before {
            killed_without += 1;
            continue;
        }
        assert_eq!(own.len(), before + 1, "a segment of its own");
        assert!(own[before].ends_with(".open") && own[..before].iter().all(|name| name.ends_with(".cut")));
        let Some(last) = intervals(&tier.join(&own[before])).pop() else {
            // Between the header of the segment and its first record.
            begun += 1;
            continue;
        };
        assert!(
            last.end_ns + 2 * INTERVAL_NS + LATE_NS + waited_ns > killed_ns,
            "{} ms are lost",
            (killed_ns - last.end_ns) / 1_000_000
        );
    }
    assert!(killed_without <= runs / 2, "{killed_without} of {runs} had no interval");
    // One that ends in order finds all of them, and goes on behind.
    let output =
        record(folder.path(), &["--interval", "0.02", "--duration", "0.1"]).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    assert!(segments(&tier).pop().expect("its own").ends_with(".seg"));
    let all = intervals(folder.path());
    let mut recording = Recording::open(folder.path()).expect("a recording");
    let (losses, gaps) = (recording.losses().expect("it reads"), recording.gaps().expect("it reads"));
    // A write(2) is not torn by a signal: what is lost is the first interval of a segment that has nothing but its header.
    let lost: u64 = losses.iter().map(|loss| loss.intervals).sum();
    assert_eq!((lost, gaps.len() as u64), (begun, runs - killed_without - begun));
    assert_eq!(recording.len(), all.len() as u64);
}

/// What a line of JSON and an interval have in common: times, sums, and each process with its time.
fn of_json(line: &Value) -> (Vec<u64>, Vec<(i64, u64)>, usize) {
    let number = |of: &Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key} of {of}"));
    let rows = line["processes"].as_array().expect("a list");
    let mut rows: Vec<_> =
        rows.iter().map(|row| (row["pid"].as_i64().expect("a pid"), number(row, "cpu_ns"))).collect();
    rows.sort_unstable();
    let sums = ["start_ns", "end_ns", "capacity_ns", "attributed_ns", "idle_ns"];
    let exited = line["exited"].as_array().map_or(0, Vec::len);
    (sums.map(|key| number(line, key)).into(), rows, exited)
}

fn of_interval(interval: &Interval) -> (Vec<u64>, Vec<(i64, u64)>, usize) {
    let rows = interval.processes.iter();
    let mut rows: Vec<_> = rows.map(|row| (i64::from(row.task.pid.0), row.usage.cpu_ns)).collect();
    rows.sort_unstable();
    let Interval { start_ns, end_ns, capacity_ns, attributed_ns, idle_ns, .. } = interval;
    let sums = vec![*start_ns, *end_ns, *capacity_ns, *attributed_ns, idle_ns.expect("it is known")];
    (sums, rows, interval.exited.as_ref().map_or(0, Vec::len))
}

/// The same interval is printed and recorded, whatever the source.
fn assert_what_is_shown_is_recorded(socket: &Path, source: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("books");
    let mut top = cpuledger();
    top.args(["top", "-b", "-n", "5", "-d", "0.2", "--format", "json", "--source", source]);
    top.arg("--socket").arg(socket).arg("--record").arg(&folder);
    let output = top.output().expect("it runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    let lines = String::from_utf8(output.stdout).expect("JSON");
    let live: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let recorded = intervals(&folder);
    assert_eq!(live.len(), 5);
    assert_eq!(
        live.iter().map(of_json).collect::<Vec<_>>(),
        recorded.iter().map(of_interval).collect::<Vec<_>>(),
    );
    assert!(live.iter().all(|line| line["source"] == source));
}

#[test]
fn top_records_what_it_shows_root() {
    let _alone = alone();
    let _shells = ForkingShells::start(1).expect("shells");
    assert_what_is_shown_is_recorded(Path::new("/nowhere"), "ledger");
    let service = Service::start("");
    assert_what_is_shown_is_recorded(&service.socket(), "service");
}
