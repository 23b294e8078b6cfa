//! Small worlds in which everything that matters can happen.
//!
//! # What is covered
//!
//! | scenario | preemptions | interleavings |
//! |---|---|---|
//! | one CPU: two switches and one cut / three and two | 3 / 2 | 7,171 / 5,187 |
//! | a CPU that is idle around the cut | 2 | 2,337 |
//! | one switch that takes longer than an interval | 3 | 2,470 |
//! | an interval shorter than the reading of the one before | 2 | 4,501 |
//! | a cut whose place an old one had | 3 | 7,171 |
//! | more cuts than places, one after the other | 0 | 1 |
//! | a reader that is held up: one CPU / another cut after it / two CPUs | 3 / 2 / 2 | 5,284 / 1,927 / 3,367 |
//! | a CPU whose clock is ahead of the reader's / behind it | 3 | 9,604 / 7,989 |
//! | a scheduler that has read its clock long before the hook | 3 | 25,639 |
//! | two CPUs, a task migrates, one cut / two cuts | 2 / 1 | 19,495 / 1,302 |
//! | a task dies, its slot is used again | 3 | 28,136 |
//! | two tasks die over two cuts, none finds a slot / their slots come back together | 2 | 6,297 / 3,246 |
//! | a CPU comes into the books by a switch / by a timer / never switches | 3 | 7,171 / 11,573 / 1,099 |
//! | a CPU is taken down and returns / is taken down and stays away | 3 | 17,451 / 2,470 |
//! | a CPU is found offline by the list and returns | 2 | 3,183 |
//! | few slots: a dead thread is folded into its running leader / around the cut | 2 | 4,976 / 2,569 |
//! | two threads are folded into one leader at once | 2 | 5,698 |
//! | a thread is folded into its leader, which dies and is folded too / on a CPU whose clock is behind | 2 | 6,987 / 7,259 |
//! | a leader dies before its thread / two threads whose leader has no slot: one slot collects for the process | 2 | 6,304 / 5,518 |
//! | two threads are the last of a process for which a slot has collected | 2 | 436 |
//! | two threads find no slot: their time goes to their leader's | 2 | 54,272 |
//! | the same while the leader dies | 2 | 72,491 |
//! | two CPUs take free slots, one gives one back: one by one / in batches of two | 3 | 347 / 28 |
//! | a task leaves the CPU and comes back around the cut / twice / on another CPU / before it has left, by the scheduler's clock | 3 / 2 / 2 / 2 | 8,849 / 7,428 / 4,778 / 4,778 |
//! | two CPUs list tasks on places that each has reserved / a place is left that was used before | 2 / 0 | 4,673 / 1 |
//! | three tasks die, their slots come back in batches | 2 | 5,799 |
//!
//! Before switches had the scheduler's instant, the model was also run once with one preemption more, except for the single death, the CPU that never switches and the cuts one after the
//! other. It held: 1,377,888 interleavings in 340 s, 294,459 of them for the migrating task.

use crate::Mutation;
use crate::hook::Processor;
use crate::play::{LONG, Scenario, Script, check_slots, finish};
use crate::reader::{Plan, Reader};
use crate::segment::Fate;
use crate::slots::{give_slot, make_slot, take_slot};
use crate::words::{CUTS, NO_SLOT};
use crate::world::{Setup, World};
use loom::sync::atomic::Ordering::{AcqRel, Relaxed};
use loom::thread;
use std::sync::Arc;

/// The task number of all idle tasks.
const IDLE: u64 = 0;

/// A lead that one look at the clock uses up.
const SHORT: Plan = Plan::ahead(1);

/// A lead that two looks at the clock use up.
const BRIEF: Plan = Plan::ahead(2);

/// A cut that finds the CPUs offline, and another.
const OFFLINE_FIRST: &[Plan] = &[Plan { is_online: Some(false), ..LONG }, LONG];

