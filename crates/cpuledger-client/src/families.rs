//! Processes with their tasks, in parts: rows are handed out one at a time, and several threads may take parts.

use std::ops::ControlFlow;

use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::task::{Pid, Task};

use crate::error::Error;

/// A row of a listing of processes with their tasks.
#[derive(Debug, Clone, Copy)]
pub enum Member<'a> {
    /// A process with its totals. Its tasks follow.
    Process(&'a Task),
    /// The process whose other tasks were in the part before.
    Rest(&'a Task),
    /// A task.
    Task(&'a Task),
}

/// What is done with a process or a task.
pub type FamilyVisitor<'a> = &'a mut dyn FnMut(Member<'_>) -> ControlFlow<()>;

/// Each process, followed by its tasks, cut into parts of about as many tasks, for threads that take them at the same
/// time.
pub trait Families: Sync {
    /// How many parts there are.
    fn parts(&self) -> usize;

    /// Hands out a part of them, until told to stop.
    fn visit(&self, part: usize, each: FamilyVisitor<'_>) -> ControlFlow<()>;

    /// Whether all that was visited was handed out.
    ///
    /// # Errors
    /// When rows could not be read: those of their part are missing.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Tasks of a part: their lines stay in the writer's cache.
pub const PART_TASKS: usize = 2048;

/// Tasks in the order of pids.
pub(crate) trait TaskList {
    /// How many there are.
    fn len(&self) -> usize;

    /// The process of one of them.
    fn pid(&self, index: usize) -> Pid;

    /// Hands out one of them, which may be decoded into `room`.
    fn hand_out(&self, index: usize, room: &mut Task, each: FamilyVisitor<'_>) -> ControlFlow<()>;
}

impl TaskList for [Task] {
    fn len(&self) -> usize {
        self.len()
    }

    fn pid(&self, index: usize) -> Pid {
        self[index].pid
    }

    fn hand_out(&self, index: usize, _: &mut Task, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        each(Member::Task(&self[index]))
    }
}

/// How many parts [`Families`] of this number of tasks have.
pub(crate) fn parts_of(tasks: usize) -> usize {
    tasks.div_ceil(PART_TASKS).max(1)
}

/// Hands out a part of processes and their tasks, both of which are in the order of pids.
pub(crate) fn visit_part(
    processes: &[Task],
    tasks: &(impl TaskList + ?Sized),
    part: usize,
    each: FamilyVisitor<'_>,
) -> ControlFlow<()> {
    // One for all of them: to make and to move a row takes as long as to decode one.
    let mut room = Task::default();
    let mut next = part * PART_TASKS;
    let end = tasks.len().min(next + PART_TASKS);
    let is_last = end == tasks.len();
    // The process of the last task before this part, and of the last one in it.
    let before = next.checked_sub(1).map(|index| tasks.pid(index));
    let last = end.checked_sub(1).map(|index| tasks.pid(index));
    let first = before.map_or(0, |pid| processes.partition_point(|row| row.pid < pid));
    for process in &processes[first..] {
        if before == Some(process.pid) {
            if next == end || tasks.pid(next) != process.pid {
                continue;
            }
            each(Member::Rest(process))?;
        } else if is_last || last.is_some_and(|last| process.pid <= last) {
            each(Member::Process(process))?;
        } else {
            break;
        }
        // Of a process that came while the rows were read there may be tasks alone.
        while next < end && tasks.pid(next) < process.pid {
            next += 1;
        }
        while next < end && tasks.pid(next) == process.pid {
            tasks.hand_out(next, &mut room, each)?;
            next += 1;
        }
    }
    ControlFlow::Continue(())
}

impl Families for &Snapshot {
    fn parts(&self) -> usize {
        parts_of(self.tasks.len())
    }

    fn visit(&self, part: usize, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        visit_part(&self.processes, self.tasks.as_slice(), part, each)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cpuledger_model::make;
    use cpuledger_model::task::Tid;

    /// Processes that have so many tasks, each made of its pid and tid.
    pub(crate) fn snapshot_of(sizes: &[usize], row: impl Fn(usize, usize) -> Task) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (at, &size) in sizes.iter().enumerate() {
            let pid = 10_000 * (at + 1);
            snapshot.processes.push(row(pid, pid));
            snapshot.tasks.extend((0..size).map(|thread| row(pid, pid + thread)));
        }
        snapshot
    }

    #[test]
    fn parts_of_a_snapshot_are_all_of_it_in_order() {
        let row = |pid: usize, tid: usize| make!(Task { pid: Pid(pid as i32), tid: Tid(tid as i32) });
        for sizes in [vec![1, 3, 0, 2], vec![0], vec![5000, 0, 1], vec![2048, 2048, 0, 1], vec![0, 9000, 0]] {
            let snapshot = snapshot_of(&sizes, row);
            let (mut processes, mut tasks, mut rests) = (Vec::new(), Vec::new(), 0);
            let families = &snapshot;
            for part in 0..families.parts() {
                let mut current = None;
                let _ = families.visit(part, &mut |member| {
                    match member {
                        Member::Process(row) => processes.push(row.pid),
                        Member::Rest(_) => rests += 1,
                        Member::Task(row) => {
                            assert_eq!(current, Some(row.pid), "{sizes:?}: its process comes before it");
                            tasks.push(row.tid);
                        }
                    }
                    if let Member::Process(row) | Member::Rest(row) = member {
                        current = Some(row.pid);
                    }
                    ControlFlow::Continue(())
                });
            }
            assert_eq!(processes, snapshot.processes.iter().map(|row| row.pid).collect::<Vec<_>>());
            assert_eq!(tasks, snapshot.tasks.iter().map(|row| row.tid).collect::<Vec<_>>());
            assert_eq!(rests > 0, sizes.iter().any(|size| *size > PART_TASKS), "{sizes:?}");
        }
    }
}
