//! Which process inherits from which, against a naive reference: every process there ever was, with its accounting parent, and a search
//! upwards for the first that lives.

use std::collections::{BTreeMap, HashMap};

use cpuledger::Boottime;
use cpuledger::attribution::{Attribution, Increment, Parts};
use cpuledger::{TaskId, Tid};
use cpuledger_model::make;
use proptest::prelude::*;

mod families;

use families::{Event, GRACE_PERIOD_NS, INIT, SECOND, Slot, World, event};

/// Living processes, and the dead that a living one descends from.
fn needed(world: &World) -> usize {
    let mut needed = vec![false; world.processes.len()];
    for living in (0..world.processes.len()).filter(|&number| !world.processes[number].is_dead) {
        let mut number = living;
        while !std::mem::replace(&mut needed[number], true) {
            number = world.processes[number].parent;
        }
    }
    needed.into_iter().filter(|is_needed| *is_needed).count()
}

fn sum<'a>(accounts: impl IntoIterator<Item = &'a Parts>) -> u64 {
    accounts.into_iter().map(Parts::total_ns).sum()
}

/// Settles one interval and compares every account.
fn settle(world: &mut World, attribution: &mut Attribution) -> Result<(), TestCaseError> {
    let increments = world.increments();
    let mut accounts = HashMap::with_hasher(Default::default());
    attribution.settle(world.now_ns, &increments, &mut accounts);
    let told =
        increments.iter().map(|entry| entry.cpu_ns + entry.folded_threads_ns + entry.folded_children_ns);
    prop_assert_eq!(sum(accounts.values()), told.sum::<u64>(), "nothing is lost and nothing made");
    let accounts: BTreeMap<TaskId, Parts> =
        accounts.into_iter().filter(|(_, parts)| parts.total_ns() > 0).collect();
    prop_assert_eq!(accounts, world.reference());
    for process in world.processes.iter().filter(|process| process.is_dead) {
        prop_assert!(attribution.is_dead(process.id) || !was_told(&increments, process.id));
    }
    attribution.forget(world.now_ns);
    world.open_interval();
    Ok(())
}

fn was_told(increments: &[Increment], process: TaskId) -> bool {
    increments.iter().any(|entry| entry.process == process)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Every interval, every process, every part: to the nanosecond.
    #[test]
    fn each_nanosecond_is_where_it_belongs(events in prop::collection::vec(event(), 1..150)) {
        let mut world = World::new();
        let mut attribution = Attribution::default();
        for event in events.into_iter().chain([Event::Cut]) {
            // These rules do not cover a child that is unknown when its parent is forgotten.
            let is_silent = |slot: &Slot| slot.own_ns == 0;
            if matches!(event, Event::Sleep(_)) {
                for slot in world.slots.iter_mut().filter(|slot| is_silent(slot)) {
                    slot.own_ns += 1;
                }
                settle(&mut world, &mut attribution)?;
            }
            world.act(event);
            if matches!(event, Event::Cut) {
                settle(&mut world, &mut attribution)?;
            }
        }
    }

    /// After the grace period only those are remembered that live, or from which a living one descends; with
    /// all dead but init, only init.
    #[test]
    fn memory_follows_the_living(events in prop::collection::vec(event(), 1..150)) {
        let mut world = World::new();
        let mut attribution = Attribution::default();
        for event in events {
            world.act(event);
            if matches!(event, Event::Cut | Event::Sleep(_)) {
                // All are heard of.
                world.slots.iter_mut().for_each(|slot| slot.own_ns += 1);
                settle(&mut world, &mut attribution)?;
                attribution.forget(world.now_ns + GRACE_PERIOD_NS);
                prop_assert!(attribution.len() <= needed(&world), "{} of {}", attribution.len(), needed(&world));
            }
        }
        while let Some(slot) = (0..world.slots.len()).find(|&slot| world.slots[slot].process != INIT && !world.slots[slot].is_over) {
            world.end(slot, true);
        }
        world.slots.iter_mut().for_each(|slot| slot.own_ns += 1);
        settle(&mut world, &mut attribution)?;
        attribution.forget(world.now_ns + GRACE_PERIOD_NS);
        prop_assert!(attribution.len() <= 1, "{} are left", attribution.len());
    }

    /// Deaths that were not told, as slots ran out: a list of the living says which tasks died.
    #[test]
    fn a_list_of_the_living_tells_the_other_deaths(
        events in prop::collection::vec(event(), 1..150),
        unheard in prop::collection::vec(any::<bool>(), 64),
    ) {
        let mut world = World::new();
        let mut attribution = Attribution::default();
        let mut nth = 0;
        for event in events.into_iter().chain([Event::Cut]) {
            world.act(event);
            if !matches!(event, Event::Cut | Event::Sleep(_)) {
                continue;
            }
            // All are known; some of the deaths are not.
            for process in &world.processes {
                attribution.add(process.id, world.processes[process.parent].id);
            }
            let is_unheard = |slot: &Slot| slot.is_over && unheard[(nth + slot.process) % unheard.len()];
            world.slots.retain(|slot| !is_unheard(slot));
            let living: Vec<TaskId> =
                world.processes.iter().filter(|process| !process.is_dead).map(|process| process.id).collect();
            attribution.keep_living(world.now_ns, |process| living.contains(&process));
            settle(&mut world, &mut attribution)?;
            nth += 1;
            attribution.forget(world.now_ns);
        }
        for (number, process) in world.processes.iter().enumerate().filter(|(_, process)| !process.is_dead) {
            if number != INIT {
                prop_assert_eq!(attribution.heir(process.id), world.processes[world.heir(number)].id);
            }
        }
    }
}

