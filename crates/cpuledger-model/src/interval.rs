//! What lies between two cuts: how much CPU time each task used, the dead included.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::boottime::Boottime;
use crate::buffer::emptied;
use crate::counters::Counters;
use crate::disk::{DiskTotals, DiskUse, Disks, Requests};
use crate::exit::Exit;
use crate::field::FieldSet;
use crate::field::{Field, Value};
use crate::frame::Frame;
use crate::last_booked::LastBooked;
use crate::pairs::WaitPairs;
use crate::snapshot::Snapshot;
use crate::source_kind::SourceKind;
use crate::states::{Lived, OffTasks, States};
use crate::task::{Comm, Pid, Task, TaskId, Tid};
use crate::traffic::NetworkTotals;
use crate::waits::WaitTotals;

/// How the parts of CPU time divide: each into user, system and stolen time, which add up to it. System time is the rest, and has no member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Division {
    /// User time of [`Usage::self_ns`]; `None` where the source does not know it. Likewise the others.
    pub self_user_ns: Option<u64>,
    /// User time of [`Usage::exited_threads_ns`].
    pub exited_threads_user_ns: Option<u64>,
    /// Stolen time of [`Usage::exited_threads_ns`]: a part of [`Usage::stolen_ns`].
    pub exited_threads_stolen_ns: Option<u64>,
    /// User time of [`Usage::exited_children_ns`].
    pub exited_children_user_ns: Option<u64>,
}

impl Division {
    /// That of no time.
    pub const NOTHING: Division = Division {
        self_user_ns: Some(0),
        exited_threads_user_ns: Some(0),
        exited_threads_stolen_ns: Some(0),
        exited_children_user_ns: Some(0),
    };

    /// Adds another. What is not known of one is not known of the sum.
    pub fn add(&mut self, more: &Division) {
        let add =
            |sum: &mut Option<u64>, more: Option<u64>| *sum = sum.zip(more).map(|(sum, more)| sum + more);
        add(&mut self.self_user_ns, more.self_user_ns);
        add(&mut self.exited_threads_user_ns, more.exited_threads_user_ns);
        add(&mut self.exited_threads_stolen_ns, more.exited_threads_stolen_ns);
        add(&mut self.exited_children_user_ns, more.exited_children_user_ns);
    }

    /// Divides the parts: its own, that of threads that died, and that of the dead that it inherits from. Stolen time is that of the first two
    /// together, and that of the last.
    #[inline]
    pub fn of_parts(
        &self,
        [self_ns, exited_threads_ns, exited_children_ns]: [Option<u64>; 3],
        stolen_ns: Option<u64>,
        exited_children_stolen_ns: Option<u64>,
    ) -> [Option<Divided>; 3] {
        // A merge moves what was told of a thread, which may be more than what its process had left after a balance with the others.
        let of_threads_ns = self.exited_threads_stolen_ns.map(|ns| ns.min(stolen_ns.unwrap_or(ns)));
        let own_stolen_ns = stolen_ns.map(|stolen_ns| stolen_ns - of_threads_ns.unwrap_or(0));
        let divided = |part_ns: Option<u64>, user_ns: Option<u64>, stolen_ns: Option<u64>| {
            Some(Divided::of(part_ns?, user_ns?, stolen_ns?))
        };
        [
            divided(self_ns, self.self_user_ns, own_stolen_ns),
            divided(exited_threads_ns, self.exited_threads_user_ns, of_threads_ns),
            divided(exited_children_ns, self.exited_children_user_ns, exited_children_stolen_ns),
        ]
    }
}

/// A part of CPU time, divided. The three add up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divided {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// On a CPU, while the hypervisor or an interrupt had it.
    pub stolen_ns: u64,
}

