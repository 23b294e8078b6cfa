//! Which rows of the books a user is shown: what /proc shows that user, and never more. All other time is one row, so that the books
//! of each audience balance.
//!
//! The rules are those of `has_pid_permissions` (fs/proc/base.c) and `ptrace_may_access` (kernel/ptrace.c).

use crate::field::{Field, FieldSet, IO};
use crate::interval::{Interval, Usage};
use crate::snapshot::Snapshot;
use crate::task::{Comm, Pid, Task, Tid};

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
    /// What it sees of others.
    pub strangers: Strangers,
}

impl Viewer {
    /// Whether it may trace this task, by all three users and groups of it; where these are not known, it may not.
    fn may_trace(&self, row: &Task) -> bool {
        const IDENTITY: FieldSet =
            FieldSet::of(&[Field::Uid, Field::Euid, Field::Suid, Field::Gid, Field::Egid, Field::Sgid]);
        IDENTITY.without(row.known) == FieldSet::EMPTY
            && [row.uid, row.euid, row.suid] == [self.uid; 3]
            && [row.gid, row.egid, row.sgid] == [self.gid; 3]
    }

    /// Whether the row of this task is shown.
    fn sees(&self, row: &Task) -> bool {
        self.strangers == Strangers::Shown || self.may_trace(row)
    }

    /// Leaves in the books of an interval what this user is shown. Sums stay the same: time that is not shown is in one row.
    pub fn restrict(&self, snapshot: &mut Snapshot, interval: &mut Interval) {
        let seen: Vec<Pid> =
            snapshot.processes.iter().filter(|row| self.sees(row)).map(|row| row.pid).collect();
        let is_seen = |pid: Pid| seen.binary_search(&pid).is_ok();
        self.restrict_processes(snapshot, interval);
        self.restrict_tasks(snapshot, interval, is_seen);
        if let Some(exited) = &mut interval.exited {
            exited.retain(|exited| {
                self.strangers == Strangers::Shown || is_seen(Pid(exited.exit.process.tid.0))
            });
        }
        if self.strangers == Strangers::Summed {
            if let Some(blocked) = &mut interval.blocked {
                blocked.retain(|blocked| is_seen(Pid(blocked.process.tid.0)));
                interval.blocked_tasks = blocked.len() as u64;
            }
            snapshot.from_procfs.retain(|tid| is_seen(Pid(tid.0)));
        }
    }

    /// The same for a listing, in which no time is told: rows that are not shown are missing.
    pub fn restrict_listing(&self, snapshot: &mut Snapshot) {
        for rows in [&mut snapshot.processes, &mut snapshot.tasks] {
            rows.retain(|row| self.sees(row));
            for row in rows {
                if !self.may_trace(row) {
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
            if !self.may_trace(&row) {
                hide(&mut row, &mut usage);
            }
            shown.push((row, usage));
        }
        if has_others {
            shown.insert(0, (row_of_others(), others));
        }
        (snapshot.processes, interval.processes) = shown.into_iter().unzip();
    }

    fn restrict_tasks(
        &self,
        snapshot: &mut Snapshot,
        interval: &mut Interval,
        is_seen: impl Fn(Pid) -> bool,
    ) {
        let has_usages = !interval.tasks.is_empty();
        let mut usages = std::mem::take(&mut interval.tasks).into_iter();
        let mut kept = Vec::new();
        snapshot.tasks.retain_mut(|row| {
            let usage = usages.next();
            // A thread may have other users than its leader.
            if !is_seen(row.pid) || !self.sees(row) {
                return false;
            }
            let mut usage = usage.unwrap_or_default();
            if !self.may_trace(row) {
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

/// Adds the time of a row that is not shown. Nothing else of it is told.
fn add(others: &mut Usage, usage: &Usage) {
    others.cpu_ns += usage.cpu_ns;
    others.self_ns += usage.self_ns;
    let sum = |sum: Option<u64>, more: Option<u64>| Some(sum.unwrap_or(0) + more.unwrap_or(0));
    others.exited_threads_ns = sum(others.exited_threads_ns, usage.exited_threads_ns);
    others.exited_children_ns = sum(others.exited_children_ns, usage.exited_children_ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Boottime;
    use crate::counters::Counters;

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

    /// Own process 5 with a thread, one of a setuid program, and one of another user.
    fn books() -> (Snapshot, Interval) {
        let setuid = Task { euid: 0, suid: 0, ..row(6, 6, 1000) };
        let processes = vec![row(5, 5, 1000), setuid, row(7, 7, 1001)];
        let tasks = vec![row(5, 5, 1000), row(8, 5, 1000), setuid, row(7, 7, 1001)];
        let interval = Interval {
            capacity_ns: 100,
            attributed_ns: 60,
            idle_ns: Some(40),
            unattributed_ns: Some(0),
            processes: vec![usage(30), usage(20), usage(10)],
            tasks: vec![usage(10), usage(20), usage(20), usage(10)],
            ..Interval::default()
        };
        (Snapshot { processes, tasks, ..Snapshot::default() }, interval)
    }

    fn shown(strangers: Strangers) -> (Snapshot, Interval) {
        let (mut snapshot, mut interval) = books();
        Viewer { uid: 1000, gid: 1000, strangers }.restrict(&mut snapshot, &mut interval);
        assert_eq!(interval.imbalance_ns(), Some(0));
        let sum: u64 = interval.processes.iter().map(|usage| usage.cpu_ns).sum();
        assert_eq!((sum, interval.attributed_ns), (60, 60), "no time is lost");
        (snapshot, interval)
    }

    fn ids(rows: &[Task]) -> Vec<i32> {
        rows.iter().map(|row| row.tid.0).collect()
    }

    #[test]
    fn the_time_of_strangers_is_one_row() {
        let (snapshot, interval) = shown(Strangers::Summed);
        assert_eq!((ids(&snapshot.processes), ids(&snapshot.tasks)), (vec![0, 5], vec![5, 8]));
        assert_eq!(snapshot.processes[0].comm.as_bytes(), OTHERS);
        assert_eq!((interval.processes[0].cpu_ns, interval.processes[1].cpu_ns), (30, 30));
        assert_eq!(interval.tasks.len(), 2);
        assert!(snapshot.tasks.iter().all(|row| row.known.contains(Field::ReadBytes)), "its own");
    }

    #[test]
    fn of_strangers_that_are_shown_the_guarded_figures_are_unknown() {
        let (snapshot, interval) = shown(Strangers::Shown);
        assert_eq!((ids(&snapshot.processes), ids(&snapshot.tasks)), (vec![5, 6, 7], vec![5, 8, 6, 7]));
        for (row, usage) in snapshot.processes.iter().zip(&interval.processes) {
            let is_own = row.pid == Pid(5);
            assert_eq!(row.known.contains(Field::ReadBytes), is_own, "{row:?}");
            assert_eq!(usage.growth.known.contains(Field::ReadBytes), is_own);
            assert!(row.known.contains(Field::Euid), "what /proc shows all stays");
        }
    }

    #[test]
    fn a_row_whose_users_are_not_known_is_of_a_stranger() {
        let viewer = Viewer { uid: 1000, gid: 1000, strangers: Strangers::Summed };
        let partly = Task { known: FieldSet::of(&[Field::Uid, Field::Euid]), ..row(5, 5, 1000) };
        assert!(viewer.sees(&row(5, 5, 1000)) && !viewer.sees(&partly));
    }
}
