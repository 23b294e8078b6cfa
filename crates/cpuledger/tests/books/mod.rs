#![allow(dead_code)] // each test has its own part of it
//! The ledger with everything that holds in each of its intervals checked, and what they told so far.

use std::collections::{HashMap, HashSet};

use cpuledger::interval::{Exited, Row};
use cpuledger::source::ledger::{Ledger, Options, Wanted};
use cpuledger::{Field, FieldSet, Interval, Pid, TaskId, Tid, machine};
use cpuledger_load::{online_cpus, scene};
use cpuledger_model::make;

/// Maximum length of a chain of heirs: a longer one is a circle, made by reused pids.
const MOST_HEIRS: usize = 64;
/// So late a reader may be and still have a slot for each task that died: 50,000 a second are made at most.
const HELD_UP_NS: u64 = 200_000_000;

/// What a process held in all intervals so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    pub self_ns: u64,
    pub exited_threads_ns: u64,
    pub exited_children_ns: u64,
    pub stolen_ns: u64,
}

impl Held {
    pub fn cpu_ns(&self) -> u64 {
        self.self_ns + self.exited_threads_ns + self.exited_children_ns
    }
}

/// Whether what takes minutes is wanted.
pub fn is_full() -> bool {
    std::env::var_os("CPULEDGER_TEST_FULL").is_some_and(|value| value == "1")
}

/// Tasks that were ever made on this machine.
pub fn forks() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc is there");
    let line = text.lines().find_map(|line| line.strip_prefix("processes ")).expect("a count of forks");
    line.parse().expect("a number")
}

/// Lets this thread, and none that it starts, close intervals in time, as every program of ours does: among a hundred runnable tasks more
/// would die meanwhile than there are slots.
pub fn keep_time() {
    machine::come_in_real_time(false).expect("root may");
}

/// The ledger, the last interval, and sums over all.
pub struct Books {
    pub ledger: Ledger,
    pub interval: Interval,
    pub held: HashMap<TaskId, Held>,
    /// The accounting parent of each process, as its last row said.
    pub heirs: HashMap<TaskId, i32>,
    /// On a CPU, by task; of the living and of the dead.
    pub tasks: HashMap<TaskId, u64>,
    pub exited: Vec<Exited>,
    /// Of the last interval.
    last_exited: Vec<Exited>,
    /// The heir of each process that died, by pid.
    inherited: HashMap<i32, i32>,
    pub intervals: u64,
    /// In all intervals so far.
    pub missed_switches: u64,
}

impl Books {
    pub fn open() -> Books {
        let ledger = Ledger::open(Options::default()).expect("the ledger attaches; it needs root");
        keep_time();
        Books {
            ledger,
            interval: Interval::default(),
            held: HashMap::new(),
            heirs: HashMap::new(),
            tasks: HashMap::new(),
            exited: Vec::new(),
            last_exited: Vec::new(),
            inherited: HashMap::new(),
            intervals: 0,
            missed_switches: 0,
        }
    }

    /// Closes an interval of that length, and checks it.
    pub fn close(&mut self, length_ns: u64) {
        let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
        let cut_ns = self.ledger.start_ns() + length_ns;
        let online = online_cpus().expect("sysfs");
        self.ledger.close(cut_ns, &wanted, &mut self.interval).expect("an interval closes");
        self.intervals += 1;
        assert_eq!(online_cpus().expect("sysfs"), online, "nothing else takes CPUs offline");
        assert_capacity(&self.interval, online.len());
        let missed = self.interval.missed_switches.expect("the ledger counts them");
        scene::were_missed(missed);
        self.missed_switches += missed;
        assert_balance(&self.interval);
        self.assert_every_row_has_a_name();
        // While the host holds the reader up for long, more may die than there are slots.
        if self.interval.end_ns - self.interval.start_ns < length_ns + HELD_UP_NS {
            assert_eq!(self.interval.unidentified_exits, Some(0), "a record for each death");
        }
        if self.interval.unidentified_exits == Some(0) {
            self.assert_every_death_is_where_it_belongs();
        }
        self.take();
    }

    /// Intervals of that length until `is_over` and one more.
    pub fn close_until(&mut self, length_ns: u64, mut is_over: impl FnMut(&Books) -> bool) {
        while !is_over(self) {
            self.close(length_ns);
        }
        self.close(length_ns);
    }