fn scenario(setup: Setup, scripts: &'static [Script], plans: &'static [Plan]) -> Scenario {
    Scenario { setup, scripts, plans, quiet_cuts: 0 }
}

fn leaves(_: &World, cpu: &mut Processor<'_>) {
    cpu.switch(IDLE, Fate::Lives);
}

fn dies(_: &World, cpu: &mut Processor<'_>) {
    cpu.switch(IDLE, Fate::Dies);
}

fn dies_last(_: &World, cpu: &mut Processor<'_>) {
    cpu.switch(IDLE, Fate::DiesLast);
}

fn one_switch(_: &World, cpu: &mut Processor<'_>) {
    cpu.switch(2, Fate::Lives);
}

fn two_switches(_: &World, cpu: &mut Processor<'_>) {
    cpu.switch(2, Fate::Lives);
    cpu.switch(3, Fate::Lives);
}

fn three_switches(_: &World, cpu: &mut Processor<'_>) {
    cpu.switch(IDLE, Fate::Lives);
    cpu.switch(2, Fate::Lives);
    cpu.switch(1, Fate::Lives);
}

/// One CPU, two switches, one cut: small enough for more preemptions.
pub fn one_cut(mutation: Mutation) {
    scenario(Setup::default(), &[two_switches], &[LONG]).play(mutation);
}

/// One CPU, three switches, two cuts: task 1, idle, task 2, task 1.
pub fn one_cpu(mutation: Mutation) {
    scenario(Setup::default(), &[three_switches], &[LONG, LONG]).play(mutation);
}

/// One CPU that is idle after the cut and before it.
pub fn idle_after_cut(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(2, Fate::Lives);
        cpu.switch(IDLE, Fate::Lives);
        cpu.switch(2, Fate::Lives);
    }];
    scenario(Setup { running: &[Some(0)], ..Setup::default() }, script, &[LONG]).play(mutation);
}

/// One CPU, one switch, two cuts: a switch that takes longer than an interval.
pub fn long_switch(mutation: Mutation) {
    scenario(Setup::default(), &[one_switch], &[LONG, LONG]).play(mutation);
}

/// As [`one_cpu`], but the second interval is so short that it may end before the reader is done with the first.
pub fn short_interval(mutation: Mutation) {
    scenario(Setup::default(), &[three_switches], &[LONG, BRIEF]).play(mutation);
}

/// As [`one_cut`], where the next interval's cut has the place of one long past.
pub fn reused_place(mutation: Mutation) {
    let quiet_cuts = CUTS - 1;
    Scenario { quiet_cuts, ..scenario(Setup::default(), &[two_switches], &[LONG]) }.play(mutation);
}

/// Two switches, and a cut that may be published when its time has already come: the reader is held up.
pub fn late_cut(mutation: Mutation) {
    scenario(Setup::default(), &[two_switches], &[BRIEF]).play(mutation);
}

/// Likewise, and another cut after that.
pub fn late_cut_and_another(mutation: Mutation) {
    scenario(Setup::default(), &[two_switches], &[SHORT, LONG]).play(mutation);
}

/// Two CPUs, one switch each, and a cut that may be published when its time has already come: all must agree on it.
pub fn late_cut_on_two_cpus(mutation: Mutation) {
    let setup = Setup { running: &[Some(1), Some(2)], ..Setup::default() };
    scenario(setup, &[leaves, leaves], &[BRIEF]).play(mutation);
}

/// A CPU whose clock is ahead of the reader's: a proposal that is early for the reader is late for the CPU.
pub fn clock_ahead(mutation: Mutation) {
    let setup = Setup { ahead_ns: |_| 3, ..Setup::default() };
    scenario(setup, &[two_switches], const { &[Plan::ahead(4)] }).play(mutation);
}