impl Divided {
    /// A part of which that much is user time and stolen. Where these are more than the part, it is stolen first: what is told of several tasks
    /// at once is balanced over intervals.
    fn of(part_ns: u64, user_ns: u64, stolen_ns: u64) -> Divided {
        let stolen_ns = stolen_ns.min(part_ns);
        let user_ns = user_ns.min(part_ns - stolen_ns);
        Divided { user_ns, system_ns: part_ns - stolen_ns - user_ns, stolen_ns }
    }

    /// Divides what is not stolen of a part as the kernel's counts do, whose sum is another. As in the kernel, all of it is user time where
    /// neither count knows of any (`cputime_adjust`).
    pub fn by_counts(part_ns: u64, stolen_ns: u64, user_ns: u64, system_ns: u64) -> Divided {
        let rest_ns = part_ns.saturating_sub(stolen_ns);
        let sum_ns = u128::from(user_ns) + u128::from(system_ns);
        // Not more than what is divided.
        let scaled = |count_ns: u64| (u128::from(rest_ns) * u128::from(count_ns) / sum_ns) as u64;
        Divided::of(part_ns, if sum_ns == 0 { rest_ns } else { scaled(user_ns) }, stolen_ns)
    }
}

/// What one process or task used in an interval.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The sum of the three parts.
    pub cpu_ns: u64,
    /// Of its living tasks; where the source sees no exits, of all its threads.
    pub self_ns: u64,
    /// Of its threads that died, and of living ones that found no slot; `None` where the source sees no exits, for a task, and where `is_unseen`.
    pub exited_threads_ns: Option<u64>,
    /// Of the dead processes it inherits from; `None` where the source sees no exits, and for a task.
    pub exited_children_ns: Option<u64>,
    /// Time on a CPU in which it did not execute: the hypervisor or an interrupt did. `None` where the source does not know it.
    pub stolen_ns: Option<u64>,
    /// The same of the dead processes that it inherits from, a part of `exited_children_ns`; `None` likewise, and for a task.
    pub exited_children_stolen_ns: Option<u64>,
    /// What else divides these parts.
    pub division: Division,
    /// What it did while it was on no CPU; `None` where the source does not know it. Then [`Usage::growth`] has the kernel's count of what it
    /// waited for a CPU, else that of these.
    pub states: Option<States>,
    /// What its tasks did off the CPU when the interval began; `None` where [`Usage::states`] is, and where the source does not know it.
    pub off_at_start: Option<OffTasks>,
    /// Likewise, when it ended.
    pub off_at_end: Option<OffTasks>,
    /// The heir, which would inherit its time: the parent at fork or, if that is dead, the heir of that one.
    /// `None` where the source does not know it.
    pub accounting_parent: Option<Pid>,
    /// What its other cumulative figures grew by. User and system time are told apart by ticks, so they are not exact.
    pub growth: Counters,
    /// Whether the kernel keeps it from the source: then `cpu_ns` and `self_ns` are not known, and 0 in sums.
    pub is_unseen: bool,
}

impl Usage {
    /// That of one that did not run, which tells these fields: all that is known grew by nothing. Of one that `is_unseen` nothing is known
    /// but what it inherits.
    pub fn of_idle(known: FieldSet, sees_exits: bool, is_unseen: bool) -> Usage {
        let seen = if is_unseen { FieldSet::EMPTY } else { known };
        Usage {
            exited_threads_ns: (sees_exits && !is_unseen).then_some(0),
            exited_children_ns: sees_exits.then_some(0),
            growth: Counters { known: seen.intersection(Counters::FIELDS), ..Counters::default() },
            is_unseen,
            ..Usage::default()
        }
    }

    /// The same of a ledger, which knows that nothing was stolen.
    pub fn of_idle_in_ledger(known: FieldSet, is_unseen: bool) -> Usage {
        let of_dead = Division { exited_children_user_ns: Some(0), ..Division::default() };
        Usage {
            stolen_ns: (!is_unseen).then_some(0),
            exited_children_stolen_ns: Some(0),
            division: if is_unseen { of_dead } else { Division::NOTHING },
            ..Usage::of_idle(known, true, is_unseen)
        }
    }

