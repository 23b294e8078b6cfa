//! `slots.bpf.h`: taking a slot and giving it back, in batches. The index of tids is one entry a task here.

use crate::Mutation;
use crate::words::{FIRST_SLOT, FREE_ATTEMPTS, NO_SLOT, RUN};
use crate::world::{Batch, World};
use loom::sync::atomic::Ordering::{Acquire, Relaxed};

/// The link in a `free_head`.
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

impl Batch {
    /// The slot that is taken next.
    #[must_use]
    pub fn first(self) -> u64 {
        self.link & !RUN
    }

    /// What is left without it.
    #[must_use]
    pub fn rest(self, world: &World) -> Batch {
        let is_run = self.link & RUN != 0;
        let link = if is_run { self.link + 1 } else { world.slot(self.link).next_free.load(Relaxed) };
        Batch { count: self.count - 1, link }
    }
}

/// One attempt to take a batch from those of no CPU: `None` if another CPU was faster.
fn try_take_batch(world: &World) -> Option<Batch> {
    // What follows depends on its address: that orders it.
    let head = world.free_head.load(Acquire);
    let link = number_in(head);
    if link != 0 {
        let batch = world.slot(link & !RUN).batch.load(Relaxed);
        let next = next_head(world, head, number_in(batch));
        if world.compare_and_swap(&world.free_head, head, next) != head {
            return None;
        }
        world.add(&world.free_count, (batch >> 32).wrapping_neg());
        return Some(Batch { count: batch >> 32, link });
    }
    let fresh = world.fresh.load(Relaxed);
    let count = (FIRST_SLOT + world.setup.slots).saturating_sub(fresh).min(world.setup.slot_batch);
    if count > 0 && world.compare_and_swap(&world.fresh, fresh, fresh + count) != fresh {
        return None;
    }
    world.add(&world.free_count, count.wrapping_neg());
    Some(Batch { count, link: fresh | RUN })
}

/// One attempt to give a batch back; false if another CPU was faster.
fn try_give_batch(world: &World, batch: Batch) -> bool {
    let head = world.free_head.load(Relaxed);
    world.slot(batch.first()).batch.store(batch.count << 32 | number_in(head), Relaxed);
    if world.compare_and_swap(&world.free_head, head, next_head(world, head, batch.link)) != head {
        return false;
    }
    world.add(&world.free_count, batch.count);
    true
}

/// A free slot for this CPU, or [`NO_SLOT`].
pub fn take_slot(world: &World, cpu: usize) -> u64 {
    let own = &world.cpus[cpu].own;
    for _ in 0..FREE_ATTEMPTS {
        let batch = own.free.get();
        if batch.count > 0 {
            own.free.set(batch.rest(world));
            world.books.take(batch.first());
            return batch.first();
        }
        let spare = own.spare.take();
        let Some(batch) = (if spare.count > 0 { Some(spare) } else { try_take_batch(world) }) else {
            continue;
        };
        if batch.count == 0 {
            break;
        }
        own.free.set(batch);
    }
    NO_SLOT
}

/// Whether the slot could be given back by this CPU; if not, it is left to the reader.
pub fn give_slot(world: &World, cpu: usize, number: u64) -> bool {
    let own = &world.cpus[cpu].own;
    world.books.give(number);
    for _ in 0..FREE_ATTEMPTS {
        if world.setup.slot_batch == 1 {
            if try_give_batch(world, Batch { count: 1, link: number }) {
                return true;
            }
            continue;
        }
        let batch = own.free.get();
        if batch.count < world.setup.slot_batch {
            world.slot(number).next_free.store(batch.link, Relaxed);
            own.free.set(Batch { count: batch.count + 1, link: number });
            return true;
        }
        let spare = own.spare.take();
        if spare.count > 0 && !try_give_batch(world, spare) {
            own.spare.set(spare);
        } else {
            own.spare.set(own.free.take());
        }
    }
    world.books.take(number);
    false
}

/// Makes the slot of a task on this CPU, or [`NO_SLOT`].
pub fn make_slot(world: &World, cpu: usize, task: u64) -> u64 {
    let number = take_slot(world, cpu);
    if number == NO_SLOT {
        return NO_SLOT;
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
    let exit_interval = world.slot(number).exit_interval.load(Relaxed);
    let is_wanted = exits.contains(&exit_interval) || world.has(Mutation::CollectorOfAnyInterval);
    if is_wanted { number } else { 0 }
}
