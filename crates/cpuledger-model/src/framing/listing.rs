//! Rows of a listing as columns of a frame, one row after the other: of no row more is kept than its columns.

use crate::frame::{Column, Frame, NewColumn, Section};

use crate::field::{FIELDS, Field, FieldSet};
use crate::snapshot::Snapshot;
use crate::task::{Task, Tid};

use super::figure::{Append, Figure};
use super::members::{append_fields, column_of};

/// Which task it is, a row always tells.
const IDENTITY: FieldSet = FieldSet::of(&[Field::Tid, Field::Pid, Field::StartTime]);

/// The columns of a listing that is being made. Their memory is reused.
#[derive(Debug, Default)]
pub struct ListingColumns {
    /// Beside those of the identity.
    fields: FieldSet,
    processes: Columns,
    tasks: Columns,
}

/// Those of a section.
#[derive(Debug, Default)]
struct Columns {
    rows: usize,
    /// By field.
    each: Vec<NewColumn>,
    hides_start: NewColumn,
}

impl ListingColumns {
    /// Begins a listing in `frame`. Of each row it has these fields.
    pub fn begin(&mut self, fields: FieldSet, frame: &mut Frame) {
        frame.clear();
        self.fields = fields.without(IDENTITY);
        self.processes.clear();
        self.tasks.clear();
    }

    /// Adds the row of a process.
    pub fn add_process(&mut self, row: &Task, frame: &mut Frame) {
        self.processes.add(row, self.fields, frame);
    }

    /// Adds the row of a task.
    pub fn add_task(&mut self, row: &Task, frame: &mut Frame) {
        self.tasks.add(row, self.fields, frame);
    }

    /// Puts the rows into the frame, and what else the snapshot tells: its source, when it was made, and what is from /proc.
    pub fn end(&mut self, of: &Snapshot, frame: &mut Frame) {
        super::write_instant(of, frame);
        self.processes.put(self.fields, frame, Section::Processes);
        self.tasks.put(self.fields, frame, Section::Tasks);
        frame.table_mut(Section::FromProcfs).reset(of.from_procfs.len());
        Tid::fill(frame, Section::FromProcfs, Column::TID, of.from_procfs.iter().copied().map(Some));
    }
}

impl Columns {
    fn clear(&mut self) {
        self.rows = 0;
        self.each.resize_with(FIELDS.len(), NewColumn::default);
        self.each.iter_mut().for_each(NewColumn::clear);
        self.hides_start.clear();
    }

    fn add(&mut self, row: &Task, fields: FieldSet, frame: &mut Frame) {
        self.rows += 1;
        append_fields(&mut self.each, frame, row, fields);
        Append::append(Some(row.tid), &mut self.each[Field::Tid as usize], frame);
        Append::append(Some(row.pid), &mut self.each[Field::Pid as usize], frame);
        Append::append(Some(row.start_time_ns), &mut self.each[Field::StartTime as usize], frame);
        Append::append(Some(!row.known.contains(Field::StartTime)), &mut self.hides_start, frame);
    }

    fn put(&mut self, fields: FieldSet, frame: &mut Frame, section: Section) {
        let table = frame.table_mut(section);
        table.reset(self.rows);
        table.take(Column::HIDES_START, &mut self.hides_start);
        let told = fields.union(IDENTITY);
        for field in FIELDS.iter().map(|info| info.field).filter(|field| told.contains(*field)) {
            table.take(column_of(field), &mut self.each[field as usize]);
        }
    }
}

/// Makes `frame` that of a listing: an interval of no length, whose rows have no usage. Of each row it has these fields. Its memory is
/// reused.
pub fn write_listing(snapshot: &Snapshot, fields: FieldSet, frame: &mut Frame) {
    let mut columns = ListingColumns::default();
    columns.begin(fields, frame);
    snapshot.processes.iter().for_each(|row| columns.add_process(row, frame));
    snapshot.tasks.iter().for_each(|row| columns.add_task(row, frame));
    columns.end(snapshot, frame);
}