    /// Its own part of CPU time, that of threads that died, and that of the dead that it inherits from, each divided.
    pub fn divided(&self) -> [Option<Divided>; 3] {
        let parts_ns = [self.known_self_ns(), self.exited_threads_ns, self.exited_children_ns];
        self.division.of_parts(parts_ns, self.stolen_ns, self.exited_children_stolen_ns)
    }

    /// [`Usage::cpu_ns`] where it is known.
    pub fn known_cpu_ns(&self) -> Option<u64> {
        (!self.is_unseen).then_some(self.cpu_ns)
    }

    /// Whether it had a CPU, or waited for one: a list of what the machine did has it.
    pub fn ran_or_waited(&self) -> bool {
        self.cpu_ns > 0 || self.states.is_some_and(|states| states.runqueue_wait_ns > 0)
    }

    /// [`Usage::self_ns`] where it is known.
    pub fn known_self_ns(&self) -> Option<u64> {
        (!self.is_unseen).then_some(self.self_ns)
    }

    /// The time it was alive less what it did in it, on a CPU and off it: 0. `None` where that is not known.
    pub fn state_imbalance_ns(&self) -> Option<i64> {
        let states = self.states?;
        let told_ns = self.self_ns + self.exited_threads_ns.unwrap_or(0) + states.off_ns();
        Some(states.elapsed_ns.wrapping_sub(told_ns) as i64)
    }
}

/// A process or a task in an interval: which it is, and what it used.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Row {
    /// As it was at the end of the interval.
    pub task: Task,
    /// What it used.
    pub usage: Usage,
}

impl Row {
    /// Of a task that used this.
    pub fn new(task: Task, usage: Usage) -> Row {
        Row { task, usage }
    }

    /// What an interval shows of a field: of a counter its growth, of a gauge its value at the end.
    pub fn value(&self, field: Field) -> Value<'_> {
        if field.info().cumulative { self.usage.growth.value(field) } else { field.value(&self.task) }
    }
}

impl AsRef<Task> for Row {
    fn as_ref(&self) -> &Task {
        &self.task
    }
}

/// How many tasks there were, by what they did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskCounts {
    /// All of them.
    pub total: u64,
    /// On a CPU, or waiting for one.
    pub running: u64,
    /// Stopped, or traced.
    pub stopped: u64,
    /// Zombies, and those on their way out.
    pub dead: u64,
}

impl TaskCounts {
    /// Counts these.
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> TaskCounts {
        let mut counts = TaskCounts::default();
        tasks.into_iter().for_each(|task| counts.add(task));
        counts
    }

    /// Counts one more.
    pub fn add(&mut self, task: &Task) {
        self.total += 1;
        match task.state.0 {
            b'R' => self.running += 1,
            b'T' | b't' => self.stopped += 1,
            b'Z' | b'X' => self.dead += 1,
            _ => {}
        }
    }
}

/// A task that died in an interval: detail of what the usages already hold.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Exited {
    /// Its final figures.
    pub exit: Exit,
    /// CPU time of its last interval.
    pub cpu_ns: u64,
    /// What it did in that while it was on no CPU; `None` where the source does not know it.
    pub states: Option<States>,
    /// What it did off the CPU when the interval began; `None` where the source does not know it.
    pub off_at_start: Option<OffTasks>,
    /// What it did since the ledger was attached or, if it began later, in all of its life; `None` where that is not known.
    pub lived: Option<Lived>,
    /// As [`Usage::accounting_parent`] of its process.
    pub accounting_parent: Option<Pid>,
    /// The start of that: with its pid it says which process it is.
    pub accounting_start: Option<Boottime>,
    /// Whether no thread of its process is left; `None` where the source does not tell it of each death.
    pub ends_process: Option<bool>,
    /// What accounts have booked to it in its last interval.
    pub booked: LastBooked,
}

