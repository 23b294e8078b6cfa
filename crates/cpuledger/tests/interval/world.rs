//! A machine of a few lines: tasks that fork, run, exec and die, what a walk and the exit hook would tell of them, and
//! a naive reference that knows where every nanosecond belongs.

use std::collections::BTreeMap;

use cpuledger::attribution::Increment;
use cpuledger::source::{Birth, Death, Exit, Exits, SourceKind};
use cpuledger::task::State;
use cpuledger::{Boottime, FieldSet, Pid, Snapshot, Task, TaskId, Tid};
use cpuledger_model::make;

/// Never reused, unlike a pid.
pub type Number = u64;

#[derive(Debug, Clone)]
pub struct Life {
    pub tid: i32,
    pub start_ns: u64,
    /// How long the machine had been suspended by then.
    pub suspended_before_ns: u64,
    pub process: Number,
    pub runtime_ns: u64,
    /// Used since the last cut.
    pub used_ns: u64,
    pub is_dead: bool,
    pub is_listed: bool,
    /// Its death was told by an increment.
    is_told_dead: bool,
}

#[derive(Debug, Clone)]
pub struct Process {
    pub pid: i32,
    pub start_ns: u64,
    /// The kernel's: of orphans it is init.
    pub parent: Number,
    /// At the fork.
    first_parent: Number,
    /// The kernel's when a list or an exit told of it first.
    seen_parent: Option<Number>,
    pub leader: Number,
    pub is_dead: bool,
}

/// Which parent inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heirs {
    /// The one at the fork: a hook sees forks.
    ByFork,
    /// The first that was told.
    ByFirstSight,
}

#[derive(Debug, Default)]
pub struct World {
    /// By the clock of starts and ends.
    pub now_ns: u64,
    suspended_ns: u64,
    next: Number,
    pub tasks: BTreeMap<Number, Life>,
    pub processes: BTreeMap<Number, Process>,
    /// Records that the hook has written.
    pub exits: Exits,
    /// Tasks that left the list and whose last switch is still to come.
    lingering: Vec<Number>,
    pub total_ns: u64,
    last_tid: i32,
    heirs: Option<Heirs>,
}

const MAX_TID: i32 = 200;

pub const INIT: Number = 1;

impl World {
    pub fn new(now_ns: u64, heirs: Heirs) -> World {
        let mut world = World { now_ns, heirs: Some(heirs), ..World::default() };
        world.next = INIT;
        world.add_process(0);
        world
    }

    pub fn monotonic_ns(&self) -> u64 {
        self.now_ns - self.suspended_ns
    }

    fn id_of(&self, process: Number) -> TaskId {
        let process = &self.processes[&process];
        TaskId { tid: Tid(process.pid), start_time_ns: Boottime::from_ns(process.start_ns) }
    }

    /// A list or an exit tells of it.
    fn see(&mut self, process: Number) {
        let process = self.processes.get_mut(&process).expect("it was made");
        process.seen_parent.get_or_insert(process.parent);
    }

    fn parent_of(&self, process: &Process) -> Number {
        match self.heirs {
            Some(Heirs::ByFork) | None => process.first_parent,
            Some(Heirs::ByFirstSight) => process.seen_parent.unwrap_or(process.parent),
        }
    }

    /// What the ledger would tell at this cut: of each task with time or an end.
    pub fn increments(&mut self) -> Vec<Increment> {
        let mut increments = Vec::new();
        for task in self.tasks.values() {
            let process = &self.processes[&task.process];
            let ends = task.is_dead && !task.is_told_dead;
            if task.used_ns > 0 || ends {
                increments.push(make!(Increment {
                    parent: (process.first_parent > 0).then(|| self.id_of(process.first_parent)),
                    cpu_ns: task.used_ns,
                    has_died: ends,
                    process_is_dead: process.is_dead,
                    ..Increment::of(self.id_of(task.process))
                }));
            }
        }
        self.tasks.values_mut().filter(|task| task.is_dead).for_each(|task| task.is_told_dead = true);
        increments
    }

    fn number(&mut self) -> Number {
        self.next += 1;
        self.next - 1
    }

    /// The next number that is free; they wrap soon, but not twice between two cuts.
    fn free_tid(&mut self) -> i32 {
        loop {
            self.last_tid = if self.last_tid < MAX_TID { self.last_tid + 1 } else { 1 };
            if self.tasks.values().all(|task| task.tid != self.last_tid) {
                return self.last_tid;
            }
        }
    }

