//! Clocks that are set, and boots whose clock is wrong: nothing is lost to a reader, and retention deletes what is old and nothing else.

mod frames;

use std::path::Path;
use std::time::Duration;

use cpuledger_model::frame::{Column, Frame};
use cpuledger_model::make;
use cpuledger_recording::{Entry, Options, Place, Recording, Span, Tier, When, Writer};
use frames::{EPOCH, Machine, SECOND};

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;

/// A machine whose calendar can be set.
struct Clock {
    machine: Machine,
    /// How far the calendar is ahead, in nanoseconds.
    ahead_ns: i64,
    boots: u32,
}

impl Clock {
    fn new() -> Clock {
        Clock { machine: Machine::new(71, 2), ahead_ns: 0, boots: 1 }
    }

    fn set_ahead(&mut self, seconds: i64) {
        self.ahead_ns += seconds * SECOND as i64;
    }

    fn second(&mut self) -> Frame {
        let mut frame = self.machine.second();
        let now_ns = (EPOCH + self.machine.now_ns).checked_add_signed(self.ahead_ns).expect("after 1970");
        frame.set_figure(Column::END_REALTIME_NS, Some(now_ns));
        frame
    }

    fn seconds(&mut self, count: usize) -> Vec<Frame> {
        (0..count).map(|_| self.second()).collect()
    }

    /// Boots the machine: it was off for a number of seconds, and then its clock is wrong by another.
    fn boot(&mut self, off: i64, wrong: i64) {
        self.ahead_ns += self.machine.now_ns as i64 + (off + wrong) * SECOND as i64;
        self.boots += 1;
        self.machine.boot_id = format!("boot {}", self.boots);
        self.machine.now_ns = 0;
    }
}

fn short_segments() -> Options {
    make!(Options { segment_length: Duration::from_secs(60) })
}

fn keeping(seconds: u64) -> Options {
    let keep = Some(Duration::from_secs(seconds));
    make!(Options { tiers: vec![Tier::new(Duration::ZERO, keep)], ..short_segments() })
}

fn write(folder: &Path, options: Options, frames: &[Frame]) {
    let mut writer = Writer::open(folder, options).expect("a writer");
    frames.iter().for_each(|frame| writer.append(frame).expect("it is written"));
    writer.close().expect("it is closed");
}

/// The boot, begin and end of each record, in seconds of CLOCK_MONOTONIC.
fn all(recording: &mut Recording) -> Vec<(String, u64, u64)> {
    let mut all = Vec::new();
    let mut next = recording.first();
    while let Some(place) = next {
        all.push(named(recording, place));
        next = recording.next(place);
    }
    all
}

fn named(recording: &mut Recording, place: Place) -> (String, u64, u64) {
    let boot = String::from_utf8_lossy(recording.boot_id(place).expect("it is whole")).into_owned();
    let entry = recording.entry(place).expect("it is there");
    (boot, entry.start_ns / SECOND, entry.end_ns / SECOND)
}

fn kept(folder: &Path) -> Vec<(String, u64, u64)> {
    all(&mut Recording::open(folder).expect("a recording"))
}

/// From when on a boot is kept, in seconds.
fn kept_since(folder: &Path, boot: &str) -> Option<u64> {
    kept(folder).into_iter().find(|(own, ..)| own == boot).map(|(_, start, _)| start)
}

#[test]
fn a_calendar_that_is_wrong_for_a_second_deletes_nothing() {
    for wrong in [30 * DAY, YEAR, -YEAR] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut clock = Clock::new();
        let mut frames = clock.seconds(900);
        clock.set_ahead(wrong);
        frames.push(clock.second());
        clock.set_ahead(-wrong);
        frames.extend(clock.seconds(99));
        write(folder.path(), keeping(2000), &frames);
        assert_eq!(kept(folder.path()).len(), 1000, "{wrong}");
    }
}

#[test]
fn a_segment_of_a_wrong_date_does_not_end_retention() {
    for wrong in [YEAR, -YEAR] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut clock = Clock::new();
        clock.set_ahead(wrong);
        let mut frames = clock.seconds(200);
        clock.set_ahead(-wrong);
        frames.extend(clock.seconds(800));
        write(folder.path(), keeping(300), &frames);
        let since = kept_since(folder.path(), "one boot").expect("the newest");
        assert!((600..=700).contains(&since), "{wrong}: kept since {since}");
    }
}

