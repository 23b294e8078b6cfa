//! No cumulative figure of a (pid, start time) ever decreases: while threads that are not leaders exec, pids are used again
//! and threads come and go. Needs root. 10 s, or 10 minutes with CPULEDGER_TEST_FULL=1.

mod books;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use books::{Books, alone};
use cpuledger::interval::Counters;
use cpuledger::{Field, Task, TaskId, Value};
use cpuledger_load::{Kin, Storm, StormPlan};

/// Lengths of intervals, in turn: a process of the churn lives for about 1 ms.
const LENGTHS_NS: [u64; 5] = [1_000_000, 7_000_000, 300_000, 40_000_000, 15_000_000];
/// A task that has not run for so many intervals is not remembered, so that 10 minutes fit into memory.
const REMEMBERED: u64 = 2_000;

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

fn is_full() -> bool {
    std::env::var_os("CPULEDGER_TEST_FULL").is_some_and(|value| value == "1")
}

#[test]
fn no_figure_of_a_task_or_process_goes_back_root() {
    let _alone = alone();
    let length = Duration::from_secs(if is_full() { 600 } else { 10 });
    let mut books = Books::open();
    let mut churn = Kin::start("churn", 1).expect("a family");
    churn.begin().expect("it begins");
    let plan = StormPlan { workers: 1, threads: true, ..StormPlan::default() };
    let storm = Storm::start(&plan).expect("threads are made");
    let (mut processes, mut tasks) = (Marks::default(), Marks::default());
    let (mut deaths, mut twice) = (0_u64, 0_u64);
    let begin = Instant::now();
    while begin.elapsed() < length {
        books.close(LENGTHS_NS[books.intervals as usize % LENGTHS_NS.len()]);
        for row in &books.snapshot.processes {
            processes.look_at(row, books.intervals, "process");
        }
        for row in &books.snapshot.tasks {
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
    assert!(processes.compared > 1_000 && tasks.compared > 1_000 && deaths > 1_000);
}
