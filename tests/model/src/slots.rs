//! `slots.bpf.h`: taking a slot and giving it back. The index of tids is one entry a task here.

use crate::Mutation;
use crate::words::{FIRST_SLOT, FREE_ATTEMPTS, NOBODY};
use crate::world::World;
use loom::sync::atomic::Ordering::{Acquire, Relaxed};

/// The slot number in a `free_head`.
#[must_use]
pub fn number_in(head: u64) -> u64 {
    head & u64::from(u32::MAX)
}

/// The `free_head` after `head`, with this slot first.
#[must_use]
pub fn next_head(world: &World, head: u64, number: u64) -> u64 {
    let tag = if world.has(Mutation::UntaggedHead) { 0 } else { (head >> 32).wrapping_add(1) };
    tag << 32 | number
}

/// A slot that nobody uses, or [`NOBODY`].
pub fn take_slot(world: &World) -> u64 {
    for _ in 0..FREE_ATTEMPTS {
        // What follows depends on its address: that orders it.
        let head = world.free_head.load(Acquire);
        let number = number_in(head);
        if number != 0 {
            let next = next_head(world, head, world.slot(number).next_free.load(Relaxed));
            if world.compare_and_swap(&world.free_head, head, next) != head {
                continue;
            }
            world.books.take(number);
            world.add(&world.free_count, u64::MAX);
            return number;
        }
        let fresh = world.fresh.load(Relaxed);
        if fresh >= FIRST_SLOT + world.setup.slots {
            break;
        }
        if world.compare_and_swap(&world.fresh, fresh, fresh + 1) != fresh {
            continue;
        }
        world.books.take(fresh);
        world.add(&world.free_count, u64::MAX);
        return fresh;
    }
    NOBODY
}

/// Whether the slot could be given back; if not, it is left to the reader.
pub fn give_slot(world: &World, number: u64) -> bool {
    world.books.give(number);
    for _ in 0..FREE_ATTEMPTS {
        let head = world.free_head.load(Relaxed);
        world.slot(number).next_free.store(number_in(head), Relaxed);
        if world.compare_and_swap(&world.free_head, head, next_head(world, head, number)) != head {
            continue;
        }
        world.add(&world.free_count, 1);
        return true;
    }
    world.books.take(number);
    false
}

/// Makes the slot of a task, or [`NOBODY`].
pub fn make_slot(world: &World, task: u64) -> u64 {
    let number = take_slot(world);
    if number == NOBODY {
        return NOBODY;
    }
    let slot = world.slot(number);
    if !world.has(Mutation::ExitNotCleared) {
        slot.exit_interval.store(0, Relaxed);
    }
    if world.setup.low_slots > 0 {
        slot.flags.store(0, Relaxed);
    }
    slot.tid.store(task, Relaxed);
    world.entry(task).store(number, Relaxed);
    number
}

/// The slot of a task; 0: it has none.
#[must_use]
pub fn find_slot(world: &World, task: u64) -> u64 {
    if task == 0 { 0 } else { world.entry(task).load(Acquire) }
}

/// The slot that stands for the process of this leader, with one of two numbers in `exit_interval`; 0: there is none.
#[must_use]
pub fn find_process(world: &World, leader: u64, exits: [u64; 2]) -> u64 {
    let number = find_slot(world, leader);
    if number == 0 {
        return 0;
    }
    let exit_interval = world.slot(number).exit_interval.load(Acquire);
    let is_wanted = exits.contains(&exit_interval) || world.has(Mutation::CollectorOfAnyInterval);
    if is_wanted { number } else { 0 }
}
