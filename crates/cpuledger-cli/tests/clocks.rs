//! Recordings of a clock that is set: report, replay and export count the same intervals of any span.

use cpuledger_model::frame::{Column, Frame};

mod counts;
#[path = "recorded_frames/mod.rs"]
mod recorded_frames;

use counts::{exported, replayed, reported, run};
use recorded_frames::{BEGIN_NS, SECOND_NS, frame, record};

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;

/// What happens between two runs of seconds.
enum Event {
    /// The calendar is set by this number of seconds.
    Set(i64),
    /// The machine boots, was off for a minute, and its calendar is wrong by this number of seconds.
    Boot(i64),
}

/// Ten seconds, then after each event ten more.
fn intervals(events: &[Event], slew_ppm: i64) -> Vec<Frame> {
    let (mut second, mut boot, mut ahead_ns, mut frames) = (0_u64, 1, 0_i64, Vec::new());
    for number in 0..=events.len() {
        for _ in 0..10 {
            let mut frame = frame(second, &[(7, b"worker", 0, 1_000_000, 0)], &[], 7);
            let name = frame.intern(format!("boot {boot}").as_bytes());
            frame.set_figure(Column::BOOT_ID, Some(name));
            ahead_ns += slew_ppm * 1000;
            let end_ns = BEGIN_NS + (second + 1) * SECOND_NS;
            frame.set_figure(Column::END_REALTIME_NS, end_ns.checked_add_signed(ahead_ns));
            frames.push(frame);
            second += 1;
        }
        match events.get(number) {
            Some(Event::Set(by)) => ahead_ns += by * SECOND_NS as i64,
            Some(Event::Boot(wrong)) => {
                ahead_ns += (second as i64 + 60 + wrong) * SECOND_NS as i64;
                (boot, second) = (boot + 1, 0);
            }
            None => {}
        }
    }
    frames
}

fn middle(frame: &Frame) -> u64 {
    frame.figure(Column::END_REALTIME_NS).expect("it is known") - SECOND_NS / 2
}

#[test]
fn report_replay_and_export_count_the_same_intervals() {
    let scenes: [(&str, &[Event], i64); 6] = [
        ("back 3 s", &[Event::Set(-3)], 0),
        ("back 1 h", &[Event::Set(-3600)], 0),
        ("forward 1 year and back", &[Event::Set(YEAR), Event::Set(-YEAR)], 0),
        ("two boots with wrong clocks", &[Event::Boot(YEAR), Event::Boot(-2 * YEAR), Event::Boot(YEAR)], 0),
        ("a first boot of a wrong date", &[Event::Set(-YEAR), Event::Boot(0)], 0),
        ("slewed by 500 ppm", &[Event::Set(0), Event::Set(0)], -500),
    ];
    let mut state = 73_u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    for (name, events, slew) in scenes {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("books");
        let frames = intervals(events, slew);
        record(&path, frames.iter().cloned());
        for _ in 0..34 {
            let mut near = || {
                let at = middle(&frames[below(frames.len() as u64) as usize]);
                at + below(10 * SECOND_NS) - 5 * SECOND_NS
            };
            let (one, other) = (near(), near());
            let (since, until) = (one.min(other), one.max(other) + 1);
            let expected =
                frames.iter().filter(|frame| (since..until).contains(&middle(frame))).count() as u64;
            let instant = |ns: u64| format!("@{}.{:09}", ns / SECOND_NS, ns % SECOND_NS);
            let (since, until) = (instant(since), instant(until));
            let span = ["--since", &since, "--until", &until];
            let found = [reported(&path, &span), replayed(&path, &span), exported(&path, &span)];
            assert_eq!(found, [expected; 3], "{name}: {span:?}");
        }
        let all = frames.len() as u64;
        assert_eq!([reported(&path, &[]), replayed(&path, &[]), exported(&path, &[])], [all; 3], "{name}");
        // Before the end, whatever the calendar says.
        let span = ["--since=-5s"];
        assert_eq!(
            [reported(&path, &span), replayed(&path, &span), exported(&path, &span)],
            [5; 3],
            "{name}"
        );
        assert_eq!(replayed(&path, &["--at=-5s"]), 5, "{name}");
    }
}

#[test]
fn a_time_that_comes_twice_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    record(&path, intervals(&[Event::Set(-3)], 0));
    let span = ["--since", "2026-03-01T00:00:00Z", "--until", "2026-03-01T00:00:30Z"];
    let report = run(&[&["report"][..], &span].concat(), &path, "UTC");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("note: 3 intervals have times that earlier ones have too"), "{text}");
    let at = ["top", "-b", "-n", "1", "--at", "2026-03-01T00:00:08Z", "--replay"];
    let said = String::from_utf8_lossy(&run(&at, &path, "UTC").stderr).into_owned();
    assert!(said.contains("the recording has this time 2 times"), "{said}");
}

/// In autumn 02:30 comes twice in Berlin. The recording is of the second.
#[test]
fn the_hour_that_comes_twice_is_named_by_its_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("books");
    // 2026-10-25 01:30:00 UTC.
    let ahead_ns = (1_792_891_800 * SECOND_NS - BEGIN_NS) as i64;
    let frames = intervals(&[], 0).into_iter().map(|mut frame| {
        let end_ns = frame.figure(Column::END_REALTIME_NS).expect("it is known");
        frame.set_figure(Column::END_REALTIME_NS, end_ns.checked_add_signed(ahead_ns));
        frame
    });
    record(&path, frames);
    let report = run(&["report"], &path, "Europe/Berlin");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("2026-10-25 02:30:00+01:00 to 2026-10-25 02:30:10+01:00"), "{text}");
    for at in ["2026-10-25 02:30:05+01:00", "2026-10-25 02:30:05"] {
        let output = run(&["top", "-b", "-n", "1", "--at", at, "--replay"], &path, "Europe/Berlin");
        assert!(output.status.success(), "{at}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
