//! Which process inherits from which, against a naive reference: every process there ever was, with its accounting parent, and a search
//! upwards for the first that lives.

use std::collections::{BTreeMap, HashMap};

use cpuledger::Boottime;
use cpuledger::attribution::{Attribution, Increment, Parts};
use cpuledger::{TaskId, Tid};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
/// As long as a process without known children is remembered.
const GRACE_PERIOD_NS: u64 = 30 * SECOND;
/// Pids are used again soon.
const PIDS: i32 = 24;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A task makes a process; whether it runs before the next cut is another event's.
    Fork(usize),
    /// A process makes a sibling: CLONE_PARENT.
    ForkSibling(usize),
    Spawn(usize),
    Run(usize, u64),
    /// A thread, or the last one: the process.
    Exit(usize),
    ExitProcess(usize),
    /// By any of the threads: the others die, and the slot of that one ends without a death.
    Exec(usize),
    /// A dead task whose identity was lost: its time is told of another task.
    FoldedThread(usize, u64),
    FoldedChild(usize, u64),
    Sleep(u64),
    Cut,
}

fn event() -> impl Strategy<Value = Event> {
    let who = 0usize..64;
    let ns = 1u64..1_000_000;
    prop_oneof![
        6 => who.clone().prop_map(Event::Fork),
        1 => who.clone().prop_map(Event::ForkSibling),
        3 => who.clone().prop_map(Event::Spawn),
        12 => (who.clone(), ns.clone()).prop_map(|(who, ns)| Event::Run(who, ns)),
        3 => who.clone().prop_map(Event::Exit),
        4 => who.clone().prop_map(Event::ExitProcess),
        1 => who.clone().prop_map(Event::Exec),
        1 => (who.clone(), ns.clone()).prop_map(|(who, ns)| Event::FoldedThread(who, ns)),
        1 => (who, ns).prop_map(|(who, ns)| Event::FoldedChild(who, ns)),
        1 => (0u64..GRACE_PERIOD_NS).prop_map(Event::Sleep),
        4 => Just(Event::Cut),
    ]
}

/// Never reused.
type Number = usize;

#[derive(Debug)]
struct Process {
    id: TaskId,
    parent: Number,
    is_dead: bool,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    process: Number,
    own_ns: u64,
    folded_threads_ns: u64,
    folded_children_ns: u64,
    has_died: bool,
    /// No more: dead, or given up by an exec.
    is_over: bool,
    process_is_dead: bool,
}

/// A machine whose slots are those of the ledger: one for each task that ran, until the cut after its end.
#[derive(Debug)]
struct World {
    now_ns: u64,
    processes: Vec<Process>,
    slots: Vec<Slot>,
    last_pid: i32,
}

const INIT: Number = 0;

impl World {
    fn new() -> World {
        let mut world = World { now_ns: SECOND, processes: Vec::new(), slots: Vec::new(), last_pid: 0 };
        world.add_process(INIT);
        world
    }

    /// The next pid that no living process has.
    fn add_process(&mut self, parent: Number) {
        self.now_ns += 1000;
        let is_taken = |pid| self.processes.iter().any(|process| !process.is_dead && process.id.tid.0 == pid);
        let mut pids = (1..=PIDS).map(|step| (self.last_pid + step - 1) % PIDS + 1);
        let Some(pid) = pids.find(|pid| !is_taken(*pid)) else { return };
        self.last_pid = pid;
        let id = TaskId { tid: Tid(pid), start_time_ns: Boottime::from_ns(self.now_ns) };
        self.processes.push(Process { id, parent, is_dead: false });
        self.add_slot(self.processes.len() - 1);
    }

    fn add_slot(&mut self, process: Number) {
        self.slots.push(Slot {
            process,
            own_ns: 0,
            folded_threads_ns: 0,
            folded_children_ns: 0,
            has_died: false,
            is_over: false,
            process_is_dead: false,
        });
    }

    /// The nth of the living tasks.
    fn living(&self, nth: usize) -> usize {
        let living: Vec<usize> = (0..self.slots.len()).filter(|&slot| !self.slots[slot].is_over).collect();
        living[nth % living.len()]
    }

    fn end(&mut self, slot: usize, has_died: bool) {
        let process = self.slots[slot].process;
        self.slots[slot].is_over = true;
        self.slots[slot].has_died = has_died;
        let lives = self.slots.iter().any(|other| other.process == process && !other.is_over);
        if has_died && !lives {
            self.slots[slot].process_is_dead = true;
            self.processes[process].is_dead = true;
        }
    }

