//! What is known of tasks and processes from the last cut.

use cpuledger_model::task::{Pid, TaskId};

/// Where a task of the books stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// Listed as living.
    Alive,
    /// Listed as dead, and its record has not come.
    Dead,
    /// Its record has come. A zombie stays listed, and is not to be counted again.
    Settled,
}

/// What a task had used at the last cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Baseline {
    pub(super) runtime_ns: u64,
    pub(super) pid: Pid,
    /// The number of the cut that saw it last; 0: none.
    pub(super) seen: u32,
    /// Where its counters at that cut are, where the books are kept by task.
    pub(super) counters: u32,
    pub(super) life: Life,
}

/// A process at the last cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    pub(super) id: TaskId,
    pub(super) ppid: Pid,
    /// Whether all forks up to its heir were seen: else the heir is a guess.
    pub(super) has_known_heir: bool,
}