impl Exited {
    /// As [`Usage::state_imbalance_ns`]: 0.
    pub fn state_imbalance_ns(&self) -> Option<i64> {
        let states = self.states?;
        Some(states.elapsed_ns.wrapping_sub(self.cpu_ns + states.off_ns()) as i64)
    }
}

/// A task that was blocked all the time: it did not run in the interval, and waits without being interruptible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Blocked {
    /// Which.
    pub task: TaskId,
    /// Its process.
    pub process: TaskId,
    /// Its name when it was blocked.
    pub comm: Comm,
    /// Its effective user.
    pub euid: Option<u32>,
    /// Since when, CLOCK_MONOTONIC; `None`: since before the ledger was attached.
    pub since_ns: Option<u64>,
    /// For how long, by the end of the interval; where [`Blocked::since_ns`] is not known, at least.
    pub blocked_for_ns: u64,
    /// Whether it waits for I/O.
    pub for_io: Option<bool>,
}

/// A task that goes on under another tid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renumbered {
    /// Which it was.
    pub task: TaskId,
    /// Whose it was, where the interval was closed; a frame does not tell it.
    pub owner: Option<Owner>,
}

/// Whose a task was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// Its process.
    pub process: TaskId,
    /// Its real user.
    pub uid: u32,
    /// Its effective user.
    pub euid: u32,
}

/// Time that could not be attributed, by reason, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unattributed {
    /// Of processes that found no slot.
    pub no_slot_ns: u64,
    /// Of the dead, folded into a slot whose task was forgotten meanwhile.
    pub forgotten_task_ns: u64,
    /// Of CPUs that were online before a hook had seen what ran there, or while they were taken down.
    pub uncovered_cpu_ns: u64,
    /// Of all CPUs, while no ledger was attached.
    pub not_attached_ns: u64,
}

impl Unattributed {
    /// Key in JSON, words in text, and amount of each reason.
    pub fn reasons(&self) -> [(&'static str, &'static str, u64); 4] {
        [
            ("no_slot_ns", "no slot", self.no_slot_ns),
            ("forgotten_task_ns", "forgotten task", self.forgotten_task_ns),
            ("uncovered_cpu_ns", "uncovered CPU", self.uncovered_cpu_ns),
            ("not_attached_ns", "not attached", self.not_attached_ns),
        ]
    }

    /// The sum of the reasons.
    pub fn total_ns(&self) -> u64 {
        self.reasons().iter().map(|(_, _, ns)| ns).sum()
    }
}

/// What does not add up in an interval: an error of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The capacity, and what is attributed, idle and unattributed: by this many nanoseconds.
    #[error("the capacity is {0} ns more than what was booked of it")]
    Balance(i64),
    /// What is attributed, and the sum of the processes.
    #[error("the attributed time is {0} ns more than that of all processes")]
    Processes(i64),
    /// What is unattributed, and the sum of its reasons.
    #[error("the unattributed time is {0} ns more than its reasons")]
    Reasons(i64),
    /// Only one is known of what is idle and what is unattributed.
    #[error("it has idle time without unattributed time, or the reverse")]
    HalfTold,
}

/// Maximum number of tasks of a user in [`Interval::blocked`], and of all of them in a frame: so no user can keep those of others from it.
pub const MOST_BLOCKED: usize = 1024;

/// The name of a recording as a source.
pub const REPLAY: &str = "replay";

/// What an interval begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Begin {
    /// A cut.
    #[default]
    Cut,
    /// The machine: it is that of [`Interval::since_boot`].
    Boot,
}

