//! `fold_slot` of `ledger.bpf.c`: when slots run low, the time of a dead task goes to another slot.

use crate::Mutation;
use crate::segment::{Fate, Segment, list_slot};
use crate::slots::{find_process, give_slot};
use crate::words::{COLLECTS, EXITED, parity_of};
use crate::world::{Slot, World};
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::Relaxed;

/// Moves the time of the dead task to the slot of its process or, of a dead process, of its accounting parent.
pub fn fold_slot(world: &World, cpu: usize, number: u64, task: u64, fate: Fate, segment: &Segment) {
    let leader = (world.setup.leader_of)(task);
    let exit = if task == leader { segment.interval } else { 0 };
    let into = find_process(world, leader, [exit, segment.interval]);
    if fate != Fate::DiesLast {
        if into == 0 {
            collect(world, cpu, number, task, segment);
        } else {
            Fold { world, cpu, into, segment }.take(number, task, true);
        }
        return;
    }
    if into != 0 && world.slot(into).exit_interval.load(Relaxed) == 0 {
        return Fold { world, cpu, into, segment }.take(number, task, true);
    }
    let heir = find_process(world, (world.setup.parent_of)(leader), [0, segment.interval]);
    if heir == 0 {
        return;
    }
    let fold = Fold { world, cpu, into: heir, segment };
    if into != 0 && index_remove(world, leader, into) {
        fold.take(into, leader, false);
    }
    fold.take(number, task, false);
}

/// Whether it was there: of several that remove it, one is told so.
fn index_remove(world: &World, task: u64, number: u64) -> bool {
    if world.has(Mutation::CollectorTakenTwice) {
        world.entry(task).store(0, Relaxed);
        return true;
    }
    world.compare_and_swap(world.entry(task), number, 0) == number
}

/// Lets the slot of a dead task stand for its process until the cut.
fn collect(world: &World, cpu: usize, number: u64, task: u64, segment: &Segment) {
    let slot = world.slot(number);
    let leader = (world.setup.leader_of)(task);
    if task == leader {
        slot.flags.store(EXITED | COLLECTS, Relaxed);
    } else {
        world.books.fold(task);
        Fold { world, cpu, into: number, segment }.move_time(&slot.wall_ns, &slot.folded_threads_ns);
        slot.flags.store(COLLECTS, Relaxed);
        slot.tid.store(leader, Relaxed);
    }
    let _ = world.compare_and_swap(world.entry(leader), 0, number);
}

/// Where time is moved to, and the segment at whose end.
struct Fold<'a> {
    world: &'a World,
    cpu: usize,
    into: u64,
    segment: &'a Segment,
}

impl Fold<'_> {
    /// `move_slot`.
    fn take(&self, number: u64, task: u64, is_thread: bool) {
        let (world, slot, target) = (self.world, self.world.slot(number), self.world.slot(self.into));
        world.books.fold(task);
        let of_threads = if is_thread { &target.folded_threads_ns } else { &target.folded_children_ns };
        if !world.has(Mutation::FoldListedLate) {
            self.list();
        }
        self.move_time(&slot.wall_ns, of_threads);
        self.move_time(&slot.folded_threads_ns, of_threads);
        self.move_time(&slot.folded_children_ns, &target.folded_children_ns);
        if world.has(Mutation::FoldListedLate) {
            self.list();
        }
        slot.tid.store(0, Relaxed);
        if !world.has(Mutation::FoldedSlotExits) {
            slot.exit_interval.store(0, Relaxed);
        }
        if !give_slot(world, self.cpu, number) {
            slot.exit_interval.store(self.segment.interval, Relaxed);
        }
    }

    fn list(&self) {
        if self.world.has(Mutation::FoldNotListed) {
            return;
        }
        list_slot(self.world, self.cpu, self.into, self.segment.interval);
        if self.world.has(Mutation::FoldedAcrossCut) && self.segment.ends_after_cut() {
            list_slot(self.world, self.cpu, self.into, self.segment.interval + 1);
        }
    }

    /// Moves one accumulator to another slot; by mutation, in both intervals that may be open.
    fn move_time(&self, from: &[AtomicU64; 2], to: &[AtomicU64; 2]) {
        let intervals = 1 + u64::from(self.world.has(Mutation::FoldedAcrossCut));
        for interval in (self.segment.interval..).take(intervals as usize) {
            let parity = parity_of(interval);
            if from[parity].load(Relaxed) == 0 {
                continue;
            }
            if self.world.has(Mutation::FoldNotAtomic) {
                let ns = from[parity].load(Relaxed) + to[parity].load(Relaxed);
                from[parity].store(0, Relaxed);
                to[parity].store(ns, Relaxed);
            } else {
                let ns = self.world.exchange(&from[parity], 0);
                self.world.add_unordered(&to[parity], ns);
            }
        }
    }
}

/// Whether all accumulators of a slot are empty.
#[must_use]
pub fn is_empty(slot: &Slot) -> bool {
    let all = [&slot.wall_ns, &slot.folded_threads_ns, &slot.folded_children_ns];
    all.into_iter().flatten().all(|ns| ns.load(Relaxed) == 0)
}
