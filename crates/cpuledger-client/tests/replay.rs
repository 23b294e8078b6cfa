//! A recording gives back its intervals, forwards and backwards, and tells what it does not have.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cpuledger_client::replay::{RecordedFacts, Replay, Share, Spot};
use cpuledger_client::{Client, Next};
use cpuledger_model::frame::Frame;
use cpuledger_model::framing::{self, Circumstances};
use cpuledger_model::interval::{Interval, Row, Usage};
use cpuledger_model::{Boottime, Comm, FieldSet, Pid, Request, Scope, Snapshot, SourceKind, Task, Tid, make};
use cpuledger_recording::{Options, Span, When, Writer};

const SECOND: u64 = 1_000_000_000;
/// CLOCK_REALTIME when CLOCK_MONOTONIC is 0.
const EPOCH: u64 = 1_700_000_040 * SECOND;

/// An interval in which one process used `used_ns`.
fn frame(start_ns: u64, end_ns: u64, boot: &str, used_ns: u64) -> Frame {
    let length_ns = end_ns - start_ns;
    let task = make!(Task {
        known: FieldSet::ALL,
        tid: Tid(7),
        pid: Pid(7),
        comm: Comm::new(b"worker"),
        start_time_ns: Boottime::from_ns(1),
    });
    let usage = make!(Usage { cpu_ns: used_ns, self_ns: used_ns });
    let interval = make!(Interval {
        source: SourceKind::Ledger,
        start_ns,
        end_ns,
        online_cpus: 2,
        capacity_ns: 2 * length_ns,
        attributed_ns: used_ns,
        idle_ns: Some(2 * length_ns - used_ns),
        unattributed_ns: Some(0),
        processes: vec![Row::new(task, usage)],
        exited: Some(Vec::new()),
    });
    let of = make!(Circumstances {
        boot_id: Some(boot),
        end: Some(Boottime::from_ns(end_ns)),
        end_realtime_ns: Some(EPOCH + end_ns),
    });
    let mut frame = Frame::new();
    framing::write(&interval, &of, &mut frame);
    frame
}

/// Records seconds of one boot: each of these spans.
fn record(folder: &Path, spans: &[(u64, u64)], boot: &str) {
    let mut writer = Writer::open(folder, Options::default()).expect("a writer");
    for second in spans.iter().flat_map(|&(from, to)| from..to) {
        let used_ns = second * 1000 + 1;
        writer.append(&frame(second * SECOND, (second + 1) * SECOND, boot, used_ns)).expect("written");
    }
    writer.close().expect("closed");
}

/// Begin and end of an interval in seconds, and what was used; `None`: it is a gap.
type Seconds = (u64, u64, Option<u64>);

/// What is told of a spot.
fn told_at(replay: &mut Replay, spot: Spot) -> Option<(RecordedFacts, Seconds)> {
    let mut interval = Interval::default();
    let told = replay.read(spot, &mut interval).expect("it can be read")?;
    assert_eq!(interval.imbalance_ns(), Some(0));
    assert_eq!((interval.source_name(), interval.online_cpus), ("replay", 2));
    let is_gap = told.gap.is_some();
    if is_gap {
        assert_eq!(interval.unattributed_by.not_attached_ns, interval.capacity_ns);
        assert!(interval.processes.is_empty() && interval.processes.is_empty() && interval.exited.is_none());
    }
    assert_eq!(told.end_realtime_ns, EPOCH + interval.end_ns);
    assert_eq!(told.start_realtime_ns, EPOCH + interval.start_ns);
    let used = (!is_gap).then_some(interval.attributed_ns);
    Some((told, (interval.start_ns / SECOND, interval.end_ns / SECOND, used)))
}

