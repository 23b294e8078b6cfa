//! What one refresh shows: an interval, and what was read around it. The state and the view know nothing else of the
//! machine, so a recording can feed them as well.

use std::sync::Arc;

use cpuledger::Boottime;
use cpuledger::counters::Counters;
use cpuledger::field::FieldSet;
use cpuledger::host_statistics::{CpuShare, HostStatistics};
use cpuledger::interval::{Exited, Interval, Usage};
use cpuledger::names::Names;
use cpuledger::{Pid, Snapshot, Task, TaskId};
use rustc_hash::FxHashMap;

use cpuledger::enrich::cgroups;

/// A refresh.
#[derive(Debug)]
pub struct Frame {
    /// The interval.
    pub interval: Interval,
    /// Its rows: what ran or, from a source of snapshots, all.
    pub snapshot: Snapshot,
    /// What did not run, if the source gives only what did; empty if that is not wanted.
    pub asleep: Asleep,
    /// What the machine tells of itself at the end.
    pub statistics: HostStatistics,
    /// What each CPU did.
    pub cpus: Vec<CpuShare>,
    /// Tasks forked in the interval.
    pub born: Option<u64>,
    /// Names of users.
    pub users: Names,
    /// Paths of cgroups by their numbers.
    pub cgroups: Arc<FxHashMap<cgroups::Key, String>>,
    /// The local time of day at the end, `12:00:01`.
    pub time_of_day: String,
    /// Time since the boot.
    pub uptime: Boottime,
    /// Identifier of the boot.
    pub boot_id: Option<String>,
}

/// Tasks and processes that did not run in the interval.
#[derive(Debug, Default, Clone)]
pub struct Asleep {
    /// As a walk saw them, some time ago.
    pub walked: Arc<Snapshot>,
    /// Those of the walk that have run or died since, by index: processes and tasks.
    pub gone: [Vec<bool>; 2],
    /// Processes and tasks that have run since and sleep now, as they were when they last ran.
    pub late: [Vec<Task>; 2],
    /// The number of the walk: with another number, another order is to be made.
    pub walk: u64,
}

/// Processes or tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Processes.
    Process,
    /// Tasks.
    Task,
}

/// Where a row of a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowRef {
    /// Of which kind.
    pub kind: Kind,
    /// In which list.
    pub list: List,
    /// At which place.
    pub index: u32,
}

/// The lists of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// The snapshot of the interval.
    Awake,
    /// [`Asleep::walked`].
    Walked,
    /// [`Asleep::late`].
    Late,
}

impl Frame {
    /// A list of rows.
    pub fn rows(&self, kind: Kind, list: List) -> &[Task] {
        match (kind, list) {
            (Kind::Process, List::Awake) => &self.snapshot.processes,
            (Kind::Task, List::Awake) => &self.snapshot.tasks,
            (Kind::Process, List::Walked) => &self.asleep.walked.processes,
            (Kind::Task, List::Walked) => &self.asleep.walked.tasks,
            (Kind::Process, List::Late) => &self.asleep.late[0],
            (Kind::Task, List::Late) => &self.asleep.late[1],
        }
    }

    /// The row as it was at the end of the interval.
    pub fn whole(&self, at: RowRef) -> &Task {
        &self.rows(at.kind, at.list)[at.index as usize]
    }

    /// What it used.
    pub fn usage(&self, at: RowRef) -> Usage {
        let usages = match at.kind {
            Kind::Process => &self.interval.processes,
            Kind::Task => &self.interval.tasks,
        };
        match at.list {
            List::Awake => usages.get(at.index as usize).copied().unwrap_or_default(),
            List::Walked | List::Late => {
                let row = self.whole(at);
                // The walk keeps them in order.
                let is_unseen = self.asleep.walked.from_procfs.binary_search(&row.tid).is_ok();
                nothing_used(row.known, self.interval.exited.is_some(), is_unseen)
            }
        }
    }

    /// Whether it used CPU time.
    pub fn cpu_ns(&self, at: RowRef) -> u64 {
        match (at.list, at.kind) {
            (List::Awake, Kind::Process) => self.interval.processes[at.index as usize].cpu_ns,
            (List::Awake, Kind::Task) => {
                self.interval.tasks.get(at.index as usize).map_or(0, |usage| usage.cpu_ns)
            }
            _ => 0,
        }
    }

    /// All rows of a kind, each once.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = RowRef> + '_ {
        let gone = &self.asleep.gone[kind as usize];
        [List::Awake, List::Walked, List::Late].into_iter().flat_map(move |list| {
            let rows = 0..self.rows(kind, list).len() as u32;
            rows.filter(move |&index| {
                list != List::Walked || !gone.get(index as usize).is_some_and(|gone| *gone)
            })
            .map(move |index| RowRef { kind, list, index })
        })
    }

    /// Where a process is.
    pub fn process(&self, pid: Pid) -> Option<RowRef> {
        [List::Awake, List::Late, List::Walked].into_iter().find_map(|list| {
            // Rows are sorted by pid.
            let rows = self.rows(Kind::Process, list);
            let index = rows.binary_search_by_key(&pid, |row| row.pid).ok()?;
            Some(RowRef { kind: Kind::Process, list, index: index as u32 })
        })
    }

    /// Where a row is; `None`: it is gone.
    pub fn find(&self, kind: Kind, id: TaskId) -> Option<RowRef> {
        match kind {
            Kind::Process => {
                self.process(Pid(id.tid.0)).filter(|&at| self.whole(at).start_time_ns == id.start_time_ns)
            }
            Kind::Task => self.all(kind).find(|&at| self.whole(at).id() == id),
        }
    }

    /// What died.
    pub fn exited(&self) -> &[Exited] {
        self.interval.exited.as_deref().unwrap_or_default()
    }

    /// 100 % of one CPU.
    pub fn cpu_length_ns(&self) -> u64 {
        self.interval.length_ns()
    }
}

/// The usage of one that did not run: all that is known grew by nothing.
fn nothing_used(known: FieldSet, sees_exits: bool, is_unseen: bool) -> Usage {
    let seen = if is_unseen { FieldSet::EMPTY } else { known };
    Usage {
        exited_threads_ns: (sees_exits && !is_unseen).then_some(0),
        exited_children_ns: sees_exits.then_some(0),
        growth: Counters { known: seen.intersection(Counters::FIELDS), ..Counters::default() },
        is_unseen,
        ..Usage::default()
    }
}