/// A CPU whose clock is so far behind that it sees a cut as the future when the next one is over; a task dies.
pub fn clock_behind(mutation: Mutation) {
    let setup = Setup { ahead_ns: |_| -200, ..Setup::default() };
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(2, Fate::Lives);
        cpu.switch(3, Fate::Dies);
    }];
    Scenario { quiet_cuts: 1, ..scenario(setup, script, &[LONG]) }.play(mutation);
}

/// The scheduler has read its clock long before one of the switches, at the wake-up: maybe before the cut, or before the switch that came first.
pub fn instant_behind(mutation: Mutation) {
    let setup = Setup { lag_ns: |task| if task == 3 { 200 } else { 0 }, ..Setup::default() };
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(IDLE, Fate::Lives);
        cpu.switch(3, Fate::Lives);
        cpu.switch(2, Fate::Dies);
    }];
    Scenario { quiet_cuts: 1, ..scenario(setup, script, &[LONG]) }.play(mutation);
}

/// Task 1 leaves CPU 0; if CPU 1 finds it there, it runs it and puts it aside again. One cut while that goes on.
pub fn migration(mutation: Mutation) {
    migrate(&[LONG], mutation);
}

/// The same with two cuts.
pub fn migration_with_two_cuts(mutation: Mutation) {
    migrate(&[LONG, LONG], mutation);
}

/// The task of this CPU leaves it, and is there for another.
fn leave(world: &World, cpu: &mut Processor<'_>) {
    cpu.switch(IDLE, Fate::Lives);
    world.kernel.swap(1, AcqRel);
}

/// Runs task 1 if it has left its CPU, else task 2.
fn run_if_left(world: &World, cpu: &mut Processor<'_>) {
    let next = world.kernel.swap(0, AcqRel);
    cpu.switch(if next == 1 { 1 } else { 2 }, Fate::Lives);
}

fn migrate(plans: &'static [Plan], mutation: Mutation) {
    // The kernel lets no CPU run a task before its last CPU has finished the switch: that order is an exchange here.
    let scripts: &'static [Script] = &[leave, |world, cpu| {
        run_if_left(world, cpu);
        cpu.switch(IDLE, Fate::Lives);
    }];
    let setup = Setup { running: &[Some(1), Some(0)], ..Setup::default() };
    scenario(setup, scripts, plans).play(mutation);
}

/// Task 1 dies; the new task has its slot, if that is free by then, and another slot if not.
pub fn death(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(IDLE, Fate::Dies);
        cpu.switch(4, Fate::Lives);
        cpu.switch(IDLE, Fate::Lives);
    }];
    let setup = Setup { tasks: 1, slots: 2, ..Setup::default() };
    scenario(setup, script, &[LONG]).play(mutation);
}

/// Two tasks die, one after the other, and two cuts are made; each new task may find no slot.
pub fn two_deaths(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(2, Fate::Dies);
        cpu.switch(3, Fate::Dies);
        cpu.switch(IDLE, Fate::Lives);
    }];
    let setup = Setup { tasks: 2, slots: 2, ..Setup::default() };
    scenario(setup, script, &[LONG, LONG]).play(mutation);
}

/// Two tasks die in an interval, so their slots are given back together, and another takes one of them.
pub fn two_deaths_and_a_birth(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(2, Fate::Dies);
        cpu.switch(IDLE, Fate::Dies);
        cpu.switch(3, Fate::Lives);
    }];
    let setup = Setup { tasks: 2, slots: 2, ..Setup::default() };
    scenario(setup, script, &[LONG]).play(mutation);
}

/// A CPU comes into the books while the first cut is made, and runs tasks.
pub fn entering(mutation: Mutation) {
    scenario(Setup { running: &[None], ..Setup::default() }, &[two_switches], &[LONG]).play(mutation);
}

/// A CPU comes into the books by a timer, in the task that runs, and switches.
pub fn entering_by_timer(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.enter(2);
        cpu.enter(2);
        cpu.switch(3, Fate::Lives);
    }];
    scenario(Setup { running: &[None], ..Setup::default() }, script, &[LONG]).play(mutation);
}

