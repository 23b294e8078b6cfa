//! The same hostile names through each output of what reads a recording: `top`, the screen, `report` and `export`. Those of tasks that live are
//! in `hostile_tasks_root`, and each format of an export is read back in `names` of cpuledger-export.

mod tmux;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cpuledger_load::names::{HOSTILE, foul};
use cpuledger_load::with_export;
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_recording::{Options, Writer};
use tmux::Terminal;

/// What all those that are not shown use in a second.
const HIDDEN_NS: u64 = 7_000_000;

fn record(path: &Path) {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut writer = Writer::open(path, Options::default()).expect("a writer");
    for second in 0..2 {
        let mut frame = Frame::new();
        let (source, boot) = (frame.intern(b"ledger"), frame.intern(b"\x1b]0;boot\x07"));
        let rows = HOSTILE.len() as u64;
        for (column, value) in [
            (Column::SOURCE, source),
            (Column::BOOT_ID, boot),
            (Column::START_NS, second * SECOND_NS),
            (Column::END_NS, (second + 1) * SECOND_NS),
            (Column::END_REALTIME_NS, (1_700_000_000 + second) * SECOND_NS),
            (Column::ONLINE_CPUS, 1),
            (Column::CAPACITY_NS, SECOND_NS),
            (Column::ATTRIBUTED_NS, rows * 1_000_000 + HIDDEN_NS),
            (Column::IDLE_NS, SECOND_NS - rows * 1_000_000 - HIDDEN_NS),
            (Column::UNATTRIBUTED_NS, 0),
            (Column::KNOWS_EXITS, 1),
        ] {
            frame.set_figure(column, Some(value));
        }
        let names: Vec<u64> = HOSTILE.iter().map(|(name, _)| frame.intern(name)).collect();
        let others = frame.intern(b"(others)");
        let table = frame.table_mut(Section::Cgroups);
        table.reset(HOSTILE.len());
        table.fill(Column::CGROUP_ID, (0..rows).map(|row| Some(row + 100)));
        table.fill(Column::PATH, names.iter().copied().map(Some));
        // First comes the row of all that is not shown, which has the pid 0.
        let table = frame.table_mut(Section::Processes);
        table.reset(HOSTILE.len() + 1);
        for column in [Column::PID, Column::TID] {
            table.fill_signed(column, (0..=rows).map(|pid| Some(pid as i64)));
        }
        table.fill(Column::CGROUP_ID, (0..=rows).map(|pid| Some(pid.checked_sub(1)? + 100)));
        table.fill(Column::START_TIME_NS, (0..=rows).map(Some));
        table.fill(Column::EUID, (0..=rows).map(|_| Some(0)));
        for column in [Column::CPU_NS, Column::SELF_NS] {
            table.fill(column, (0..=rows).map(|pid| Some(if pid == 0 { HIDDEN_NS } else { 1_000_000 })));
        }
        table.fill(Column::COMM, [others].into_iter().chain(names).map(Some));
        writer.append(&frame).expect("written");
    }
    writer.close().expect("closed");
}

fn run(arguments: &[&str]) -> String {
    let mut command = Command::new(with_export(env!("CARGO_BIN_EXE_cpuledger")));
    let output = command.args(arguments).stdin(Stdio::null()).env("COLUMNS", "300").output();
    let output = output.expect("it runs");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    assert_is_clean(&said, arguments);
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn assert_is_clean(text: &str, of: &[&str]) {
    assert_eq!(foul(text), None, "{of:?}: {:?}", text.lines().find(|line| foul(line).is_some()));
}

/// As a text of JSON that stands in HTML.
fn html(name: &str) -> String {
    let written = [('\\', "\\\\"), ('"', "\\\""), ('&', "\\u0026"), ('<', "\\u003c"), ('>', "\\u003e")];
    written.iter().fold(name.to_owned(), |text, (letter, own)| text.replace(*letter, own))
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
    outputs.push(("html".into(), run(&["report", recording, "--format", "html", "--top", "100"])));
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
        for (_, name) in HOSTILE {
            let expected = match format.as_str() {
                "json" | "jsonl" => name.replace('\\', r"\\").replace('"', "\\\""),
                "csv" => name.replace('"', "\"\""),
                "csv-safe" if name.starts_with('=') => format!("'{name}"),
                "csv-safe" => name.replace('"', "\"\""),
                "html" => html(name),
                _ => name.to_owned(),
            };
            assert!(text.contains(&expected), "output {number}, {format}: {expected} is not in {text}");
        }
    }
}

/// A process may have the name of any row that is none: what is no process is told by its kind.
#[test]
fn no_process_is_put_with_what_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    record(&recording);
    let recording = recording.to_str().expect("a path");
    let report = run(&["report", recording, "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    for (_, name) in HOSTILE {
        let named: Vec<_> = rows.iter().filter(|row| row["name"] == name).collect();
        assert!(named.len() == 1 && named[0]["self_ns"] == 2_000_000, "{name}: {named:?}");
    }
    assert_eq!(report["hidden_ns"], 2 * HIDDEN_NS);
    assert_eq!(report["other"]["self_ns"], 2 * HIDDEN_NS);
    let text = run(&["report", recording]);
    let of = |label: &str| text.lines().filter(|line| line.split("  ").last() == Some(label)).count();
    for label in ["idle", "unattributed", "= capacity", "(other)", "idle, no task ran", "unattributed time"] {
        assert_eq!(of(label), 1, "{label}: {text}");
    }
    assert_eq!(of("= capacity of all CPUs"), 1, "{text}");
    for by in ["command", "user", "cgroup"] {
        let text = run(&["top", "-b", "-n", "1", "--replay", recording, "--by", by]);
        let row = |label: &str| {
            let ends: Vec<&str> = text.lines().filter(|line| line.trim_end().ends_with(label)).collect();
            assert_eq!(ends.len(), 1, "{by}, {label}: {text}");
            ends[0].split_whitespace().next().expect("a count").to_owned()
        };
        assert_eq!(row(" (others, not shown)"), "1");
        if by != "user" {
            assert_eq!(row(" (others)"), "1");
        }
    }
}

/// The screen shows each name escaped, alone and in groups, and its terminal obeys none of them.
#[test]
fn the_screen_obeys_no_name() {
    let terminal = Terminal::open("names", 230, 45);
    record(&terminal.folder().join("recording"));
    let title = terminal.variable("pane_title");
    terminal.start_with("", "--replay recording");
    for keys in [&[][..], &["g"], &["g"], &["g"]] {
        terminal.press(keys);
        let text = terminal.settled(|text| text.contains("COMMAND") || text.contains("GROUP"));
        assert_is_clean(&text, &["screen"]);
        // By user all of them are one.
        if !text.contains("=cmd") {
            continue;
        }
        for (bytes, name) in HOSTILE {
            let is_hidden = text.contains("cgroup 1") && str::from_utf8(bytes).is_err();
            assert!(is_hidden || text.contains(name), "{keys:?}: {name} is not in {text}");
        }
    }
    assert_eq!(terminal.variable("pane_title"), title);
    terminal.quit();
}
