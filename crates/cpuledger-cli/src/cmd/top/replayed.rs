//! A recording prints what its intervals printed: from every source, in every format, byte for byte but for the name of the source.

use std::path::{Path, PathBuf};

use clap::Parser;
use cpuledger::framing::{self, Circumstances};
use cpuledger::interval::Interval;
use cpuledger::source::replay::Replay;
use cpuledger::{Boottime, SourceKind};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_recording::{VERSION, Writer};

use super::{Arguments, Options, Printer};
use crate::recorded::machine::Machine;

const SECOND: u64 = 1_000_000_000;
const BOOT: &str = "11111111-2222-3333-4444-555555555555";
/// CLOCK_REALTIME when the first of these intervals begins.
const EPOCH: u64 = 1_700_000_040 * SECOND;
const INTERVALS: u64 = 3;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// Intervals of that source, one after the other.
fn intervals(machine: &Machine, source: SourceKind) -> Vec<Interval> {
    let mut interval = machine.interval(source);
    let length_ns = interval.length_ns();
    let all = (0..INTERVALS).map(|_| {
        let this = interval.clone();
        interval.start_ns += length_ns;
        interval.end_ns += length_ns;
        this
    });
    all.collect()
}

fn record(folder: &Path, intervals: &[Interval]) {
    let mut writer = Writer::open(folder, cpuledger_recording::Options::default()).expect("a folder");
    let begin_ns = intervals[0].start_ns;
    for (interval, sequence) in intervals.iter().zip(1..) {
        let of = make!(Circumstances {
            boot_id: Some(BOOT),
            sequence: Some(sequence),
            end: Some(Boottime::from_ns(interval.end_ns)),
            end_realtime_ns: Some(EPOCH + interval.end_ns - begin_ns),
        });
        let mut frame = Frame::new();
        framing::write(interval, &of, &mut frame);
        writer.append(&frame).expect("room");
    }
    writer.close().expect("room");
}

/// What these options print of an interval.
fn printed(machine: &Machine, options: &Options, interval: &Interval) -> String {
    let mut printer = Printer::new(options);
    machine.settle(&mut printer.around);
    printer.boot_id = Some(BOOT.to_owned());
    printer.load = None;
    printer.width = 200;
    printer.append(interval);
    String::from_utf8(printer.buffer).expect("it is text")
}

fn options(line: &str) -> Options {
    let line = std::iter::once("top").chain(line.split_whitespace());
    Options::parse(&Line::parse_from(line).arguments, false).expect("nothing is wrong")
}

/// Compares all that a recording gives with the intervals that it is of.
fn assert_prints_the_same(path: &Path, machine: &Machine, intervals: &[Interval], lines: &[&str]) {
    let mut replay = Replay::open(path).expect("a recording");
    let mut next = replay.first().expect("it can be read");
    let mut compared = 0;
    let mut replayed = Interval::default();
    while let Some(told) = next.and_then(|spot| replay.read(spot, &mut replayed).expect("it can be read")) {
        let live = &intervals[compared];
        assert_eq!(told.boot_id.as_deref(), Some(BOOT));
        assert_eq!(replayed.source, live.source);
        for line in lines {
            let options = options(line);
            let expected = printed(machine, &options, live);
            let name = live.source.name();
            let expected = match line {
                line if line.contains("json") => {
                    expected.replace(&format!("\"source\":\"{name}\""), "\"source\":\"replay\"")
                }
                line if line.contains("csv") => expected.replace(&format!(",{name},"), ",replay,"),
                _ => expected.replace(&format!(", source {name}:"), ", source replay:"),
            };
            let found = printed(machine, &options, &replayed);
            assert!(expected.contains("replay"), "{line}: {expected}");
            assert!(found == expected, "{line} of {name}:\n{found}\n---\n{expected}");
        }
        compared += 1;
        next = told.next;
    }
    assert_eq!(compared, intervals.len());
}

#[test]
fn a_recording_prints_what_its_intervals_printed() {
    let machine = Machine::new();
    for source in SourceKind::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let intervals = intervals(&machine, source);
        record(folder.path(), &intervals);
        let lines = [
            "-b --format json",
            "-b --format json -H --all",
            "-b --format json -p 4000,5002",
            "-b --format csv -H --all",
            "-b --format csv-safe",
            "-b",
            "-b -H --all -o pid",
            "-b --by user",
        ];
        assert_prints_the_same(folder.path(), &machine, &intervals, &lines);
        if source.is_of_ledger() {
            assert_prints_the_same(folder.path(), &machine, &intervals, &["-b --by wait --all"]);
        }
    }
}

fn fixture(version: u16) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recordings/version-{version}.seg"))
}

/// A segment of this version of the format is replayed. `CPULEDGER_WRITE_FIXTURE=1` writes it.
#[test]
fn the_fixture_is_replayed() {
    let machine = Machine::new();
    let intervals = intervals(&machine, SourceKind::Ledger);
    if std::env::var_os("CPULEDGER_WRITE_FIXTURE").is_some() {
        let folder = tempfile::tempdir().expect("a folder");
        record(folder.path(), &intervals);
        let segment = folder.path().join("all/0000000000000000.seg");
        std::fs::copy(segment, fixture(VERSION)).expect("the folder is there");
    }
    assert_prints_the_same(
        &fixture(VERSION),
        &machine,
        &intervals,
        &["-b --format json -H --all", "-b --by wait --all"],
    );
}