/// A CPU is taken down after a switch, comes back, and switches.
pub fn taken_down(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(2, Fate::Lives);
        cpu.take_down();
        cpu.switch(3, Fate::Lives);
    }];
    scenario(Setup::default(), script, &[LONG]).play(mutation);
}

/// A CPU is taken down beside two cuts, and stays away.
pub fn gone(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| cpu.take_down()];
    scenario(Setup::default(), script, &[LONG, LONG]).play(mutation);
}

/// A CPU beside another that never switches: it may not be waited for.
pub fn never_switched(mutation: Mutation) {
    let setup = Setup { running: &[Some(1), None], ..Setup::default() };
    scenario(setup, &[one_switch, |_, _| ()], &[LONG]).play(mutation);
}

/// A CPU that is found offline at the first cut and comes back.
pub fn leaving(mutation: Mutation) {
    scenario(Setup::default(), &[two_switches], OFFLINE_FIRST).play(mutation);
}

/// Task 1 leads thread 2, and task 3 is the parent of both. Slots are always low.
fn family() -> Setup {
    Setup {
        running: &[Some(1), Some(2)],
        low_slots: u64::MAX,
        leader_of: |task| if task == 3 { 3 } else { 1 },
        parent_of: |_| 3,
        is_one_family: true,
        ..Setup::default()
    }
}

/// Slots run low: thread 2 dies on one CPU and is folded into its leader, which runs on the other, while a cut is made.
pub fn fold_into_running(mutation: Mutation) {
    scenario(family(), &[leaves, dies], &[LONG]).play(mutation);
}

/// The same, where the thread has run before the cut and dies after it.
pub fn fold_around_cut(mutation: Mutation) {
    let scripts: &'static [Script] = &[
        |_, _| (),
        |_, cpu| {
            cpu.switch(IDLE, Fate::Lives);
            cpu.switch(2, Fate::Lives);
            cpu.switch(IDLE, Fate::Dies);
        },
    ];
    scenario(family(), scripts, &[LONG]).play(mutation);
}

/// Two threads die on two CPUs and are folded into the same sleeping leader.
pub fn two_folds(mutation: Mutation) {
    let setup = Setup { running: &[Some(2), Some(3)], leader_of: |_| 1, ..family() };
    scenario(setup, &[dies, dies], &[LONG]).play(mutation);
}

/// A leader dies on one CPU and is folded into its parent, while its last thread dies on the other and is folded into it.
pub fn fold_into_dying(mutation: Mutation) {
    scenario(family(), &[dies_last, dies_last], &[LONG]).play(mutation);
}

/// The same, where the leader's clock is so far behind that it dies before the cut, whatever it does after it.
pub fn fold_into_dying_behind(mutation: Mutation) {
    let setup = Setup { ahead_ns: |cpu| if cpu == 0 { -200 } else { 0 }, ..family() };
    scenario(setup, &[dies_last, dies_last], &[LONG]).play(mutation);
}

/// A leader dies on one CPU and its slot collects the time of its process, whose last thread dies on the other.
pub fn leader_dies_first(mutation: Mutation) {
    scenario(family(), &[dies, dies_last], &[LONG]).play(mutation);
}

/// Two threads of a leader without a slot die on two CPUs: the slot of one collects the time of both, if they die in one interval.
pub fn threads_die_without_their_leader(mutation: Mutation) {
    let setup = Setup { running: &[Some(2), Some(3)], leader_of: |_| 4, ..family() };
    scenario(setup, &[dies, dies], &[LONG]).play(mutation);
}

