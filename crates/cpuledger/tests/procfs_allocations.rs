//! A warm snapshot of /proc allocates nothing per task.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use cpuledger::source::procfs::Procfs;
use cpuledger::{FieldSet, Request, Scope, Snapshot, Source};
use cpuledger_load::Sleepers;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of one warm snapshot with every field of every task.
fn allocations_of_a_warm_snapshot(threads: usize, processes: usize) -> usize {
    let _sleepers = Sleepers::start(threads, processes).expect("threads that sleep");
    let mut procfs = Procfs::open().expect("procfs");
    let mut snapshot = Snapshot::default();
    let request = Request { scope: Scope::Tasks, fields: FieldSet::ALL };
    // Twice, and with room for what else the machine may start meanwhile.
    for _ in 0..2 {
        procfs.snapshot(&request, &mut snapshot).expect("a snapshot");
        snapshot.processes.reserve(1000);
        snapshot.tasks.reserve(1000);
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    procfs.snapshot(&request, &mut snapshot).expect("a snapshot");
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(snapshot.tasks.len() >= threads && snapshot.processes.len() >= processes);
    after - before
}

#[test]
fn a_warm_snapshot_allocates_nothing_per_task() {
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > 0, "the counting allocator is not in use");
    for (threads, processes) in [(10, 1), (2000, 1), (500, 500)] {
        // The list of pids has grown by then; a process that the machine starts may make it grow once more.
        let allocations = allocations_of_a_warm_snapshot(threads, processes);
        assert!(
            allocations <= 2,
            "{allocations} allocations with {threads} threads of {processes} processes"
        );
    }
}
