//! What an export has written: rows that add up, in each format, once and whole.

mod machine;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cpuledger_export::{Error, Format, Options, Progress, Summary, export};
use cpuledger_recording::{Span, When};
use machine::{BEGIN_NS, SECOND_NS, Sums};

const FORMATS: [Format; 4] = [Format::Parquet, Format::Arrow, Format::Csv, Format::JsonLines];

fn run(from: &Path, to: &Path, options: &Options) -> Summary {
    export(from, to, options, &Progress::default()).expect("it can be exported")
}

/// All files below a directory, without it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let path = path.strip_prefix(folder).expect("below it");
                found.push(path.to_str().expect("a text").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The rows of a table by the names of their columns; what is absent is missing.
fn rows(folder: &Path, table: &str, format: Format) -> Vec<BTreeMap<String, String>> {
    let mut all = Vec::new();
    for file in files(folder).iter().filter(|file| file.starts_with(&format!("{table}/"))) {
        let path = folder.join(file);
        if format == Format::Csv {
            let mut reader = csv::Reader::from_path(path).expect("CSV");
            for row in reader.deserialize() {
                let row: BTreeMap<String, String> = row.expect("a row");
                all.push(row.into_iter().filter(|(_, value)| !value.is_empty()).collect());
            }
        } else {
            for line in fs::read_to_string(path).expect("a text").lines() {
                let row: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).expect("an object");
                let values = row.into_iter().filter(|(_, value)| !value.is_null());
                let text = |value: serde_json::Value| match value {
                    serde_json::Value::String(text) => text,
                    value => value.to_string(),
                };
                all.push(values.map(|(key, value)| (key, text(value))).collect());
            }
        }
    }
    all
}

fn sums(folder: &Path, format: Format) -> Sums {
    let mut sums = Sums::default();
    let number = |row: &BTreeMap<String, String>, key: &str| -> i128 {
        row.get(key).map_or(0, |text| text.parse().expect("an integer"))
    };
    let key = |row: &BTreeMap<String, String>, key: &str, without: &str| {
        row.get(key).map_or_else(|| without.to_owned(), Clone::clone)
    };
    for (table, ns) in [("usage", "self_ns"), ("exited", "cpu_ns")] {
        for row in rows(folder, table, format) {
            *sums.by_command.entry(key(&row, "comm", "")).or_default() += number(&row, ns);
            *sums.by_user.entry(key(&row, "euid", "-1")).or_default() += number(&row, ns);
            if table == "usage" {
                let sequence = key(&row, "sequence", "none");
                *sums.by_interval.entry(sequence).or_default() += number(&row, "cpu_ns");
                sums.parts += number(&row, "cpu_ns");
            }
        }
    }
    let mut first = String::from("9");
    for row in rows(folder, "intervals", format) {
        let lost = number(&row, "unidentified_ns");
        *sums.by_command.entry("(unidentified)".into()).or_default() += lost;
        *sums.by_user.entry("-1".into()).or_default() += lost;
        sums.parts += number(&row, "idle_ns") + number(&row, "unattributed_ns");
        sums.capacity += number(&row, "capacity_ns");
        first = first.min(row["time"].clone());
    }
    let first: jiff::Timestamp = first.parse().expect("a time");
    sums.first_us = first.as_microsecond().into();
    sums
}

#[test]
fn rows_add_up_to_what_the_frames_do_and_to_the_capacity() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    machine::record(&recording, 130);
    let expected = machine::sums(&recording);
    assert_eq!(expected.parts, expected.capacity);
    assert!(expected.by_command["(unidentified)"] > 0);
    for format in [Format::Csv, Format::JsonLines] {
        let to = folder.path().join(format.ending());
        let summary = run(&recording, &to, &Options::all(format));
        assert_eq!((summary.intervals, summary.unbalanced), (130, 0));
        assert_eq!(sums(&to, format), expected, "{format:?}");
    }
}

#[test]
fn a_segment_has_a_file_for_each_day_and_is_not_written_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    machine::record(&recording, 70);
    for format in FORMATS {
        let to = folder.path().join(format.ending());
        let first = run(&recording, &to, &Options::all(format));
        let names = files(&to);
        // Two days, of which the second has a part of both segments.
        assert_eq!((names.len(), first.files), (9, 9), "{names:?}");
        let of_host = |day: &str| format!("usage/date={day}/host=web%2F1/0b7f5f6e");
        assert!(names.iter().any(|name| name.starts_with(&of_host("2023-11-14"))), "{names:?}");
        assert!(names.iter().any(|name| name.starts_with(&of_host("2023-11-15"))), "{names:?}");
        let second = run(&recording, &to, &Options::all(format));
        assert_eq!((second.files, second.rows, second.segments_there), (0, 0, 2));
        // What is missing is written again, as it was.
        let path = to.join(&names[0]);
        let content = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("it can be removed");
        assert!(run(&recording, &to, &Options::all(format)).files > 0);
        assert_eq!(files(&to), names);
        assert!(fs::read(&path).expect("it is back") == content);
    }
}