    fn tasks_of(&self, process: Number) -> Vec<usize> {
        let is_of = |slot: &Slot| slot.process == process && !slot.is_over;
        (0..self.slots.len()).filter(|&slot| is_of(&self.slots[slot])).collect()
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Fork(who) => self.add_process(self.slots[self.living(who)].process),
            Event::ForkSibling(who) => {
                let process = self.slots[self.living(who)].process;
                self.add_process(self.processes[process].parent);
            }
            Event::Spawn(who) => self.add_slot(self.slots[self.living(who)].process),
            Event::Run(who, ns) => {
                let slot = self.living(who);
                self.slots[slot].own_ns += ns;
                self.now_ns += ns;
            }
            Event::Exit(who) => self.exit(&[self.living(who)]),
            Event::ExitProcess(who) => {
                let tasks = self.tasks_of(self.slots[self.living(who)].process);
                self.exit(&tasks);
            }
            Event::Exec(who) => {
                let slot = self.living(who);
                let process = self.slots[slot].process;
                self.add_slot(process);
                let others = self.tasks_of(process).into_iter().filter(|&other| other != slot);
                let others: Vec<usize> = others.filter(|&other| other != self.slots.len() - 1).collect();
                others.into_iter().for_each(|other| self.end(other, true));
                self.end(slot, false);
            }
            Event::FoldedThread(who, ns) => {
                let slot = self.living(who);
                self.slots[slot].folded_threads_ns += ns;
            }
            Event::FoldedChild(who, ns) => {
                let slot = self.living(who);
                self.slots[slot].folded_children_ns += ns;
            }
            Event::Sleep(ns) => self.now_ns += ns,
            Event::Cut => {}
        }
    }

    /// Init does not die.
    fn exit(&mut self, tasks: &[usize]) {
        for &slot in tasks {
            if self.slots[slot].process != INIT || self.tasks_of(INIT).len() > 1 {
                self.end(slot, true);
            }
        }
    }

    fn heir(&self, process: Number) -> Number {
        let mut heir = self.processes[process].parent;
        while self.processes[heir].is_dead {
            heir = self.processes[heir].parent;
        }
        heir
    }

    /// Where everything that was increments belongs.
    fn reference(&self) -> BTreeMap<TaskId, Parts> {
        let mut accounts: BTreeMap<TaskId, Parts> = BTreeMap::new();
        for slot in &self.slots {
            let process = &self.processes[slot.process];
            if process.is_dead {
                let account = accounts.entry(self.processes[self.heir(slot.process)].id).or_default();
                account.exited_children_ns += slot.own_ns + slot.folded_threads_ns + slot.folded_children_ns;
                continue;
            }
            let account = accounts.entry(process.id).or_default();
            if slot.has_died {
                account.exited_threads_ns += slot.own_ns;
            } else {
                account.self_ns += slot.own_ns;
            }
            account.exited_threads_ns += slot.folded_threads_ns;
            account.exited_children_ns += slot.folded_children_ns;
        }
        accounts.retain(|_, parts| parts.total_ns() > 0);
        accounts
    }

    /// What the ledger would tell: those with time or an end, the last first, as no order is promised.
    fn increments(&self) -> Vec<Increment> {
        let increments = self.slots.iter().rev().map(|slot| Increment {
            process: self.processes[slot.process].id,
            parent: Some(self.processes[self.processes[slot.process].parent].id),
            cpu_ns: slot.own_ns,
            folded_threads_ns: slot.folded_threads_ns,
            folded_children_ns: slot.folded_children_ns,
            has_died: slot.has_died,
            process_is_dead: slot.process_is_dead,
        });
        let is_told =
            |slot: &Slot| slot.is_over || slot.own_ns + slot.folded_threads_ns + slot.folded_children_ns > 0;
        increments
            .zip(self.slots.iter().rev())
            .filter(|(_, slot)| is_told(slot))
            .map(|(increments, _)| increments)
            .collect()
    }

    fn open_interval(&mut self) {
        self.slots.retain(|slot| !slot.is_over);
        for slot in &mut self.slots {
            (slot.own_ns, slot.folded_threads_ns, slot.folded_children_ns) = (0, 0, 0);
        }
    }

    /// Living processes, and the dead that a living one descends from.
    fn needed(&self) -> usize {
        let mut needed = vec![false; self.processes.len()];
        for living in (0..self.processes.len()).filter(|&number| !self.processes[number].is_dead) {
            let mut number = living;
            while !std::mem::replace(&mut needed[number], true) {
                number = self.processes[number].parent;
            }
        }
        needed.into_iter().filter(|is_needed| *is_needed).count()
    }
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
                prop_assert!(attribution.len() <= world.needed(), "{} of {}", attribution.len(), world.needed());
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
        let dead = |number: u64| Increment {
            process: id(3 + (number % 30_000) as i32, now_ns + number),
            parent: Some(shell),
            cpu_ns: 7,
            folded_threads_ns: 0,
            folded_children_ns: 0,
            has_died: true,
            process_is_dead: true,
        };
        let increments: Vec<Increment> = (0..1000).map(dead).collect();
        attribution.settle(now_ns, &increments, &mut accounts);
        assert_eq!(accounts[&shell], Parts { exited_children_ns: 7000, ..Parts::default() });
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

    let dead = Increment {
        process,
        parent: Some(parent),
        cpu_ns: 1,
        folded_threads_ns: 0,
        folded_children_ns: 0,
        has_died: true,
        process_is_dead: true,
    };
    attribution.settle(SECOND, &[dead], &mut Default::default());
    attribution.forget(2 * SECOND);
    assert_eq!(attribution.name_of(process), name("leader"));
    attribution.forget(2 * SECOND + GRACE_PERIOD_NS);
    assert_eq!(attribution.name_of(process), None);
}
