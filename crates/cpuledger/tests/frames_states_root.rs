//! What tasks did off the CPU, in frames that were merged: of tasks that ran in few of them, and of processes with no row in most. Needs root.

use cpuledger::framing::{self, Circumstances};
use cpuledger::interval::Row;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{Boottime, FieldSet, Interval, States, Tid};
use cpuledger_load::scene::scene;
use cpuledger_load::{Did, States as Load, StatesPlan};
use cpuledger_model::frame::Frame;
use cpuledger_model::make;

/// Length of a frame.
const FRAME_NS: u64 = 10_000_000;
/// For how long a task does what it does: it has no row in most frames.
const WORK_MS: u64 = 600;
/// What a task does between its own clocks and the hooks.
const SLACK_NS: u64 = 2_000_000;

struct Books {
    ledger: Ledger,
    merged: Option<Frame>,
    /// The processes with a row in each frame.
    rows: Vec<Vec<i32>>,
    interval: Interval,
}

impl Books {
    fn close(&mut self) {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        let cut_ns = self.ledger.start_ns() + FRAME_NS;
        self.ledger.close(cut_ns, &wanted, &mut self.interval).expect("an interval");
        let of = make!(Circumstances {
            end: Some(Boottime::from_ns(self.interval.end_ns + cpuledger::clock::suspended_ns())),
        });
        self.rows.push(self.interval.processes.iter().map(|row| row.task.pid.0).collect());
        let mut frame = Frame::new();
        framing::write(&self.interval, &of, &mut frame);
        self.merged = Some(match self.merged.take() {
            None => frame,
            Some(earlier) => earlier.merge(&frame).expect("they are neighbours"),
        });
    }

    /// What a task did in all frames, by its row and by that of its process; it is the only thread.
    fn states(&mut self, tid: i32) -> (States, u64) {
        let merged = self.merged.as_ref().expect("a frame");
        framing::read(merged, &mut self.interval).expect("it is an interval");
        let usage = |rows: &[Row]| {
            rows.iter().find(|row| row.task.tid == Tid(tid)).expect("it has run, so it has a row").usage
        };
        let (task, process) = (usage(&self.interval.tasks), usage(&self.interval.processes));
        assert_eq!(task.state_imbalance_ns(), Some(0), "{task:?}");
        assert_eq!(process.state_imbalance_ns(), Some(0), "{process:?}");
        let states = task.states.expect("they are known");
        assert_eq!(process.states, Some(states));
        (states, self.interval.length_ns())
    }
}

/// Plays a load and returns what its first task said of itself, and what the merged frames say.
fn play(kind: &'static str) -> (Did, States, u64) {
    let plan = StatesPlan { kind, ms: WORK_MS, processes: 1, ..StatesPlan::default() };
    let mut load = Load::start(&plan).expect("a load");
    let mut ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
    ledger.find_blocked().expect("a walk");
    load.be_seen().expect("it wakes");
    let mut books = Books { ledger, merged: None, rows: Vec::new(), interval: Interval::default() };
    // It sleeps in some frames before it begins, and after its end.
    (0..15).for_each(|_| books.close());
    load.begin().expect("it begins");
    (0..WORK_MS * 1_000_000 / FRAME_NS + 15).for_each(|_| books.close());
    let did = load.did().expect("it ends");
    (0..3).for_each(|_| books.close());
    let (with_row, frames) =
        (books.rows.iter().filter(|pids| pids.contains(&did.tid)).count(), books.rows.len());
    assert!(with_row * 4 < frames * 3, "a row in {with_row} of {frames} frames");
    let (states, length_ns) = books.states(did.tid);
    (did, states, length_ns)
}

fn assert_near(what: &str, told_ns: u64, did: &Did) {
    let (least_ns, most_ns) = (did.least_ns.saturating_sub(SLACK_NS), did.most_ns + SLACK_NS);
    println!("{what}: {told_ns} ns told, {} to {} ns by its own clocks", did.least_ns, did.most_ns);
    assert!((least_ns..=most_ns).contains(&told_ns), "{what}: {told_ns} ns, not {least_ns} to {most_ns}");
}

#[test]
fn a_task_that_is_stopped_through_many_frames_is_told_so_root() {
    scene(|| {
        let (did, states, length_ns) = play("stop");
        assert_eq!(states.elapsed_ns, length_ns, "it lived all the time");
        assert_near("stopped", states.stopped_ns, &did);
    });
}

#[test]
fn a_task_that_waits_for_its_child_through_many_frames_is_told_so_root() {
    scene(|| {
        let (did, states, length_ns) = play("vfork");
        assert_eq!(states.elapsed_ns, length_ns, "it lived all the time");
        assert_near("blocked", states.blocked_ns, &did);
    });
}
