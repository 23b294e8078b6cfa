//! A listing as rows that are decoded one at a time: none is kept but those of processes.

use std::ops::ControlFlow;
use std::sync::{Mutex, OnceLock, PoisonError};

use cpuledger_model::frame::{Frame, Section};
use cpuledger_model::framing::Rows;
use cpuledger_model::task::{Pid, Task};

use super::connection::unusable;
use crate::error::Error;
use crate::families::{Families, FamilyVisitor, Member, PART_TASKS, TaskList, parts_of, visit_part};

/// The processes and tasks of a listing, both of which are in the order of pids. Tasks are decoded part by part.
pub(super) struct ListedFamilies<'a> {
    bytes: &'a [u8],
    /// All of it but the tasks.
    frame: &'a Frame,
    processes: Vec<Task>,
    tasks: usize,
    /// Memory for parts, one for each thread that decodes them.
    rooms: Mutex<Vec<Frame>>,
    damage: OnceLock<String>,
}

impl<'a> ListedFamilies<'a> {
    /// Of the bytes of a listing, and of the frame that was decoded from them but for the tasks.
    pub(super) fn new(bytes: &'a [u8], frame: &'a Frame) -> Result<ListedFamilies<'a>, Error> {
        let processes = Rows::of(frame, Section::Processes).map_err(unusable)?;
        let processes = (0..processes.count()).map(|row| processes.read(row));
        Ok(ListedFamilies {
            bytes,
            frame,
            processes: processes.collect::<Result<_, _>>().map_err(unusable)?,
            tasks: Frame::count_rows(bytes, Section::Tasks).map_err(unusable)?,
            rooms: Mutex::default(),
            damage: OnceLock::new(),
        })
    }

    /// Hands out a part whose tasks are decoded into `room`.
    fn visit_in(
        &self,
        room: &mut Frame,
        part: usize,
        each: FamilyVisitor<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        // The task before tells whether the first process is a new one.
        let first = (part * PART_TASKS).saturating_sub(1);
        let end = self.tasks.min((part + 1) * PART_TASKS);
        room.decode_tasks_from(self.bytes, first..end).map_err(unusable)?;
        let rows = Rows::of(room, Section::Tasks).map_err(unusable)?;
        Ok(visit_part(&self.processes, &PartRows { rows, first, all: self.tasks }, part, each))
    }
}

/// Some of the tasks of a listing, by their places in it.
struct PartRows<'a> {
    rows: Rows<'a>,
    first: usize,
    all: usize,
}

impl TaskList for PartRows<'_> {
    fn len(&self) -> usize {
        self.all
    }

    fn pid(&self, index: usize) -> Pid {
        self.rows.pid(index - self.first)
    }

    /// All rows were checked, so that each can be read.
    fn hand_out(&self, index: usize, room: &mut Task, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        if self.rows.read_into(room, index - self.first).is_err() {
            return ControlFlow::Continue(());
        }
        each(Member::Task(room))
    }
}

impl Families for ListedFamilies<'_> {
    fn parts(&self) -> usize {
        parts_of(self.tasks)
    }

    fn visit(&self, part: usize, each: FamilyVisitor<'_>) -> ControlFlow<()> {
        let rooms = || self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = rooms().pop();
        let mut room = kept.unwrap_or_else(|| self.frame.clone());
        let visited = self.visit_in(&mut room, part, each);
        rooms().push(room);
        visited.unwrap_or_else(|error| {
            self.damage.get_or_init(|| error.to_string());
            ControlFlow::Break(())
        })
    }

    fn check(&self) -> Result<(), Error> {
        self.damage.get().map_or(Ok(()), |damage| Err(unusable(damage)))
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::frame::{Column, Wanted};
    use cpuledger_model::make;

    use super::*;
    use crate::families::tests::snapshot_of;
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::field::{Field, FieldSet};
    use cpuledger_model::framing::{read_listing, write_listing};
    use cpuledger_model::snapshot::Snapshot;
    use cpuledger_model::task::{TaskId, Tid};

    fn row(pid: usize, tid: usize) -> Task {
        make!(Task {
            known: FieldSet::of(&[Field::Tid, Field::Pid, Field::StartTime, Field::Runtime]),
            pid: Pid(pid as i32),
            tid: Tid(tid as i32),
            start_time_ns: Boottime::from_ns(tid as u64),
            runtime_ns: (tid * 7) as u64,
        })
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
            let snapshot = snapshot_of(&sizes, row);
            let mut frame = Frame::new();
            write_listing(&snapshot, FieldSet::of(&[Field::Runtime]), &mut frame);
            let mut read = Snapshot::default();
            read_listing(&frame, &mut read).expect("a listing");
            let mut bytes = Vec::new();
            frame.encode(&mut bytes).expect("a frame");
            frame.decode_wanted_from(&bytes, &Wanted::all_but(Section::Tasks)).expect("a frame");
            let families = ListedFamilies::new(&bytes, &frame).expect("a listing");
            assert_eq!(handed_out(&families), handed_out(&&read), "{sizes:?}");
            families.check().expect("all rows");
        }
    }

    #[test]
    fn rows_that_cannot_be_read_are_told_at_the_end() {
        let tasks: Vec<Task> = (5..5 + 2 * PART_TASKS).map(|tid| row(5, tid)).collect();
        let snapshot = make!(Snapshot { processes: vec![row(5, 5)], tasks });
        let mut frame = Frame::new();
        write_listing(&snapshot, FieldSet::of(&[Field::Runtime]), &mut frame);
        let in_second_part = PART_TASKS + 7;
        frame.table_mut(Section::Tasks).set(Column::UID, in_second_part, Some(1 << 40));
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).expect("a frame");
        frame.decode_wanted_from(&bytes, &Wanted::all_but(Section::Tasks)).expect("a frame");
        let families = ListedFamilies::new(&bytes, &frame).expect("processes can be read");
        let parts = handed_out(&families);
        assert_eq!(parts.iter().filter(|member| member.0 == 't').count(), PART_TASKS);
        let error = families.check().expect_err("rows are missing").to_string();
        assert!(error.contains("uid"), "{error}");
    }
}