/// The books of one interval.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Interval {
    /// Where the numbers come from; of a recording, where they came from.
    pub source: SourceKind,
    /// Whether it is from a recording.
    pub is_replayed: bool,
    /// What it begins with.
    pub begin: Begin,
    /// The earlier cut, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The later cut.
    pub end_ns: u64,
    /// CPUs online at the later cut; with the ledger, when its books were closed, right after.
    pub online_cpus: u32,
    /// Online CPUs × length; with the ledger, of a CPU that comes or goes only the time in which it was online.
    pub capacity_ns: u64,
    /// The sum of `cpu_ns` over the processes.
    pub attributed_ns: u64,
    /// Time of the idle tasks; `None` where the source has no exact cut.
    pub idle_ns: Option<u64>,
    /// What could not be attributed; `None` likewise.
    pub unattributed_ns: Option<u64>,
    /// Why.
    pub unattributed_by: Unattributed,
    /// When the rows were read, CLOCK_MONOTONIC: not before the later cut.
    pub read_begin_ns: u64,
    /// The same instant by the clock of starts and ends.
    pub read_begin: Boottime,
    /// When all of them were read.
    pub read_end_ns: u64,
    /// One row a process, sorted by pid.
    pub processes: Vec<Row>,
    /// One row a task where the books are kept by task; else empty. The leader of a process comes before its other threads.
    pub tasks: Vec<Row>,
    /// The tasks at the later cut, where the source has listed them though the books are not kept by task.
    pub listed_tasks: Option<TaskCounts>,
    /// Tids of rows that the source could not see, and that /proc told of, sorted: they are as exact as its files are.
    pub from_procfs: Vec<Tid>,
    /// Tasks that died; `None` where the source sees no exits.
    pub exited: Option<Vec<Exited>>,
    /// Tasks that were blocked all the time, those for longest first, at most [`MOST_BLOCKED`] of a user; `None` where the source does not
    /// know them, as the ledger does not where slots ran low. Those that were so before the ledger was attached are among them after `Ledger::find_blocked`.
    pub blocked: Option<Vec<Blocked>>,
    /// How many there are in all.
    pub blocked_tasks: u64,
    /// How many of them are of processes whose states are not told: the states of the others include them.
    pub blocked_without_row: u64,
    /// Tasks that died and whose identity was lost to a full list. With the ledger their time is with their process, or with its heir. With
    /// the walk it is with the parent of their process. `None` where it is not told.
    pub unidentified_exits: Option<u64>,
    /// Tasks that go on under another tid, because a thread's exec has given them that of the leader. The ledger alone tells them.
    pub renumbered: Vec<Renumbered>,
    /// Tasks that died and were not told of: their time since the last cut is lost, unless their parent knows of it.
    pub missed_exits: u64,
    /// Switches that the kernel has not shown: the time of the task that left is with the one that came. `None` where it is not told.
    pub missed_switches: Option<u64>,
    /// CPU time of the processes that the kernel hides, by their own clocks: it is in the rows of others and in [`Interval::idle_ns`]. `None`
    /// where it is not told.
    pub hidden_cpu_ns: Option<u64>,
    /// Who waited for a CPU because of whom.
    pub waits: WaitTotals,
    /// Which cgroup made which wait; `None`: that is not kept.
    pub pairs: Option<WaitPairs>,
    /// What all sockets have sent and received.
    pub network: NetworkTotals,
    /// What each cgroup sent and received on the wire, by packets; `None`: that is not kept.
    pub wire: Option<crate::wire::Wire>,
    /// What all disks did.
    pub disk_totals: DiskTotals,
    /// What each disk did; `None` while no account of disks is kept, and where the interval was a frame of an older version, which has the totals alone.
    pub disks: Option<Disks>,
    /// Time off the CPU that is booked twice, or to no state, in nanoseconds: 0, but where the clocks of two CPUs differ. For tests.
    pub off_fault_ns: u64,
    /// The frame that it came in, or that was made of it: whoever wants its bytes need not make another. `None`: there is none, or it has been changed
    /// since.
    pub frame: Option<Arc<Frame>>,
}

