//! A ledger whose slots run low is replaced by a larger one at a cut, and no task's figures show it. Needs root.

use std::collections::{HashMap, HashSet};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::task::Task;
use cpuledger::{Field, FieldSet, Interval, TaskId};
use cpuledger_load::scene::alone;
use cpuledger_load::{Ticks, is_emulated};
use cpuledger_model::make;

const THREADS: usize = 300;
/// Enough for all, but few of them are left.
const SLOTS: u32 = 400;
/// Not enough.
const FEW_SLOTS: u32 = 128;
/// Not enough for the threads; some are left for leaders, also for those of other processes of the machine.
const SOME_SLOTS: u32 = 1024;
const MANY_THREADS: usize = 1500;
/// Number of intervals in which all of them should have run.
const MOST_INTERVALS: usize = 100;
/// Number of intervals in which the threads run.
const INTERVALS: usize = 25;
/// An emulated CPU would take minutes to make all these threads, and has their time by two clocks that a busy host tears apart.
const EMULATED_SLOTS: u32 = 256;
const EMULATED_THREADS: usize = 400;
const EMULATED_INTERVALS: usize = 8;
/// How long a thread runs at a time. It makes the microsecond negligible by which our clock lags the scheduler's at a switch.
const TURN: Duration = Duration::from_micros(100);
const INTERVAL_NS: u64 = 100_000_000;

/// Closes `count` intervals and calls `each` after each.
fn run(ledger: &mut Ledger, count: usize, mut each: impl FnMut(&Ledger, &Interval)) {
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    for _ in 0..count {
        let begin_ns = ledger.start_ns();
        ledger.close(begin_ns + INTERVAL_NS, &wanted, &mut interval).expect("an interval closes");
        assert_eq!(interval.imbalance_ns(), Some(0), "{interval:?}");
        assert_eq!(interval.start_ns, begin_ns, "no time between two intervals");
        let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
        assert_eq!(sum, interval.attributed_ns);
        each(ledger, &interval);
    }
}

/// Set at the end of its life, also at that of a test that fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` while `threads` threads each run for `turn`, again and again.
fn with_threads(threads: usize, turn: Duration, work: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let begin = Instant::now();
                    while begin.elapsed() < turn {}
                    thread::sleep(Duration::from_millis(threads as u64 / 15));
                }
            });
        }
        work();
    });
}

/// CPU time of this process by its own clock.
fn process_clock_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How far two clocks may be apart: one part in `parts`, on an emulated CPU nearly a half.
fn off(clock_ns: u64, parts: u64) -> u64 {
    if is_emulated() { clock_ns * 2 / 5 } else { clock_ns / parts }
}

#[test]
fn figures_go_on_in_the_larger_ledger_root() {
    let _alone = alone();
    let mut ledger =
        Ledger::open(make!(Options { slots: SLOTS, may_grow: true })).expect("it attaches; it needs root");
    let pid = std::process::id() as i32;
    let mut figures: HashMap<TaskId, (u64, u64)> = HashMap::new();
    let mut sizes = vec![ledger.slots()];
    let (mut grown_ns, mut clock_ns) = (0, 0);
    // With what opening it took.
    run(&mut ledger, 1, |_, _| {});
    let begin_ns = process_clock_ns();
    with_threads(THREADS, Duration::ZERO, || {
        run(&mut ledger, if is_emulated() { 12 } else { INTERVALS }, |ledger, interval| {
            sizes.push(ledger.slots());
            assert_eq!(
                interval.unattributed_ns,
                Some(0),
                "{} slots, {:?}",
                ledger.slots(),
                interval.unattributed_by
            );
            // Of those that died between the cut and the look at them nothing is known.
            let looked_at =
                |row: &&Task| row.known.contains(Field::Runtime) && row.known.contains(Field::User);
            for row in interval.tasks.iter().map(|row| &row.task).filter(looked_at) {
                let now = (row.runtime_ns, row.user_ns + row.system_ns);
                let before = figures.insert(row.id(), now).unwrap_or_default();
                assert!(before.0 <= now.0 && before.1 <= now.1, "{row:?} had {before:?}");
            }
            if let Some(index) = interval.processes.iter().position(|row| row.task.pid.0 == pid) {
                grown_ns += interval.processes[index].usage.growth.runtime_ns;
            }
        });
        clock_ns = process_clock_ns() - begin_ns;
    });
    sizes.dedup();
    println!("slots: {sizes:?}; {grown_ns} ns of {clock_ns} ns");
    assert!(sizes.len() > 1 && sizes.is_sorted(), "{sizes:?}");
    // Nothing is counted twice or left out where one ledger took over from another.
    assert!(grown_ns <= clock_ns + off(clock_ns, 100), "{grown_ns} of {clock_ns} ns");
    assert!(grown_ns >= clock_ns - off(clock_ns, 10), "{grown_ns} of {clock_ns} ns");
}

#[test]
fn it_grows_until_every_task_has_a_slot_root() {
    let _alone = alone();
    let mut ledger = Ledger::open(make!(Options { slots: FEW_SLOTS, may_grow: true }))
        .expect("it attaches; it needs root");
    with_threads(THREADS, Duration::ZERO, || {
        run(&mut ledger, 20, |_, _| {});
        // On a busy machine not each of them runs in each interval.
        let mut told: HashSet<TaskId> = HashSet::new();
        let mut look = |ledger: &Ledger, interval: &Interval| {
            assert_eq!(
                interval.unattributed_ns,
                Some(0),
                "{} slots, {:?}",
                ledger.slots(),
                interval.unattributed_by
            );
            let mine = interval
                .tasks
                .iter()
                .map(|row| &row.task)
                .filter(|row| row.pid.0 == std::process::id() as i32);
            told.extend(mine.map(Task::id));
            told.len()
        };
        let mut mine = 0;
        for _ in 0..MOST_INTERVALS {
            run(&mut ledger, 1, |ledger, interval| mine = look(ledger, interval));
            if mine >= THREADS {
                return;
            }
        }
        panic!("{mine} threads of {THREADS} are told apart");
    });
    assert!(ledger.slots() >= 4 * FEW_SLOTS, "{} slots", ledger.slots());
}

