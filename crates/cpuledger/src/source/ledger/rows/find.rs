//! Rows by identity, in lists that are sorted as intervals have them.

use crate::task::{Task, TaskId};

/// The place of a process among rows that are sorted by pid.
pub(super) fn place_of_process(rows: &[impl AsRef<Task>], pid: i32) -> Option<usize> {
    rows.binary_search_by_key(&pid, |row| row.as_ref().pid.0).ok()
}

pub(super) fn find_process(rows: &[Task], pid: i32) -> Option<&Task> {
    place_of_process(rows, pid).map(|place| &rows[place])
}

/// The place of a task, if it is still the same. Rows of one process are sorted by tid but for the leader.
pub(super) fn place_of_row(rows: &[impl AsRef<Task>], task: TaskId, process: TaskId) -> Option<usize> {
    let (tid, pid) = (task.tid.0, process.tid.0);
    let key = |row: &Task| (row.pid.0, !row.is_leader(), row.tid.0);
    let place = rows.binary_search_by_key(&(pid, tid != pid, tid), |row| key(row.as_ref())).ok()?;
    Some(place).filter(|&place| rows[place].as_ref().start_time_ns == task.start_time_ns)
}

pub(super) fn find_row(rows: &[Task], task: TaskId, process: TaskId) -> Option<&Task> {
    place_of_row(rows, task, process).map(|place| &rows[place])
}
