//! A recording of a machine whose calendar is set, whose clock is slewed, and that boots twice with a wrong date. Report, replay and export
//! count the same intervals of any span. Retention deletes what is old by the clock that cannot be set. Needs root, and a guest of
//! `make vm`, which boots again with another date and with what this test carries over.

mod counts;
mod recorder;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use counts::{exported, replayed, reported, run};
use cpuledger::{Interval, framing};
use cpuledger_load::is_emulated;
use cpuledger_model::frame::Column;
use cpuledger_recording::{Recording, Step};
use recorder::Recorder;
use rustix::process::Signal;
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};

const SECOND_NS: u64 = 1_000_000_000;
const DAY_S: i64 = 86_400;
const YEAR_S: i64 = 365 * DAY_S;
/// What is there again after the guest has booted anew.
const CARRIED: &str = "/carried";
/// A zone with the times of Berlin, for which no file is needed.
const ZONE: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
/// 2027-03-28 01:00 and 2026-10-25 01:00, UTC: one hour of Berlin is left out, and one comes twice.
const SPRING_S: i64 = 1_806_195_600;
const AUTUMN_S: i64 = 1_792_890_000;
/// For how long a scene is recorded.
const SCENE: Duration = Duration::from_secs(3);
/// What the second recording keeps, and the least number of intervals in each of its segments.
const KEPT: Duration = Duration::from_secs(12);
const IN_SEGMENT: usize = 60;
/// How much later than the first recording the second one may begin, as it attaches its ledger after that, on an emulated CPU.
const SECOND_BEGINS: Duration = Duration::from_secs(3);
/// How many random spans are counted in each boot.
const SPANS: [usize; 3] = [40, 40, 120];

/// A recorded interval.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Recorded {
    boot: Vec<u8>,
    start_ns: u64,
    end_ns: u64,
    /// Its middle, by the calendar.
    middle_ns: u64,
}

/// All intervals, by one way through the recording from its begin to its end: each balances, and within a boot each begins where the one before ended.
fn recorded(path: &Path) -> Vec<Recorded> {
    let mut recording = Recording::open(path).expect("a recording");
    let (mut all, mut next): (Vec<Recorded>, _) = (Vec::new(), recording.first());
    while let Some(place) = next {
        let Step::Record(record, behind) = recording.step(place).expect("it reads") else { panic!("a loss") };
        let mut interval = Interval::default();
        framing::read(&record.frame, &mut interval).expect("an interval");
        assert_eq!(interval.imbalance_ns(), Some(0));
        let (start_ns, end_ns) = (interval.start_ns, interval.end_ns);
        let boot = recording.boot_id(place).expect("it is whole").to_vec();
        let realtime_ns = record.frame.figure(Column::END_REALTIME_NS).expect("it is known");
        all.push(Recorded { boot, start_ns, end_ns, middle_ns: realtime_ns - (end_ns - start_ns) / 2 });
        next = behind;
    }
    for pair in all.windows(2) {
        assert!(pair[0].boot != pair[1].boot || pair[0].end_ns == pair[1].start_ns, "a gap: {pair:?}");
    }
    all
}

fn set_clock(ns: i128) {
    let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    clock_settime(ClockId::Realtime, time).expect("the clock is set; it needs root");
}

