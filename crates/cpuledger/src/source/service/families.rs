//! A listing as rows that are decoded one at a time: none is kept but those of processes.

use std::ops::ControlFlow;

use cpuledger_frame::{Frame, Section};

use crate::frames::{FrameError, Rows};
use crate::source::interface::{TaskList, parts_of, visit_part};
use crate::source::{Families, FamilyVisitor, Member};
use crate::task::{Pid, Task};

/// The processes and tasks of a listing, both of which are in the order of pids.
pub(super) struct ListedFamilies<'a> {
    processes: Vec<Task>,
    tasks: Rows<'a>,
}

impl<'a> ListedFamilies<'a> {
    /// Of the frame of a listing.
    ///
    /// # Errors
    /// As [`crate::frames::read_listing`].
    pub(super) fn new(frame: &'a Frame) -> Result<ListedFamilies<'a>, FrameError> {
        let processes = Rows::of(frame, Section::Processes)?;
        let processes = (0..processes.len()).map(|row| processes.read(row)).collect::<Result<_, _>>()?;
        Ok(ListedFamilies { processes, tasks: Rows::of(frame, Section::Tasks)? })
    }
}

impl TaskList for Rows<'_> {
    fn len(&self) -> usize {
        self.len()
    }

    fn pid(&self, index: usize) -> Pid {
        self.pid(index)
    }

    /// A row that cannot be read is none.
    fn hand_out(&self, index: usize, room: &mut Task, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        if self.read_into(room, index).is_err() {
            return ControlFlow::Continue(());
        }
        each(Member::Task(room))
    }
}

impl Families for ListedFamilies<'_> {
    fn parts(&self) -> usize {
        parts_of(&self.tasks)
    }

    fn visit(&self, part: usize, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        visit_part(&self.processes, &self.tasks, part, each)
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_frame::Column;

    use super::*;
    use crate::clock::Boottime;
    use crate::field::{Field, FieldSet};
    use crate::frames::{read_listing, write_listing};
    use crate::snapshot::Snapshot;
    use crate::task::{TaskId, Tid};

    fn row(pid: usize, tid: usize) -> Task {
        Task {
            known: FieldSet::of(&[Field::Tid, Field::Pid, Field::StartTime, Field::Runtime]),
            pid: Pid(pid as i32),
            tid: Tid(tid as i32),
            start_time_ns: Boottime::from_ns(tid as u64),
            runtime_ns: (tid * 7) as u64,
            ..Task::default()
        }
    }

    /// What is handed out, part by part.
    fn handed_out(families: &dyn Families) -> Vec<(char, TaskId, Pid, u64, FieldSet)> {
        let mut all = Vec::new();
        for part in 0..families.parts() {
            let _ = families.visit(part, &mut |member| {
                let (kind, row) = match member {
                    Member::Process(row) => ('p', row),
                    Member::Rest(row) => ('r', row),
                    Member::Task(row) => ('t', row),
                };
                all.push((kind, row.id(), row.pid, row.runtime_ns, row.known));
                ControlFlow::Continue(())
            });
        }
        all
    }

    #[test]
    fn what_is_decoded_on_the_way_is_what_is_decoded_at_once() {
        for sizes in [vec![1, 3, 0, 2], vec![0], vec![5000, 0, 1], vec![2048, 2048, 0, 1], vec![0, 9000, 0]] {
            let mut snapshot = Snapshot::default();
            for (at, &size) in sizes.iter().enumerate() {
                let pid = 10_000 * (at + 1);
                snapshot.processes.push(row(pid, pid));
                snapshot.tasks.extend((0..size).map(|thread| row(pid, pid + thread)));
            }
            let mut frame = Frame::new();
            write_listing(&snapshot, FieldSet::of(&[Field::Runtime]), &mut frame);
            let mut read = Snapshot::default();
            read_listing(&frame, &mut read).expect("a listing");
            let families = ListedFamilies::new(&frame).expect("a listing");
            assert_eq!(handed_out(&families), handed_out(&&read), "{sizes:?}");
        }
    }

    #[test]
    fn a_value_that_is_too_large_is_an_error_and_no_row() {
        let mut frame = Frame::new();
        let snapshot = Snapshot { tasks: vec![row(5, 5), row(5, 6)], ..Snapshot::default() };
        write_listing(&snapshot, FieldSet::of(&[Field::Runtime]), &mut frame);
        frame.table_mut(Section::Tasks).set(Column::UID, 1, Some(1 << 40));
        assert!(ListedFamilies::new(&frame).is_err());
    }
}
