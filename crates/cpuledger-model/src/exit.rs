//! Births and deaths of tasks, as sources tell of them.

use crate::boottime::Boottime;
use crate::task::{Comm, Pid, TaskId};

/// Exits of one interval that keep their identity: at 3,000 a second, those of 87 s, in some 40 MB.
pub const EXITS_LIMIT: usize = 1 << 18;

/// A task that has died, with its final figures.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Exit {
    /// Which task.
    pub task: TaskId,
    /// Its process.
    pub process: TaskId,
    /// The process of its parent when it died; 0: the kernel had released it, and it is unknown ([`Exit::known_ppid`]).
    pub ppid: Pid,
    /// Its name.
    pub comm: Comm,
    /// Its real user.
    pub uid: u32,
    /// Its effective user, which it is listed under while it lives; `None` where the source does not know it.
    pub euid: Option<u32>,
    /// As wait(2) returns it; `None` where the source does not know it, or it is not told.
    pub exit_code: Option<i32>,
    /// CPU time of its life.
    pub runtime_ns: u64,
    /// From its start to its last switch, suspension not counted.
    pub lifetime_ns: u64,
    /// The cgroup that it died in, in the unified hierarchy; `None` where the source does not know it.
    pub cgroup_id: Option<u64>,
    /// Likewise, in the hierarchy of the cpu controller.
    pub cgroup_v1_cpu_id: Option<u64>,
}

impl Exit {
    /// The process of its parent when it died, where the kernel could tell.
    pub fn known_ppid(&self) -> Option<Pid> {
        Some(self.ppid).filter(|pid| pid.0 != 0)
    }
}

/// A death of which an interval needs to know when it was.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Death {
    /// Whose.
    pub exit: Exit,
    /// When its last figures were told: at its last switch, where the source sees that.
    pub at: Boottime,
}

/// Exits whose identity was lost because a list was full; their time was not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fold {
    /// The process of the parent; 0 where that was lost too.
    pub ppid: Pid,
    /// How many tasks.
    pub exits: u64,
    /// CPU time of their lives.
    pub runtime_ns: u64,
}

/// A process that was forked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Birth {
    /// Which process.
    pub process: TaskId,
    /// The process that forked it. Births with `CLONE_PARENT` are not reported: the parent's parent may have been replaced.
    pub parent: TaskId,
}

/// Every death since the last time, and the births that the source saw.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Exits {
    /// Births of processes. Those that found no room, and those of a source that sees none, are missing.
    pub births: Vec<Birth>,
    /// With their identity.
    pub exits: Vec<Death>,
    /// Without it.
    pub folds: Vec<Fold>,
    /// Exits that were not reported, because they were not read in time.
    pub missed: u64,
}