/// All of it, forwards; and it is the same backwards.
fn all(replay: &mut Replay) -> Vec<Seconds> {
    let (mut all, mut spots) = (Vec::new(), Vec::new());
    let mut next = replay.first().expect("it can be read");
    while let Some((told, one)) = next.and_then(|spot| told_at(replay, spot)) {
        let spot = told.spot.expect("it is somewhere");
        let glance = replay.glance(spot).expect("it can be read").expect("it is there");
        assert_eq!((glance.share == Share::Gap, glance.next), (one.2.is_none(), told.next));
        assert_eq!(glance.end_realtime_ns, told.end_realtime_ns);
        assert_eq!(replay.at(When::Realtime(told.start_realtime_ns)).expect("read"), [spot]);
        all.push(one);
        spots.push(spot);
        next = told.next;
    }
    let mut back = replay.last().expect("it can be read");
    let mut backwards = Vec::new();
    while let Some(spot) = back {
        backwards.push(told_at(replay, spot).expect("it is there").1);
        back = replay.previous(spot).expect("it can be read");
    }
    backwards.reverse();
    assert_eq!(backwards, all);
    all
}

#[test]
fn intervals_come_back_in_both_directions() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), &[(10, 16)], "one");
    let mut replay = Replay::open(folder.path()).expect("a recording");
    let used = |second: u64| second * 1000 + 1;
    let whole: Vec<_> = (10..16).map(|second| (second, second + 1, Some(used(second)))).collect();
    assert_eq!(all(&mut replay), whole);
    assert_eq!(replay.span_realtime_ns(), Some((EPOCH + 10 * SECOND, EPOCH + 16 * SECOND)));
    replay.set_length(3 * SECOND);
    let three = |from: u64| (from, from + 3, Some((from..from + 3).map(used).sum()));
    assert_eq!(all(&mut replay), [three(10), three(13)]);
    // Between two records, and beyond the last.
    replay.set_length(0);
    let found = replay.at(When::Realtime(EPOCH + 12 * SECOND + 1)).expect("read")[0];
    assert_eq!(told_at(&mut replay, found).expect("it is there").1.0, 12);
    assert_eq!(replay.at(When::Realtime(EPOCH + 16 * SECOND)).expect("read"), []);
    // Nothing is read behind the end, even in part.
    replay.set_span(Span { until: When::Realtime(EPOCH + 14 * SECOND), ..Span::ALL });
    replay.set_length(3 * SECOND);
    let mut spot = replay.first().expect("it can be read").expect("there is one");
    let (told, _) = told_at(&mut replay, spot).expect("it is there");
    spot = told.next.expect("there is more");
    let (told, one) = told_at(&mut replay, spot).expect("it is there");
    assert_eq!((one, told.next), ((13, 14, Some(used(13))), None));
}

#[test]
fn what_was_not_recorded_is_a_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), &[(10, 12), (15, 17)], "one");
    let mut replay = Replay::open(folder.path()).expect("a recording");
    let times = |all: Vec<Seconds>| -> Vec<_> {
        all.into_iter().map(|(from, to, used)| (from, to, used.is_none())).collect()
    };
    let expected = [(10, 11, false), (11, 12, false), (12, 15, true), (15, 16, false), (16, 17, false)];
    assert_eq!(times(all(&mut replay)), expected);
    // A merged interval does not reach over it.
    replay.set_length(10 * SECOND);
    assert_eq!(times(all(&mut replay)), [(10, 12, false), (12, 15, true), (15, 17, false)]);
    let in_gap = replay.at(When::Realtime(EPOCH + 13 * SECOND)).expect("read")[0];
    let (told, _) = told_at(&mut replay, in_gap).expect("it is there");
    assert_eq!(told.gap, Some(0), "nothing is lost: nothing was recorded");
}

#[test]
fn a_damaged_record_is_a_gap_of_lost_intervals() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), &[(10, 30)], "one");
    let file = folder.path().join("all/0000000000000000.seg");
    let bytes = fs::read(&file).expect("the segment");
    let starts: Vec<usize> =
        bytes.windows(4).enumerate().filter(|(_, four)| four == b"cRec").map(|(at, _)| at).collect();
    assert_eq!(starts.len(), 20);
    // The last of the first group of 16, and the one before, which that needs.
    for (damaged, gap) in [(15, (25, 26)), (14, (24, 26))] {
        let mut bytes = bytes.clone();
        bytes[starts[damaged] + 70] ^= 1;
        fs::write(&file, bytes).expect("written");
        let mut replay = Replay::open(folder.path()).expect("a recording");
        let gaps: Vec<_> =
            all_forwards(&mut replay).into_iter().filter(|(told, _)| told.gap.is_some()).collect();
        assert_eq!(gaps.len(), 1);
        assert_eq!((gaps[0].1.0, gaps[0].1.1), gap);
        assert_eq!(gaps[0].0.gap, Some(gap.1 - gap.0));
    }
}