/// A million processes that live and die one after another, an hour's worth of a storm: memory stays.
#[test]
fn a_storm_of_an_hour_is_not_remembered() {
    let mut attribution = Attribution::default();
    let id = |tid, start_ns| TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns) };
    let (init, shell) = (id(1, 0), id(2, 1));
    attribution.add(init, init);
    attribution.add(shell, init);
    let mut accounts = HashMap::with_hasher(Default::default());
    let mut most = 0;
    for interval in 1..=1000_u64 {
        let now_ns = interval * 3 * SECOND;
        let dead = |number: u64| {
            make!(Increment {
                process: id(3 + (number % 30_000) as i32, now_ns + number),
                parent: Some(shell),
                cpu_ns: 7,
                folded_threads_ns: 0,
                folded_children_ns: 0,
                comm: None,
                has_died: true,
                process_is_dead: true,
            })
        };
        let increments: Vec<Increment> = (0..1000).map(dead).collect();
        attribution.settle(now_ns, &increments, &mut accounts);
        assert_eq!(accounts[&shell], make!(Parts { exited_children_ns: 7000 }));
        attribution.forget(now_ns);
        most = most.max(attribution.len());
    }
    // The dead of half a minute.
    assert!(most <= 2 + 11 * 1000, "{most} were remembered");
}

#[test]
fn a_name_outlives_its_process_as_long_as_that_is_remembered() {
    let process = TaskId { tid: Tid(7), start_time_ns: Boottime::from_ns(70) };
    let parent = TaskId { tid: Tid(1), start_time_ns: Boottime::from_ns(10) };
    let name = |text: &str| Some(cpuledger::Comm::from_c_bytes(text.as_bytes()));
    let mut attribution = Attribution::default();
    attribution.name(process, name("early").unwrap(), false);
    assert_eq!(attribution.name_of(process), None, "nothing is noted of a process that is not known");

    attribution.add(process, parent);
    attribution.name(process, name("thread").unwrap(), true);
    assert_eq!(attribution.name_of(process), name("thread"), "better than none");
    attribution.name(process, name("leader").unwrap(), false);
    attribution.name(process, name("thread").unwrap(), true);
    assert_eq!(attribution.name_of(process), name("leader"));

    let dead = make!(Increment {
        process,
        parent: Some(parent),
        cpu_ns: 1,
        folded_threads_ns: 0,
        folded_children_ns: 0,
        comm: None,
        has_died: true,
        process_is_dead: true,
    });
    attribution.settle(SECOND, &[dead], &mut Default::default());
    attribution.forget(2 * SECOND);
    assert_eq!(attribution.name_of(process), name("leader"));
    attribution.forget(2 * SECOND + GRACE_PERIOD_NS);
    assert_eq!(attribution.name_of(process), None);
}
