//! `fold_slot` of `ledger.bpf.c`: when slots run low, the time of a dead task goes to another slot.

use crate::Mutation;
use crate::hook::{Tile, list_slot};
use crate::slots::{find_slot, give_slot};
use crate::words::parity_of;
use crate::world::{Slot, World};
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::Relaxed;

/// Moves the time of the dead task to the slot of its process or, of a dead process, of its accounting parent.
pub fn fold_slot(world: &World, number: u64, task: u64, is_process_dead: bool, tile: &Tile) {
    let slot = world.slot(number);
    let leader = (world.setup.leader_of)(task);
    let mut into_process = task != leader;
    let mut into = if into_process { find_slot(world, leader) } else { 0 };
    if into == 0 {
        if !is_process_dead {
            return;
        }
        into_process = false;
        into = find_slot(world, (world.setup.parent_of)(leader));
    }
    if into == 0 {
        return;
    }
    world.books.fold(task);
    let target = world.slot(into);
    let of_wall = if into_process { &target.folded_threads_ns } else { &target.folded_children_ns };
    let fold = Fold { world, into, tile };
    if !world.has(Mutation::FoldListedLate) {
        fold.list();
    }
    fold.move_time(&slot.wall_ns, of_wall);
    fold.move_time(&slot.folded_threads_ns, &target.folded_children_ns);
    fold.move_time(&slot.folded_children_ns, &target.folded_children_ns);
    if world.has(Mutation::FoldListedLate) {
        fold.list();
    }
    slot.tid.store(0, Relaxed);
    if !world.has(Mutation::FoldedSlotExits) {
        slot.exit_interval.store(0, Relaxed);
    }
    if !give_slot(world, number) {
        slot.exit_interval.store(tile.interval, Relaxed);
    }
}

/// Where time is moved to, and the tile at whose end.
struct Fold<'a> {
    world: &'a World,
    into: u64,
    tile: &'a Tile,
}

impl Fold<'_> {
    fn list(&self) {
        if self.world.has(Mutation::FoldNotListed) {
            return;
        }
        list_slot(self.world, self.into, self.tile.interval);
        if self.world.has(Mutation::FoldedAcrossCut) && self.tile.ends_after_cut() {
            list_slot(self.world, self.into, self.tile.interval + 1);
        }
    }

    /// Moves one accumulator to another slot; by mutation, in both intervals that may be open.
    fn move_time(&self, from: &[AtomicU64; 2], to: &[AtomicU64; 2]) {
        let intervals = 1 + u64::from(self.world.has(Mutation::FoldedAcrossCut));
        for interval in (self.tile.interval..).take(intervals as usize) {
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
                self.world.add(&to[parity], ns);
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
