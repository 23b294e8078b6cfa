//! No cumulative figure of a (pid, start time) ever decreases while threads that are not leaders exec, pids are used again, and
//! threads come and go, even if it is not read for long. Needs root. 10 s, or 10 minutes with CPULEDGER_TEST_FULL=1.

mod books;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use books::{Books, assert_balance_but_for, forks, is_full};
use cpuledger::counters::Counters;
use cpuledger::interval::Row;
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{Field, FieldSet, Interval, Task, TaskId, Value};
use cpuledger_load::scene::alone;
use cpuledger_load::{ForkingShells, Kin, Storm, StormPlan, is_emulated};
use cpuledger_model::make;

/// Lengths of intervals, in turn: a process of the churn lives for about 1 ms.
const LENGTHS_NS: [u64; 5] = [1_000_000, 7_000_000, 300_000, 40_000_000, 15_000_000];
/// Number of intervals without a run after which a task is forgotten, so that 10 minutes fit into memory.
const REMEMBERED: u64 = 2_000;
/// With more it takes long until enough have died; with less where each takes thirty times as long.
const MOST_SLOTS: u32 = 8_192;
const EMULATED_MOST_SLOTS: u32 = 640;

/// Stalls that may be disturbed.
const MOST_DISTURBED: usize = 4;

/// When an emulated CPU has had its time.
const LONGEST: Duration = Duration::from_secs(60);

/// The highest figures so far.
#[derive(Default)]
struct Marks {
    of: HashMap<TaskId, (u64, HashMap<Field, u64>)>,
    compared: u64,
}

impl Marks {
    fn look_at(&mut self, row: &Task, intervals: u64, what: &str) {
        let (seen, marks) = self.of.entry(row.id()).or_default();
        *seen = intervals;
        for info in cpuledger::field::FIELDS.iter().filter(|info| Counters::FIELDS.contains(info.field)) {
            let Value::Unsigned(now) = info.field.value(row) else { continue };
            if let Some(before) = marks.insert(info.field, now) {
                assert!(before <= now, "{} of {what} {:?}: {before}, then {now}", info.key, row.id());
                self.compared += 1;
            }
        }
    }

    fn forget(&mut self, intervals: u64) {
        self.of.retain(|_, (seen, _)| *seen + REMEMBERED > intervals);
    }
}

/// Execs by threads that are not leaders, reused pids, and threads.
fn churn() -> (Kin, Storm) {
    let mut churn = Kin::start("churn", 1).expect("a family");
    churn.begin().expect("it begins");
    let plan = StormPlan { workers: 1, threads: true, ..StormPlan::default() };
    (churn, Storm::start(&plan).expect("threads are made"))
}

#[test]
fn no_figure_of_a_task_or_process_goes_back_root() {
    let _alone = alone();
    let (length, enough) = match (is_full(), is_emulated()) {
        (true, _) => (Duration::from_secs(600), 1_000),
        (false, true) => (Duration::from_secs(4), 100),
        (false, false) => (Duration::from_secs(10), 1_000),
    };
    let mut books = Books::open();
    let (_churn, storm) = churn();
    let (mut processes, mut tasks) = (Marks::default(), Marks::default());
    let (mut deaths, mut twice) = (0_u64, 0_u64);
    let begin = Instant::now();
    // However slow the machine is, enough die.
    while begin.elapsed() < length || (is_emulated() && deaths <= enough && begin.elapsed() < LONGEST) {
        books.close(LENGTHS_NS[books.intervals as usize % LENGTHS_NS.len()]);
        for Row { task: row, .. } in &books.interval.processes {
            processes.look_at(row, books.intervals, "process");
        }
        for Row { task: row, .. } in &books.interval.tasks {
            tasks.look_at(row, books.intervals, "task");
        }
        // What a record says last is not less than what a row said.
        for exited in &books.exited {
            deaths += 1;
            let Some((_, marks)) = tasks.of.get(&exited.exit.task) else { continue };
            let before = marks.get(&Field::Runtime).copied().unwrap_or(0);
            // The old leader of an exec has the (tid, start time) of the thread that took its place.
            let is_replaced = exited.exit.runtime_ns < before && processes.of.contains_key(&exited.exit.task);
            assert!(before <= exited.exit.runtime_ns || is_replaced, "{exited:?}: {before} ns before");
            twice += u64::from(is_replaced);
        }
        books.forget();
        if books.intervals.is_multiple_of(1_000) {
            processes.forget(books.intervals);
            tasks.forget(books.intervals);
        }
    }
    storm.stop().expect("the storm ends");
    println!(
        "{} s, {} intervals, {deaths} deaths, {} figures of processes and {} of tasks compared, {twice} leaders replaced, \
         {:?}",
        begin.elapsed().as_secs(),
        books.intervals,
        processes.compared,
        tasks.compared,
        books.ledger.lost()
    );
    assert!(processes.compared > enough && tasks.compared > enough && deaths > enough);
}

