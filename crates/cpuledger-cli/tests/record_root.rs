//! `cpuledger record` and `top --record`: what is recorded is what was shown, whatever ends the recording. Needs root.

mod service;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cpuledger::{Interval, Snapshot, frames};
use cpuledger_load::ForkingShells;
use cpuledger_load::scene::alone;
use cpuledger_recording::{Recording, Step};
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use service::Service;

/// For anything that does not take long.
const LONG: Duration = Duration::from_secs(20);

fn cpuledger() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.env_remove("SUDO_UID").env_remove("SUDO_GID").stdin(Stdio::null());
    // There is no service, unless a test starts one.
    command.env("CPULEDGER_SOCKET", "/nowhere");
    command
}

fn record(folder: &Path, options: &[&str]) -> Command {
    let mut command = cpuledger();
    command.arg("record").arg(folder).args(options).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A recorder that is killed at the end of the test, if it has not ended.
struct Recorder(Child);

impl Recorder {
    /// Starts it, and waits until it has recorded an interval.
    fn start(folder: &Path, options: &[&str]) -> Recorder {
        let mut recorder = Recorder(record(folder, options).spawn().expect("it starts"));
        wait_until(|| {
            assert!(recorder.0.try_wait().expect("a child").is_none(), "it has ended");
            open_segment(folder).is_some()
        });
        recorder
    }

    fn signal(&self, signal: Signal) {
        kill_process(rustix::process::Pid::from_child(&self.0), signal).expect("it lives");
    }

    /// Its exit code, and what it has said.
    fn wait(mut self) -> (Option<i32>, String) {
        let begin = Instant::now();
        while self.0.try_wait().expect("a child").is_none() {
            assert!(begin.elapsed() < LONG, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        let code = self.0.wait().expect("it has ended").code();
        let mut said = String::new();
        std::io::Read::read_to_string(self.0.stderr.as_mut().expect("a pipe"), &mut said).expect("text");
        (code, said)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONG, "it does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The names of the segments of a tier, in their order.
fn segments(tier: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(tier) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("a name").file_name().into_string().expect("digits")).collect();
    names.sort();
    names
}

/// The segment that is being written.
fn open_segment(folder: &Path) -> Option<String> {
    segments(&folder.join("all")).into_iter().find(|name| name.ends_with(".open"))
}

/// All recorded intervals, each of which balances.
fn intervals(tier: &Path) -> Vec<(Snapshot, Interval)> {
    let mut recording = Recording::open(tier).expect("a recording");
    let (mut all, mut next) = (Vec::new(), recording.first());
    while let Some(place) = next {
        let Step::Record(record, behind) = recording.step(place).expect("it reads") else { panic!("a loss") };
        let (mut snapshot, mut interval) = (Snapshot::default(), Interval::default());
        frames::read(&record.frame, &mut snapshot, &mut interval).expect("an interval");
        assert_eq!(interval.imbalance_ns(), Some(0));
        let sum: u64 = interval.processes.iter().map(|usage| usage.cpu_ns).sum();
        assert_eq!(sum, interval.attributed_ns, "the rows have all the time");
        all.push((snapshot, interval));
        next = behind;
    }
    all
}

fn assert_no_gap(intervals: &[(Snapshot, Interval)]) {
    for two in intervals.windows(2) {
        assert_eq!(two[0].1.end_ns, two[1].1.start_ns, "they follow each other");
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
    let length_ns: u64 = intervals.iter().map(|(_, interval)| interval.length_ns()).sum();
    let length = length_ns as f64 / 1e9;
    assert_eq!(
        end,
        format!("cpuledger: recorded 11 intervals, {length:.3} s, to {name}: {bytes} bytes"),
        "1.05 s are 11 intervals"
    );
    assert_eq!(intervals.len(), 11);
    assert!(
        intervals
            .iter()
            .any(|(_, interval)| interval.exited.as_ref().is_some_and(|exited| !exited.is_empty()))
    );
    assert_eq!(fs::metadata(&folder).expect("a folder").permissions().mode() & 0o777, 0o750);
}

#[test]
fn signals_end_it_in_order_root() {
    let _alone = alone();
    for signal in [Signal::INT, Signal::TERM] {
        let folder = tempfile::tempdir().expect("a folder");
        let recorder = Recorder::start(folder.path(), &["--interval", "0.5", "--min-free", "0"]);
        // The thread that waits for signals is there when the first interval is.
        recorder.signal(signal);
        recorder.signal(signal);
        let (code, said) = recorder.wait();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(segments(&folder.path().join("all")), ["0000000000000000.seg"]);
    }
}

#[test]
fn a_directory_has_one_writer_root() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--interval", "0.05", "--min-free", "0"];
    let first = Recorder::start(folder.path(), &options);
    let second = record(folder.path(), &options).output().expect("it runs");
    let expected = format!("cpuledger: {}: another process records here\n", folder.path().display());
    assert_eq!((second.status.code(), said(&second)), (Some(1), expected));
    first.signal(Signal::INT);
    assert_eq!(first.wait().0, Some(0));
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

fn of_interval((snapshot, interval): &(Snapshot, Interval)) -> (Vec<u64>, Vec<(i64, u64)>, usize) {
    let rows = snapshot.processes.iter().zip(&interval.processes);
    let mut rows: Vec<_> = rows.map(|(row, usage)| (i64::from(row.pid.0), usage.cpu_ns)).collect();
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