/// A leader has died, and its last two threads die on two CPUs: one of them takes along what was collected.
pub fn last_threads(mutation: Mutation) {
    let scripts: &'static [Script] = &[
        |_, cpu| {
            cpu.switch(2, Fate::Dies);
            cpu.switch(IDLE, Fate::DiesLast);
        },
        dies_last,
    ];
    let setup = Setup {
        running: &[Some(1), Some(3)],
        tasks: 4,
        slots: 4,
        leader_of: |task| if task == 4 { 4 } else { 1 },
        parent_of: |_| 4,
        ..family()
    };
    scenario(setup, scripts, &[]).play(mutation);
}

/// Two threads run on two CPUs and find no slot, as their sleeping leader has the only one: their time goes there.
pub fn threads_without_a_slot(mutation: Mutation) {
    let scripts: &'static [Script] = &[
        |_, cpu| {
            cpu.switch(2, Fate::Lives);
            cpu.switch(IDLE, Fate::Lives);
        },
        |_, cpu| {
            cpu.switch(3, Fate::Lives);
            cpu.switch(IDLE, Fate::Lives);
        },
    ];
    let setup = Setup { running: &[Some(0), Some(0)], tasks: 1, slots: 1, leader_of: |_| 1, ..family() };
    scenario(setup, scripts, &[LONG]).play(mutation);
}

/// A thread finds no slot while its leader, which has the only one, dies on the other CPU and its slot goes to another task.
pub fn leader_dies_before_thread(mutation: Mutation) {
    let scripts: &'static [Script] = &[
        |_, cpu| {
            cpu.switch(IDLE, Fate::Dies);
            cpu.switch(4, Fate::Lives);
        },
        |_, cpu| {
            cpu.switch(2, Fate::Lives);
            cpu.switch(IDLE, Fate::Lives);
        },
    ];
    let setup = Setup {
        running: &[Some(1), Some(0)],
        tasks: 1,
        slots: 1,
        leader_of: |task| if task == 2 { 1 } else { task },
        ..family()
    };
    scenario(setup, scripts, &[LONG]).play(mutation);
}

/// A task leaves the CPU and comes back, around a cut.
pub fn off_around_cut(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(IDLE, Fate::Lives);
        cpu.switch(1, Fate::Lives);
    }];
    let setup = Setup { tasks: 1, slots: 1, keeps_off: true, ..Setup::default() };
    scenario(setup, script, &[LONG]).play(mutation);
}

/// A task comes back twice: both times may be after the cut and before the reader looks.
pub fn off_twice(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(IDLE, Fate::Lives);
        cpu.switch(1, Fate::Lives);
        cpu.switch(IDLE, Fate::Lives);
        cpu.switch(1, Fate::Lives);
    }];
    let setup = Setup { tasks: 1, slots: 1, keeps_off: true, ..Setup::default() };
    scenario(setup, script, &[LONG]).play(mutation);
}

/// Task 1 leaves CPU 0; CPU 1 runs it if it finds it there.
const OFF_AND_MIGRATION: &[Script] = &[leave, run_if_left];

fn migrates_off() -> Setup {
    Setup { running: &[Some(1), Some(0)], keeps_off: true, ..Setup::default() }
}

/// A task leaves one CPU and may come back on another, around a cut.
pub fn off_and_migration(mutation: Mutation) {
    scenario(migrates_off(), OFF_AND_MIGRATION, &[LONG]).play(mutation);
}

/// The same, where the switch to the task is before it has left the other CPU, by that clock.
pub fn off_and_migration_behind(mutation: Mutation) {
    let setup = Setup { lag_ns: |task| if task == 1 { 200 } else { 0 }, ..migrates_off() };
    Scenario { quiet_cuts: 1, ..scenario(setup, OFF_AND_MIGRATION, &[LONG]) }.play(mutation);
}

