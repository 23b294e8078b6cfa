//! `off.bpf.h` and `src/ledger/off.rs`: what tasks do off the CPU. There is one state here: where the wait for a CPU begins within that time
//! is arithmetic.

use crate::Mutation;
use crate::words::{cut_ns, parity_of};
use crate::world::{Off, World};
use loom::sync::atomic::Ordering::{Acquire, Relaxed};

/// A time as `off` holds it: never 0.
fn word(since_ns: u64) -> u64 {
    since_ns << 1 | 1
}

/// Since when, by such a word; `None`: the task is on a CPU.
fn since(word: u64) -> Option<u64> {
    (word != 0).then_some(word >> 1)
}

/// Hook: the task of this slot leaves the CPU.
pub fn begin_off(world: &World, number: u64, now_ns: u64) {
    world.slot(number).off.off.store(word(now_ns), Relaxed);
}

/// Hook: this instant, or the one at which the task of this slot left its CPU if that is later.
#[must_use]
pub fn not_before_off(world: &World, number: u64, instant_ns: u64, now_ns: u64) -> u64 {
    since(world.slot(number).off.off.load(Relaxed))
        .map_or(instant_ns, |since_ns| instant_ns.max(since_ns.min(now_ns)))
}

/// Hook: the task of this slot comes onto the CPU, in the interval that ends at `cut_ns` or after that.
pub fn end_off(world: &World, number: u64, now_ns: u64, interval: u64, end_ns: u64) {
    let off = &world.slot(number).off;
    let Some(since_ns) = since(off.off.load(Relaxed)) else { return };
    if world.has(Mutation::OffLeftLate) {
        off.off.store(0, Relaxed);
    }
    let (mut from_ns, mut booked_in) = (cut_ns(world.cut_of(interval - 1).load(Relaxed)), interval);
    if now_ns >= end_ns && !world.has(Mutation::OffBookedAfterCut) {
        if since_ns < end_ns && !world.has(Mutation::OffNotLeft) {
            note_at_cut(world, off, interval, since_ns);
        }
        (from_ns, booked_in) = (end_ns, interval + 1);
    }
    let ns = &off.ns[parity_of(booked_in)];
    let more_ns = now_ns - from_ns.max(since_ns).min(now_ns);
    ns.store(ns.load(Relaxed) + more_ns, Relaxed);
    off.off.store(0, Relaxed);
}

fn note_at_cut(world: &World, off: &Off, interval: u64, since_ns: u64) {
    off.at_cut.store(word(since_ns), Relaxed);
    if world.has(Mutation::OffLeftRelaxed) {
        off.cut_interval.store(interval, Relaxed);
    } else {
        world.exchange(&off.cut_interval, interval);
    }
}

/// A task whose time off the CPU is asked for.
pub struct Alive {
    /// In which interval,
    pub interval: u64,
    /// which began then
    pub begin_ns: u64,
    /// and ended then.
    pub end_ns: u64,
    /// How long it was on a CPU in it.
    pub on_ns: u64,
    /// Whether it was on one at the end.
    pub is_on_at_end: bool,
}

/// Reader: takes what was booked. What is missing has to be what the task did at the cut.
pub fn take(world: &World, number: u64, alive: &Alive) {
    let off = &world.slot(number).off;
    let order = world.ordering(Acquire, Mutation::OffReadRelaxed);
    let mut cut_interval = None;
    if world.has(Mutation::OffReadLate) {
        cut_interval = Some(off.cut_interval.load(order));
    }
    let now = off.off.load(order);
    let cut_interval = cut_interval.unwrap_or_else(|| off.cut_interval.load(order));
    let since_ns = match cut_interval == alive.interval {
        true => since(off.at_cut.load(Relaxed)),
        false => since(now).filter(|since_ns| *since_ns < alive.end_ns),
    };
    let booked_ns = off.ns[parity_of(alive.interval)].swap(0, Relaxed);
    let known_ns = alive.on_ns + booked_ns;
    let rest_ns = match since_ns.filter(|_| !alive.is_on_at_end) {
        Some(since_ns) => alive.end_ns - since_ns.max(alive.begin_ns),
        None => 0,
    };
    let length_ns = alive.end_ns - alive.begin_ns;
    if known_ns + rest_ns != length_ns {
        world.books.fault(format!(
            "off: {} on, {booked_ns} off and {rest_ns} at the cut make no {length_ns}",
            alive.on_ns
        ));
    }
}
