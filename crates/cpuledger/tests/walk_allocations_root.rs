//! A warm walk, decoded and filtered, allocates nothing per task. Needs root.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use cpuledger::source::walk::Walk;
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

/// Allocations of one warm walk with so many sleeping threads.
fn allocations_of_a_warm_walk(threads: usize) -> usize {
    let _sleepers = Sleepers::start(threads, 1).expect("threads that sleep");
    let mut walk = Walk::open().expect("the walk loads; it needs root");
    let mut snapshot = Snapshot::default();
    let request = Request { scope: Scope::Tasks, fields: FieldSet::ALL };
    for _ in 0..2 {
        walk.snapshot(&request, &mut snapshot).expect("a snapshot");
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    walk.snapshot(&request, &mut snapshot).expect("a snapshot");
    let asleep = snapshot.tasks.iter().filter(|row| row.state.0 == b'S').count();
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(asleep >= threads, "{asleep} of {threads} threads");
    after - before
}

#[test]
fn a_warm_walk_allocates_nothing_per_task_root() {
    let (few, many) = (allocations_of_a_warm_walk(10), allocations_of_a_warm_walk(10_000));
    assert_eq!(few, many, "allocations with 10 and with 10,000 threads");
    assert!(many < 10, "{many} allocations a walk");
}
