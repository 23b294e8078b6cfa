//! `cpuledger report` of recordings that are made here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use cpuledger_model::disk::{Disk, DiskTotals, DiskUse, Disks, Requests};
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::make;
use cpuledger_recording::{Options, Writer};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

#[path = "recorded_frames/mod.rs"]
mod recorded_frames;

use recorded_frames::{BEGIN_NS, SECOND_NS, Used, frame, record};

const HOSTILE: [&[u8]; 5] =
    [b"<script>a", b"\"><img src=x", "\u{202e}evil".as_bytes(), b"=1+1\x1b[31m", b"\xff\xfe&amp;"];

fn report(path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.arg("report").arg(path).args(arguments).env("TZ", "UTC").output().expect("cpuledger runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(path: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["--format", "json"];
    all.extend(arguments);
    serde_json::from_str(&text(&report(path, &all))).expect("JSON")
}

/// That of a recording with damage in it: the exit code says that it is partial.
fn partial(path: &Path, format: &str) -> String {
    let output = report(path, &["--format", format]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the report is not whole: some of the recording cannot be read"), "{said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn partial_json(path: &Path) -> Value {
    serde_json::from_str(&partial(path, "json")).expect("JSON")
}

/// Ten seconds: make and its shell live, compilers die, and a name that has to be text in each.
fn recording() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let frames = (0..10_u64).map(|second| {
        let compilers = 100_000_000 + second * 1_000_001;
        let living: [Used<'_>; 3] = [
            (10, b"make", 1000, 1_000_007, 0),
            (20, b"sh", 1000, 2_000_003, 2 * compilers),
            (30, HOSTILE[second as usize % HOSTILE.len()], 0, 5_000_011, 0),
        ];
        let pid = 1000 + 2 * second as i64;
        let dead: [Used<'_>; 2] = [(pid, b"cc1", 1000, compilers, 0), (pid + 1, b"cc1", 1000, compilers, 0)];
        frame(second, &living, &dead, 20)
    });
    record(&path, frames);
    (folder, path)
}

fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn sum(report: &Value) -> u64 {
    let rows = report["rows"].as_array().expect("rows");
    rows.iter().chain([&report["other"]]).map(|row| ns(&row["self_ns"])).sum()
}

#[test]
fn the_rows_and_the_rest_are_the_capacity() {
    let (_folder, path) = recording();
    for by in ["command", "user", "cgroup", "process", "ancestor", "unit"] {
        for top in ["0", "2", "1000"] {
            let report = json(&path, &["--by", by, "--top", top]);
            assert_eq!(report["schema"], "cpuledger.report/1");
            assert_eq!(ns(&report["capacity_ns"]), 20 * SECOND_NS);
            assert_eq!(sum(&report), ns(&report["attributed_ns"]), "{by} {top}: {report}");
            let parts = ["attributed_ns", "idle_ns", "unattributed_ns", "untold_ns"];
            assert_eq!(parts.iter().map(|part| ns(&report[*part])).sum::<u64>(), 20 * SECOND_NS);
            assert!(report["rows"].as_array().expect("rows").len() <= top.parse().expect("a number"));
        }
    }
    let rows = json(&path, &[])["rows"].clone();
    // 20 compilers, of 100 ms and 1,000,001 ns more each second.
    let expected = 2 * (10 * 100_000_000 + 45 * 1_000_001);
    assert_eq!((&rows[0]["name"], ns(&rows[0]["self_ns"])), (&"cc1".into(), expected));
    assert_eq!(ns(&rows[0]["deaths"]), 20);
    let shell = rows.as_array().expect("rows").iter().find(|row| row["name"] == "sh").expect("a shell");
    assert_eq!((ns(&shell["self_ns"]), ns(&shell["inherited_ns"])), (10 * 2_000_003, expected));
}

#[test]
fn csv_adds_up_to_the_capacity_too() {
    let (_folder, path) = recording();
    for format in ["csv", "csv-safe"] {
        let text = text(&report(&path, &["--format", format, "--top", "3"]));
        let records: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(records[0][..2], ["kind", "name"]);
        let column = records[0].iter().position(|name| *name == "self_ns").expect("a column");
        let sum: u64 =
            records[1..].iter().map(|record| record[column].parse::<u64>().expect("a number")).sum();
        assert_eq!(sum, 20 * SECOND_NS);
        let all = self::text(&report(&path, &["--format", format]));
        assert_eq!(all.contains("'=1+1"), format == "csv-safe", "{all}");
    }
}

#[test]
fn what_used_most_has_a_row_however_many_ancestors_it_has() {
    let (_folder, path) = recording();
    let report = json(&path, &["--by", "ancestor", "--top", "1"]);
    let row = &report["rows"][0];
    assert_eq!((&row["name"], ns(&row["self_ns"])), (&"cc1".into(), 2 * (10 * 100_000_000 + 45 * 1_000_001)));
    assert!(row["path"].as_array().is_some_and(|path| path.len() > 1), "{row}");
    let text = text(&self::report(&path, &["--by", "ancestor", "--top", "1"]));
    assert!(text.lines().any(|line| line.ends_with(" > cc1")), "{text}");
}

/// The figures of all disks in an interval.
const OF_DISKS: [(Column, u64); 8] = [
    (Column::ENDED_READS, 1000),
    (Column::ENDED_READ_BYTES, 4_096_000),
    (Column::ENDED_READ_NS, 1_500_000_000),
    (Column::ENDED_WRITES, 2),
    (Column::ENDED_WRITTEN_BYTES, 8192),
    (Column::ENDED_WRITE_NS, 3_000_000),
    (Column::UNATTRIBUTED_READ_BYTES, 0),
    (Column::UNATTRIBUTED_WRITTEN_BYTES, 4096),
];

#[test]
fn by_device_is_the_sum_of_all_disks_of_the_intervals_that_have_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let frames = (0..10).map(|second| {
        let mut frame = frame(second, &[(10, b"dd", 0, 1_000_000, 0)], &[], 1);
        // The account was asked for later.
        let figures = OF_DISKS.into_iter().filter(|_| second >= 4);
        figures.for_each(|(column, value)| frame.set_figure(column, Some(value)));
        frame
    });
    record(&path, frames);
    let told = json(&path, &["--by", "device"]);
    assert_eq!((&told["schema"], &told["by"]), (&"cpuledger.devices_report/1".into(), &"device".into()));
    assert_eq!((ns(&told["intervals"]), ns(&told["disk_intervals"])), (10, 6));
    assert_eq!(ns(&told["device_intervals"]), 0, "as an older recording has it");
    let [row] = &told["rows"].as_array().expect("rows")[..] else { panic!("{told}") };
    assert_eq!((&row["name"], &row["is_sum"], &row["major"]), (&Value::Null, &true.into(), &Value::Null));
    assert_eq!(row["queue_ns"], Value::Null, "a recording does not have it");
    for (column, value) in OF_DISKS {
        let key = column.name().trim_start_matches("ended_");
        assert_eq!(ns(&row[key]), 6 * value, "{key}");
    }
    let text = text(&report(&path, &["--by", "device"]));
    let (_, table) = text.split_once("\n\n").expect("a head comes first");
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1], ["6000", "23.4M", "9.000", "12", "48.0K", "0.018", "-", "-", "-", "(all", "disks)"]);
    assert_eq!(words[2].join(" "), "In no row of a process: 0B read, 24.0K written");
    assert_eq!(words.len(), 3, "{table}");
    assert!(text.contains("note: 4 of these intervals have no account of disks\n"), "{text}");
    assert!(text.contains("note: 6 of these intervals have the sum of all disks alone"), "{text}");
    let csv = self::text(&report(&path, &["--by", "device", "--format", "csv"]));
    let expected = "sum,,,,6000,24576000,9000000000,12,49152,18000000,,,,,,,0,24576";
    assert_eq!(csv.lines().nth(1), Some(expected), "{csv}");
}

/// Sets what each disk did, and the sum of it.
fn set_disks(frame: &mut Frame, disks: &Disks) {
    let totals = DiskTotals::of(disks);
    let figures = [
        totals.reads,
        totals.read_bytes,
        totals.read_ns,
        totals.writes,
        totals.written_bytes,
        totals.write_ns,
        totals.unattributed_read_bytes,
        totals.unattributed_written_bytes,
    ];
    OF_DISKS.into_iter().zip(figures).for_each(|((column, _), value)| frame.set_figure(column, value));
    frame.set_figure(Column::KNOWS_DISKS, Some(1));
    frame.set_disks(disks);
}

/// Disks that have read so much, with these names.
fn disks(read: &[(u32, &[u8], u64)]) -> Disks {
    let disk = |&(minor, name, count): &(u32, &[u8], u64)| {
        let reads = make!(Requests { count, bytes: count << 12, ns: count * 1_000_000 });
        let (all, numbers) = (make!(DiskUse { reads, blocked_ns: count * 900_000 }), Some((8, minor)));
        make!(Disk {
            numbers,
            name: name.to_vec(),
            all,
            queue_ns: count * 250_000,
            device_ns: count * 750_000
        })
    };
    Disks::of(
        read.iter().map(disk),
        make!(DiskUse { reads: make!(Requests { count: 1, bytes: 512, ns: 9 }) }),
    )
}

#[test]
fn by_device_has_each_disk_and_the_rows_are_the_sum() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let frames = (0..10).map(|second| {
        let mut frame = frame(second, &[(10, b"dd", 0, 1_000_000, 0)], &[], 1);
        match second {
            // An older version, another disk with the same numbers, and a name that has to be text.
            0 => OF_DISKS.into_iter().for_each(|(column, value)| frame.set_figure(column, Some(value))),
            9 => set_disks(&mut frame, &disks(&[(0, b"sda", 1), (16, HOSTILE[3], 7)])),
            _ => set_disks(&mut frame, &disks(&[(0, b"sda", 2), (16, b"sdb", 3), (32, b"", 1)])),
        }
        frame
    });
    record(&path, frames);
    let told = json(&path, &["--by", "device"]);
    assert_eq!((ns(&told["disk_intervals"]), ns(&told["device_intervals"])), (10, 9));
    let rows = told["rows"].as_array().expect("rows");
    let counts: Vec<(Option<&str>, u64)> =
        rows.iter().map(|row| (row["name"].as_str(), ns(&row["reads"]))).collect();
    let hostile = "=1+1\\x1b[31m";
    assert_eq!(counts, [(Some("sdb"), 24), (Some("sda"), 17), (None, 8), (Some(hostile), 7), (None, 1000)]);
    assert_eq!(
        (&rows[0]["major"], &rows[0]["minor"], &rows[4]["is_sum"]),
        (&8.into(), &16.into(), &true.into())
    );
    assert_eq!((ns(&rows[0]["queue_ns"]), &rows[4]["queue_ns"]), (24 * 250_000, &Value::Null));
    // As the frames' totals have it.
    let sum = |key: &str| -> u64 { rows.iter().map(|row| ns(&row[key])).sum() };
    let totals = recorded_sums(&path);
    for (column, of_frames) in OF_DISKS.map(|(column, _)| column).into_iter().zip(totals).take(6) {
        let key = column.name().trim_start_matches("ended_");
        assert_eq!(sum(key), of_frames, "{key}: {told}");
    }
    // What does not fit is one row.
    let few = json(&path, &["--by", "device", "--top", "1"]);
    let few = few["rows"].as_array().expect("rows");
    let told: Vec<(Option<&str>, &Value, u64)> =
        few.iter().map(|row| (row["name"].as_str(), &row["is_others"], ns(&row["reads"]))).collect();
    assert_eq!(
        told,
        [(Some("sdb"), &false.into(), 24), (None, &true.into(), 32), (None, &false.into(), 1000)]
    );
    let text = text(&report(&path, &["--by", "device"]));
    let (_, table) = text.split_once("\n\n").expect("a head comes first");
    assert!(table.lines().nth(1).expect("a row").ends_with("  sdb") && table.contains("  8:32\n"), "{table}");
    assert!(table.contains("In no row of a process: 4.5K read, 4.0K written\n"), "{table}");
    let csv = |format| self::text(&report(&path, &["--by", "device", "--format", format]));
    assert!(
        csv("csv")
            .contains("\ndevice,sdb,8,16,24,98304,24000000,0,0,0,0,0,0,6000000,18000000,21600000,0,0\n")
    );
    assert!(csv("csv-safe").contains(&format!("\ndevice,'{hostile},8,16,7,")), "{}", csv("csv-safe"));
}