    fn add_task(&mut self, process: Number, tid: i32) -> Number {
        let number = self.number();
        let task = Life {
            tid,
            start_ns: self.now_ns,
            suspended_before_ns: self.suspended_ns,
            process,
            runtime_ns: 0,
            used_ns: 0,
            is_dead: false,
            is_listed: true,
            is_told_dead: false,
        };
        self.tasks.insert(number, task);
        number
    }

    fn add_process(&mut self, parent: Number) -> Number {
        self.now_ns += 1000;
        let process = self.number();
        let tid = self.free_tid();
        let leader = self.add_task(process, tid);
        let start_ns = self.now_ns;
        let born = Process {
            pid: tid,
            start_ns,
            parent,
            first_parent: parent,
            seen_parent: None,
            leader,
            is_dead: false,
        };
        self.processes.insert(process, born);
        if self.heirs == Some(Heirs::ByFork) && parent > 0 {
            let birth = make!(Birth { process: self.id_of(process), parent: self.id_of(parent) });
            self.exits.births.push(birth);
        }
        process
    }

    /// The nth of the living tasks.
    pub fn living(&self, nth: usize) -> Number {
        let living: Vec<Number> = self
            .tasks
            .iter()
            .filter(|(_, task)| !task.is_dead && task.is_listed)
            .map(|(number, _)| *number)
            .collect();
        living[nth % living.len()]
    }

    /// No task runs, and only one of the clocks goes on.
    pub fn suspend(&mut self, ns: u64) {
        self.now_ns += ns;
        self.suspended_ns += ns;
    }

    pub fn fork(&mut self, task: Number) {
        self.add_process(self.tasks[&task].process);
    }

    pub fn spawn(&mut self, task: Number) {
        self.now_ns += 1000;
        let tid = self.free_tid();
        self.add_task(self.tasks[&task].process, tid);
    }

    pub fn run(&mut self, task: Number, ns: u64) {
        self.now_ns += ns;
        self.total_ns += ns;
        let task = self.tasks.get_mut(&task).expect("it lives");
        task.runtime_ns += ns;
        task.used_ns += ns;
    }

    fn is_init(&self, task: Number) -> bool {
        self.tasks[&task].process == INIT && self.processes[&INIT].leader == task
    }

    /// One task ends; `lingers`: its last switch comes later.
    pub fn exit(&mut self, number: Number, lingers: bool) {
        if self.is_init(number) {
            return;
        }
        self.now_ns += 1000;
        let process = self.tasks[&number].process;
        let others_live = self
            .tasks
            .iter()
            .any(|(other, task)| *other != number && task.process == process && !task.is_dead);
        if !others_live {
            self.orphan(process);
        }
        let is_leader = self.processes[&process].leader == number;
        let task = self.tasks.get_mut(&number).expect("it lives");
        task.is_dead = true;
        task.is_listed = is_leader;
        if lingers && !is_leader {
            self.lingering.push(number);
        } else {
            self.record(number);
        }
        if !others_live {
            self.processes.get_mut(&process).expect("it lives").is_dead = true;
        }
    }

    /// Its children go to init.
    fn orphan(&mut self, process: Number) {
        for child in self.processes.values_mut().filter(|child| child.parent == process && !child.is_dead) {
            child.parent = INIT;
        }
    }