impl Interval {
    /// What each process of a snapshot has used since it began, as an interval that began with the machine: something to show before
    /// the first interval is over. It does not include time that no living process has.
    pub fn since_boot(snapshot: &Snapshot, online_cpus: u32) -> Interval {
        let whole = |task: &Task| {
            let (cpu_ns, growth) = (task.runtime_ns, Counters::of(task));
            Row::new(*task, Usage { cpu_ns, self_ns: cpu_ns, growth, ..Usage::default() })
        };
        let processes: Vec<Row> = snapshot.processes.iter().map(whole).collect();
        Interval {
            source: snapshot.source,
            begin: Begin::Boot,
            start_ns: 0,
            end_ns: snapshot.begin_ns,
            online_cpus,
            capacity_ns: snapshot.begin_ns * u64::from(online_cpus),
            attributed_ns: processes.iter().map(|row| row.usage.cpu_ns).sum(),
            read_begin_ns: snapshot.begin_ns,
            read_begin: snapshot.begin,
            read_end_ns: snapshot.end_ns,
            from_procfs: snapshot.from_procfs.clone(),
            processes,
            ..Interval::default()
        }
    }

    /// Adds to what is unattributed what was booked to a task of which there is no row.
    pub fn lose_booked(&mut self, booked: &Counters) {
        self.waits.lose_row(booked.wait_suffered_ns, booked.wait_caused_ns);
        self.network.lose_row(booked);
        if let Some(disks) = &mut self.disks {
            let Counters { disk_reads, disk_read_bytes, disk_read_ns, .. } = *booked;
            let Counters { disk_writes, disk_written_bytes, disk_write_ns, .. } = *booked;
            disks.forgotten.add(&DiskUse {
                reads: Requests { count: disk_reads, bytes: disk_read_bytes, ns: disk_read_ns },
                writes: Requests { count: disk_writes, bytes: disk_written_bytes, ns: disk_write_ns },
                discards: Requests::default(),
                blocked_ns: booked.disk_blocked_ns,
            });
            self.disk_totals = DiskTotals::of(disks);
        }
    }

    /// Whether it is that of [`Interval::since_boot`].
    pub fn is_since_boot(&self) -> bool {
        self.begin == Begin::Boot
    }

    /// Adds tids of rows that /proc told of.
    pub fn add_from_procfs(&mut self, tids: impl Iterator<Item = Tid>) {
        self.from_procfs.extend(tids);
        self.from_procfs.sort_unstable();
        self.from_procfs.dedup();
    }

