//! Which files the wanted fields are in.

use cpuledger_model::field::{Field, FieldSet, IO};
use cpuledger_model::snapshot::Request;

/// In `stat`, which is always read.
pub const STAT: FieldSet = FieldSet::of(&[
    Field::Tid,
    Field::Pid,
    Field::Ppid,
    Field::Pgid,
    Field::Sid,
    Field::TtyDevice,
    Field::TtyPgid,
    Field::StartTime,
    Field::Comm,
    Field::State,
    Field::Flags,
    Field::ExitSignal,
    Field::Nice,
    Field::Priority,
    Field::RtPriority,
    Field::Policy,
    Field::Processor,
    Field::Threads,
    Field::User,
    Field::System,
    Field::ChildrenUser,
    Field::ChildrenSystem,
    Field::Vsize,
    Field::MinorFaults,
    Field::MajorFaults,
    Field::ChildrenMinorFaults,
    Field::ChildrenMajorFaults,
]);
/// In `status`, of each task.
pub const CREDENTIALS: FieldSet = FieldSet::of(&[
    Field::Uid,
    Field::Euid,
    Field::Suid,
    Field::Fsuid,
    Field::Gid,
    Field::Egid,
    Field::Sgid,
    Field::Fsgid,
]);
/// In `status`, of each task.
pub const NAMESPACE_TID: FieldSet = FieldSet::of(&[Field::NamespaceTid]);
/// In `status`, of each task alone.
pub const SWITCHES: FieldSet = FieldSet::of(&[Field::VoluntarySwitches, Field::InvoluntarySwitches]);
/// In `status` and, shorter, in `statm`; the same for all threads.
pub const RESIDENT: FieldSet = FieldSet::of(&[Field::Rss, Field::Shared]);
/// In `status`; the same for all threads.
pub const SWAP_AND_LOCKED: FieldSet = FieldSet::of(&[Field::Swap, Field::Locked]);
/// What all threads of a process share, wherever it is.
pub const MEMORY: FieldSet =
    FieldSet::of(&[Field::Vsize, Field::Rss, Field::Shared, Field::Swap, Field::Locked]);
/// In `schedstat`, of each task alone.
pub const RUNQUEUE_WAIT: FieldSet = FieldSet::of(&[Field::RunqueueWait]);
/// Of a task in `schedstat`, of a process its CPU clock.
pub const RUNTIME: FieldSet = FieldSet::of(&[Field::Runtime]);
/// By `cgroup`.
pub const CGROUPS: FieldSet = FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]);

/// Files of a task, or of a process, beside `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // named like the files
#[non_exhaustive]
pub struct Files {
    pub status: bool,
    pub statm: bool,
    pub io: bool,
    pub schedstat: bool,
    pub cgroup: bool,
}

impl Files {
    /// How many there are.
    pub fn count(self) -> u64 {
        [self.status, self.statm, self.io, self.schedstat, self.cgroup].map(u64::from).iter().sum()
    }

    /// Whether there is another file than `stat`.
    pub fn any(self) -> bool {
        self.count() > 0
    }

    /// Those of either.
    #[must_use]
    pub fn union(self, other: Files) -> Files {
        Files {
            status: self.status || other.status,
            statm: self.statm || other.statm,
            io: self.io || other.io,
            schedstat: self.schedstat || other.schedstat,
            cgroup: self.cgroup || other.cgroup,
        }
    }
}

/// What a request needs beside `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Of each process.
    pub process: Files,
    /// Of each task, where tasks are wanted.
    pub task: Files,
    /// Of a task whose process has lost its leader, and the memory with it.
    pub memory: Files,
    /// The CPU clock of each process.
    pub clock: bool,
    /// Whether there are rows of tasks.
    pub has_tasks: bool,
}

impl Needs {
    /// What the request needs of a source that can give `available`.
    pub fn of(request: &Request, available: FieldSet) -> Needs {
        let wants = |fields: FieldSet| {
            let wanted = request.fields.without(FieldSet::ALL.without(available));
            wanted.without(fields) != wanted
        };
        let has_tasks = request.scope.has_tasks();
        let status = wants(CREDENTIALS) || wants(NAMESPACE_TID) || wants(SWITCHES);
        let memory_in_status = wants(SWAP_AND_LOCKED);
        let memory = Files {
            status: memory_in_status,
            statm: wants(RESIDENT) && !status && !memory_in_status,
            ..Files::default()
        };
        let everywhere = Files { status, io: wants(IO), cgroup: wants(CGROUPS), ..Files::default() };
        Needs {
            // With tasks, waiting is summed over them.
            process: Files { schedstat: wants(RUNQUEUE_WAIT) && !has_tasks, ..everywhere.union(memory) },
            task: Files {
                schedstat: available.contains(Field::RunqueueWait)
                    && (wants(RUNQUEUE_WAIT) || wants(RUNTIME)),
                ..everywhere
            },
            memory,
            clock: wants(RUNTIME),
            has_tasks,
        }
    }

    /// Whether more than one file of a process is read, or its clock: then they have to be of the same process.
    pub fn has_several_files(&self) -> bool {
        self.process.any() || self.clock || (self.has_tasks && self.task.any())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::field::{Group, OF_ACCOUNTS};
    use cpuledger_model::snapshot::Scope;

    fn needs(scope: Scope, fields: &[Field]) -> Needs {
        Needs::of(&Request::new(scope, FieldSet::of(fields)), FieldSet::ALL)
    }

    #[test]
    fn every_field_is_in_one_file() {
        let groups = [
            STAT,
            CREDENTIALS,
            NAMESPACE_TID,
            SWITCHES,
            RESIDENT,
            SWAP_AND_LOCKED,
            IO,
            RUNQUEUE_WAIT,
            RUNTIME,
            CGROUPS,
        ];
        for field in FieldSet::ALL.iter() {
            let count = groups.iter().filter(|group| group.contains(field)).count();
            // Only taskstats has delays, and only a ledger what belongs to accounts.
            let is_elsewhere = field.info().group == Group::Delays || OF_ACCOUNTS.contains(field);
            assert_eq!(count, usize::from(!is_elsewhere), "{}", field.info().key);
        }
    }

    #[test]
    fn stat_alone_where_it_suffices() {
        let fields: Vec<Field> = STAT.iter().collect();
        for scope in [Scope::Leaders, Scope::Processes, Scope::Tasks] {
            let needs = needs(scope, &fields);
            assert!(!needs.process.any() && !needs.task.any() && !needs.clock);
        }
    }

    #[test]
    fn status_spares_statm() {
        let files = needs(Scope::Processes, &[Field::Rss]).process;
        assert_eq!(files, Files { statm: true, ..Files::default() });
        for other in [Field::Uid, Field::Swap] {
            let files = needs(Scope::Processes, &[Field::Rss, other]).process;
            assert_eq!(files, Files { status: true, ..Files::default() });
        }
    }

    #[test]
    fn threads_do_not_repeat_the_memory_of_their_process() {
        let needs = needs(Scope::Tasks, &[Field::Rss, Field::Swap]);
        assert_eq!(needs.task, Files::default());
        assert!(needs.memory.status);
    }

    #[test]
    fn what_the_kernel_lacks_is_not_looked_for() {
        let request = Request::new(Scope::Tasks, FieldSet::ALL);
        let needs = Needs::of(&request, STAT);
        assert!(!needs.process.any() && !needs.task.any() && !needs.clock);
    }
}