#[test]
fn of_a_fixed_size_it_books_threads_without_a_slot_to_their_process_root() {
    let _alone = alone();
    let (slots, threads, intervals) = if is_emulated() {
        (EMULATED_SLOTS, EMULATED_THREADS, EMULATED_INTERVALS)
    } else {
        (SOME_SLOTS, MANY_THREADS, INTERVALS)
    };
    let mut ledger =
        Ledger::open(make!(Options { slots, may_grow: false })).expect("it attaches; it needs root");
    let pid = std::process::id() as i32;
    let (mut booked_ns, mut clock_ns, mut unattributed_ns, mut told_apart) = (0, 0, 0, 0);
    run(&mut ledger, 1, |_, _| {});
    // The process's own clock leaves these out, where the kernel can tell.
    let not_ours = || {
        let ticks = Ticks::now().expect("procfs");
        (ticks.interrupts + ticks.stolen).as_nanos() as u64
    };
    let (begin_ns, not_ours_ns) = (process_clock_ns(), not_ours());
    with_threads(threads, TURN, || {
        run(&mut ledger, intervals, |ledger, interval| {
            assert_eq!(ledger.slots(), slots);
            unattributed_ns += interval.unattributed_ns.expect("the ledger knows");
            told_apart = told_apart
                .max(interval.tasks.iter().map(|row| &row.task).filter(|row| row.pid.0 == pid).count());
            let process = interval.processes.iter().position(|row| row.task.pid.0 == pid);
            booked_ns += process.map_or(0, |process| interval.processes[process].usage.cpu_ns);
        });
        clock_ns = process_clock_ns() - begin_ns;
    });
    let not_ours_ns = not_ours() - not_ours_ns;
    println!(
        "{told_apart} threads of {threads}; {booked_ns} ns of {clock_ns} ns, {unattributed_ns} ns unattributed, \
         {not_ours_ns} ns of interrupts and the host"
    );
    assert!(ledger.lost().no_slot > 0 && told_apart < threads, "{:?}", ledger.lost());
    assert!(booked_ns <= clock_ns + off(clock_ns, 100) + not_ours_ns, "{booked_ns} of {clock_ns} ns");
    assert!(booked_ns >= clock_ns - off(clock_ns, 10), "{booked_ns} of {clock_ns} ns");
}

/// Shells that live for an instant, one after the other, in a ledger that has a slot for one in twenty.
const SHORT_LIVES: u32 = 4_000;

#[test]
fn it_grows_at_once_to_what_was_needed_root() {
    let _alone = alone();
    let slots = SHORT_LIVES / 20;
    let mut ledger =
        Ledger::open(make!(Options { slots, may_grow: true })).expect("it attaches; it needs root");
    let script = format!("i=0; while [ $i -lt {SHORT_LIVES} ]; do (:); i=$((i+1)); done");
    let status = Command::new("sh").args(["-c", &script]).status().expect("there is a shell");
    assert!(status.success());
    let mut sizes = vec![slots];
    // On a busy machine the two are not cut at once as a rule.
    while sizes.len() < 2 {
        run(&mut ledger, 1, |ledger, _| sizes.push(ledger.slots()));
        sizes.dedup();
    }
    // Where many others run, some find no slot at all, and no parent that has one.
    assert!(sizes[1] >= 8 * slots, "{sizes:?}");
}

/// How often many threads end at once.
const MASS_EXITS: usize = 4;

/// In a mass exit most threads have no slot: their time is in the row of their process, which never says less than their own rows and records.
#[test]
fn a_process_has_the_time_of_its_threads_where_many_end_at_once_root() {
    let _alone = alone();
    let (slots, threads) =
        if is_emulated() { (EMULATED_SLOTS, EMULATED_THREADS) } else { (SOME_SLOTS, MANY_THREADS) };
    let mut ledger =
        Ledger::open(make!(Options { slots, may_grow: false })).expect("it attaches; it needs root");
    let pid = std::process::id() as i32;
    let (mut records, mut most_ns) = (0, 0);
    for _ in 0..MASS_EXITS {
        with_threads(threads, TURN, || run(&mut ledger, 1, |_, _| {}));
        run(&mut ledger, 2, |_, interval| {
            let of_living = interval.tasks.iter().filter(|row| row.task.pid.0 == pid);
            let dead: Vec<u64> = interval
                .exited
                .iter()
                .flatten()
                .filter(|exited| exited.exit.process.tid.0 == pid)
                .map(|exited| exited.cpu_ns)
                .collect();
            let tasks_ns = of_living.map(|row| row.usage.cpu_ns).sum::<u64>() + dead.iter().sum::<u64>();
            let process = interval.processes.iter().find(|row| row.task.pid.0 == pid);
            let process_ns = process.map_or(0, |row| row.usage.cpu_ns);
            assert!(process_ns >= tasks_ns, "{process_ns} of {tasks_ns} ns: {process:?}");
            records += dead.len();
            most_ns = most_ns.max(process_ns);
        });
    }
    let lost = ledger.lost();
    println!("{records} records, at most {most_ns} ns in an interval, {lost:?}");
    assert!(records > 0 && most_ns > 1_000_000 && lost.no_slot > 0);
}
