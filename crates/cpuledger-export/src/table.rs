//! Rows of a table, made of frames.

use arrow_array::RecordBatch;
use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::Int32Type;
use arrow_schema::ArrowError;
use cpuledger_model::frame::{self, Column, Frame, Kind, Section};
use cpuledger_proc::escape::escaped;
use cpuledger_recording::Entry;

use crate::builder::Builder;
use crate::cgroups::Cgroups;
use crate::names::Names;
use crate::schema::{self, ColumnInfo, Origin, Table};

/// The rows of a table that are not written yet.
#[derive(Debug)]
pub(crate) struct Rows {
    table: Table,
    /// What identifies the recording.
    recording: String,
    columns: Vec<(&'static ColumnInfo, Builder)>,
    rows: usize,
    /// Whether the dictionary of all batches is one.
    keeps_names: bool,
}

impl Rows {
    pub(crate) fn new(table: Table, recording: u64, keeps_names: bool) -> Rows {
        let columns = schema::columns(table).map(|column| (column, Builder::new(column.kind))).collect();
        Rows { table, recording: recording.to_string(), columns, rows: 0, keeps_names }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Adds the rows of an interval.
    pub(crate) fn add(&mut self, frame: &Frame, entry: &Entry) {
        let rows = frame.table(self.table.section()).len();
        let cgroups = Cgroups::of(frame, self.table);
        for (column, builder) in &mut self.columns {
            match (column.origin, builder.texts()) {
                (Origin::Recording, Some((keys, names))) => {
                    keys.append_value_n(names.number(&self.recording), rows);
                }
                (origin, Some((keys, names))) => {
                    add_texts((keys, names), origin, (frame, &cgroups), self.table.section(), rows);
                }
                (origin, None) => add(builder, origin, (frame, entry), self.table.section(), rows),
            }
        }
        self.rows += rows;
    }

    /// Adds the names of an interval, and no rows.
    pub(crate) fn add_names(&mut self, frame: &Frame) {
        let section = self.table.section();
        let rows = frame.table(section).len();
        let cgroups = Cgroups::of(frame, self.table);
        for (column, builder) in &mut self.columns {
            let Some((_, names)) = builder.texts() else { continue };
            if column.origin == Origin::Recording {
                names.number(&self.recording);
                continue;
            }
            let mut keys = PrimitiveBuilder::new();
            add_texts((&mut keys, names), column.origin, (frame, &cgroups), section, rows);
        }
    }

    /// The rows so far; it begins anew.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let arrays = self.columns.iter_mut().map(|(_, builder)| builder.finish(self.keeps_names));
        RecordBatch::try_new(schema::schema(self.table), arrays.collect())
    }
}

fn add(builder: &mut Builder, origin: Origin, of: (&Frame, &Entry), section: Section, rows: usize) {
    let (frame, entry) = of;
    match origin {
        Origin::Begin => builder.add_same(micros(entry.start_realtime_ns()), rows),
        Origin::End => builder.add_same(micros(entry.end_realtime_ns), rows),
        // Of texts only.
        Origin::Recording | Origin::Named(_) => builder.add_nothing(rows),
        Origin::Sequence => builder.add_same(number(entry.sequence), rows),
        Origin::Count(section) => builder.add_same(frame.table(section).len() as i64, rows),
        Origin::Interval(column) => match frame.figure(column) {
            Some(value) => builder.add_same(number(value), rows),
            None => builder.add_nothing(rows),
        },
        Origin::Unidentified => match unidentified_ns(frame) {
            Some(value) => builder.add_same(value, rows),
            None => builder.add_nothing(rows),
        },
        Origin::Row(column) | Origin::Letter(column) => add_figures(builder, column, frame, section),
        Origin::Growth(column) => match column.growth() {
            Some(growth) => add_figures(builder, growth, frame, section),
            None => builder.add_nothing(rows),
        },
        Origin::Waited => add_waits(builder, frame.table(section)),
        Origin::Seen(column) => add_unless(builder, column, Column::IS_UNSEEN, frame, section),
        Origin::Start => add_unless(builder, Column::START_TIME_NS, Column::HIDES_START, frame, section),
    }
}

fn add_figures(builder: &mut Builder, column: Column, frame: &Frame, section: Section) {
    let table = frame.table(section);
    if !table.has(column) {
        builder.add_nothing(table.len());
    } else if column.kind() == Kind::Signed {
        builder.add_numbers(table.all_signed(column));
    } else {
        builder.add_numbers(table.all(column).map(|value| value.map(number)));
    }
}

/// By the states of each row, else by the counter of the kernel.
fn add_waits(builder: &mut Builder, table: &frame::Table) {
    let of_kernel = Column::RUNQUEUE_WAIT_NS.growth();
    let waited = (0..table.len()).map(|row| {
        let of_states = table.get(Column::WAITING_NS, row);
        of_states.or_else(|| table.get(of_kernel?, row)).map(number)
    });
    builder.add_numbers(waited);
}

/// What another column says is not known, or not to be shown, is absent. Time that a row inherits is known.
fn add_unless(builder: &mut Builder, column: Column, unless: Column, frame: &Frame, section: Section) {
    let table = frame.table(section);
    if !table.has(unless) {
        return add_figures(builder, column, frame, section);
    }
    let keeps = |value: &u64| unless == Column::IS_UNSEEN && *value > 0;
    let values = table.all(column).zip(table.all(unless));
    builder.add_numbers(
        values.map(|(value, flag)| value.filter(|value| flag != Some(1) || keeps(value)).map(number)),
    );
}

fn add_texts(
    (keys, names): (&mut PrimitiveBuilder<Int32Type>, &mut Names),
    origin: Origin,
    (frame, cgroups): (&Frame, &Cgroups),
    section: Section,
    rows: usize,
) {
    names.begin_frame();
    match origin {
        Origin::Interval(column) => match frame.text_of(Section::Interval, column, 0) {
            Some(text) => keys.append_value_n(names.number(&escaped(text)), rows),
            None => keys.append_nulls(rows),
        },
        Origin::Row(column) => keys.extend(frame.table(section).all(column).map(|number| {
            let number = number?;
            Some(names.number_in_frame(number, frame.text(number)?))
        })),
        Origin::Named(column) => {
            for row in 0..rows {
                let name = cgroups.name(frame, section, row, column);
                keys.append_option(name.map(|name| names.number(&escaped(&name))));
            }
        }
        Origin::Letter(column) => keys.extend(frame.table(section).all(column).map(|letter| {
            let letter = u8::try_from(letter?).ok()?;
            Some(names.number(&escaped(&[letter])))
        })),
        _ => keys.append_nulls(rows),
    }
}

/// What rows of processes have inherited, less what rows of the dead have used.
fn unidentified_ns(frame: &Frame) -> Option<i64> {
    if frame.figure(Column::KNOWS_EXITS) != Some(1) {
        return None;
    }
    let sum = |section, column| -> u64 { frame.table(section).all(column).flatten().sum() };
    let inherited = sum(Section::Processes, Column::EXITED_THREADS_NS)
        .wrapping_add(sum(Section::Processes, Column::EXITED_CHILDREN_NS));
    Some(inherited.wrapping_sub(sum(Section::Exited, Column::CPU_NS)).cast_signed())
}

/// No figure of a machine is that large.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn micros(ns: u64) -> i64 {
    (ns / 1000).cast_signed()
}
