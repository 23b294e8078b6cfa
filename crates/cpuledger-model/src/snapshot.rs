//! What a source saw at one instant.

use crate::boottime::Boottime;
use crate::buffer::emptied;
use crate::field::FieldSet;
use crate::source_kind::SourceKind;
use crate::task::{Pid, Task, Tid};

/// Which tasks a snapshot shall hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Processes; the totals of one with several threads are left unknown where they need a visit to its threads.
    Leaders,
    /// Processes with their totals.
    Processes,
    /// Processes with their totals, and every task.
    Tasks,
    /// One process with its totals and its tasks.
    Process(Pid),
}

impl Scope {
    /// Whether tasks are wanted besides processes.
    pub fn has_tasks(self) -> bool {
        matches!(self, Scope::Tasks | Scope::Process(_))
    }
}

/// What a snapshot shall hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// Which tasks.
    pub scope: Scope,
    /// Fields that will be looked at; a source may give more, and leaves out what it cannot give.
    pub fields: FieldSet,
}

impl Request {
    /// These tasks, with these fields.
    pub const fn new(scope: Scope, fields: FieldSet) -> Request {
        Request { scope, fields }
    }
}

/// What a source saw. Reused from one snapshot to the next, so that a warm one allocates nothing per task.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// Where it comes from.
    pub source: SourceKind,
    /// When it was begun, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// The same instant by the clock of starts and ends; of the ledger, when the rows were read that it has at its cut.
    pub begin: Boottime,
    /// When it was complete; every number was read between the two.
    pub end_ns: u64,
    /// One row a process, with the totals of its threads, dead ones included.
    pub processes: Vec<Task>,
    /// One row a task; empty unless the scope has tasks. The leader of a process comes before its other threads.
    pub tasks: Vec<Task>,
    /// Tids of rows that the source could not see, and that /proc told of: they are as exact as its files are.
    pub from_procfs: Vec<Tid>,
}

impl Snapshot {
    /// Becomes an empty one of no time and source, in the memory of its lists. One that is empty already gives their memory back, so that it
    /// is done once before each filling.
    pub fn clear(&mut self) {
        // Each member by its name: one that is added has to be thought of here.
        let Snapshot { source: _, begin_ns: _, begin: _, end_ns: _, processes, tasks, from_procfs } =
            std::mem::take(self);
        *self = Snapshot {
            processes: emptied(processes),
            tasks: emptied(tasks),
            from_procfs: emptied(from_procfs),
            ..Snapshot::default()
        };
    }

    /// Notes that the processes and tasks from these places on are from /proc.
    pub fn mark_from_procfs(&mut self, [processes, tasks]: [usize; 2]) {
        self.from_procfs.extend(self.processes[processes..].iter().map(|row| row.tid));
        let threads = self.tasks[tasks..].iter().map(|row| row.tid);
        self.from_procfs.extend(threads);
        self.from_procfs.sort_unstable();
        self.from_procfs.dedup();
    }
}