fn now_ns(id: ClockId) -> i128 {
    let now = clock_gettime(id);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// Sets the calendar by this number of seconds, and records on.
fn leap(by_s: i64) {
    set_clock(now_ns(ClockId::Realtime) + i128::from(by_s) * 1_000_000_000);
    sleep(SCENE);
}

/// Sets the calendar to a moment before a change of an hour, and records over it.
fn change_of_hour(at_s: i64) {
    set_clock(i128::from(at_s) * 1_000_000_000 - SCENE.as_nanos() as i128);
    sleep(2 * SCENE);
}

/// Slews the clocks as NTP does, by a tenth, and returns by how much they ran ahead of the one that is never slewed, in thousandths.
fn slew(tick_us: u32) -> i128 {
    let set = |tick: u32| {
        let mut load = Command::new(cpuledger_load::program().expect("it is built"));
        assert!(load.args(["slew", "--tick", &tick.to_string()]).status().expect("it runs").success());
    };
    set(tick_us);
    let (raw_ns, slewed_ns) = (now_ns(ClockId::MonotonicRaw), now_ns(ClockId::Monotonic));
    sleep(SCENE);
    let (raw_ns, slewed_ns) =
        (now_ns(ClockId::MonotonicRaw) - raw_ns, now_ns(ClockId::Monotonic) - slewed_ns);
    set(10_000);
    (slewed_ns - raw_ns) * 1000 / raw_ns
}

/// What happens to the clocks of the first boot.
fn first_boot() {
    sleep(SCENE);
    leap(-3);
    leap(-3600);
    leap(YEAR_S);
    leap(-YEAR_S);
    let right_ns = now_ns(ClockId::Realtime);
    change_of_hour(SPRING_S);
    change_of_hour(AUTUMN_S);
    set_clock(right_ns + 4 * SCENE.as_nanos() as i128);
    let slewed = [slew(11_000), slew(9000)];
    assert!(slewed[0] > 50 && slewed[1] < -50, "no clock was slewed: {slewed:?} thousandths");
    sleep(SCENE);
}

/// Counts the intervals of a span by all that count them.
fn assert_counts(path: &Path, span: &[&str], expected: u64, why: &str) {
    assert_eq!(
        [reported(path, span), replayed(path, span), exported(path, span)],
        [expected; 3],
        "{why}: {span:?}"
    );
}

/// Random spans near what is recorded.
fn count_spans(path: &Path, all: &[Recorded], spans: usize) {
    let mut state = 91 + all.len() as u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    for _ in 0..spans {
        let mut near =
            || all[below(all.len() as u64) as usize].middle_ns + below(6 * SECOND_NS) - 3 * SECOND_NS;
        let (one, other) = (near(), near());
        let (since, until) = (one.min(other), one.max(other) + 1);
        let expected = all.iter().filter(|one| (since..until).contains(&one.middle_ns)).count() as u64;
        let instant = |ns: u64| format!("@{}.{:09}", ns / SECOND_NS, ns % SECOND_NS);
        let (since, until) = (instant(since), instant(until));
        assert_counts(path, &["--since", &since, "--until", &until], expected, "a random span");
    }
    assert_counts(path, &[], all.len() as u64, "everything");
}

/// The hours that are left out and that come twice, by the times of the zone.
fn count_hours(path: &Path, all: &[Recorded]) {
    let spans = [
        (SPRING_S, "2027-03-28 01:59:58", "2027-03-28 03:00:02"),
        (AUTUMN_S, "2026-10-25 02:59:58+02:00", "2026-10-25 02:00:02+01:00"),
    ];
    for (at_s, since, until) in spans {
        let around = (at_s as u64 - 2) * SECOND_NS..(at_s as u64 + 2) * SECOND_NS;
        let expected = all.iter().filter(|one| around.contains(&one.middle_ns)).count() as u64;
        assert!(expected > 0, "nothing was recorded at {since}");
        let report = run(&["report", "--format", "json", "--since", since, "--until", until], path, ZONE);
        let report: serde_json::Value = serde_json::from_slice(&report.stdout).expect("JSON");
        assert_eq!(report["intervals"], expected, "{since} to {until}");
    }
}

/// Nothing of a boot that is younger than the retention is gone, and nothing much older is there.
fn look_at_retention(kept: &[Recorded], all: &[Recorded], boot: &[u8], boots: usize) {
    let of = |list: &[Recorded], boot: &[u8]| -> Vec<Recorded> {
        list.iter().filter(|one| one.boot == boot).cloned().collect()
    };
    let (own, whole) = (of(kept, boot), of(all, boot));
    let length = |list: &[Recorded]| match (list.first(), list.last()) {
        (Some(first), Some(last)) => Duration::from_nanos(last.end_ns - first.start_ns),
        _ => Duration::ZERO,
    };
    let (left, ran) = (length(&own), length(&whole));
    println!("retention: {left:?} of {ran:?} are left");
    assert!(left + SECOND_BEGINS >= KEPT.min(ran), "{left:?} of {ran:?} are left");
    // One segment is being written, and one is older in part.
    let most = KEPT + left * 2 * IN_SEGMENT as u32 / own.len() as u32 + Duration::from_secs(1);
    assert!(left <= most, "{left:?} are left, and at most {most:?} should be");
    assert!(boots > 1 || most < ran, "{ran:?} are too short for anything to be deleted");
    // Of the time off, no more counts than was recorded since.
    let before = all.iter().rev().find(|one| one.boot != boot).map(|one| one.boot.clone());
    if let Some(before) = before {
        let (left, ran) = (length(&of(kept, &before)), length(&of(all, &before)));
        let least = KEPT.saturating_sub(2 * length(&whole)).min(ran);
        println!("retention: {left:?} of the boot before, of at least {least:?}");
        assert!(left + SECOND_BEGINS >= least, "{left:?} of the boot before are left, of {least:?}");
    }
}

/// Prints each file below a folder, for the host to have it there in the next boot.
fn carry(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a name").path();
        if path.is_dir() {
            carry(&path);
            continue;
        }
        let hex: String = fs::read(&path).expect("a file").iter().map(|byte| format!("{byte:02x}")).collect();
        println!("carry: {} {hex}", path.to_str().expect("UTF-8"));
    }
    std::io::stdout().flush().expect("a pipe");
}

