//! What JSON prints of an interval, and of the same interval after it was a frame: byte for byte the same. Needs root for the ledger.

use cpuledger::clock;
use cpuledger::framing::{self, Circumstances};
use cpuledger::interval::Row;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::source::walk::Walk;
use cpuledger::source::{SourceKind, procfs::Procfs};
use cpuledger::{Books, Boottime, FieldSet, Interval, Request, Scope, Snapshot, Source};
use cpuledger_load::ForkingShells;
use cpuledger_load::scene::{alone, scene, were_missed};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;
use cpuledger_view::json::append_interval;
use cpuledger_view::key::{Beside, Shown};

fn json(interval: &Interval) -> String {
    let all = |rows: usize| (0..rows).collect::<Vec<usize>>();
    let mut line = Vec::new();
    append_interval(
        &mut line,
        &Shown {
            interval,
            processes: &all(interval.processes.len()),
            tasks: Some(&all(interval.tasks.len())),
            exited: &all(interval.exited.as_ref().map_or(0, Vec::len)),
            blocked: &all(interval.blocked.as_ref().map_or(0, Vec::len)),
            boot_id: Some("a boot"),
            named: None,
            beside: Beside::default(),
        },
    );
    String::from_utf8(line).expect("JSON is UTF-8")
}

/// Through a frame and its bytes, into memory that is reused.
#[derive(Default)]
struct Through {
    frame: Frame,
    decoded: Frame,
    bytes: Vec<u8>,
    interval: Interval,
}

impl Through {
    fn check(&mut self, interval: &Interval) {
        let of = make!(Circumstances { end: Some(clock::boottime()), boot_id: Some("a boot") });
        framing::write(interval, &of, &mut self.frame);
        self.frame.encode(&mut self.bytes).expect("it is short");
        self.decoded.decode_from(&self.bytes).expect("it is a frame");
        assert!(self.decoded == self.frame);
        framing::read(&self.decoded, &mut self.interval).expect("it is an interval");
        let (found, expected) = (json(&self.interval), json(interval));
        let differs = found.bytes().zip(expected.bytes()).position(|(found, expected)| found != expected);
        assert!(found == expected, "{differs:?}: {found}\n\n{expected}");
        let (rows, known) = (&self.interval.processes, |row: &Row| row.task.known);
        assert!(rows.iter().map(known).eq(interval.processes.iter().map(known)));
        // The figures of a whole life, which JSON does not print.
        for (found, expected) in rows.iter().zip(&interval.processes) {
            for field in cpuledger::field::FIELDS {
                assert_eq!(
                    field.field.value(&found.task),
                    field.field.value(&expected.task),
                    "{}",
                    field.key
                );
            }
        }
    }
}

#[test]
fn intervals_of_the_ledger_print_the_same_root() {
    let _alone = alone();
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    ledger.find_blocked().expect("a walk");
    let _shells = ForkingShells::start(2).expect("shells");
    let mut interval = Interval::default();
    let mut through = Through::default();
    let mut dead = 0;
    for round in 0..8_u64 {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: round % 4 == 3 });
        let cut_ns = ledger.start_ns() + 100_000_000;
        ledger.close(cut_ns, &wanted, &mut interval).expect("an interval");
        dead += interval.exited.as_ref().map_or(0, Vec::len);
        through.check(&interval);
    }
    assert!(dead > 10, "only {dead} died");
    // Time without a ledger.
    ledger.fail_next();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let cut_ns = ledger.start_ns() + 50_000_000;
    ledger.close(cut_ns, &wanted, &mut interval).expect("an interval");
    through.check(&interval);
}

#[test]
fn intervals_of_the_ledger_merge_and_balance_root() {
    scene(intervals_of_the_ledger_merge_and_balance);
}

/// Through real exits, execs and births: each nanosecond is with one process, and states are the same, whatever the grouping.
fn intervals_of_the_ledger_merge_and_balance() {
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    let _shells = ForkingShells::start(2).expect("shells");
    let mut interval = Interval::default();
    let (mut frames, mut dead) = (Vec::new(), 0);
    for _ in 0..8 {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        let cut_ns = ledger.start_ns() + 50_000_000;
        ledger.close(cut_ns, &wanted, &mut interval).expect("an interval");
        were_missed(interval.missed_switches.expect("the ledger counts them"));
        dead += interval.exited.as_ref().map_or(0, Vec::len);
        let mut frame = Frame::new();
        let end = Some(Boottime::from_ns(interval.end_ns + cpuledger::clock::suspended_ns()));
        framing::write(&interval, &make!(Circumstances { end }), &mut frame);
        frames.push(frame);
    }
    let merge = |earlier: Frame, later: &Frame| earlier.merge(later).expect("they are neighbours");
    let from_left = frames[1..].iter().fold(frames[0].clone(), merge);
    let pairs: Vec<Frame> = frames.chunks(2).map(|pair| merge(pair[0].clone(), &pair[1])).collect();
    let in_pairs = pairs[1..].iter().fold(pairs[0].clone(), merge);
    assert!(from_left == in_pairs, "a merge is associative");
    framing::read(&from_left, &mut interval).expect("it is an interval");
    assert_eq!(interval.imbalance_ns(), Some(0));
    let (mut sum, mut parts) = (0, 0);
    for Row { usage, .. } in &interval.processes {
        sum += usage.cpu_ns;
        parts += usage.self_ns + usage.exited_threads_ns.unwrap_or(0) + usage.exited_children_ns.unwrap_or(0);
    }
    assert_eq!((sum, parts), (interval.attributed_ns, interval.attributed_ns));
    let exited = interval.exited.as_ref().expect("the ledger sees exits");
    assert!(dead > 10 && exited.len() == dead, "{} of {dead} are told", exited.len());
    // What is dead has no row.
    for exited in exited.iter().filter(|exited| exited.ends_process == Some(true)) {
        assert!(!interval.processes.iter().any(|row| row.task.id() == exited.exit.process), "{exited:?}");
    }
}

/// The source, and the interval between two of its snapshots.
fn check_snapshots(source: &mut dyn Source, kind: SourceKind) {
    let mut books = Books::new(kind.is_booked_by_task());
    let (mut snapshot, mut interval) = (Snapshot::default(), Interval::default());
    let mut exits = Default::default();
    let request = Request::new(Scope::Tasks, FieldSet::ALL);
    let mut through = Through::default();
    for _ in 0..3 {
        source.snapshot(&request, &mut snapshot).expect("a snapshot");
        let cut = cpuledger::attribution::difference::CutFacts::new(2, false);
        if books.close(&cut, &snapshot, &mut exits, &mut interval) {
            through.check(&interval);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    through.check(&Interval::since_boot(&snapshot, 2));
}

#[test]
fn intervals_of_snapshots_print_the_same_root() {
    let _alone = alone();
    check_snapshots(&mut Procfs::open().expect("/proc is mounted"), SourceKind::Procfs);
    check_snapshots(&mut Walk::open().expect("a walk needs root"), SourceKind::Walk);
}
