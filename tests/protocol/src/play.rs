//! Playing a scenario: its CPUs beside its reader, then the comparison.

use crate::Mutation;
use crate::fold::is_empty;
use crate::hook::Processor;
use crate::reader::{Plan, Reader};
use crate::slots::number_in;
use crate::words::{FIRST_SLOT, RUN};
use crate::world::{Batch, Setup, World};
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A lead that no number of looks at the clock uses up: the cut is always published in time.
pub const LONG: Plan = Plan::ahead(50);

/// What a CPU does in a scenario.
pub type Script = fn(&World, &mut Processor<'_>);

/// Where a CPU is left: the slot that runs, its task, and since when.
pub type Stay = (u64, u64, u64);

/// A scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// How the world begins.
    pub setup: Setup,
    /// What each CPU does.
    pub scripts: &'static [Script],
    /// The cuts beside that.
    pub plans: &'static [Plan],
    /// Cuts before it.
    pub quiet_cuts: usize,
}

impl Scenario {
    /// Runs the CPUs beside the reader. Then makes two more cuts in the quiet, so that all that was ever booked must have
    /// surfaced, and compares.
    ///
    /// # Panics
    /// If something is wrong.
    pub fn play(self, mutation: Mutation) {
        let world = Arc::new(World::new(self.setup, mutation));
        let mut reader = Reader::new(&world);
        for _ in 0..self.quiet_cuts {
            reader.cut(LONG);
        }
        let start = |(number, script): (usize, &Script)| {
            let (world, script) = (Arc::clone(&world), *script);
            thread::spawn(move || -> Stay {
                let mut processor = Processor::new(&world, number);
                script(&world, &mut processor);
                processor.stay()
            })
        };
        let threads: Vec<_> = self.scripts.iter().enumerate().map(start).collect();
        self.plans.iter().for_each(|plan| reader.cut(*plan));
        let stays: Vec<Stay> =
            threads.into_iter().map(|thread| thread.join().expect("a script does not panic")).collect();
        reader.cut(LONG);
        reader.cut(LONG);
        finish(&world, &stays, reader.kept());
    }
}

/// Everything is quiet and cut: enters what still runs, and compares.
pub fn finish(world: &World, stays: &[Stay], kept: &[u64]) {
    let end = world.clock.now() + 1;
    for (cpu, (slot, task, begin)) in stays.iter().enumerate() {
        world.books.stay(world.stay(*slot, cpu, *task), cpu, *begin, end);
    }
    for (cpu, record) in world.cpus.iter().enumerate() {
        let all = [&record.idle_ns, &record.unattributed_ns, &record.uncovered_ns, &record.offline_ns];
        if all.into_iter().flatten().any(|ns| ns.load(Relaxed) != 0) {
            world.books.fault(format!("time of CPU {cpu} is left"));
        }
    }
    if world.listed_count.iter().any(|count| count.load(Relaxed) != 0) {
        world.books.fault("a list is not empty".into());
    }
    check_slots(world, kept);
    world.books.check(stays.len());
}

/// Each slot is free, or one living task's; `kept` are those that the reader has yet to give back.
pub fn check_slots(world: &World, kept: &[u64]) {
    let shared = shared_slots(world);
    if world.free_count.load(Relaxed) != shared.len() as u64 {
        world.books.fault(format!("{} slots are free and no CPU's, counted otherwise", shared.len()));
    }
    let own = world.cpus.iter().flat_map(|cpu| [cpu.own.free.get(), cpu.own.spare.get()]);
    let mut free = BTreeSet::new();
    for number in shared.into_iter().chain(own.flat_map(|batch| slots_of(world, batch))) {
        if !free.insert(number) {
            world.books.fault(format!("slot {number} is twice among the free"));
        }
    }
    for number in (FIRST_SLOT..).take(world.slots.len()) {
        let slot = world.slot(number);
        let is_of_a_task = world.index.iter().any(|entry| entry.load(Relaxed) == number);
        let is_free = free.contains(&number);
        let is_kept = kept.contains(&number);
        if world.books.uses(number) == is_free || (is_of_a_task || is_kept) == is_free {
            world.books.fault(format!("slot {number} is lost, or free and in use"));
        }
        if !is_empty(slot) {
            world.books.fault(format!("time of slot {number} is left"));
        }
    }
}

/// All that the stack of batches holds, and those that were never used.
fn shared_slots(world: &World) -> Vec<u64> {
    let mut slots: Vec<u64> = (world.fresh.load(Relaxed)..FIRST_SLOT + world.slots.len() as u64).collect();
    let mut link = number_in(world.free_head.load(Relaxed));
    while link != 0 && slots.len() <= world.slots.len() {
        let batch = world.slot(link & !RUN).batch.load(Relaxed);
        slots.extend(slots_of(world, Batch { count: batch >> 32, link }));
        link = number_in(batch);
    }
    slots
}

fn slots_of(world: &World, mut batch: Batch) -> Vec<u64> {
    let mut slots = Vec::new();
    while batch.count > 0 {
        slots.push(batch.first());
        batch = batch.rest(world);
    }
    slots
}