fn all_forwards(replay: &mut Replay) -> Vec<(RecordedFacts, Seconds)> {
    let mut all: Vec<(RecordedFacts, _)> = Vec::new();
    let mut next = replay.first().expect("it can be read");
    while let Some(one) = next.and_then(|spot| told_at(replay, spot)) {
        next = one.0.next;
        all.push(one);
    }
    all
}

#[test]
fn another_boot_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), &[(10, 12)], "one");
    // The clock of the next boot begins anew, and the calendar goes on.
    let mut writer = Writer::open(folder.path(), Options::default()).expect("a writer");
    let mut second = frame(2 * SECOND, 3 * SECOND, "two", 5);
    second.set_figure(cpuledger_model::frame::Column::END_REALTIME_NS, Some(EPOCH + 60 * SECOND));
    writer.append(&second).expect("written");
    writer.close().expect("closed");
    let mut replay = Replay::open(folder.path()).expect("a recording");
    let mut interval = Interval::default();
    let mut met = Vec::new();
    let mut next = replay.first().expect("it can be read");
    while let Some(told) = next.and_then(|spot| replay.read(spot, &mut interval).expect("it can be read")) {
        met.push((interval.start_ns / SECOND, told.boot_id.clone(), told.begins_boot, told.gap));
        next = told.next;
    }
    let boot = |name: &str| Some(name.to_owned());
    assert_eq!(
        met,
        [(10, boot("one"), false, None), (11, boot("one"), false, None), (2, boot("two"), true, None)]
    );
    let last = replay.last().expect("read").expect("there is one");
    let before = replay.previous(last).expect("read").expect("there is one");
    replay.read(before, &mut interval).expect("it can be read");
    assert_eq!(interval.start_ns, 11 * SECOND);
}

#[test]
fn a_client_has_intervals_and_gaps() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), &[(1, 3), (5, 8)], "a boot");
    let told = |span, length| {
        let mut client = Client::recording(folder.path(), span, length).expect("a recording");
        let mut told = Vec::new();
        while client.next_within(None).expect("it can be read") == Next::Interval {
            let interval = client.interval();
            assert_eq!(interval.fault(), None);
            assert_eq!(client.circumstances().end_realtime_ns, Some(EPOCH + interval.end_ns));
            told.push((interval.start_ns / SECOND, interval.end_ns / SECOND, interval.attributed_ns));
        }
        assert_eq!(client.cut().expect("it can be read"), Next::End, "it has ended");
        told
    };
    let each = [(1, 2, 1001), (2, 3, 2001), (3, 5, 0), (5, 6, 5001), (6, 7, 6001), (7, 8, 7001)];
    assert_eq!(told(Span::ALL, Duration::ZERO), each);
    let merged = [(1, 3, 3002), (3, 5, 0), (5, 7, 11_002), (7, 8, 7001)];
    assert_eq!(told(Span::ALL, Duration::from_secs(2)), merged);
    let since = When::Realtime(EPOCH + 6 * SECOND);
    assert_eq!(told(Span { since, ..Span::ALL }, Duration::ZERO), each[4..]);
    let mut client = Client::recording(folder.path(), Span::ALL, Duration::ZERO).expect("a recording");
    let request = Request::new(Scope::Processes, FieldSet::ALL);
    let error = client.listing(&request, &mut Snapshot::default()).expect_err("it has none").to_string();
    assert!(error.contains("what ran, not what exists"), "{error}");
    assert_eq!(client.filter_map(Result::ok).count(), each.len());
    assert!(Client::recording(&folder.path().join("nothing"), Span::ALL, Duration::ZERO).is_err());
}
