//! What closing an interval costs by the number of sleeping tasks: `cargo run --release --example interval_cost`.

use std::time::Instant;

use cpuledger::Boottime;
use cpuledger::attribution::difference::CutFacts;
use cpuledger::source::{Exits, SourceKind};
use cpuledger::task::State;
use cpuledger::{Books, FieldSet, Interval, Pid, Snapshot, Task, Tid};

fn main() {
    for (processes, threads) in [(100, 1), (1000, 10), (100, 1000), (100_000, 1), (1, 100_000)] {
        for by_task in [false, true] {
            cost(processes, threads, by_task);
        }
    }
}

fn cost(processes: i32, threads: i32, by_task: bool) {
    let mut snapshot = Snapshot { source: SourceKind::Walk, begin_ns: 1_000_000_000, ..Snapshot::default() };
    for process in 0..processes {
        let pid = 1 + process * threads;
        for thread in 0..threads {
            snapshot.tasks.push(Task {
                known: FieldSet::ALL,
                tid: Tid(pid + thread),
                pid: Pid(pid),
                state: State(b'S'),
                ..Task::default()
            });
        }
        snapshot.processes.push(snapshot.tasks[(pid - 1) as usize]);
    }
    let (mut books, mut interval, mut exits) = (Books::new(by_task), Interval::default(), Exits::default());
    let cut = CutFacts { online_cpus: 2, sees_exits: true };
    let mut best = u128::MAX;
    for _ in 0..20 {
        snapshot.begin_ns += 1_000_000_000;
        snapshot.begin = Boottime::from_ns(snapshot.begin_ns);
        let begin = Instant::now();
        books.close(&cut, &snapshot, &mut exits, &mut interval);
        best = best.min(begin.elapsed().as_nanos());
    }
    let tasks = processes * threads;
    let kind = if by_task { "by task" } else { "by process" };
    println!(
        "{tasks:>7} tasks of {processes:>6} processes, {kind:<10}: {:>6} µs, {:>4} ns a task",
        best / 1000,
        best / tasks as u128
    );
}