/// These seconds of a recording, from its first one on.
fn span(since: u64, until: u64) -> Options {
    let at = |second: u64| When::Realtime(BEGIN_NS + second * SECOND_NS);
    Options { span: Span { since: at(since), until: at(until) }, ..Options::all(Format::Csv) }
}

#[test]
fn a_part_of_a_segment_gives_way_to_all_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 60);
    let sequences = || -> Vec<u64> {
        let mut all: Vec<u64> = rows(&to, "intervals", Format::Csv)
            .iter()
            .map(|row| row["sequence"].parse().expect("a number"))
            .collect();
        all.sort_unstable();
        all
    };
    assert_eq!(run(&recording, &to, &span(10, 20)).intervals, 10);
    assert_eq!(sequences(), (10..20).collect::<Vec<_>>());
    // Of two parts that cross, all of both.
    assert_eq!(run(&recording, &to, &span(15, 25)).intervals, 15);
    assert_eq!(sequences(), (10..25).collect::<Vec<_>>());
    assert_eq!(run(&recording, &to, &Options::all(Format::Csv)).intervals, 60);
    assert_eq!(sequences(), (0..60).collect::<Vec<_>>());
    assert_eq!(run(&recording, &to, &span(15, 25)).segments_there, 1);
    assert_eq!(sequences(), (0..60).collect::<Vec<_>>());
    assert_eq!(run(&recording, &to, &span(500, 600)).intervals, 0);
}

#[test]
fn parts_of_a_segment_stay_and_no_row_is_there_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 60);
    let mut expected: BTreeSet<u64> = BTreeSet::new();
    // Midnight is in the second one. They are apart, meet, cross one, cross two, are within, and have all of others.
    for (since, until, more, parts) in [
        (5, 10, 5, 1),
        (25, 35, 10, 2),
        (10, 15, 5, 3),
        (12, 20, 10, 3),
        (18, 26, 25, 2),
        (19, 21, 25, 2),
        (40, 45, 5, 3),
        (36, 50, 14, 3),
        (7, 8, 5, 3),
        (0, 60, 60, 1),
    ] {
        assert_eq!(run(&recording, &to, &span(since, until)).intervals, more, "{since} to {until}");
        expected.extend(since..until);
        let intervals = intervals_of(&to, Format::Csv);
        assert!(intervals.values().all(|rows| *rows > 0), "{intervals:?}");
        let found: BTreeSet<u64> = intervals.into_keys().map(|(_, sequence)| sequence).collect();
        assert_eq!(found, expected, "{since} to {until}");
        let names = files(&to.join("usage"));
        let names: BTreeSet<&str> = names.iter().filter_map(|path| path.rsplit('/').next()).collect();
        assert_eq!(names.len(), parts, "{since} to {until}: {names:?}");
    }
    assert_eq!(sums(&to, Format::Csv), machine::sums(&recording));
}

/// A part whose export was ended between two tables is whole when another crosses it.
#[test]
fn a_part_that_some_tables_have_is_completed_by_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 20);
    run(&recording, &to, &span(0, 10));
    fs::remove_dir_all(to.join("usage")).expect("it is there");
    run(&recording, &to, &span(5, 15));
    let intervals = intervals_of(&to, Format::Csv);
    assert!(intervals.len() == 15 && intervals.values().all(|rows| *rows > 0), "{intervals:?}");
}

/// Recording and number of each interval, and how many rows of processes say that they are of it.
fn intervals_of(to: &Path, format: Format) -> BTreeMap<(String, u64), usize> {
    let key = |row: &BTreeMap<String, String>| {
        (row["recording"].clone(), row["sequence"].parse::<u64>().expect("a number"))
    };
    let mut all = BTreeMap::new();
    for row in rows(to, "intervals", format) {
        assert_eq!(all.insert(key(&row), 0), None, "each is there once");
    }
    for row in rows(to, "usage", format) {
        *all.get_mut(&key(&row)).expect("it is of an interval") += 1;
    }
    all
}

