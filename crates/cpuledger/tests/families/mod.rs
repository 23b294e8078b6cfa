//! Processes that fork, exec and die, with the accounting parent of each that there ever was: a naive reference.

use std::collections::BTreeMap;

use cpuledger::Boottime;
use cpuledger::attribution::{Increment, Parts};
use cpuledger::{TaskId, Tid};
use cpuledger_model::make;
use proptest::prelude::*;

pub const SECOND: u64 = 1_000_000_000;
/// As long as a process without known children is remembered.
pub const GRACE_PERIOD_NS: u64 = 30 * SECOND;
/// Pids are used again soon.
const PIDS: i32 = 24;

#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A task makes a process; whether it runs before the next cut is another event's.
    Fork(usize),
    /// A process makes a sibling: CLONE_PARENT.
    ForkSibling(usize),
    Spawn(usize),
    Run(usize, u64),
    /// A thread, or the last one: the process.
    Exit(usize),
    ExitProcess(usize),
    /// By any of the threads: the others die, and the slot of one that is not the leader ends without a death.
    Exec(usize),
    /// A dead task whose identity was lost: its time is told of another task.
    FoldedThread(usize, u64),
    FoldedChild(usize, u64),
    Sleep(u64),
    Cut,
}

pub fn event() -> impl Strategy<Value = Event> {
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
pub type Number = usize;

#[derive(Debug)]
pub struct Process {
    pub id: TaskId,
    pub parent: Number,
    pub is_dead: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Slot {
    pub task: TaskId,
    pub process: Number,
    pub own_ns: u64,
    pub folded_threads_ns: u64,
    pub folded_children_ns: u64,
    pub has_died: bool,
    /// No more: dead, or given up by an exec.
    pub is_over: bool,
    pub process_is_dead: bool,
}

/// A machine whose slots are those of the ledger: one for each task that ran, until the cut after its end.
#[derive(Debug)]
pub struct World {
    pub now_ns: u64,
    pub processes: Vec<Process>,
    pub slots: Vec<Slot>,
    pub last_pid: i32,
    /// Threads get others than processes.
    last_tid: i32,
}

pub const INIT: Number = 0;

impl World {
    pub fn new() -> World {
        let mut world =
            World { now_ns: SECOND, processes: Vec::new(), slots: Vec::new(), last_pid: 0, last_tid: 1000 };
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
        self.add_slot(self.processes.len() - 1, id);
    }

    fn add_thread(&mut self, process: Number) {
        self.last_tid += 1;
        self.now_ns += 1000;
        let start_time_ns = Boottime::from_ns(self.now_ns);
        self.add_slot(process, TaskId { tid: Tid(self.last_tid), start_time_ns });
    }

    fn add_slot(&mut self, process: Number, task: TaskId) {
        self.slots.push(Slot {
            task,
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

    pub fn end(&mut self, slot: usize, has_died: bool) {
        let process = self.slots[slot].process;
        self.slots[slot].is_over = true;
        self.slots[slot].has_died = has_died;
        let lives = self.slots.iter().any(|other| other.process == process && !other.is_over);
        if has_died && !lives {
            self.slots[slot].process_is_dead = true;
            self.processes[process].is_dead = true;
        }
    }

    pub fn tasks_of(&self, process: Number) -> Vec<usize> {
        let is_of = |slot: &Slot| slot.process == process && !slot.is_over;
        (0..self.slots.len()).filter(|&slot| is_of(&self.slots[slot])).collect()
    }

    pub fn act(&mut self, event: Event) {
        match event {
            Event::Fork(who) => self.add_process(self.slots[self.living(who)].process),
            Event::ForkSibling(who) => {
                let process = self.slots[self.living(who)].process;
                self.add_process(self.processes[process].parent);
            }
            Event::Spawn(who) => self.add_thread(self.slots[self.living(who)].process),
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
                let others = self.tasks_of(process).into_iter().filter(|&other| other != slot);
                let others: Vec<usize> = others.collect();
                let leader = self.processes[process].id;
                let is_leader = self.slots[slot].task == leader;
                if !is_leader {
                    self.add_slot(process, leader);
                }
                others.into_iter().for_each(|other| self.end(other, true));
                if !is_leader {
                    self.end(slot, false);
                }
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

    pub fn heir(&self, process: Number) -> Number {
        let mut heir = self.processes[process].parent;
        while self.processes[heir].is_dead {
            heir = self.processes[heir].parent;
        }
        heir
    }

    /// Where everything that was increments belongs.
    pub fn reference(&self) -> BTreeMap<TaskId, Parts> {
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
    pub fn increments(&self) -> Vec<Increment> {
        let increments = self.slots.iter().rev().map(|slot| {
            make!(Increment {
                process: self.processes[slot.process].id,
                parent: Some(self.processes[self.processes[slot.process].parent].id),
                cpu_ns: slot.own_ns,
                folded_threads_ns: slot.folded_threads_ns,
                folded_children_ns: slot.folded_children_ns,
                comm: None,
                has_died: slot.has_died,
                process_is_dead: slot.process_is_dead,
            })
        });
        let is_told =
            |slot: &Slot| slot.is_over || slot.own_ns + slot.folded_threads_ns + slot.folded_children_ns > 0;
        increments
            .zip(self.slots.iter().rev())
            .filter(|(_, slot)| is_told(slot))
            .map(|(increments, _)| increments)
            .collect()
    }

    pub fn open_interval(&mut self) {
        self.slots.retain(|slot| !slot.is_over);
        for slot in &mut self.slots {
            (slot.own_ns, slot.folded_threads_ns, slot.folded_children_ns) = (0, 0, 0);
        }
    }
}
