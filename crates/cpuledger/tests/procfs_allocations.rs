//! A warm snapshot of /proc allocates nothing per task.

mod counting;

use counting::allocations;
use cpuledger::source::procfs::Procfs;
use cpuledger::{FieldSet, Request, Scope, Snapshot, Source};
use cpuledger_load::Sleepers;

/// Allocations of one warm snapshot with every field of every task.
fn allocations_of_a_warm_snapshot(threads: usize, processes: usize) -> usize {
    let _sleepers = Sleepers::start(threads, processes).expect("threads that sleep");
    let mut procfs = Procfs::open().expect("procfs");
    let mut snapshot = Snapshot::default();
    let request = Request::new(Scope::Tasks, FieldSet::ALL);
    // Twice, and with room for what else the machine may start meanwhile.
    for _ in 0..2 {
        procfs.snapshot(&request, &mut snapshot).expect("a snapshot");
        snapshot.processes.reserve(1000);
        snapshot.tasks.reserve(1000);
    }
    let before = allocations();
    procfs.snapshot(&request, &mut snapshot).expect("a snapshot");
    let after = allocations();
    assert!(snapshot.tasks.len() >= threads && snapshot.processes.len() >= processes);
    after - before
}

#[test]
fn a_warm_snapshot_allocates_nothing_per_task() {
    assert!(allocations() > 0, "the counting allocator is not in use");
    for (threads, processes) in [(10, 1), (2000, 1), (500, 500)] {
        // The list of pids has grown by then; a process that the machine starts may make it grow once more.
        let counted = allocations_of_a_warm_snapshot(threads, processes);
        assert!(counted <= 2, "{counted} allocations with {threads} threads of {processes} processes");
    }
}
