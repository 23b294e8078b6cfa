//! Rows by identity, in lists that are sorted as intervals have them.

use cpuledger_model::task::{Pid, Task, TaskId, Tid};

use crate::source::ledger::along::place_along;
use crate::source::procfs::is_start;

/// As [`Task::place_key`], of a task that is known by its identity.
fn place_key_of(task: TaskId, process: TaskId) -> (Pid, bool, Tid) {
    (Pid(process.tid.0), task.tid != process.tid, task.tid)
}

/// The place of a process among rows that are sorted by pid.
pub(super) fn place_of_process(rows: &[impl AsRef<Task>], pid: i32) -> Option<usize> {
    rows.binary_search_by_key(&pid, |row| row.as_ref().pid.0).ok()
}

pub(super) fn find_process(rows: &[Task], pid: i32) -> Option<&Task> {
    place_of_process(rows, pid).map(|place| &rows[place])
}

/// The place of a task, if it is still the same. Rows of one process are sorted by tid but for the leader.
pub(super) fn place_of_row(rows: &[impl AsRef<Task>], task: TaskId, process: TaskId) -> Option<usize> {
    let key = place_key_of(task, process);
    let place = rows.binary_search_by_key(&key, |row| row.as_ref().place_key()).ok()?;
    Some(place).filter(|&place| rows[place].as_ref().start_time_ns == task.start_time_ns)
}

/// As [`find_process`], for processes that are asked for in their order.
pub(super) fn find_process_along<'a>(rows: &'a [Task], from: &mut usize, pid: i32) -> Option<&'a Task> {
    let place = place_along(rows, from, &pid, |row| row.pid.0);
    rows.get(place).filter(|row| row.pid.0 == pid)
}

/// As [`find_row`], likewise.
pub(super) fn find_row_along<'a>(
    rows: &'a [Task],
    from: &mut usize,
    task: TaskId,
    process: TaskId,
) -> Option<&'a Task> {
    let key = place_key_of(task, process);
    let place = place_along(rows, from, &key, Task::place_key);
    rows.get(place).filter(|row| row.place_key() == key && row.start_time_ns == task.start_time_ns)
}

pub(super) fn find_row(rows: &[Task], task: TaskId, process: TaskId) -> Option<&Task> {
    place_of_row(rows, task, process).map(|place| &rows[place])
}

/// Whether sorted rows have one of the same task. After an exec two of them may stand in the same place.
pub(super) fn is_listed(rows: &[impl AsRef<Task>], row: &Task) -> bool {
    let key = row.place_key();
    let first = rows.partition_point(|listed| listed.as_ref().place_key() < key);
    let mut same = rows[first..].iter().map(AsRef::as_ref).take_while(|listed| listed.place_key() == key);
    same.any(|listed: &Task| listed.id() == row.id())
}

/// Whether a process lives that may be among these leaders.
pub(super) fn is_there(process: TaskId, leaders: &[Task]) -> bool {
    match find_process(leaders, process.tid.0) {
        Some(row) => is_start(row.start_time_ns, process.start_time_ns),
        // Some hosts keep their own processes from programs. Another task may have the number by now.
        None => std::fs::read(format!("/proc/{}/stat", process.tid))
            .is_ok_and(|line| process.start_time_ns.is_start_in(&line)),
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::boottime::{Boottime, TICK_NS};
    use cpuledger_model::make;
    use cpuledger_proc::task::stat::parse_stat;

    use super::*;

    fn row(pid: i32, tid: i32, start_ns: u64) -> Task {
        let start_time_ns = Boottime::from_ns(start_ns);
        make!(Task { pid: Pid(pid), tid: Tid(tid), start_time_ns })
    }

    #[test]
    fn a_number_that_is_used_again_is_another_row() {
        let rows = [row(3, 3, 1), row(7, 7, 1), row(7, 7, 2), row(7, 8, 1)];
        let listed = [row(7, 7, 1), row(7, 7, 2), row(7, 8, 1)].map(|row| is_listed(&rows, &row));
        let other = [row(7, 7, 3), row(3, 7, 1), row(9, 9, 1)].map(|row| is_listed(&rows, &row));
        assert_eq!((listed, other), ([true; 3], [false; 3]));
    }

    #[test]
    fn a_process_that_the_walk_does_not_show_is_there_if_it_began_then() {
        let stat = std::fs::read("/proc/self/stat").expect("/proc is mounted");
        let start = Boottime::from_ns(parse_stat(&stat).expect("a stat").start_ticks * TICK_NS);
        let tid = Tid(std::process::id().cast_signed());
        let process = |later_ns| TaskId { tid, start_time_ns: Boottime::from_ns(start.ns() + later_ns) };
        let are_there = [0, 7, 1_000_000_000].map(|later_ns| is_there(process(later_ns), &[]));
        assert_eq!(are_there, [true, true, false]);
    }
}
