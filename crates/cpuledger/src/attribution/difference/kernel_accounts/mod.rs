//! The books where the kernel keeps account of the dead, and reports what ran. Pure algebra, no kernel.
//!
//! Each cut has a record of every task that ran since the last one, and is not released. What its process got from dead threads and from dead
//! processes is in that record too. So the share of a process is what these three grew by: *self*, *exited threads*, *exited children*. A
//! thread that is released has left all it used to its process, also what it had at the last cut, which was in the intervals before. That is
//! taken away again, and likewise what a released process had from what its heir got. Hence all shares together are what was used.
//!
//! Nothing here visits what did not run, apart from a cut that has all tasks.
//!
//! The kernel reads records in batches, while tasks are released. A part can therefore be less than nothing for an interval. Then it is 0, and
//! the next intervals make up for it.

mod changes;
mod deaths;

use std::ops::Range;

use cpuledger_model::account::{Dead, Used};
use cpuledger_model::boottime::Boottime;
use cpuledger_model::buffer::Trim;
use cpuledger_model::counters::Counters;
use cpuledger_model::task::{Pid, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attribution::{Attribution, Parts};

use changes::{Change, at_least_nothing};
pub(crate) use deaths::Dying;

/// The record of a task.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Told {
    pub(crate) tid: i32,
    /// Its process.
    pub(crate) pid: i32,
    /// Its start, to the nanosecond.
    pub(crate) start: Boottime,
    /// In which order records were read: figures of the dead are those of the first of a process.
    pub(crate) place: u32,
    pub(crate) used: Used,
    pub(crate) dead: Dead,
}

/// What a cut has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccountCut<'a> {
    /// Sorted by process, then by tid.
    pub(crate) told: &'a [Told],
    /// Whether it has all tasks, not only those that ran.
    pub(crate) has_all: bool,
    /// CLOCK_MONOTONIC.
    pub(crate) at_ns: u64,
    /// All the time there was since the last cut.
    pub(crate) capacity_ns: u64,
}

impl AccountCut<'_> {
    /// The records of a process.
    fn of_process(&self, pid: i32) -> &[Told] {
        let begin = self.told.partition_point(|told| told.pid < pid);
        let rest = &self.told[begin..];
        &rest[..rest.partition_point(|told| told.pid == pid)]
    }

    fn find(&self, pid: i32, tid: i32) -> Option<&Told> {
        let index = self.told.binary_search_by_key(&(pid, tid), |told| (told.pid, told.tid)).ok()?;
        self.told.get(index)
    }
}

/// What rows have shown last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shown {
    /// User and system time.
    pub(crate) times: (u64, u64),
    pub(crate) counters: Counters,
}

/// A task at the last cut.
#[derive(Debug)]
pub(crate) struct LastTask {
    start: Boottime,
    pid: i32,
    /// In the list of its process.
    place: u32,
    used: Used,
    pub(crate) shown: Shown,
}

/// What parts were told more than they were, as they cannot be less than nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Owed {
    threads_ns: i64,
    children_ns: i64,
}

/// A process at the last cut.
#[derive(Debug, Default)]
pub(crate) struct LastProcess {
    start: Option<Boottime>,
    dead: Dead,
    /// What its tasks had used that were not released.
    living: Used,
    threads: Vec<i32>,
    owed: Owed,
    pub(crate) shown_times: (u64, u64),
}

impl LastProcess {
    fn id(&self, pid: i32) -> Option<TaskId> {
        Some(TaskId::new(pid, self.start?.ns()))
    }

    /// What it used, dead threads included.
    fn own(&self) -> Used {
        let mut own = self.living;
        own.add(&self.dead.threads);
        own
    }

    /// What its heir gets that was in intervals already.
    fn left_ns(&self) -> i64 {
        let Owed { threads_ns, children_ns } = self.owed;
        self.own().cpu_ns().cast_signed()
            + self.dead.children.cpu_ns().cast_signed()
            + threads_ns
            + children_ns
    }
}

/// What a process used in an interval.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) pid: i32,
    /// Its records.
    pub(crate) told: Range<usize>,
    pub(crate) parts: Parts,
    /// What each part grew by. Of a part that is more or less, the proportion holds.
    pub(crate) own: Used,
    pub(crate) threads: Used,
    pub(crate) children: Used,
    /// All that its tasks ever used, dead ones included.
    pub(crate) total: Used,
    /// Whether it has one task, and had no other since the last cut.
    pub(crate) is_one_task: bool,
    pub(crate) accounting_parent: Option<Pid>,
}