#[test]
fn every_count_is_the_same_whatever_the_clock_did_root() {
    if !is_emulated() || std::env::var_os("CPULEDGER_TEST_MAY_SET_CLOCK").is_none() {
        return cpuledger_load::not_run(
            "it sets the clock of the machine by years, and boots it with wrong dates: only in a guest of `make vm`",
        );
    }
    let [books, kept] = ["books", "kept"].map(|name| Path::new(CARRIED).join(name));
    let before = if books.exists() { recorded(&books) } else { Vec::new() };
    fs::create_dir_all(CARRIED).expect("a folder");
    let start = |path: &PathBuf, options: &[&str]| {
        Recorder::start(path, &[&["--source", "ledger"], options].concat())
    };
    let mut recorders = [
        start(&books, &["-d", "0.25", "--retain", "forever", "--min-free", "0"]),
        start(&kept, &["-d", "0.1", "--retain", "12s", "--min-free", "0"]),
    ];
    let begin = Instant::now();
    if before.is_empty() {
        first_boot();
    } else {
        sleep(SCENE / 2);
        set_clock(now_ns(ClockId::Realtime) - 3_000_000_000);
        sleep(SCENE / 2);
    }
    let took = begin.elapsed();
    for recorder in &mut recorders {
        recorder.signal(Signal::INT);
        assert_eq!(recorder.wait(), Some(0), "{}", recorder.said.text());
    }
    let (all, kept_now) = (recorded(&books), recorded(&kept));
    assert_eq!(all[..before.len()], before, "what was carried is still there");
    let own = &all[before.len()..];
    let boot = own.first().expect("intervals of this boot").boot.clone();
    let mut boots: Vec<&[u8]> = all.iter().map(|one| &one.boot[..]).collect();
    boots.dedup();
    println!("boot {}: {} intervals of {}, in {took:?}", boots.len(), own.len(), all.len());
    assert!(own.iter().all(|one| one.boot == boot) && before.iter().all(|one| one.boot != boot));
    let begin = Instant::now();
    count_spans(&books, &all, SPANS[boots.len() - 1]);
    count_hours(&books, &all);
    println!("boot {}: counted in {:?}", boots.len(), begin.elapsed());
    look_at_retention(&kept_now, &all, &boot, boots.len());
    // Each boot has another year.
    let year = |one: &Recorded| one.middle_ns / (YEAR_S as u64 * SECOND_NS / 2);
    assert!(
        before.last().is_none_or(|last| year(last) != year(&own[0])),
        "the date of this boot is not wrong"
    );
    if boots.len() < SPANS.len() {
        carry(Path::new(CARRIED));
    }
}
