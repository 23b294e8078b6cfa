//! Tasks that are blocked and do not run: what hung-task detection of the kernel finds after minutes, by name after an interval.

use std::collections::BTreeSet;
use std::ops::Bound;

use cpuledger_model::field::Field;
use cpuledger_model::interval::{Blocked, MOST_BLOCKED};
use cpuledger_model::make;
use cpuledger_model::task::{Task, TaskId};

/// The first and the last task in the order of tasks.
const FIRST: TaskId = TaskId::new(i32::MIN, 0);
const LAST: TaskId = TaskId::new(i32::MAX, u64::MAX);

/// Those that are blocked and have not run since, by effective user; of each, those that began first come first. What an interval costs follows what
/// ran, and what is told.
pub(super) type ByUser = BTreeSet<Key>;

/// The effective user, if it is known; since when it is blocked, where 0 stands for what is not known; and which task.
pub(super) type Key = (Option<u32>, u64, TaskId);

pub(super) fn key(blocked: &Blocked) -> Key {
    (blocked.euid, blocked.since_ns.unwrap_or(0), blocked.task)
}

/// A task that is blocked by its row, as it is listed in the interval that began at `start_ns`.
pub(super) fn blocked_as_listed(row: &Task, process: TaskId, start_ns: u64) -> Blocked {
    make!(Blocked {
        task: row.id(),
        process,
        comm: row.comm,
        euid: row.known.contains(Field::Euid).then_some(row.euid),
        since_ns: None,
        // As a time, until it is told.
        blocked_for_ns: start_ns,
        for_io: None,
    })
}

/// Those that are told, the longest first.
pub(super) fn longest(by_user: &ByUser) -> Vec<Key> {
    let mut longest: Vec<Key> = Vec::new();
    let mut user = by_user.first().map(|(euid, ..)| *euid);
    while let Some(euid) = user {
        longest.extend(by_user.range((euid, 0, FIRST)..=(euid, u64::MAX, LAST)).take(MOST_BLOCKED));
        let others = (Bound::Excluded((euid, u64::MAX, LAST)), Bound::Unbounded);
        user = by_user.range(others).next().map(|(euid, ..)| *euid);
    }
    longest.sort_unstable_by_key(|(_, since_ns, task)| (*since_ns, *task));
    longest
}
