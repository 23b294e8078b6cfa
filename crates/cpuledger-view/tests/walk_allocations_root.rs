//! A warm walk, decoded and filtered, allocates nothing per task. Needs root.

#[path = "../../cpuledger/tests/counting/mod.rs"]
mod counting;

use std::collections::BTreeSet;

use counting::allocations;
use cpuledger::source::walk::Walk;
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, Source};
use cpuledger_load::Sleepers;
use cpuledger_view::filter::{Caller, Selection};

/// Allocations of one warm walk with this number of sleeping threads.
fn allocations_of_a_warm_walk(threads: usize) -> usize {
    let _sleepers = Sleepers::start(threads, 1).expect("threads that sleep");
    let mut walk = Walk::open().expect("the walk loads; it needs root");
    let mut snapshot = Snapshot::default();
    let request = Request::new(Scope::Tasks, FieldSet::ALL);
    let selection = Selection {
        lists: vec![(Field::Euid, BTreeSet::from([0]))],
        comms: BTreeSet::from([b"nothing".to_vec()]),
        ..Selection::default()
    };
    for _ in 0..2 {
        walk.snapshot(&request, &mut snapshot).expect("a snapshot");
    }
    let before = allocations();
    walk.snapshot(&request, &mut snapshot).expect("a snapshot");
    let named = snapshot.tasks.iter().filter(|row| selection.accepts(row, &Caller::default())).count();
    let after = allocations();
    assert!(named >= threads, "{named} of {threads} threads");
    after - before
}

#[test]
fn a_warm_walk_allocates_nothing_per_task_root() {
    let (few, many) = (allocations_of_a_warm_walk(10), allocations_of_a_warm_walk(10_000));
    // Tasks that were born or died meanwhile may have been looked for beside the walk: that does not depend on how many there are.
    assert!(few.abs_diff(many) < 4, "{few} allocations with 10 and {many} with 10,000 threads");
    assert!(many < 10, "{many} allocations a walk");
}