/// Of the time between two boots counts what the calendar says, but not more than was recorded since.
#[test]
fn a_boot_with_a_wrong_clock_does_not_make_the_one_before_old() {
    for wrong in [0, YEAR, -YEAR] {
        for recorded in [100, 240, 700] {
            let folder = tempfile::tempdir().expect("a folder");
            let mut clock = Clock::new();
            let mut frames = clock.seconds(600);
            clock.boot(3600, wrong);
            frames.extend(clock.seconds(recorded));
            write(folder.path(), keeping(600), &frames);
            // In the newest boot nothing is older than it ran.
            let since_boot = kept_since(folder.path(), "boot 2").expect("the newest");
            assert!(since_boot <= 100, "{since_boot}");
            let since = kept_since(folder.path(), "one boot");
            let counted = if wrong < 0 { recorded } else { 2 * recorded } as u64;
            match 600_u64.checked_sub(counted) {
                // All that is younger is kept, and of what is older a segment at most.
                Some(younger) if younger > 0 => {
                    let since = since.expect("some of it is kept");
                    let oldest = 600 - younger;
                    assert!(
                        since <= oldest && since + 80 >= oldest,
                        "{wrong} {recorded}: {since} of {oldest}"
                    );
                }
                _ => assert_eq!(since, None, "{wrong} {recorded}"),
            }
        }
    }
}

#[test]
fn a_limit_of_bytes_below_a_segment_is_kept() {
    let mut clock = Clock::new();
    let frames = clock.seconds(2000);
    let bytes = |path: &Path| -> u64 {
        let files = std::fs::read_dir(path.join("all")).expect("a folder");
        files.map(|file| file.expect("a file").metadata().expect("there").len()).sum()
    };
    let without = tempfile::tempdir().expect("a folder");
    write(without.path(), Options::default(), &frames);
    assert!(bytes(without.path()) > 60 << 10, "{}", bytes(without.path()));
    for most_bytes in [30 << 10, 10 << 10] {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), make!(Options { most_bytes: Some(most_bytes) }), &frames);
        let left = bytes(folder.path());
        assert!(left <= most_bytes + most_bytes / 8 && left > most_bytes / 2, "{left} of {most_bytes}");
    }
    // A limit of time, likewise: not all of an hour stays.
    let folder = tempfile::tempdir().expect("a folder");
    let keep = Tier::new(Duration::ZERO, Some(Duration::from_secs(480)));
    write(folder.path(), make!(Options { tiers: vec![keep] }), &frames);
    let left = kept(folder.path()).len();
    assert!((480..=480 + 2 * 62).contains(&left), "{left}");
}

/// Whatever is done to the calendar, a boot loses nothing that is younger than the retention by CLOCK_MONOTONIC, and keeps nothing that
/// is older by more than a segment.
#[test]
fn retention_is_exact_in_a_boot_whatever_the_calendar_does() {
    let mut random = Machine::new(73, 0);
    for round in 0..20 {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut clock, mut frames) = (Clock::new(), Vec::new());
        let keep = 100 + random.below(400);
        for _ in 0..5 {
            frames.extend(clock.seconds(random.below(300) as usize));
            let size = [3, 3600, YEAR, 30 * DAY][random.below(4) as usize];
            let by =
                if random.below(2) == 0 && clock.ahead_ns > -YEAR * SECOND as i64 { -size } else { size };
            clock.set_ahead(by);
        }
        frames.extend(clock.seconds(200));
        let recorded = frames.len() as u64;
        write(folder.path(), keeping(keep), &frames);
        let since = kept_since(folder.path(), "one boot").expect("the newest");
        let oldest = recorded.saturating_sub(keep);
        assert!(since <= oldest && since + 80 >= oldest, "round {round}: {since} of {oldest}, keep {keep}");
    }
}

/// A recording in which the calendar is set back by 3 s and by an hour, and forward by a year and back, of two boots of which the first is
/// dated a year ahead.
fn set_clocks(folder: &Path) -> Vec<Frame> {
    let mut clock = Clock::new();
    clock.set_ahead(YEAR);
    let mut frames = clock.seconds(70);
    clock.boot(600, -YEAR);
    for by in [-3, -3600, YEAR, -YEAR] {
        frames.extend(clock.seconds(65));
        clock.set_ahead(by);
    }
    frames.extend(clock.seconds(65));
    write(folder, short_segments(), &frames);
    frames
}

fn middle(frame: &Frame) -> u64 {
    frame.figure(Column::END_REALTIME_NS).expect("it is known") - SECOND / 2
}

#[test]
fn a_span_has_every_interval_whose_calendar_lies_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let frames = set_clocks(folder.path());
    let mut recording = Recording::open(folder.path()).expect("a recording");
    assert_eq!(all(&mut recording).len(), frames.len());
    let mut random = Machine::new(79, 0);
    for _ in 0..200 {
        // Near one of the times that there are.
        let mut near = || {
            let at = middle(&frames[random.below(frames.len() as u64) as usize]);
            at + random.below(20 * SECOND) - 10 * SECOND
        };
        let (one, other) = (near(), near());
        let (since, until) = (one.min(other), one.max(other));
        let span = Span { since: When::Realtime(since), until: When::Realtime(until) };
        let expected: Vec<u64> = (0..frames.len() as u64)
            .filter(|nth| (since..until).contains(&middle(&frames[*nth as usize])))
            .collect();
        let places = recording.select(&span);
        let found: Vec<u64> =
            places.iter().map(|place| recording.entry(*place).expect("there").sequence).collect();
        assert_eq!(found, expected);
        // A part of them has a time that others have: the calendar was set back over it.
        let twice = expected.iter().any(|nth| {
            let own = middle(&frames[*nth as usize]);
            expected.iter().any(|other| other != nth && middle(&frames[*other as usize]) == own)
        });
        assert_eq!(recording.repeated(&places, &span) > 0, twice, "{span:?}");
        // Each instant of the calendar leads to all that have it.
        let having = |at: u64| -> Vec<u64> {
            let has = |frame: &Frame| (middle(frame) - SECOND / 2..middle(frame) + SECOND / 2).contains(&at);
            (0..frames.len() as u64).filter(|nth| has(&frames[*nth as usize])).collect()
        };
        let found = recording.at(When::Realtime(one));
        let found: Vec<u64> =
            found.into_iter().map(|place| recording.entry(place).expect("there").sequence).collect();
        if !having(one).is_empty() {
            assert_eq!(found, having(one));
        } else {
            assert_eq!(found.is_empty(), one >= frames.iter().map(middle).max().expect("some") + SECOND / 2);
        }
    }
}

