//! The same hostile names through each output of what reads a recording: `top`, `report` and `export`. Those of tasks that live are
//! in `hostile_tasks_root`, and each format of an export is read back in `names` of cpuledger-export.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cpuledger_frame::{Column, Frame, Section};
use cpuledger_recording::{Options, Writer};

const NAMES: [&[u8]; 9] = [
    b"two\nlines",
    b"\x1b[31mred\x07",
    b"\xc2\x9b1m",
    "\u{202e}gnp.exe".as_bytes(),
    b"\xff\xfe",
    "\u{fffd}\u{fffd}".as_bytes(),
    b"back\\slash",
    b"=1+1",
    b"<script>&'\"",
];

/// What each is in text, JSON and CSV.
const ESCAPED: [&str; 9] = [
    r"two\nlines",
    r"\x1b[31mred\x07",
    r"\xc2\x9b1m",
    r"\xe2\x80\xaegnp.exe",
    r"\xff\xfe",
    "\u{fffd}\u{fffd}",
    r"back\\slash",
    "=1+1",
    "<script>&'\"",
];

fn record(path: &Path) {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut writer = Writer::open(path, Options::default()).expect("a writer");
    for second in 0..2 {
        let mut frame = Frame::new();
        let (source, boot) = (frame.intern(b"ledger"), frame.intern(b"\x1b]0;boot\x07"));
        let rows = NAMES.len() as u64;
        for (column, value) in [
            (Column::SOURCE, source),
            (Column::BOOT_ID, boot),
            (Column::START_NS, second * SECOND_NS),
            (Column::END_NS, (second + 1) * SECOND_NS),
            (Column::END_REALTIME_NS, (1_700_000_000 + second) * SECOND_NS),
            (Column::ONLINE_CPUS, 1),
            (Column::CAPACITY_NS, SECOND_NS),
            (Column::ATTRIBUTED_NS, rows * 1_000_000),
            (Column::IDLE_NS, SECOND_NS - rows * 1_000_000),
            (Column::UNATTRIBUTED_NS, 0),
            (Column::KNOWS_EXITS, 1),
        ] {
            frame.set_figure(column, Some(value));
        }
        let names: Vec<u64> = NAMES.iter().map(|name| frame.intern(name)).collect();
        for section in [Section::Processes, Section::Cgroups] {
            let table = frame.table_mut(section);
            table.reset(NAMES.len());
            table.fill(Column::CGROUP_ID, (0..rows).map(|row| Some(row + 100)));
        }
        frame.table_mut(Section::Cgroups).fill(Column::PATH, names.iter().copied().map(Some));
        let table = frame.table_mut(Section::Processes);
        for column in [Column::PID, Column::TID] {
            table.fill_signed(column, (0..rows).map(|row| Some(row as i64 + 1)));
        }
        table.fill(Column::START_TIME_NS, (0..rows).map(Some));
        table.fill(Column::EUID, (0..rows).map(|_| Some(0)));
        for column in [Column::CPU_NS, Column::SELF_NS] {
            table.fill(column, (0..rows).map(|_| Some(1_000_000)));
        }
        table.fill(Column::COMM, names.into_iter().map(Some));
        writer.append(&frame).expect("written");
    }
    writer.close().expect("closed");
}

fn run(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    let output = command.args(arguments).stdin(Stdio::null()).env("COLUMNS", "300").output();
    let output = output.expect("it runs");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    assert_is_clean(&said, arguments);
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn assert_is_clean(text: &str, of: &[&str]) {
    let is_bad = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
    assert!(!text.contains(is_bad), "{of:?}: {:?}", text.lines().find(|line| line.contains(is_bad)));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn no_output_of_a_recording_has_a_control_or_merges_two_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    record(&recording);
    let recording = recording.to_str().expect("a path");
    let mut outputs: Vec<(String, String)> = Vec::new();
    for format in ["text", "json", "csv", "csv-safe"] {
        let line = ["top", "-b", "-n", "1", "--replay", recording, "--format", format];
        outputs.push((format.into(), run(&line)));
        outputs.push((format.into(), run(&["report", recording, "--format", format])));
        outputs.push((format.into(), run(&["report", recording, "--by", "process", "--format", format])));
        outputs.push((format.into(), run(&["report", recording, "--by", "cgroup", "--format", format])));
    }
    outputs
        .push(("by cgroup".into(), run(&["top", "-b", "-n", "1", "--replay", recording, "--by", "cgroup"])));
    outputs.push(("html".into(), run(&["report", recording, "--format", "html"])));
    for format in ["csv", "csv-safe", "jsonl"] {
        let to = folder.path().join(format);
        let to = to.to_str().expect("a path");
        run(&["export", recording, "-o", to, "--format", format]);
        let texts: Vec<String> = files(&Path::new(to).join("usage"))
            .iter()
            .map(|file| fs::read_to_string(file).expect("UTF-8"))
            .collect();
        outputs.push((format.into(), texts.concat()));
    }
    for (number, (format, text)) in outputs.iter().enumerate() {
        assert_is_clean(text, &[format, &number.to_string()]);
        for name in ESCAPED {
            let expected = match format.as_str() {
                "json" | "jsonl" => name.replace('\\', r"\\").replace('"', "\\\""),
                "csv" => name.replace('"', "\"\""),
                "csv-safe" if name.starts_with('=') => format!("'{name}"),
                "csv-safe" => name.replace('"', "\"\""),
                // A path that is no text is told by the number of its cgroup.
                "by cgroup" if name == r"\xff\xfe" => "cgroup 104".into(),
                "html" if name.starts_with('<') => "&lt;script&gt;&amp;".into(),
                _ => name.to_owned(),
            };
            assert!(text.contains(&expected), "output {number}, {format}: {expected} is not in {text}");
        }
    }
}
