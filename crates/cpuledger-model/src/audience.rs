//! Which rows of the books a user is shown: what /proc shows that user, and never more. All other time is one row, so that the books
//! of each audience balance.
//!
//! The rules are those of `has_pid_permissions` (fs/proc/base.c) and `__ptrace_may_access` (kernel/ptrace.c). What the kernel decides by a
//! fact that no row has, is not shown: the table in docs/service.md names each.

mod rules;

use crate::field::{Field, FieldSet};
use crate::task::{Guard, Pid, Task, TaskId, flags};

/// The name of the row that has all the time of what is not shown.
pub const OTHERS: &[u8] = b"(others)";

/// What a user sees of tasks that it may not trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strangers {
    /// Their rows without what /proc guards: /proc is mounted without hidepid.
    Shown,
    /// Only the sum of their time.
    Summed,
}

/// A user without capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Viewer {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Whether it may trace tasks of its own: not from within a user namespace, to which those outside are others'.
    pub may_trace_own: bool,
    /// What it sees of others.
    pub strangers: Strangers,
}

impl Viewer {
    /// Whether it may trace this task: all three users and groups are its own, and the task is not guarded. Where that is not known,
    /// it may not.
    fn may_trace(&self, row: &Task) -> bool {
        const IDENTITY: FieldSet =
            FieldSet::of(&[Field::Uid, Field::Euid, Field::Suid, Field::Gid, Field::Egid, Field::Sgid]);
        self.may_trace_own
            && row.guard == Guard::Open
            && IDENTITY.without(row.known) == FieldSet::EMPTY
            && [row.uid, row.euid, row.suid] == [self.uid; 3]
            && [row.gid, row.egid, row.sgid] == [self.gid; 3]
    }

    /// Whether it may read what /proc guards of this task: its files are root's once the task has let go of its memory.
    fn may_read(&self, row: &Task) -> bool {
        self.may_trace(row) && row.known.contains(Field::Flags) && row.flags & flags::EXITING == 0
    }

    /// Whether the row of this process is shown, and those of its threads: /proc asks the leader alone.
    fn sees(&self, process: &Task) -> bool {
        self.strangers == Strangers::Shown || self.may_trace(process)
    }

    /// The processes that are shown, in the order of their pids. One that has died is not taken for the one that has its pid now.
    fn seen(&self, processes: &[impl AsRef<Task>]) -> Seen {
        let processes = processes.iter().map(AsRef::as_ref);
        Seen(processes.filter(|row| self.sees(row)).map(Task::id).collect())
    }
}

/// Processes that are shown.
struct Seen(Vec<TaskId>);

impl Seen {
    fn find(&self, pid: Pid) -> Option<&TaskId> {
        let place = self.0.binary_search_by_key(&pid.0, |id| id.tid.0).ok()?;
        Some(&self.0[place])
    }

    /// Whether it has the process that has this pid now.
    fn has(&self, pid: Pid) -> bool {
        self.find(pid).is_some()
    }

    /// Whether it has this very process.
    fn has_process(&self, process: TaskId) -> bool {
        self.find(Pid(process.tid.0)) == Some(&process)
    }
}

#[cfg(test)]
mod tests;