    fn record(&mut self, number: Number) {
        self.see(self.tasks[&number].process);
        let task = &self.tasks[&number];
        let process = &self.processes[&task.process];
        let id = |tid, start_ns| TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns) };
        let exit = make!(Exit {
            task: id(task.tid, task.start_ns),
            process: id(process.pid, process.start_ns),
            ppid: Pid(self.processes.get(&process.parent).map_or(0, |parent| parent.pid)),
            comm: cpuledger::Comm::new(b"model"),
            uid: 0,
            euid: Some(0),
            exit_code: Some(0),
            runtime_ns: task.runtime_ns,
            lifetime_ns: self.now_ns - task.start_ns - (self.suspended_ns - task.suspended_before_ns),
            cgroup_id: None,
            cgroup_v1_cpu_id: None,
        });
        self.exits.exits.push(make!(Death { exit, at: Boottime::from_ns(self.now_ns) }));
    }

    /// The last switch of those that linger, after some more time on the CPU.
    pub fn flush(&mut self) {
        for number in std::mem::take(&mut self.lingering) {
            self.run(number, 700);
            self.record(number);
        }
    }

    /// All tasks of a process end, as at exit_group(2).
    pub fn exit_group(&mut self, task: Number) {
        let process = self.tasks[&task].process;
        if process == INIT {
            return;
        }
        let members: Vec<Number> = self
            .tasks
            .iter()
            .filter(|(_, task)| task.process == process && !task.is_dead)
            .map(|(n, _)| *n)
            .collect();
        for member in members {
            self.exit(member, false);
        }
    }

    /// The nth zombie process is waited for.
    pub fn reap(&mut self, nth: usize) {
        let zombies: Vec<Number> = self
            .processes
            .values()
            .filter(|process| process.is_dead && self.tasks[&process.leader].is_listed)
            .map(|process| process.leader)
            .collect();
        if !zombies.is_empty() {
            let leader = zombies[nth % zombies.len()];
            let task = self.tasks.get_mut(&leader).expect("it is kept");
            task.is_listed = false;
            task.tid = -(leader as i32);
        }
    }

    /// An exec: all other threads die, and this one goes on under tid and start time of the leader.
    pub fn exec(&mut self, number: Number) {
        let process = self.tasks[&number].process;
        let others: Vec<Number> = self
            .tasks
            .iter()
            .filter(|(other, task)| **other != number && task.process == process && !task.is_dead)
            .map(|(other, _)| *other)
            .collect();
        if process == INIT {
            return;
        }
        for other in others {
            self.exit(other, false);
        }
        let leader = self.processes[&process].leader;
        if leader != number {
            let (tid, start_ns) = (self.tasks[&leader].tid, self.tasks[&leader].start_ns);
            let old = self.tasks.get_mut(&leader).expect("it is kept");
            old.is_listed = false;
            old.tid = -(leader as i32);
            let task = self.tasks.get_mut(&number).expect("it lives");
            task.tid = tid;
            task.start_ns = start_ns;
            self.processes.get_mut(&process).expect("it lives").leader = number;
        }
        self.now_ns += 20_000_000;
    }

    /// Frees the numbers of threads that are gone.
    fn forget_gone(&mut self) {
        let lingering = &self.lingering;
        for (number, task) in &mut self.tasks {
            if !task.is_listed && !lingering.contains(number) {
                task.tid = -(*number as i32);
            }
        }
    }

    /// What a walk sees now.
    pub fn snapshot(&mut self) -> Snapshot {
        self.forget_gone();
        self.now_ns += 1000;
        let mut snapshot = make!(Snapshot {
            source: SourceKind::Walk,
            begin_ns: self.monotonic_ns(),
            begin: Boottime::from_ns(self.now_ns),
            end_ns: self.monotonic_ns() + 10,
        });
        self.now_ns += 1000;
        let listed = self.tasks.values().filter(|task| task.is_listed).map(|task| task.process);
        listed.collect::<Vec<_>>().into_iter().for_each(|process| self.see(process));
        for task in self.tasks.values().filter(|task| task.is_listed) {
            let process = &self.processes[&task.process];
            let row = make!(Task {
                known: FieldSet::ALL,
                tid: Tid(task.tid),
                pid: Pid(process.pid),
                ppid: Pid(self.processes.get(&process.parent).map_or(0, |parent| parent.pid)),
                start_time_ns: Boottime::from_ns(task.start_ns),
                state: State(if task.is_dead { b'Z' } else { b'S' }),
                runtime_ns: task.runtime_ns,
            });
            if row.is_leader() {
                snapshot.processes.push(row);
            }
            snapshot.tasks.push(row);
        }
        snapshot.processes.sort_by_key(|row| row.pid);
        snapshot.tasks.sort_by_key(|row| (row.pid, !row.is_leader()));
        snapshot
    }

    /// Where the time since the last cut belongs: for each pid self, exited threads, exited children. Then cuts.
    pub fn reference(&mut self) -> BTreeMap<i32, [u64; 3]> {
        let mut shares: BTreeMap<i32, [u64; 3]> = BTreeMap::new();
        for task in self.tasks.values().filter(|task| task.used_ns > 0) {
            let mut process = &self.processes[&task.process];
            let part = match (process.is_dead, task.is_dead) {
                (false, false) => 0,
                (false, true) => 1,
                (true, _) => 2,
            };
            while process.is_dead {
                process = &self.processes[&self.parent_of(process)];
            }
            shares.entry(process.pid).or_default()[part] += task.used_ns;
        }
        self.tasks.values_mut().for_each(|task| task.used_ns = 0);
        shares
    }
}