    /// A process that has time is named, also if it has died since the cut, and its leader before it.
    fn assert_every_row_has_a_name(&self) {
        for row in self.interval.processes.iter().chain(&self.interval.tasks).map(|row| &row.task) {
            assert!(row.known.contains(Field::Comm), "{} of {} has no name: {row:?}", row.tid, row.pid);
        }
    }

    /// Every nanosecond of the exited records is in x of their process, if a task of it lives, else in c of their accounting
    /// parent. So is the time of a task of a dead process before its last switch, and of a thread that gave up its tid for the
    /// leader's. There is nothing else in x and c.
    fn assert_every_death_is_where_it_belongs(&self) {
        let rows = &self.interval.processes;
        let by_id: HashMap<TaskId, usize> =
            rows.iter().enumerate().map(|(at, row)| (row.task.id(), at)).collect();
        let by_pid: HashMap<i32, usize> =
            rows.iter().enumerate().map(|(at, row)| (row.task.pid.0, at)).collect();
        // A pid may have its next owner before the last switch of the previous one: then both have a row.
        assert_eq!(by_id.len(), rows.len(), "one row a process");
        assert!(
            rows.is_sorted_by_key(|row| (row.task.pid.0, row.task.start_time_ns)),
            "of two with a pid the later comes last"
        );
        let mut parts = vec![(0, 0); rows.len()];
        for exited in self.interval.exited.iter().flatten().filter(|exited| exited.cpu_ns > 0) {
            if let Some(&process) = by_id.get(&exited.exit.process) {
                parts[process].0 += exited.cpu_ns;
            } else {
                let heir = exited.accounting_parent.expect("the ledger knows it");
                let heir = by_pid.get(&heir.0).unwrap_or_else(|| panic!("{exited:?}: no row of its heir"));
                parts[*heir].1 += exited.cpu_ns;
            }
        }
        // A process is dead when its last thread begins to exit: some may still be on their way.
        for Row { task: row, usage, .. } in &self.interval.tasks {
            if usage.cpu_ns == 0 || by_pid.contains_key(&row.pid.0) {
                continue;
            }
            let heirs = std::iter::successors(Some(row.pid.0), |pid| self.heir_of_dead(*pid));
            let heir = heirs.take(MOST_HEIRS).find_map(|pid| by_pid.get(&pid));
            let lost = self.ledger.lost();
            let heir = heir.unwrap_or_else(|| panic!("{row:?} has no process and no heir; {lost:?}"));
            parts[*heir].1 += usage.cpu_ns;
        }
        for (Row { task: row, usage, .. }, part) in rows.iter().zip(parts) {
            let told = (usage.exited_threads_ns, usage.exited_children_ns);
            let mut expected = (Some(part.0), Some(part.1));
            if told.1 > expected.1 && self.inherits_from_exec(row.pid) {
                expected.1 = told.1;
            }
            assert_eq!(told, expected, "{:?} pid {}; {}", row.comm, row.pid, self.without_row());
        }
    }

    /// The heir of a process, as one of its tasks said that died in this interval or before. On a busy machine the last switch of its
    /// last task may come late.
    fn heir_of_dead(&self, pid: i32) -> Option<i32> {
        let mut dead = self.interval.exited.iter().flatten();
        let heir =
            dead.find_map(|exited| exited.accounting_parent.filter(|_| exited.exit.process.tid.0 == pid));
        heir.map(|heir| heir.0).or_else(|| self.inherited.get(&pid).copied())
    }

    /// Whether it inherits from a process in which a thread other than the leader has exec'd. Such a thread gives up its tid without
    /// a record, and the leader's (tid, start time) dies twice.
    fn inherits_from_exec(&self, heir: Pid) -> bool {
        let mut dead = HashSet::new();
        let exited = self.last_exited.iter().chain(self.interval.exited.iter().flatten());
        let mut of_heir = exited.filter(|exited| exited.accounting_parent == Some(heir));
        of_heir.any(|exited| !dead.insert(exited.exit.task))
    }

    /// Tasks whose process has no row, and those that died.
    fn without_row(&self) -> String {
        let known: HashSet<TaskId> = self.interval.processes.iter().map(|row| row.task.id()).collect();
        let tasks = self.interval.tasks.iter().map(|row| (&row.task, &row.usage));
        let tasks = tasks.filter(|(row, _)| known.iter().all(|id| id.tid.0 != row.pid.0));
        let tasks: Vec<_> = tasks.map(|(row, usage)| (row.pid, row.id(), row.comm, usage.cpu_ns)).collect();
        let exited = self.interval.exited.iter().flatten();
        let exited: Vec<_> = exited
            .filter(|exited| exited.cpu_ns > 0 && !known.contains(&exited.exit.process))
            .map(|exited| (exited.exit.task, exited.exit.comm, exited.cpu_ns, exited.accounting_parent))
            .collect();
        format!("living {tasks:?}, dead {exited:?}")
    }