#[test]
fn two_recordings_of_one_boot_are_both_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    machine::record_span(&first, 0..60);
    machine::record_span(&second, 60..100);
    for format in [Format::Csv, Format::JsonLines] {
        let to = folder.path().join(format.ending());
        assert_eq!(run(&first, &to, &Options::all(format)).intervals, 60);
        let summary = run(&second, &to, &Options::all(format));
        assert_eq!((summary.intervals, summary.segments_there), (40, 0), "{format:?}");
        let mut expected = machine::sums(&first).by_command;
        for (command, ns) in machine::sums(&second).by_command {
            *expected.entry(command).or_default() += ns;
        }
        assert_eq!(sums(&to, format).by_command, expected, "{format:?}");
        let intervals = intervals_of(&to, format);
        assert!(intervals.len() == 100 && intervals.values().all(|rows| *rows > 0), "{intervals:?}");
        for recording in [&first, &second] {
            assert_eq!(run(recording, &to, &Options::all(format)).segments_there, 1, "{format:?}");
        }
    }
}

#[test]
fn a_segment_is_left_out_only_while_a_writer_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 70);
    let tier = recording.join("all");
    // As a writer that was killed leaves it.
    let open = tier.join("0000000000000060.open");
    fs::rename(tier.join("0000000000000060.seg"), &open).expect("it is there");
    let lock = fs::File::open(recording.join("lock")).expect("it is there");
    lock.lock().expect("it is free");
    for (from, intervals) in [(&tier, 60), (&open, 0)] {
        let to = folder.path().join(intervals.to_string());
        let summary = run(from, &to, &Options::all(Format::Csv));
        assert_eq!((summary.segments_open, summary.intervals), (1, intervals));
    }
    drop(lock);
    let summary = run(&recording, &to, &Options::all(Format::Csv));
    assert_eq!((summary.segments_open, summary.intervals), (0, 70));
    // The next writer gives it another name, and changes nothing in it.
    machine::record_span(&recording, 70..71);
    assert!(tier.join("0000000000000060.cut").exists());
    let summary = run(&recording, &to, &Options::all(Format::Csv));
    assert_eq!((summary.segments_there, summary.intervals), (2, 1));
    // Far from the directory of a recording, no writer has it.
    let alone = folder.path().join("alone.open");
    fs::copy(tier.join("0000000000000060.cut"), &alone).expect("a copy");
    let to = folder.path().join("alone");
    assert_eq!(run(&alone, &to, &Options::all(Format::Csv)).intervals, 10);
}

/// As rsync copies it, now and then.
#[test]
fn a_copy_of_a_segment_that_is_written_gives_way_to_what_it_becomes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 70);
    let closed = recording.join("all/0000000000000060.seg");
    let bytes = fs::read(&closed).expect("it is there");
    let open = closed.with_extension("open");
    fs::remove_file(&closed).expect("it is there");
    let mut found = Vec::new();
    for sixteenth in [6, 10] {
        fs::write(&open, &bytes[..bytes.len() * sixteenth / 16]).expect("room");
        run(&recording, &to, &Options::all(Format::Csv));
        found.push(intervals_of(&to, Format::Csv).len());
    }
    assert!(60 < found[0] && found[0] < found[1] && found[1] < 70, "{found:?}");
    let earlier = fs::read(&open).expect("it is there");
    fs::remove_file(&open).expect("it is there");
    fs::write(&closed, &bytes).expect("room");
    let summary = run(&recording, &to, &Options::all(Format::Csv));
    assert_eq!((summary.intervals, summary.segments_there), (10, 1));
    assert_eq!(sums(&to, Format::Csv), machine::sums(&recording));
    // An earlier copy has nothing to add.
    fs::remove_file(&closed).expect("it is there");
    fs::write(&open, earlier).expect("room");
    assert_eq!(run(&recording, &to, &Options::all(Format::Csv)).segments_there, 2);
    assert_eq!(intervals_of(&to, Format::Csv).len(), 70);
}

#[test]
fn another_recording_of_the_same_time_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let to = folder.path().join("tables");
    machine::record_span(&first, 0..60);
    machine::record_span(&second, 59..100);
    let options = Options::all(Format::Csv);
    assert_eq!(run(&first, &to, &options).intervals, 60);
    let before = files(&to);
    let error = export(&second, &to, &options, &Progress::default()).expect_err("it is there");
    assert!(matches!(error, Error::OtherRecording { .. }), "{error}");
    assert_eq!(files(&to), before);
    // What is not of that time is another thing.
    let since = When::Realtime(BEGIN_NS + 60 * SECOND_NS);
    let behind = Options { span: Span { since, ..Span::ALL }, ..options };
    assert_eq!(run(&second, &to, &behind).intervals, 40);
    assert_eq!(intervals_of(&to, Format::Csv).len(), 100);
}

