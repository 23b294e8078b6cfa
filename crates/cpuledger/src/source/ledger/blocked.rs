//! Tasks that are blocked and do not run: what hung-task detection of the kernel finds after minutes, by name after an interval.

use std::collections::BTreeSet;
use std::ops::Bound;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use cpuledger_model::buffer::Trim;
use cpuledger_model::field::Field;
use cpuledger_model::interval::{Blocked, Interval, MOST_BLOCKED};
use cpuledger_model::make;
use cpuledger_model::task::{Task, TaskId};

/// The first and the last task in the order of tasks.
const FIRST: TaskId = TaskId::new(i32::MIN, 0);
const LAST: TaskId = TaskId::new(i32::MAX, u64::MAX);

/// Those that are blocked and have not run since. What an interval costs follows what ran, and what is told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct BlockedTasks {
    by_task: FxHashMap<TaskId, Blocked>,
    /// By effective user; of each, those that began first come first.
    by_user: BTreeSet<Key>,
}

/// The effective user, if it is known; since when it is blocked, where 0 stands for what is not known; and which task.
type Key = (Option<u32>, u64, TaskId);

fn key(blocked: &Blocked) -> Key {
    (blocked.euid, blocked.since_ns.unwrap_or(0), blocked.task)
}

impl Trim for BlockedTasks {
    fn trim(&mut self) {
        // A tree has no room to spare.
        let BlockedTasks { by_task, by_user: _ } = self;
        by_task.trim();
    }
}

impl BlockedTasks {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.by_task.clear();
        self.by_user.clear();
    }

    /// A task has run.
    pub(super) fn wake(&mut self, task: TaskId) {
        if self.by_task.is_empty() {
            return;
        }
        if let Some(blocked) = self.by_task.remove(&task) {
            self.by_user.remove(&key(&blocked));
        }
    }

    /// A task is blocked at a cut.
    pub(super) fn add(&mut self, blocked: Blocked) {
        self.wake(blocked.task);
        self.by_user.insert(key(&blocked));
        self.by_task.insert(blocked.task, blocked);
    }

    /// Adds a task that is blocked by its row, as it is listed in the interval that began at `start_ns`, unless it is known.
    pub(super) fn find(&mut self, row: &Task, process: TaskId, start_ns: u64) {
        if self.by_task.contains_key(&row.id()) {
            return;
        }
        self.add(make!(Blocked {
            task: row.id(),
            process,
            comm: row.comm,
            euid: row.known.contains(Field::Euid).then_some(row.euid),
            since_ns: None,
            // As a time, until it is told.
            blocked_for_ns: start_ns,
            for_io: None,
        }));
    }

    /// Tells of those that were blocked in all of an interval. To be called when those that ran in it are awake, and before those are added
    /// that are blocked since.
    pub(super) fn tell(&self, into: &mut Interval) {
        let end_ns = into.end_ns;
        let mut longest: Vec<Key> = Vec::new();
        let mut user = self.by_user.first().map(|(euid, ..)| *euid);
        while let Some(euid) = user {
            longest.extend(self.by_user.range((euid, 0, FIRST)..=(euid, u64::MAX, LAST)).take(MOST_BLOCKED));
            let others = (Bound::Excluded((euid, u64::MAX, LAST)), Bound::Unbounded);
            user = self.by_user.range(others).next().map(|(euid, ..)| *euid);
        }
        longest.sort_unstable_by_key(|(_, since_ns, task)| (*since_ns, *task));
        let longest = longest.iter().filter_map(|(.., task)| self.by_task.get(task));
        let told = longest.map(|blocked| {
            make!(Blocked {
                blocked_for_ns: end_ns.saturating_sub(blocked.since_ns.unwrap_or(blocked.blocked_for_ns)),
                ..*blocked
            })
        });
        into.blocked.get_or_insert_default().extend(told);
        into.blocked_tasks = self.by_task.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::task::Tid;
    use cpuledger_model::task::{Comm, Pid};

    fn blocked(tid: i32, since_ns: u64) -> Blocked {
        let task = TaskId::new(tid, 1);
        make!(Blocked {
            task,
            process: task,
            comm: Comm::new(b"hung"),
            euid: Some(0),
            since_ns: Some(since_ns),
            blocked_for_ns: 0,
            for_io: Some(true),
        })
    }

    fn told(tasks: &BlockedTasks, end_ns: u64) -> Vec<(i32, Option<u64>, u64)> {
        let mut interval = make!(Interval { end_ns });
        tasks.tell(&mut interval);
        let rows = interval.blocked.expect("the ledger knows them");
        assert!(interval.blocked_tasks >= rows.len() as u64);
        rows.iter().map(|row| (row.task.tid.0, row.since_ns, row.blocked_for_ns)).collect()
    }

    #[test]
    fn those_are_told_that_have_not_run_since_the_longest_first() {
        let mut tasks = BlockedTasks::default();
        tasks.add(blocked(7, 500));
        tasks.add(blocked(8, 400));
        for tid in [7, 9] {
            let start_time_ns = Boottime::from_ns(1);
            let row = make!(Task { known: FieldSet::ALL, tid: Tid(tid), pid: Pid(tid), start_time_ns });
            tasks.find(&row, row.id(), 600);
        }
        assert_eq!(told(&tasks, 1000), [(9, None, 400), (8, Some(400), 600), (7, Some(500), 500)]);
        tasks.wake(blocked(8, 0).task);
        tasks.wake(blocked(8, 0).task);
        assert_eq!(told(&tasks, 2000), [(9, None, 1400), (7, Some(500), 1500)]);
        tasks.wake(blocked(9, 0).task);
        tasks.add(blocked(7, 2500));
        assert_eq!(told(&tasks, 3000), [(7, Some(2500), 500)], "again");
        tasks.wake(blocked(7, 0).task);
        assert!(tasks.by_task.is_empty() && tasks.by_user.is_empty());
    }

    #[test]
    fn the_list_is_bounded_and_the_count_is_not() {
        let mut tasks = BlockedTasks::default();
        (1..2000).for_each(|tid| tasks.add(blocked(tid, 5000 - tid.unsigned_abs() as u64)));
        let mut interval = make!(Interval { end_ns: 10_000 });
        tasks.tell(&mut interval);
        let rows = interval.blocked.as_ref().expect("the ledger knows them");
        assert_eq!((rows.len(), interval.blocked_tasks, rows[0].task.tid.0), (MOST_BLOCKED, 1999, 1999));
    }

    #[test]
    fn no_user_keeps_those_of_another_out() {
        let of_user = |euid, tid, since_ns| make!(Blocked { euid: Some(euid), ..blocked(tid, since_ns) });
        let mut tasks = BlockedTasks::default();
        (0..2000).for_each(|tid| tasks.add(of_user(1001, 10 + tid, 100)));
        tasks.add(of_user(1000, 5000, 900));
        tasks.add(of_user(1002, 5001, 50));
        let told = told(&tasks, 1000);
        assert_eq!(told.len(), MOST_BLOCKED + 2);
        assert_eq!((told[0], told[told.len() - 1]), ((5001, Some(50), 950), (5000, Some(900), 100)));
        tasks.wake(of_user(1000, 5000, 0).task);
        tasks.wake(of_user(1002, 5001, 0).task);
        assert_eq!((tasks.by_task.len(), tasks.by_user.len()), (2000, 2000));
    }
}