/// Two CPUs take free slots, and one gives back one of them.
///
/// # Panics
/// If a slot goes to two tasks.
pub fn free_slots(mutation: Mutation) {
    let setup = Setup { running: &[Some(0), Some(0)], slots: 6, tasks: 3, ..Setup::default() };
    let world = Arc::new(World::new(setup, mutation));
    give_slots_of(&world, 1..=3);
    let other = Arc::clone(&world);
    let thread = thread::spawn(move || {
        make_slot(&other, 1, 1);
    });
    let first = take_slot(&world, 0);
    make_slot(&world, 0, 2);
    assert_ne!(first, NO_SLOT, "there are enough for all");
    give_slot(&world, 0, first);
    thread.join().expect("taking a slot does not panic");
    check_slots(&world, &[]);
    world.books.check(0);
}

/// Batches of two. One CPU gives a slot back, and with it a batch that it has no place for. The other takes that batch, or one that
/// was there before, or slots that were never used.
///
/// # Panics
/// If a slot goes to two tasks.
pub fn free_slots_in_batches(mutation: Mutation) {
    let setup = Setup { running: &[Some(0), Some(0)], slots: 9, tasks: 7, slot_batch: 2, ..Setup::default() };
    let world = Arc::new(World::new(setup, mutation));
    give_slots_of(&world, 1..=6);
    let other = Arc::clone(&world);
    let thread =
        thread::spawn(move || (1..=3).for_each(|task| assert_ne!(make_slot(&other, 1, task), NO_SLOT)));
    give_slots_of(&world, 7..=7);
    thread.join().expect("there are enough for all");
    check_slots(&world, &[]);
    world.books.check(0);
}

/// CPU 0 gives back what these tasks have.
fn give_slots_of(world: &World, tasks: std::ops::RangeInclusive<u64>) {
    for task in tasks {
        give_slot(world, 0, world.entry(task).swap(0, Relaxed));
    }
}

/// Two CPUs list in an interval, each on places of its own, of which one is left in each.
pub fn lists_in_batches(mutation: Mutation) {
    let scripts: &'static [Script] = &[leaves, |_, cpu| cpu.switch(3, Fate::Dies)];
    let setup = Setup { running: &[Some(1), Some(2)], list_batch: 2, ..Setup::default() };
    scenario(setup, scripts, &[LONG]).play(mutation);
}

/// Of the places that a CPU reserves, one is left in an interval after one in which it was used.
pub fn place_left(mutation: Mutation) {
    let world = World::new(Setup { list_batch: 2, ..Setup::default() }, mutation);
    let mut cpu = Processor::new(&world, 0);
    let mut reader = Reader::new(&world);
    cpu.switch(2, Fate::Lives);
    cpu.switch(IDLE, Fate::Lives);
    reader.cut(LONG);
    reader.cut(LONG);
    cpu.switch(2, Fate::Lives);
    cpu.switch(IDLE, Fate::Lives);
    (0..3).for_each(|_| reader.cut(LONG));
    finish(&world, &[cpu.stay()], reader.kept());
}

/// Slots come back in batches of two, of which the reader keeps what is not a whole one.
pub fn deaths_in_batches(mutation: Mutation) {
    let script: &'static [Script] = &[|_, cpu| {
        cpu.switch(2, Fate::Dies);
        cpu.switch(3, Fate::Dies);
        cpu.switch(4, Fate::Dies);
        cpu.switch(IDLE, Fate::Lives);
    }];
    let setup = Setup { tasks: 3, slots: 4, slot_batch: 2, list_batch: 2, ..Setup::default() };
    scenario(setup, script, &[LONG]).play(mutation);
}

/// More cuts than there are places for them, one after the other, with switches before each.
pub fn many_cuts(mutation: Mutation) {
    let world = World::new(Setup::default(), mutation);
    let mut cpu = Processor::new(&world, 0);
    let mut reader = Reader::new(&world);
    for task in [2, IDLE, 1, 2, 1, IDLE, 2] {
        cpu.switch(task, Fate::Lives);
        cpu.switch(3, Fate::Lives);
        reader.cut(LONG);
    }
    reader.cut(LONG);
    finish(&world, &[cpu.stay()], reader.kept());
}