    /// The source as output names it: of a recording, that.
    pub fn source_name(&self) -> &'static str {
        if self.is_replayed { REPLAY } else { self.source.name() }
    }

    /// Whether it was made of the accounts that a kernel with `kernel/series` keeps: it has rows of what ran, and knows how the time of the dead
    /// divides.
    pub fn is_of_accounts(&self) -> bool {
        self.source == SourceKind::Netlink && self.processes.iter().any(|row| row.usage.stolen_ns.is_some())
    }

    /// Its length.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Capacity less all that was booked: 0. `None` where the source has no exact cut.
    pub fn imbalance_ns(&self) -> Option<i64> {
        let booked = self.attributed_ns.wrapping_add(self.idle_ns?).wrapping_add(self.unattributed_ns?);
        Some(self.capacity_ns.wrapping_sub(booked) as i64)
    }

    /// What does not add up in its books. `None`: all does.
    pub fn fault(&self) -> Option<Fault> {
        let processes_ns = self.processes.iter().fold(0, |sum: u64, row| sum.wrapping_add(row.usage.cpu_ns));
        let reasons_ns = self.unattributed_by.total_ns();
        let differs =
            |told_ns: u64, sum_ns: u64| Some(told_ns.wrapping_sub(sum_ns) as i64).filter(|ns| *ns != 0);
        let balance = || Some(self.imbalance_ns()?).filter(|ns| *ns != 0).map(Fault::Balance);
        let processes = || differs(self.attributed_ns, processes_ns).map(Fault::Processes);
        let reasons = || differs(self.unattributed_ns.unwrap_or(0), reasons_ns).map(Fault::Reasons);
        let is_half_told = self.idle_ns.is_some() != self.unattributed_ns.is_some();
        balance().or_else(processes).or_else(reasons).or(is_half_told.then_some(Fault::HalfTold))
    }

    /// Becomes the interval that begins with this, in the memory of its own lists: nothing else of it stays. Lists that the other one does not
    /// have, as what they would hold is not known, are not there.
    pub fn renew(&mut self, begin: Interval) {
        // Each member by its name: one that is added has to be thought of here.
        let Interval {
            source: _,
            is_replayed: _,
            begin: _,
            start_ns: _,
            end_ns: _,
            online_cpus: _,
            capacity_ns: _,
            attributed_ns: _,
            idle_ns: _,
            unattributed_ns: _,
            unattributed_by: _,
            read_begin_ns: _,
            read_begin: _,
            read_end_ns: _,
            processes,
            tasks,
            listed_tasks: _,
            from_procfs,
            exited,
            blocked,
            blocked_tasks: _,
            blocked_without_row: _,
            unidentified_exits: _,
            renumbered,
            missed_exits: _,
            missed_switches: _,
            hidden_cpu_ns: _,
            waits: _,
            pairs: _,
            network: _,
            wire: _,
            disk_totals: _,
            disks: _,
            off_fault_ns: _,
            frame: _,
        } = std::mem::take(self);
        *self = Interval {
            processes: emptied(processes),
            tasks: emptied(tasks),
            from_procfs: emptied(from_procfs),
            exited: begin.exited.map(|_| emptied(exited.unwrap_or_default())),
            blocked: begin.blocked.map(|_| emptied(blocked.unwrap_or_default())),
            renumbered: emptied(renumbered),
            ..begin
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of which no member is as in a new one.
    fn full() -> Interval {
        Interval {
            source: SourceKind::Procfs,
            is_replayed: true,
            begin: Begin::Boot,
            start_ns: 1,
            end_ns: 2,
            online_cpus: 3,
            capacity_ns: 4,
            attributed_ns: 5,
            idle_ns: Some(6),
            unattributed_ns: Some(7),
            unattributed_by: Unattributed { not_attached_ns: 8, ..Unattributed::default() },
            read_begin_ns: 15,
            read_begin: Boottime::from_ns(16),
            read_end_ns: 17,
            processes: vec![Row::default(); 2_000],
            tasks: vec![Row::default(); 2_000],
            listed_tasks: Some(TaskCounts::default()),
            from_procfs: vec![Tid(18); 2_000],
            exited: Some(vec![Exited::default(); 2_000]),
            blocked: Some(vec![Blocked::default(); 2_000]),
            blocked_tasks: 9,
            blocked_without_row: 10,
            unidentified_exits: Some(11),
            renumbered: vec![Renumbered::default(); 2_000],
            missed_exits: 12,
            missed_switches: Some(13),
            hidden_cpu_ns: Some(14),
            waits: WaitTotals::NOTHING,
            pairs: Some(WaitPairs::default()),
            network: NetworkTotals::NOTHING,
            wire: Some(crate::wire::Wire::default()),
            disk_totals: DiskTotals::of(&Disks::default()),
            disks: Some(Disks::default()),
            off_fault_ns: 14,
            frame: Some(Arc::default()),
        }
    }

    #[test]
    fn nothing_of_an_interval_is_in_the_next() {
        let text = |interval: &Interval| format!("{interval:?}");
        let mut interval = full();
        let memory = interval.processes.as_ptr();
        interval.renew(Interval::default());
        assert_eq!(text(&interval), text(&Interval::default()));
        assert_eq!(interval.processes.as_ptr(), memory, "but the memory of its lists");
        let begin = || Interval { exited: Some(Vec::new()), blocked: None, end_ns: 7, ..Interval::default() };
        interval = full();
        interval.renew(begin());
        assert_eq!(text(&interval), text(&begin()));
        // What a storm took is given back after the next interval that needs less.
        interval.processes.push(Row::default());
        interval.renew(begin());
        assert!(interval.processes.capacity() < 2_000, "{}", interval.processes.capacity());
    }
}