/// The accounts of all that live.
#[derive(Debug, Default)]
pub(crate) struct KernelAccounts {
    has_begun: bool,
    tasks: FxHashMap<i32, LastTask>,
    processes: FxHashMap<i32, LastProcess>,
    /// Who inherits: what the kernel knows, also of those that did not run since their accounting parent was released.
    attribution: Attribution,
    dying: Vec<Dying>,
    dying_processes: FxHashSet<i32>,
    /// Processes whose leader has reported its death, and others not. A thread of theirs may vanish without a report, as it gets the number of the
    /// leader by an exec.
    suspects: FxHashSet<i32>,
    changes: Vec<Change>,
    verdicts: deaths::Verdicts,
}

/// How far the figures of a cut can be those of its instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    /// By how much what was used exceeds the time there was.
    pub(crate) excess_ns: i64,
    /// By how much parts are less than nothing.
    pub(crate) lacking_ns: i64,
}

impl KernelAccounts {
    /// Tasks that are known.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The start of a process, if it is known.
    pub(crate) fn start_of(&self, pid: i32) -> Option<Boottime> {
        self.processes.get(&pid)?.start
    }

    /// How many deaths wait to be settled.
    pub(crate) fn dying(&self) -> usize {
        self.dying.len()
    }

    pub(crate) fn task_mut(&mut self, tid: i32) -> Option<&mut LastTask> {
        self.tasks.get_mut(&tid)
    }

    pub(crate) fn process_mut(&mut self, pid: i32) -> Option<&mut LastProcess> {
        self.processes.get_mut(&pid)
    }

    /// What a task had used at the last cut, if this is the same one.
    pub(crate) fn used_by(&self, tid: i32, start: Boottime) -> Used {
        self.tasks.get(&tid).filter(|last| last.start == start).map_or(Used::default(), |last| last.used)
    }

    /// Begins with the next cut, which has to have all tasks. Deaths that were reported stay known: their tasks may be among these.
    pub(crate) fn begin_anew(&mut self) {
        let (dying, suspects) = (std::mem::take(&mut self.dying), std::mem::take(&mut self.suspects));
        *self = KernelAccounts { dying, suspects, ..KernelAccounts::default() };
    }

    /// Weighs a cut. `lives` says whether a task is there now, by its process and its number. Nothing has changed until it is taken over by
    /// [`KernelAccounts::close`], so another cut can be weighed in its place.
    pub(crate) fn weigh(&mut self, cut: &AccountCut<'_>, lives: impl Fn(i32, i32) -> bool) -> Fit {
        self.judge(cut, &lives);
        self.find_changes(cut);
        self.settle(cut);
        self.fit(cut)
    }

    /// Closes the interval with the cut that was weighed last: the share of each process that has a record, and the growth of each record. The
    /// first cut only opens one.
    pub(crate) fn close(&mut self, cut: &AccountCut<'_>, shares: &mut Vec<Share>, growth: &mut Vec<Used>) {
        shares.clear();
        growth.clear();
        let grown = cut.told.iter().map(|told| told.used.since(&self.used_by(told.tid, told.start)));
        growth.extend(grown.map(at_least_nothing));
        self.remove_released(cut);
        let mut changes = std::mem::take(&mut self.changes);
        for change in &changes {
            let share = self.take_over(cut, change);
            shares.extend(share.filter(|_| self.has_begun));
        }
        changes.clear();
        self.changes = changes;
        self.link(cut);
        self.attribution.forget(cut.at_ns);
        self.has_begun = true;
        self.tasks.trim();
        self.processes.trim();
    }

    /// Tells the engine the accounting parents of those that have a record.
    fn link(&mut self, cut: &AccountCut<'_>) {
        let id_of = |pid: i32| self.processes.get(&pid).and_then(|process| process.id(pid));
        for told in cut.told.chunk_by(|one, other| one.pid == other.pid).filter_map(|records| records.first())
        {
            let parent = told.dead.accounting_parent.cast_signed();
            if let Some((process, parent)) =
                id_of(told.pid).zip(id_of(parent)).filter(|(one, other)| one != other)
            {
                self.attribution.add(process, parent);
            }
        }
    }
}

#[cfg(test)]
mod tests;
