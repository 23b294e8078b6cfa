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
}

impl Victim {
    /// Of a row.
    pub fn of(row: &Task, name: String) -> Victim {
        Victim { pid: row.pid, id: row.id(), name }
    }
}
