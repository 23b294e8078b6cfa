//! The task that a signal or another change is for.

use cpuledger::{Pid, Task, TaskId};

/// The task that a signal or another change is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victim {
    /// The process.
    pub pid: Pid,
    /// The task itself.
    pub id: TaskId,
    /// Its name, escaped.
    pub name: String,
    /// Whether the row is that of a task, not of a process.
    pub is_task: bool,
}

impl Victim {
    /// Of a row.
    pub fn of(row: &Task, name: String, is_task: bool) -> Victim {
        Victim { pid: row.pid, id: row.id(), name, is_task }
    }
}