    fn take(&mut self) {
        self.last_exited.clear();
        self.last_exited.extend(self.interval.exited.iter().flatten());
        for Row { task: row, usage, .. } in &self.interval.processes {
            let held = self.held.entry(row.id()).or_default();
            held.self_ns += usage.self_ns;
            held.exited_threads_ns += usage.exited_threads_ns.expect("the ledger knows it");
            held.exited_children_ns += usage.exited_children_ns.expect("the ledger knows it");
            held.stolen_ns += usage.stolen_ns.unwrap_or(0);
            if let Some(heir) = usage.accounting_parent {
                self.heirs.insert(row.id(), heir.0);
            }
        }
        for Row { task: row, usage, .. } in &self.interval.tasks {
            *self.tasks.entry(row.id()).or_default() += usage.cpu_ns;
        }
        for exited in self.interval.exited.iter().flatten() {
            *self.tasks.entry(exited.exit.task).or_default() += exited.cpu_ns;
            if let Some(heir) = exited.accounting_parent {
                self.inherited.insert(exited.exit.process.tid.0, heir.0);
            }
            self.exited.push(*exited);
        }
    }

    /// Forgets all but the last interval.
    pub fn forget(&mut self) {
        self.held.clear();
        self.heirs.clear();
        self.tasks.clear();
        self.exited.clear();
    }

    /// Whether a process of this pid was alive at a cut since the books were opened.
    pub fn has_row(&self, pid: i32) -> bool {
        self.held.keys().any(|id| id.tid == Tid(pid))
    }

    /// The only process that has had this pid since the books were opened.
    pub fn process(&self, pid: i32) -> TaskId {
        let mut found = self.held.keys().filter(|id| id.tid == Tid(pid));
        let id = *found.next().unwrap_or_else(|| panic!("no row of pid {pid}"));
        assert_eq!(found.next(), None, "pid {pid} was used twice");
        id
    }

    /// Records of a tid, in the order of their starts.
    pub fn exits_of(&self, tid: i32) -> Vec<&Exited> {
        let mut exits: Vec<_> = self.exited.iter().filter(|exited| exited.exit.task.tid.0 == tid).collect();
        exits.sort_by_key(|exited| exited.exit.task);
        exits
    }
}

/// The interval has the CPUs that the kernel had online throughout, from its first nanosecond to its last.
pub fn assert_capacity(interval: &Interval, online: usize) {
    assert_eq!(interval.online_cpus as usize, online, "as /sys has it");
    assert_eq!(interval.capacity_ns, (interval.end_ns - interval.start_ns) * online as u64);
}

/// Capacity = Σ processes + idle, to the nanosecond.
pub fn assert_balance(interval: &Interval) {
    assert_balance_but_for(interval, 0);
}

/// Capacity = Σ processes + idle + this time, to the nanosecond.
pub fn assert_balance_but_for(interval: &Interval, unattributed_ns: u64) {
    let what = (interval.length_ns(), interval.capacity_ns, interval.attributed_ns, interval.idle_ns);
    assert_eq!(interval.imbalance_ns(), Some(0), "{what:?}, {:?}", interval.unattributed_by);
    assert_eq!(interval.unattributed_ns, Some(unattributed_ns), "{what:?}, {:?}", interval.unattributed_by);
    let sum: u64 = interval.processes.iter().map(|row| row.usage.cpu_ns).sum();
    assert_eq!(sum, interval.attributed_ns);
    let by_task: u64 = interval.tasks.iter().map(|row| row.usage.cpu_ns).sum();
    let by_death: u64 = interval.exited.iter().flatten().map(|exited| exited.cpu_ns).sum();
    // The dead half of a thread that has exec'd is in neither list.
    assert!(by_task + by_death <= sum, "{by_task} + {by_death} of {sum} ns");
    for Row { usage, .. } in &interval.processes {
        let parts =
            [usage.self_ns, usage.exited_threads_ns.unwrap_or(0), usage.exited_children_ns.unwrap_or(0)];
        assert_eq!(usage.cpu_ns, parts.iter().sum::<u64>());
    }
}