/// The sums of [`OF_DISKS`] over the intervals of a recording, as replay has them.
fn recorded_sums(path: &Path) -> [u64; OF_DISKS.len()] {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    let output = command.args(["top", "-b", "--format", "json", "--replay"]).arg(path).output();
    let text = text(&output.expect("cpuledger runs"));
    let intervals: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(intervals.len(), 10);
    OF_DISKS.map(|(column, _)| intervals.iter().map(|interval| ns(&interval[column.name()])).sum())
}

#[test]
fn without_an_account_of_disks_it_is_said_what_to_do() {
    let (_folder, path) = recording();
    for format in ["text", "json", "csv"] {
        let output = report(&path, &["--by", "device", "--format", format]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
        assert!(said.contains("no account of disks was recorded"), "{said}");
        assert!(said.contains("cpuledger record --with disk"), "{said}");
    }
    for arguments in [
        &["--by", "device,unit"][..],
        &["--by", "wait,device"],
        &["--by", "device", "--format", "html"],
        &["--by", "device", "--columns", "self"],
        &["--by", "device", "--compare", "-5s..-3s", "-3s..now"],
    ] {
        assert_eq!(report(&path, arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn columns_are_those_that_are_named() {
    let (_folder, path) = recording();
    let keys = |columns: &str| -> Vec<String> {
        let report = json(&path, &["--columns", columns]);
        let mut keys: Vec<String> = report["rows"][0].as_object().expect("a row").keys().cloned().collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(keys("self,%cap,births"), ["births", "name", "self_ns"]);
    let all = json(&path, &[])["rows"][0].clone();
    for key in
        ["user_ns", "rss_peak_bytes", "read_bytes", "voluntary_switches", "blocked_ns", "runqueue_wait_ns"]
    {
        assert!(all.get(key).is_some() && all.get("waiting_ns").is_none(), "{key}: {all}");
    }
    let text = text(&report(&path, &["--columns", "died,SELF,user_ns"]));
    let header = text.lines().find(|line| line.ends_with("COMMAND")).expect("a header");
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["DIED", "SELF", "USR", "COMMAND"]);
    let waits = self::text(&report(&path, &["--by", "wait,user"]));
    assert!(waits.contains(" WAIT ") && waits.contains(" SLP ") && waits.contains("  USER"), "{waits}");
}

#[test]
fn two_spans_that_meet_share_no_interval_and_it_is_said() {
    let (_folder, path) = recording();
    let whole = json(&path, &[]);
    for at in ["00:00:04", "00:00:04.5", "00:00:04.7"] {
        let at = format!("2026-03-01 {at}");
        let (one, two) = (json(&path, &["--until", &at]), json(&path, &["--since", &at]));
        for key in ["intervals", "capacity_ns", "attributed_ns", "idle_ns"] {
            assert_eq!(ns(&one[key]) + ns(&two[key]), ns(&whole[key]), "{key} at {at}");
        }
        assert_eq!(one["end_realtime_ns"], two["start_realtime_ns"]);
        let text = text(&report(&path, &["--since", &at]));
        assert_eq!(text.contains("whole intervals are counted"), !at.ends_with("04"), "{text}");
    }
    let text = text(&report(&path, &["--since", "2026-03-01 00:00:02", "--until", "2026-03-02"]));
    assert!(text.contains("the intervals that are recorded end at 2026-03-01 00:00:10"), "{text}");
}

#[test]
fn what_grew_comes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let frames = (0..10_u64).map(|second| {
        let late = if second < 5 { 0 } else { 300_000_000 };
        let living: [Used<'_>; 3] = [
            (1, b"same", 0, 50_000_000, 0),
            (2, b"late", 0, late, 0),
            (3, b"less", 0, 200_000_000 - late / 2, 0),
        ];
        frame(second, &living, &[], 1)
    });
    record(&path, frames);
    let spans = ["2026-03-01 00:00:00..2026-03-01 00:00:05", "2026-03-01 00:00:05..2026-03-01 00:00:10"];
    let arguments = ["--compare", spans[0], spans[1]];
    let report = json(&path, &arguments);
    let rows = report["rows"].as_array().expect("rows");
    let names: Vec<&Value> = rows.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, [&Value::from("late"), &"same".into(), &"less".into(), &Value::Null]);
    assert_eq!(ns(&rows[0]["before"]["self_ns"]), 0);
    assert_eq!(ns(&rows[0]["after"]["self_ns"]), 5 * 300_000_000);
    let text = text(&self::report(&path, &arguments));
    assert!(text.contains("+15.0%  late") && text.contains("-7.5%  less"), "{text}");
}

#[test]
fn losses_and_gaps_are_told_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let living: [Used<'_>; 1] = [(1, b"a", 0, 1000, 0)];
    record(&path, (0..30).filter(|second| *second != 20).map(|second| frame(second, &living, &[], 1)));
    let segment =
        fs::read_dir(path.join("all")).expect("a tier").next().expect("a segment").expect("an entry");
    let mut bytes = fs::read(segment.path()).expect("bytes");
    // In the last record of the first group of 16.
    let last = records(&bytes)[15];
    bytes[last + 70] ^= 0x10;
    fs::write(segment.path(), &bytes).expect("it is ours");
    // The sums of the segment have it still.
    assert_eq!(ns(&json(&path, &[])["intervals"]), 29);
    damage_sums(&mut bytes);
    fs::write(segment.path(), bytes).expect("it is ours");
    let report_json = partial_json(&path);
    assert_eq!(ns(&report_json["intervals"]), 28);
    assert_eq!(report_json["losses"][0]["cause"], "damaged", "{report_json}");
    assert_eq!(ns(&report_json["losses"][0]["intervals"]), 1);
    assert_eq!(ns(&report_json["losses"][0]["from_realtime_ns"]), BEGIN_NS + 15 * SECOND_NS);
    assert_eq!(ns(&report_json["gaps"][0]["from_realtime_ns"]), BEGIN_NS + 20 * SECOND_NS);
    for format in ["text", "html"] {
        let text = partial(&path, format);
        assert!(text.contains("1 interval is lost (damaged)"), "{text}");
        assert!(
            text.contains("nothing is recorded from 2026-03-01 00:00:20 to 2026-03-01 00:00:21"),
            "{text}"
        );
    }
}

#[test]
fn files_that_are_no_segments_are_noted_once() {
    let (_folder, path) = recording();
    let whole = text(&report(&path, &[]));
    for number in [400, 401] {
        fs::write(path.join(format!("all/{number:016}.seg")), "notes of the year").expect("it is ours");
    }
    let output = report(&path, &[]);
    assert_eq!(text(&output), whole);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let first = path.join("all/0000000000000400.seg");
    let note = format!(
        "cpuledger: {} and 1 file like it: no part of the recording; nothing is read of that\n",
        first.display()
    );
    assert_eq!(said, note);
}

/// Where records begin.
fn records(bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len() - 4).filter(|at| &bytes[*at..at + 4] == b"cRec").collect()
}

/// Has the intervals read: what they add up to is damaged.
fn damage_sums(bytes: &mut [u8]) {
    let at = bytes.windows(4).rposition(|four| four == b"cSum").expect("a segment that was closed has them");
    bytes[at + 4] ^= 1;
}

/// A thread reads each half of them: what is damaged on both sides of the border is one loss.
#[test]
fn a_loss_that_crosses_the_parts_of_two_threads_is_told_once() {
    const RECORDS: u64 = 1200;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let living: [Used<'_>; 1] = [(1, b"a", 0, 1000, 0)];
    record(&path, (0..RECORDS).map(|second| frame(second, &living, &[], 1)));
    let segment = fs::read_dir(path.join("all")).expect("a tier").next().expect("one").expect("an entry");
    let mut whole = fs::read(segment.path()).expect("bytes");
    damage_sums(&mut whole);
    let starts = records(&whole);
    assert_eq!(starts.len() as u64, RECORDS);
    // With two CPUs the second part begins at record 600, in the middle of the group of 592; with one there is but one part.
    for (from, to) in [(595, 608), (592, 640), (576, 608), (600, 608), (0, 16), (1184, 1200)] {
        let mut bytes = whole.clone();
        for group in (from / 16 * 16..to).step_by(16) {
            bytes[starts[from.max(group)] + 70] ^= 0x10;
        }
        fs::write(segment.path(), bytes).expect("it is ours");
        let report = partial_json(&path);
        let lost = (to - from) as u64;
        assert_eq!(ns(&report["intervals"]), RECORDS - lost, "{from} to {to}");
        let losses = report["losses"].as_array().expect("losses");
        assert_eq!(losses.len(), 1, "{from} to {to}: {losses:?}");
        assert_eq!(ns(&losses[0]["intervals"]), lost, "{from} to {to}");
        let at = |second: usize| BEGIN_NS + second as u64 * SECOND_NS;
        assert_eq!(losses[0]["from_realtime_ns"].as_u64(), (from > 0).then(|| at(from)));
        assert_eq!(losses[0]["to_realtime_ns"].as_u64(), (to < starts.len()).then(|| at(to)));
    }
}

/// 1,300 seconds in segments of a minute: pids come again, names change, and processes live over many segments, as does what inherits.
fn history(path: &Path) {
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    // Pid, start and parent. The first lives for ever.
    let mut living: Vec<(i64, u64, i64)> = vec![(1, 1, 0)];
    let mut names: Vec<[u8; 2]> = (0..64).map(|number| [b'a' + number % 7, b'x']).collect();
    let options = make!(Options { segment_length: Duration::from_secs(60) });
    let mut writer = Writer::open(path, options).expect("a directory");
    for second in 0..1300 {
        names[random(64) as usize][0] = b'a' + random(9) as u8;
        let mut born = Vec::new();
        for _ in 0..random(4) {
            let pid = 2 + random(60) as i64;
            if living.iter().chain(&born).all(|(other, ..)| *other != pid) {
                born.push((
                    pid,
                    (second + 1000) * SECOND_NS + 1,
                    living[random(living.len() as u64) as usize].0,
                ));
            }
        }
        living.extend(born);
        let heir = living[random(living.len() as u64) as usize].0;
        let (mut stay, mut dead): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for process in std::mem::take(&mut living) {
            let ends = process.0 != 1 && process.0 != heir && random(12) == 0;
            (if ends { &mut dead } else { &mut stay }).push(process);
        }
        let mut used = |pid: i64, inherited_ns: u64| {
            (pid, &names[pid as usize][..], pid as u64 % 3, 1 + random(1_000_000), inherited_ns)
        };
        let dead_rows: Vec<Used<'_>> = dead.iter().map(|(pid, ..)| used(*pid, 0)).collect();
        let inherited_ns = dead_rows.iter().map(|(.., own_ns, _)| own_ns).sum::<u64>();
        let rows: Vec<Used<'_>> =
            stay.iter().map(|(pid, ..)| used(*pid, if *pid == heir { inherited_ns } else { 0 })).collect();
        let mut frame = frame(second, &rows, &dead_rows, heir);
        let heir_start = stay.iter().find(|(pid, ..)| *pid == heir).map(|(_, start, _)| *start);
        for (section, all) in [(Section::Processes, &stay), (Section::Exited, &dead)] {
            let table = frame.table_mut(section);
            for (row, (pid, start, parent)) in all.iter().enumerate() {
                table.set(Column::START_TIME_NS, row, Some(*start));
                table.set(Column::PROCESS_START_NS, row, Some(*start));
                if section == Section::Exited {
                    table.set(Column::ACCOUNTING_START_NS, row, heir_start);
                } else {
                    table.set_signed(Column::ACCOUNTING_PPID, row, Some(*parent));
                    table.set(Column::CGROUP_ID, row, Some(*pid as u64 % 5));
                }
            }
        }
        writer.append(&frame).expect("room");
        living = stay;
    }
    writer.close().expect("room");
}

#[test]
fn a_report_is_the_same_on_any_number_of_cpus_and_with_sums_of_segments_or_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    history(&path);
    assert!(fs::read_dir(path.join("all")).expect("a tier").count() > 20, "segments");
    let own = Pid::from_raw(0);
    let all = sched_getaffinity(own).expect("the own CPUs");
    let first = (0..CpuSet::count()).find(|cpu| all.is_set(*cpu).expect("a CPU")).expect("one");
    let mut one = CpuSet::new();
    one.set(first).expect("a CPU");
    let mut reports = Vec::new();
    for by in ["command", "user", "cgroup", "unit", "process", "ancestor"] {
        for span in [&[][..], &["--since", "2026-03-01T00:01:30Z", "--until", "2026-03-01T00:20:31Z"]] {
            let arguments = [&["--by", by, "--format", "json", "--top", "1000"], span].concat();
            let report_on = |cpus: &CpuSet| {
                sched_setaffinity(own, cpus).expect("own CPUs");
                text(&report(&path, &arguments))
            };
            let alone = report_on(&one);
            assert_eq!(alone, report_on(&all), "--by {by} {span:?}");
            assert!(alone.contains("\"intervals\":1"), "{alone}");
            reports.push((arguments, alone));
        }
    }
    for segment in fs::read_dir(path.join("all")).expect("a tier") {
        let segment = segment.expect("an entry").path();
        let mut bytes = fs::read(&segment).expect("bytes");
        damage_sums(&mut bytes);
        fs::write(segment, bytes).expect("it is ours");
    }
    for (arguments, with_sums) in reports {
        assert_eq!(text(&report(&path, &arguments)), with_sums, "{arguments:?}");
    }
}

#[test]
fn what_is_wrong_is_one_sentence_and_an_exit_code() {
    let (folder, path) = recording();
    let missing = folder.path().join("missing");
    let output_file = folder.path().join("no folder/report.txt");
    for (path, arguments, code, words) in [
        (
            &path,
            &["--since", "2026-04-01"][..],
            1,
            "the recording is from 2026-03-01 00:00:00 to 2026-03-01 00:00:10",
        ),
        (&path, &["--by", "comand"], 2, "did you mean `command`?"),
        (
            &path,
            &["--by", "colour"],
            2,
            "use wait, command, user, cgroup, unit, container, pod, image, process, ancestor or device",
        ),
        (&path, &["--by", "user,unit"], 2, "two kinds of rows"),
        (&path, &["--by", "wait", "--format", "html"], 2, "--by wait is for one span"),
        (&path, &["--columns", "self,colour"], 2, "the columns are SELF, %CAP, "),
        (&path, &["--columns", "slef"], 2, "did you mean `SELF`"),
        (&path, &["--columns", "self", "--format", "html"], 2, "--columns is for one span"),
        (&path, &["--format", "xml"], 2, "use text, json, csv, csv-safe or html"),
        (&path, &["--since", "soon"], 2, "`soon` is no time"),
        (&path, &["--since", "2026-03-02", "--until", "2026-03-01"], 2, "ends"),
        (&path, &["--compare", "2026-03-01", "now"], 2, "is no span"),
        (&missing, &[], 1, "there is no recording"),
        (&folder.path().to_owned(), &[], 1, "there is no recording"),
        (&path, &["--output", output_file.to_str().expect("UTF-8")], 1, "cannot write"),
        (&path, &["--top", "-1"], 2, "--top needs a number of rows, not `-1`"),
        (
            &path,
            &["--output", "/nowhere/report"],
            1,
            "cpuledger: cannot write /nowhere/report: there is no such directory\n",
        ),
        (&missing, &[], 1, "`cpuledger record` makes one"),
        (&path, &["--output", "/dev/full"], 1, "cannot write /dev/full: No space left on device"),
    ] {
        let output = report(path, arguments);
        let sentence = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {sentence}");
        assert!(sentence.contains(words) && sentence.lines().count() == 1, "{arguments:?}: {sentence}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_reader_that_goes_away_is_success() {
    let (_folder, path) = recording();
    let (reader, writer) = nix::unistd::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    let output =
        command.arg("report").arg(&path).stdout(Stdio::from(writer)).output().expect("cpuledger runs");
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
}

#[test]
fn a_file_is_complete_or_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    let living: [Used<'_>; 1] = [(1, b"a", 0, 1000, 0)];
    record(&path, (0..6000).map(|second| frame(second, &living, &[], 1)));
    let into = folder.path().join("into");
    fs::create_dir(&into).expect("a folder");
    let file = into.join("report.json");
    let mut were_ended = 0;
    for wait_ms in [5, 10, 20, 40, 80, 160, 320] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cpuledger"))
            .args(["report", "--format", "json", "--output"])
            .arg(&file)
            .arg(&path)
            .stderr(Stdio::null())
            .spawn()
            .expect("cpuledger runs");
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        // It is ours until it is waited for.
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it is ours");
        let is_done = child.wait().expect("it ends").success();
        were_ended += usize::from(!is_done);
        let names: Vec<_> =
            fs::read_dir(&into).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        if is_done {
            assert_eq!(names, std::slice::from_ref(&file));
            let report: Value = serde_json::from_slice(&fs::read(&file).expect("a file")).expect("JSON");
            assert_eq!(ns(&report["intervals"]), 6000);
            fs::remove_file(&file).expect("it is ours");
        } else {
            assert_eq!(names, Vec::<PathBuf>::new(), "nothing is left");
        }
    }
    assert!(were_ended > 0, "it was never ended before its time");
}