#[test]
fn what_is_asked_for_before_the_end_is_in_the_order_of_the_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let frames = set_clocks(folder.path());
    let mut recording = Recording::open(folder.path()).expect("a recording");
    let newest = frames.len() as u64 - 1;
    let before = |seconds: u64| When::BeforeEnd(seconds * SECOND);
    let sequences = |recording: &mut Recording, places: Vec<Place>| -> Vec<u64> {
        places.into_iter().map(|place| recording.entry(place).expect("there").sequence).collect()
    };
    for (seconds, expected) in [(0, newest), (1, newest), (5, newest - 4), (325, 70), (10_000, 0)] {
        let found = recording.at(before(seconds));
        assert_eq!(sequences(&mut recording, found), [expected], "{seconds} s");
    }
    for (since, until, expected) in [(5, 0, newest - 4..newest + 1), (200, 100, newest - 199..newest - 99)] {
        let places = recording.select(&Span { since: before(since), until: before(until) });
        assert_eq!(sequences(&mut recording, places), expected.collect::<Vec<_>>());
    }
    // Both boots: the calendar does not say for how long the machine was off.
    let places = recording.select(&Span { since: before(400), until: before(0) });
    assert_eq!(places.len(), frames.len());
}

#[test]
fn each_time_is_of_the_finest_tier_that_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut clock = Clock::new();
    let tier = |seconds| Tier::new(Duration::from_secs(seconds), None);
    let of_tiers = |tiers: &[u64]| {
        make!(Options { tiers: tiers.iter().map(|seconds| tier(*seconds)).collect(), ..short_segments() })
    };
    // As they come, then in seconds, then in minutes beside seconds, of which the first are deleted; and a boot.
    write(folder.path(), of_tiers(&[0]), &clock.seconds(10));
    write(folder.path(), of_tiers(&[1]), &clock.seconds(50));
    write(folder.path(), of_tiers(&[5, 60]), &clock.seconds(240));
    clock.boot(60, 0);
    write(folder.path(), of_tiers(&[60]), &clock.seconds(60));
    write(folder.path(), of_tiers(&[0]), &clock.seconds(7));
    let fives = folder.path().join("5s");
    let first = fives.join("0000000000000000.seg");
    assert!(first.exists());
    let mut recording = Recording::open(folder.path()).expect("a recording");
    let lengths = |recording: &mut Recording| -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (_, start, end) in all(recording) {
            match runs.last_mut() {
                Some((length, count)) if *length == end - start => *count += 1,
                _ => runs.push((end - start, 1)),
            }
        }
        runs
    };
    let whole = [(1, 60), (5, 48), (60, 1), (1, 7)];
    assert_eq!(lengths(&mut recording), whole);
    assert_eq!(recording.gaps().expect("read").len(), 1, "the boot");
    assert!(recording.losses().expect("read").is_empty());
    // What the finer tier does not have any more, the coarser one has.
    let mut seconds = Recording::open(&fives).expect("a tier");
    let of_first = seconds.segments().count();
    assert!(of_first >= 1);
    assert!(recording.refresh().expect("read"), "places are valid");
    std::fs::remove_file(&first).expect("it is ours");
    assert!(!recording.refresh().expect("read"));
    let left = all(&mut seconds).len() as u64;
    let after = lengths(&mut recording);
    let sum = |runs: &[(u64, u64)]| -> u64 { runs.iter().map(|(length, count)| length * count).sum() };
    assert_eq!(sum(&after), sum(&whole), "{left}: {after:?}");
    assert!(after[1].0 == 60, "{after:?}");
    let entries: Vec<Entry> = {
        let mut next = recording.first();
        std::iter::from_fn(|| {
            let place = next?;
            next = recording.next(place);
            recording.entry(place)
        })
        .collect()
    };
    let boot = entries.windows(2).filter(|two| two[0].end_ns != two[1].start_ns).count();
    assert_eq!(boot, 1, "no time is missing, and none twice");
}
