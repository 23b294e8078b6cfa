//! A run segment: what a task had between two switches, what becomes of the task, and the list of slots that had any.

use crate::Mutation;
use crate::words::parity_of;
use crate::world::World;
use loom::sync::atomic::Ordering::Relaxed;

/// What becomes of the task that is switched out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It will run again.
    Lives,
    /// This was its last switch.
    Dies,
    /// Likewise, and no thread of its process is left alive.
    DiesLast,
}

/// `struct segment`.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// When it begins.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// The interval it lies in.
    pub interval: u64,
    /// What is not before this is of the next interval.
    pub cut_ns: u64,
}

impl Segment {
    /// Whether all of it is of the next interval.
    #[must_use]
    pub fn starts_after_cut(&self) -> bool {
        self.start_ns >= self.cut_ns
    }

    /// Whether some of it is of the next interval.
    #[must_use]
    pub fn ends_after_cut(&self) -> bool {
        self.end_ns > self.cut_ns || self.starts_after_cut()
    }

    /// How much of it is of this interval.
    #[must_use]
    pub fn before_cut(&self) -> u64 {
        if self.starts_after_cut() { 0 } else { self.end_ns.min(self.cut_ns) - self.start_ns }
    }

    /// How much of it is of the next one.
    #[must_use]
    pub fn after_cut(&self) -> u64 {
        if self.ends_after_cut() { self.end_ns - self.start_ns.max(self.cut_ns) } else { 0 }
    }
}

/// Puts a slot on the list of an interval, once.
pub fn list_slot(world: &World, cpu: usize, number: u64, interval: u64) {
    let parity = parity_of(interval);
    let mark = &world.slot(number).mark[parity];
    let found = if world.has(Mutation::MarkNotExchanged) {
        let found = mark.load(Relaxed);
        mark.store(interval, Relaxed);
        found
    } else {
        world.exchange(mark, interval)
    };
    if found == interval {
        return;
    }
    let own = &world.cpus[cpu].own.list_place[parity];
    let (of_interval, mut place) = own.get();
    if of_interval != interval || place.is_multiple_of(world.setup.list_batch) {
        place = world.add(&world.listed_count[parity], world.setup.list_batch);
    }
    own.set((interval, place + 1));
    match world.listed[parity].get(place as usize) {
        Some(entry) => entry.store(number, Relaxed),
        None => world.books.fault(format!("the list of interval {interval} overflows")),
    }
}