#[test]
fn a_recording_stays_the_same_when_it_goes_on_and_loses_its_begin() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    let (copy, options) = (folder.path().join("copy"), Options::all(Format::Csv));
    machine::record_span(&recording, 0..70);
    assert_eq!(run(&recording, &to, &options).intervals, 70);
    fs::create_dir_all(copy.join("all")).expect("a folder");
    for name in files(&recording).iter().filter(|name| name.ends_with(".seg")) {
        fs::copy(recording.join(name), copy.join(name)).expect("a copy");
    }
    fs::remove_file(recording.join("all/0000000000000000.seg")).expect("it is there");
    machine::record_span(&recording, 70..80);
    let summary = run(&recording, &to, &options);
    assert_eq!((summary.intervals, summary.segments_there), (10, 1));
    // A copy says the same, until it is written on: then it has another segment of the same number.
    assert_eq!(run(&copy, &to, &options).segments_there, 2);
    machine::record_span(&copy, 90..95);
    let error = export(&copy, &to, &options, &Progress::default()).expect_err("it is another");
    assert!(matches!(error, Error::OtherRecording { .. }), "{error}");
    assert_eq!(intervals_of(&to, Format::Csv).len(), 80);
}

#[test]
fn tables_whose_names_do_not_say_which_recording_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 60);
    let older = to.join("usage/date=2023-11-14/host=web%2F1/0b7f5f6e-all-0000000000000000.csv");
    fs::create_dir_all(older.parent().expect("a folder")).expect("a folder");
    fs::write(&older, "").expect("a file");
    let error = export(&recording, &to, &Options::all(Format::Csv), &Progress::default());
    assert!(matches!(&error, Err(Error::OlderNames { path }) if *path == older), "{error:?}");
}

#[test]
fn what_is_damaged_is_told_and_the_rest_is_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 60);
    let segment = recording.join("all/0000000000000000.seg");
    let mut bytes = fs::read(&segment).expect("a segment");
    // In the middle of the frames, which have a checksum each.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).expect("it can be written");
    let summary = run(&recording, &to, &Options::all(Format::JsonLines));
    let lost: u64 = summary.losses.iter().map(|loss| loss.intervals).sum();
    assert!(lost > 0 && summary.intervals + lost == 60, "{summary:?}");
    assert_eq!(rows(&to, "intervals", Format::JsonLines).len() as u64, summary.intervals);
}

#[test]
fn an_export_that_is_ended_leaves_no_unfinished_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 60);
    let progress = Progress::default();
    progress.stop();
    let error = export(&recording, &to, &Options::all(Format::Parquet), &progress).expect_err("it ends");
    assert!(matches!(error, Error::Stopped));
    assert_eq!(files(&to), Vec::<String>::new());
    // What an export that was killed has left is removed by the next.
    let left = to.join("usage/date=2023-11-14/host=web%2F1/.cpuledger-abc");
    fs::write(&left, "").expect("a folder");
    run(&recording, &to, &Options::all(Format::Parquet));
    assert!(!left.exists() && !files(&to).is_empty());
}

#[test]
fn another_tier_does_not_come_into_the_same_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, to) = (folder.path().join("recording"), folder.path().join("tables"));
    machine::record(&recording, 60);
    run(&recording, &to, &Options::all(Format::Csv));
    let merged = folder.path().join("merged");
    machine::record_tier(&merged, 60, 10);
    let error = export(&merged, &to, &Options::all(Format::Csv), &Progress::default());
    assert!(matches!(error, Err(Error::OtherTier { .. })), "{error:?}");
}

#[test]
fn the_document_has_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/export.md");
    let text = fs::read_to_string(&path).expect("docs/export.md");
    let mut table =
        String::from("| column | type | intervals | usage | exited | what |\n|---|---|---|---|---|---|\n");
    for column in cpuledger_export::COLUMNS.iter() {
        let marks = cpuledger_export::Table::ALL
            .map(|table| if cpuledger_export::is_in(column, table) { "x" } else { "" });
        let [intervals, usage, exited] = marks;
        table += &format!(
            "| `{}` | {} | {intervals} | {usage} | {exited} | {} |\n",
            column.name,
            column.kind.name(),
            column.help
        );
    }
    let (begin, end) = ("<!-- begin columns -->\n", "<!-- end columns -->");
    let (head, rest) = text.split_once(begin).expect("the mark of the begin");
    let (written, tail) = rest.split_once(end).expect("the mark of the end");
    if std::env::var_os("CPULEDGER_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{head}{begin}{table}{end}{tail}")).expect("it can be written");
    } else {
        assert!(
            written == table,
            "CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-export --test tables writes it"
        );
    }
}
