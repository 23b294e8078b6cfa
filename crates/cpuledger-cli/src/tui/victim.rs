//! The task that a signal or another change is for.

use cpuledger::{Pid, TaskId};

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
