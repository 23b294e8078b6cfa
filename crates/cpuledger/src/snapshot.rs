//! What a source saw at one instant.

use crate::field::FieldSet;
use crate::source::SourceKind;
use crate::task::{Pid, Task};

/// Which tasks a snapshot shall hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
pub struct Request {
    /// Which tasks.
    pub scope: Scope,
    /// Fields that will be looked at; a source may give more, and leaves out what it cannot give.
    pub fields: FieldSet,
}

/// What a source saw. Reused from one snapshot to the next, so that a warm one allocates nothing per task.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Where it comes from.
    pub source: SourceKind,
    /// When it was begun, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// When it was complete; every number was read between the two.
    pub end_ns: u64,
    /// One row a process, with the totals of its threads, dead ones included.
    pub processes: Vec<Task>,
    /// One row a task; empty unless the scope has tasks. The leader of a process comes before its other threads.
    pub tasks: Vec<Task>,
}

impl Snapshot {
    /// Empties the rows and keeps their memory.
    pub fn clear(&mut self) {
        self.processes.clear();
        self.tasks.clear();
    }
}
