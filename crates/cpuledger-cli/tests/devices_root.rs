//! What each disk did, beside two loop devices whose requests are known: what is recorded and reported of them, what `top --by device` prints
//! meanwhile, and what /proc/diskstats has. Needs root, losetup and Linux 6.5.

mod recorder;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_load::{LoopDevice, not_run};
use rustix::process::Signal;
use serde_json::Value;

use recorder::{LONG, Recorder, cpuledger};

const BLOCK: u64 = 4096;

/// Reads of the one device, and writes of the other.
const READS: u64 = 150;
const WRITES: u64 = 70;

/// The keys that /proc/diskstats has, too.
const KEYS: [&str; 6] = ["reads", "read_bytes", "writes", "written_bytes", "discards", "discarded_bytes"];

fn dd(arguments: &[&str]) {
    let mut command = Command::new("dd");
    let status = command.args(arguments).arg("bs=4096").stderr(Stdio::null()).status();
    assert!(status.expect("coreutils are installed").success(), "{arguments:?}");
}

/// `top --by device`, whose lines are read as they come.
struct Top {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    intervals: Vec<Value>,
}

impl Top {
    /// Starts it, and waits for its first interval.
    fn start() -> Top {
        let mut command = cpuledger();
        command.args(["top", "-b", "-d", "0.5", "--by", "device", "--source", "ledger", "--format", "json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut top = Top { child, lines, intervals: Vec::new() };
        top.next();
        top
    }

    fn next(&mut self) {
        let line = self.lines.next().expect("it goes on").expect("UTF-8");
        self.intervals.push(serde_json::from_str(&line).expect("JSON"));
    }

    /// Of a device in all intervals so far, in the order of [`KEYS`].
    fn sums(&self, name: &str) -> [u64; 6] {
        let devices = |interval: &Value| interval["devices"].as_array().expect("it is kept").clone();
        let rows: Vec<Value> = self.intervals.iter().flat_map(devices).collect();
        sums_of(&rows, name)
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sums over the rows of that name.
fn sums_of(rows: &[Value], name: &str) -> [u64; 6] {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is a count"));
    KEYS.map(|key| rows.iter().filter(|row| row["name"] == name).map(|row| number(&row[key])).sum())
}

fn stats(device: &LoopDevice) -> [u64; 6] {
    device.stats().expect("it is there")
}

/// Waits until nothing asks these devices: who looks for file systems on new ones has gone.
fn settle(loops: &[LoopDevice; 2]) {
    let begin = Instant::now();
    let stats = || loops.each_ref().map(stats);
    let mut last = stats();
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = stats();
        if now == last {
            return;
        }
        assert!(begin.elapsed() < LONG, "somebody asks them again and again");
        last = now;
    }
}

fn printed(arguments: &[&str], books: &Path) -> String {
    let output = cpuledger().args(arguments).arg(books).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn report_and_top_have_what_diskstats_has_of_each_device_root() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let files = ["read", "written"].map(|name| folder.path().join(name));
    let loops = match (LoopDevice::new(&files[0]), LoopDevice::new(&files[1])) {
        (Ok(read), Ok(written)) => [read, written],
        (Err(error), _) | (_, Err(error)) => return not_run(&error.to_string()),
    };
    settle(&loops);
    let before = loops.each_ref().map(stats);
    let books = folder.path().join("books");
    let mut recorder = Recorder::start(&books, &["--with", "disk", "--source", "ledger", "-d", "0.5"]);
    if recorder.said.text().contains("tracepoint") {
        return not_run(&recorder.said.text());
    }
    let mut top = Top::start();
    let [input, output] = [format!("if={}", loops[0].path()), format!("of={}", loops[1].path())];
    dd(&[&input, "of=/dev/null", "iflag=direct", &format!("count={READS}")]);
    dd(&["if=/dev/zero", &output, "oflag=direct", "conv=notrunc", &format!("count={WRITES}")]);
    settle(&loops);
    let grown: [[u64; 6]; 2] = std::array::from_fn(|place| {
        let after = stats(&loops[place]);
        std::array::from_fn(|key| after[key] - before[place][key])
    });
    assert!(grown[0][0] >= READS && grown[0][1] >= READS * BLOCK, "{grown:?}");
    assert!(grown[1][2] >= WRITES && grown[1][3] >= WRITES * BLOCK, "{grown:?}");
    // The interval in which the last request ended is over after two more.
    (0..2).for_each(|_| top.next());
    for (device, grown) in loops.iter().zip(grown) {
        assert_eq!(top.sums(device.name()), grown, "top of {}", device.name());
    }
    drop(top);
    recorder.signal(Signal::INT);
    assert_eq!(recorder.wait(), Some(0), "{}", recorder.said.text());
    compare_with_recording(&loops, grown, &books);
}

/// The report of a recording, and its intervals: of each device what the kernel says, and over all devices what frames have as their sum.
fn compare_with_recording(loops: &[LoopDevice; 2], grown: [[u64; 6]; 2], books: &Path) {
    let report = printed(&["report", "--by", "device", "--format", "json", "--top", "1000"], books);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(report["disk_intervals"], report["device_intervals"], "{report}");
    let replayed = printed(&["top", "-b", "--by", "device", "--format", "json", "--replay"], books);
    let intervals: Vec<Value> =
        replayed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let devices = |interval: &Value| interval["devices"].as_array().expect("it is kept").clone();
    let replayed: Vec<Value> = intervals.iter().flat_map(devices).collect();
    for (device, grown) in loops.iter().zip(grown) {
        assert_eq!(sums_of(rows, device.name()), grown, "report of {}: {report}", device.name());
        assert_eq!(sums_of(&replayed, device.name()), grown, "replay of {}", device.name());
    }
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is a count"));
    for key in ["reads", "read_bytes", "read_ns", "writes", "written_bytes", "write_ns"] {
        let of_rows: u64 = rows.iter().map(|row| number(&row[key])).sum();
        let of_frames: u64 = intervals.iter().map(|interval| number(&interval[format!("ended_{key}")])).sum();
        assert_eq!(of_rows, of_frames, "{key}: {report}");
    }
    let text = printed(&["report", "--by", "device"], books);
    let names = loops.iter().map(LoopDevice::name);
    assert!(names.into_iter().all(|name| text.contains(&format!("  {name}\n"))), "{text}");
}