/// All tasks of the machine: the second number of the fourth field of /proc/loadavg.
fn living_tasks() -> u32 {
    let text = std::fs::read_to_string("/proc/loadavg").expect("/proc is there");
    let tasks = text.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    tasks.and_then(|(_, all)| all.parse().ok()).expect("the kernel's form of loadavg")
}

/// In each stall more die than there are slots: their names are lost, no time is, and nothing goes back. One stall of 150 s with
/// CPULEDGER_TEST_FULL=1, else some short ones with few slots.
///
/// Those that die while the reader closes an interval keep their slots until it has. A reader that loses its CPU in the middle of that
/// leaves new tasks without one. Their time is told, and the stall is played again.
#[test]
fn no_time_is_lost_and_no_figure_goes_back_while_the_reader_stalls_root() {
    let _alone = alone();
    let (slots, stalls, length) = if is_full() {
        (Options::default().slots, 1, Duration::from_secs(150))
    } else {
        // Those that died before slots ran low keep theirs: the living have an eighth.
        let (least, most) = if is_emulated() { (256, EMULATED_MOST_SLOTS) } else { (2_048, MOST_SLOTS) };
        ((least + 8 * living_tasks()).min(most), if is_emulated() { 1 } else { 2 }, Duration::from_secs(2))
    };
    let options = make!(Options { slots, may_grow: false });
    let mut ledger = Ledger::open(options).expect("the ledger attaches; it needs root");
    let (_shells, (_churn, storm)) = (ForkingShells::start(2).expect("shells"), churn());
    let mut interval = Interval::default();
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let (mut processes, mut tasks) = (Marks::default(), Marks::default());
    let mut intervals = 0;
    let mut close = |ledger: &mut Ledger| {
        let cut_ns = ledger.start_ns() + LENGTHS_NS[3];
        ledger.close(cut_ns, &wanted, &mut interval).expect("an interval closes");
        intervals += 1;
        let without_slot_ns = interval.unattributed_by.no_slot_ns;
        assert!(without_slot_ns == 0 || ledger.lost().no_slot > 0, "{:?}", ledger.lost());
        assert_balance_but_for(&interval, without_slot_ns);
        interval
            .processes
            .iter()
            .map(|row| &row.task)
            .for_each(|row| processes.look_at(row, intervals, "process"));
        interval.tasks.iter().map(|row| &row.task).for_each(|row| tasks.look_at(row, intervals, "task"));
        (interval.unidentified_exits.expect("the ledger counts them"), without_slot_ns)
    };
    let mut whole = 0;
    for stall in 0.. {
        assert!(
            stall < stalls + MOST_DISTURBED,
            "tasks had no slot in nearly all stalls: {:?}",
            ledger.lost()
        );
        for _ in 0..5 {
            close(&mut ledger);
        }
        let (begin, many) =
            (Instant::now(), forks() + u64::from(slots) * if is_emulated() { 5 } else { 6 } / 2);
        while begin.elapsed() < length || forks() < many {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (unidentified, without_slot_ns) = close(&mut ledger);
        println!(
            "{unidentified} deaths without a name in {:?}, {without_slot_ns} ns without a slot, {:?}",
            begin.elapsed(),
            ledger.lost()
        );
        assert!(unidentified > u64::from(slots), "many more died than there are slots");
        whole += usize::from(without_slot_ns == 0);
        if whole == stalls {
            break;
        }
    }
    for _ in 0..5 {
        close(&mut ledger);
    }
    storm.stop().expect("the storm ends");
    assert!(processes.compared > 100 && tasks.compared > 100);
}
