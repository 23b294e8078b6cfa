//! What is remembered of the tasks and processes that live, and what a cut has.

use std::ops::Range;

use cpuledger_model::account::{Dead, Used};
use cpuledger_model::boottime::Boottime;
use cpuledger_model::counters::Counters;
use cpuledger_model::task::{Pid, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attribution::{Attribution, Parts};

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
    pub(super) fn of_process(&self, pid: i32) -> &[Told] {
        let begin = self.told.partition_point(|told| told.pid < pid);
        let rest = &self.told[begin..];
        &rest[..rest.partition_point(|told| told.pid == pid)]
    }

    pub(super) fn find(&self, pid: i32, tid: i32) -> Option<&Told> {
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
    pub(super) start: Boottime,
    pub(super) pid: i32,
    /// In the list of its process.
    pub(super) place: u32,
    pub(super) used: Used,
    pub(crate) shown: Shown,
}

/// What parts were told more than they were, as they cannot be less than nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Owed {
    pub(super) threads_ns: i64,
    pub(super) children_ns: i64,
}

/// A process at the last cut.
#[derive(Debug, Default)]
pub(crate) struct LastProcess {
    pub(super) start: Option<Boottime>,
    pub(super) dead: Dead,
    /// What its tasks had used that were not released.
    pub(super) living: Used,
    pub(super) threads: Vec<i32>,
    pub(super) owed: Owed,
    pub(crate) shown_times: (u64, u64),
}

impl LastProcess {
    pub(super) fn id(&self, pid: i32) -> Option<TaskId> {
        Some(TaskId::new(pid, self.start?.ns()))
    }

    /// What it used, dead threads included.
    pub(super) fn own(&self) -> Used {
        let mut own = self.living;
        own.add(&self.dead.threads);
        own
    }

    /// What its heir gets that was in intervals already.
    pub(super) fn left_ns(&self) -> i64 {
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
    pub(super) has_begun: bool,
    pub(super) tasks: FxHashMap<i32, LastTask>,
    pub(super) processes: FxHashMap<i32, LastProcess>,
    /// Who inherits: what the kernel knows, also of those that did not run since their accounting parent was released.
    pub(super) attribution: Attribution,
    pub(super) dying: Vec<Dying>,
    pub(super) dying_processes: FxHashSet<i32>,
    /// Processes whose leader has reported its death, and others not. A thread of theirs may vanish without a report, as it gets the number of the
    /// leader by an exec.
    pub(super) suspects: FxHashSet<i32>,
    pub(super) changes: Vec<Change>,
    pub(super) verdicts: Verdicts,
}

/// How far the figures of a cut can be those of its instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    /// By how much what was used exceeds the time there was.
    pub(crate) excess_ns: i64,
    /// By how much parts are less than nothing.
    pub(crate) lacking_ns: i64,
}

/// Growth, where what is less than nothing wraps around.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) pid: i32,
    pub(super) start: Option<Boottime>,
    /// Whether the last cut did not know it.
    pub(super) is_new: bool,
    pub(super) told: Range<usize>,
    pub(super) dead: Dead,
    pub(super) own: Used,
    pub(super) threads: Used,
    pub(super) children: Used,
    /// By how much more the children are, as what a released process had is told of another.
    pub(super) owed: Owed,
}

/// A task that has reported its death, or a process of which the last task has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dying {
    pub(crate) tid: i32,
    pub(crate) pid: i32,
    /// Its start; of a process that of its leader. `None`: it is in the next record.
    pub(crate) start: Option<Boottime>,
    /// Whether it is the whole process.
    pub(crate) is_process: bool,
    pub(crate) phase: Phase,
}

/// What is known of a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has reported at this instant, CLOCK_MONOTONIC.
    Reported(u64),
    /// It had a record since.
    Zombie,
    /// It was gone at the last cut, or just after it.
    Gone,
}

/// What a cut says of one that is dying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is not released.
    Stays,
    /// It was released before the cut.
    Released,
    /// It is released by now.
    Perhaps,
    /// Nothing is known of it, and nothing need be.
    Over,
}

/// Those of a cut.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// Of each that is dying.
    pub(super) of_dying: Vec<Verdict>,
    /// What was released.
    pub(super) tasks: Vec<i32>,
    pub(super) processes: Vec<i32>,
}
