//! Which rows of the books a user is shown: what /proc shows that user, and never more. All other time is one row, so that the books
//! of each audience balance.
//!
//! The rules are those of `has_pid_permissions` (fs/proc/base.c) and `__ptrace_may_access` (kernel/ptrace.c). What the kernel decides by a
//! fact that no row has, is not shown: the table in docs/service.md names each.

use crate::field::{Field, FieldSet, IO};
use crate::interval::{Interval, Usage};
use crate::snapshot::Snapshot;
use crate::task::{Comm, Guard, Pid, Task, TaskId, Tid, flags};

/// The name of the row that has all the time of what is not shown.
pub const OTHERS: &[u8] = b"(others)";

/// What /proc tells only a caller that may trace the task.
const GUARDED: FieldSet = IO.union(FieldSet::of(&[Field::SwapInDelay]));

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
    fn seen(&self, processes: &[Task]) -> Seen {
        Seen(processes.iter().filter(|row| self.sees(row)).map(Task::id).collect())
    }

    /// Leaves in the books of an interval what this user is shown. Sums stay the same: time that is not shown is in one row.
    pub fn restrict(&self, snapshot: &mut Snapshot, interval: &mut Interval) {
        let seen = self.seen(&snapshot.processes);
        self.restrict_processes(snapshot, interval);
        self.restrict_tasks(snapshot, interval, &seen);
        if let Some(exited) = &mut interval.exited {
            exited
                .retain(|exited| self.strangers == Strangers::Shown || seen.has_process(exited.exit.process));
            // /proc shows it to a tracer. Of the dead, not all is known that decides which user that is.
            exited.iter_mut().for_each(|exited| exited.exit.exit_code = None);
        }
        if self.strangers == Strangers::Summed {
            if let Some(blocked) = &mut interval.blocked {
                blocked.retain(|blocked| seen.has_process(blocked.process));
                interval.blocked_tasks = blocked.len() as u64;
                interval.blocked_without_row = 0;
            }
            let Snapshot { processes, tasks, from_procfs, .. } = snapshot;
            from_procfs.retain(|tid| processes.iter().chain(&*tasks).any(|row| row.tid == *tid));
        }
    }

    /// Whether a listing of these fields may hold what is not shown to this user: [`Viewer::restrict_listing`] changes no other one.
    pub fn restricts(&self, fields: FieldSet) -> bool {
        self.strangers == Strangers::Summed || fields.intersection(GUARDED) != FieldSet::EMPTY
    }

    /// As [`Viewer::restrict`] for a listing, in which no time is told: rows that are not shown are missing.
    pub fn restrict_listing(&self, snapshot: &mut Snapshot) {
        let seen = self.seen(&snapshot.processes);
        for rows in [&mut snapshot.processes, &mut snapshot.tasks] {
            rows.retain(|row| seen.has(row.pid));
            for row in rows {
                if !self.may_read(row) {
                    row.known = row.known.without(GUARDED);
                }
            }
        }
        let Snapshot { processes, tasks, from_procfs, .. } = snapshot;
        from_procfs.retain(|tid| processes.iter().chain(&*tasks).any(|row| row.tid == *tid));
    }

    fn restrict_processes(&self, snapshot: &mut Snapshot, interval: &mut Interval) {
        let mut others = Usage::default();
        let mut has_others = false;
        let rows = snapshot.processes.drain(..).zip(interval.processes.drain(..));
        let mut shown: Vec<(Task, Usage)> = Vec::with_capacity(rows.len());
        for (mut row, mut usage) in rows {
            if !self.sees(&row) {
                has_others = true;
                add(&mut others, &usage);
                continue;
            }
            if !self.may_read(&row) {
                hide(&mut row, &mut usage);
            }
            shown.push((row, usage));
        }
        if has_others {
            shown.insert(0, (row_of_others(), others));
        }
        (snapshot.processes, interval.processes) = shown.into_iter().unzip();
    }

    fn restrict_tasks(&self, snapshot: &mut Snapshot, interval: &mut Interval, seen: &Seen) {
        let has_usages = !interval.tasks.is_empty();
        let mut usages = std::mem::take(&mut interval.tasks).into_iter();
        let mut kept = Vec::new();
        snapshot.tasks.retain_mut(|row| {
            let usage = usages.next();
            if !seen.has(row.pid) {
                return false;
            }
            let mut usage = usage.unwrap_or_default();
            // A thread may have other users than its leader.
            if !self.may_read(row) {
                hide(row, &mut usage);
            }
            kept.push(usage);
            true
        });
        if has_usages {
            interval.tasks = kept;
        }
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

/// The row of all that is not shown. No task has this number.
fn row_of_others() -> Task {
    Task {
        known: FieldSet::of(&[Field::Tid, Field::Pid, Field::Comm]),
        tid: Tid(0),
        pid: Pid(0),
        comm: Comm::new(OTHERS),
        ..Task::default()
    }
}

/// Takes away what only a tracer is told.
fn hide(row: &mut Task, usage: &mut Usage) {
    row.known = row.known.without(GUARDED);
    usage.growth = usage.growth.without(GUARDED);
}

/// Adds the time of a row that is not shown. Nothing else of it is told: neither whether it is of the living.
fn add(others: &mut Usage, usage: &Usage) {
    others.cpu_ns += usage.cpu_ns;
    others.self_ns = others.cpu_ns;
    (others.exited_threads_ns, others.exited_children_ns) = (Some(0), Some(0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Boottime;
    use crate::counters::Counters;
    use crate::exit::Exit;
    use crate::interval::{Blocked, Exited};

    fn row(tid: i32, pid: i32, uid: u32) -> Task {
        Task {
            known: FieldSet::ALL,
            tid: Tid(tid),
            pid: Pid(pid),
            start_time_ns: Boottime::from_ns(1),
            uid,
            euid: uid,
            suid: uid,
            gid: uid,
            egid: uid,
            sgid: uid,
            guard: Guard::Open,
            read_bytes: 7,
            ..Task::default()
        }
    }

    fn usage(cpu_ns: u64) -> Usage {
        let growth = Counters { known: Counters::FIELDS, read_bytes: 3, ..Counters::default() };
        Usage {
            cpu_ns,
            self_ns: cpu_ns,
            exited_threads_ns: Some(0),
            exited_children_ns: Some(0),
            growth,
            ..Usage::default()
        }
    }

    fn viewer(strangers: Strangers) -> Viewer {
        Viewer { uid: 1000, gid: 1000, may_trace_own: true, strangers }
    }

    fn id(tid: i32, start_ns: u64) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns) }
    }

    fn exited(tid: i32, process: TaskId) -> Exited {
        let exit = Exit { task: id(tid, 1), process, uid: 1000, exit_code: Some(9), ..Exit::default() };
        Exited { exit, ..Exited::default() }
    }

    /// Own process 5 with two threads, the second of which has become another user; a process of a setuid program, and one of another
    /// user. A thread of process 5 has died, one of the process of another user that had pid 5 before, and one of process 7.
    fn books() -> (Snapshot, Interval) {
        let setuid = Task { euid: 0, suid: 0, ..row(6, 6, 1000) };
        let processes = vec![row(5, 5, 1000), setuid, row(7, 7, 1001)];
        let tasks = vec![
            row(5, 5, 1000),
            row(8, 5, 1000),
            Task { suid: 0, ..row(9, 5, 1000) },
            setuid,
            row(7, 7, 1001),
        ];
        let blocked =
            [5, 7].map(|tid| Blocked { task: id(tid, 1), process: id(tid, 1), ..Blocked::default() });
        let interval = Interval {
            capacity_ns: 100,
            attributed_ns: 60,
            idle_ns: Some(40),
            unattributed_ns: Some(0),
            processes: vec![usage(30), usage(20), usage(10)],
            tasks: vec![usage(10), usage(15), usage(5), usage(20), usage(10)],
            exited: Some(vec![exited(10, id(5, 1)), exited(11, id(5, 0)), exited(12, id(7, 1))]),
            blocked: Some(blocked.to_vec()),
            blocked_tasks: 2,
            ..Interval::default()
        };
        (Snapshot { processes, tasks, ..Snapshot::default() }, interval)
    }

    fn shown(strangers: Strangers) -> (Snapshot, Interval) {
        let (mut snapshot, mut interval) = books();
        viewer(strangers).restrict(&mut snapshot, &mut interval);
        assert_eq!(interval.imbalance_ns(), Some(0));
        let sum: u64 = interval.processes.iter().map(|usage| usage.cpu_ns).sum();
        assert_eq!((sum, interval.attributed_ns), (60, 60), "no time is lost");
        let exited = interval.exited.as_deref().expect("they are told");
        assert!(exited.iter().all(|exited| exited.exit.exit_code.is_none()));
        (snapshot, interval)
    }

    fn ids(rows: &[Task]) -> Vec<i32> {
        rows.iter().map(|row| row.tid.0).collect()
    }

    fn dead(interval: &Interval) -> Vec<i32> {
        interval.exited.iter().flatten().map(|exited| exited.exit.task.tid.0).collect()
    }

    #[test]
    fn the_time_of_strangers_is_one_row() {
        let (snapshot, interval) = shown(Strangers::Summed);
        assert_eq!((ids(&snapshot.processes), ids(&snapshot.tasks)), (vec![0, 5], vec![5, 8, 9]));
        assert_eq!(snapshot.processes[0].comm.as_bytes(), OTHERS);
        assert_eq!((interval.processes[0].cpu_ns, interval.processes[1].cpu_ns), (30, 30));
        assert_eq!(interval.tasks.len(), 3);
        let tells_io: Vec<bool> =
            snapshot.tasks.iter().map(|row| row.known.contains(Field::ReadBytes)).collect();
        assert_eq!(tells_io, [true, true, false], "a thread of another user is guarded by itself");
        assert_eq!(dead(&interval), [10], "and not those of an earlier process with the same pid");
        assert_eq!((interval.blocked_tasks, interval.blocked.expect("told")[0].task.tid), (1, Tid(5)));
    }

    #[test]
    fn the_sum_of_strangers_does_not_tell_of_their_dead() {
        let (mut snapshot, mut interval) = books();
        let stranger = &mut interval.processes[2];
        (stranger.self_ns, stranger.exited_children_ns) = (4, Some(6));
        viewer(Strangers::Summed).restrict(&mut snapshot, &mut interval);
        let others = &interval.processes[0];
        assert_eq!((others.cpu_ns, others.self_ns, others.exited_children_ns), (30, 30, Some(0)));
    }

    #[test]
    fn of_strangers_that_are_shown_the_guarded_figures_are_unknown() {
        let (snapshot, interval) = shown(Strangers::Shown);
        assert_eq!((ids(&snapshot.processes), ids(&snapshot.tasks)), (vec![5, 6, 7], vec![5, 8, 9, 6, 7]));
        for (row, usage) in snapshot.processes.iter().zip(&interval.processes) {
            let is_own = row.pid == Pid(5);
            assert_eq!(row.known.contains(Field::ReadBytes), is_own, "{row:?}");
            assert_eq!(usage.growth.known.contains(Field::ReadBytes), is_own);
            assert!(row.known.contains(Field::Euid), "what /proc shows all stays");
        }
        assert_eq!(dead(&interval), [10, 11, 12]);
    }

    #[test]
    fn a_row_whose_users_or_guard_are_not_known_is_of_a_stranger() {
        let viewer = viewer(Strangers::Summed);
        let own = row(5, 5, 1000);
        assert!(viewer.sees(&own));
        let partly = Task { known: FieldSet::of(&[Field::Uid, Field::Euid]), ..own };
        let of_other_group = Task { sgid: 5, ..own };
        for row in [partly, of_other_group, Task { guard: Guard::Unknown, ..own }] {
            assert!(!viewer.sees(&row), "{row:?}");
        }
        assert!(!viewer.sees(&Task { guard: Guard::Guarded, ..own }));
        let ending = Task { flags: flags::EXITING, ..own };
        assert!(viewer.sees(&ending) && viewer.may_read(&own) && !viewer.may_read(&ending));
        let confined = Viewer { may_trace_own: false, ..viewer };
        assert!(!confined.sees(&own));
    }
}
