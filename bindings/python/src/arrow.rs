//! Rows as record batches, and these as a stream of the Arrow C data interface: other libraries take them over without a copy.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_array::builder::BooleanBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cpuledger_model::field::{Field as TaskField, FieldSet, Value};
use cpuledger_model::frame::{Cells, Frame, Numbers};
use cpuledger_model::framing::CgroupIds;
use cpuledger_model::task::Task;
use cpuledger_names::named::NameKey;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rustc_hash::FxHashMap;

use crate::books::{Books, Cell};
use crate::columns::{Column, Kind, Section};
use crate::found::{Found, find};
use crate::run::{NumberRun, TextRun, batches_of};

/// Rows that are read column by column at a time, where there is no frame: they stay in a cache meanwhile.
const BLOCK: usize = 256;

/// Columns that a thread makes at a time.
const GROUP: usize = 4;

/// From so many values on, other threads help.
const MANY_VALUES: usize = 1 << 20;

/// Most threads that make one table.
const MOST_THREADS: usize = 4;

/// The schema of a table. Any value may be absent: what a source cannot tell is not 0.
pub(crate) fn schema(columns: &[&'static Column]) -> SchemaRef {
    let fields = columns.iter().map(|column| Field::new(column.name, data_type(column.kind), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Number => DataType::Int64,
        Kind::Text => DataType::Utf8View,
        Kind::Flag => DataType::Boolean,
    }
}

/// A column that is being made.
enum Builder {
    Number(NumberRun),
    Text(Box<TextRun>),
    Flag(BooleanBuilder),
}

impl Builder {
    fn new(kind: Kind, rows: usize) -> Builder {
        match kind {
            Kind::Number => Builder::Number(NumberRun::new(rows)),
            Kind::Text => Builder::Text(Box::new(TextRun::new(rows))),
            Kind::Flag => Builder::Flag(BooleanBuilder::with_capacity(rows)),
        }
    }

    /// Appends the values of all rows of a part. Returns whether they are with the rows alone: then nothing was appended.
    fn is_in_rows(&mut self, books: &Books, section: Section, column: &Column) -> bool {
        let rows = books.len(section).unwrap_or(0);
        match (self, find(books, section, column)) {
            (Builder::Number(run), Found::Numbers(Numbers::Same(number))) => run.append_same(number, rows),
            (Builder::Number(run), Found::Numbers(Numbers::Each(each))) => {
                run.append_each(|values| each.append_to(values), || each.are_known());
            }
            (Builder::Number(run), Found::Shares(shares, key)) => shares.each(key, |share| run.push(share)),
            (Builder::Text(run), Found::Texts(frame, numbers)) => append_texts(run, frame, numbers, rows),
            (Builder::Text(run), Found::Letters(letters)) => append_letters(run, letters, rows),
            (Builder::Text(run), Found::Names(name, ids)) => append_names(run, books, name, ids, rows),
            _ => return true,
        }
        false
    }

    fn add(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            // No figure of a machine is larger.
            (Builder::Number(run), Cell::Value(Value::Unsigned(number))) => {
                run.push(Some(i64::try_from(number).unwrap_or(i64::MAX)));
            }
            (Builder::Number(run), Cell::Value(Value::Signed(number))) => run.push(Some(number)),
            (Builder::Number(run), _) => run.push(None),
            (Builder::Text(run), Cell::Value(Value::Letter(letter))) => {
                let number = run.number(&[letter]);
                run.push(Some(number));
            }
            (Builder::Text(run), Cell::Value(Value::Bytes(bytes))) => {
                let number = run.number(bytes);
                run.push(Some(number));
            }
            (Builder::Text(run), _) => run.push(None),
            (Builder::Flag(builder), Cell::Flag(flag)) => builder.append_option(flag),
            (Builder::Flag(builder), Cell::Value(_)) => builder.append_null(),
        }
    }

    /// An array for each batch.
    fn arrays(self, rows: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        Ok(match self {
            Builder::Number(run) => run.arrays(),
            Builder::Text(run) => run.arrays()?,
            Builder::Flag(mut builder) => {
                let whole: ArrayRef = Arc::new(builder.finish());
                batches_of(rows).map(|(begin, rows)| whole.slice(begin, rows)).collect()
            }
        })
    }
}

/// Appends the text of each row that its value leads to. It is found once for each value; neighbours often have the same.
fn append_found<Of: std::hash::Hash + Eq + Copy>(
    run: &mut TextRun,
    rows: usize,
    value: impl Fn(usize) -> Option<Of>,
    mut find: impl FnMut(&mut TextRun, Of) -> Option<u32>,
) {
    let mut known: FxHashMap<Of, Option<u32>> = FxHashMap::default();
    let mut begin = 0;
    while begin < rows {
        let of = value(begin);
        let end = (begin + 1..rows).find(|row| value(*row) != of).unwrap_or(rows);
        let number = match of {
            // Nobody asks for it again.
            Some(of) if end - begin == rows => find(run, of),
            Some(of) => *known.entry(of).or_insert_with(|| find(run, of)),
            None => None,
        };
        run.append_same(number, end - begin);
        begin = end;
    }
}

fn append_texts(run: &mut TextRun, frame: &Frame, texts: Cells<'_>, rows: usize) {
    let find = |run: &mut TextRun, text| frame.text(text).map(|text| run.number(text));
    append_found(run, rows, |row| texts.get(row), find);
}

fn append_letters(run: &mut TextRun, letters: Cells<'_>, rows: usize) {
    let find = |run: &mut TextRun, letter| u8::try_from(letter).ok().map(|letter| run.number(&[letter]));
    append_found(run, rows, |row| letters.get(row), find);
}

/// The names of cgroups: their numbers alone decide them.
fn append_names(
    run: &mut TextRun,
    books: &Books,
    name: NameKey,
    [id, v1_cpu_id]: [Cells<'_>; 2],
    rows: usize,
) {
    let named = books.named();
    let find =
        |run: &mut TextRun, ids| named.name_by_cgroup(&in_cgroup(ids), name).map(|name| run.number(name));
    append_found(run, rows, |row| Some((id.get(row), v1_cpu_id.get(row))), find);
}

/// A task in a cgroup, of which nothing else is known.
fn in_cgroup((id, v1_cpu_id): CgroupIds) -> Task {
    let mut task = Task::default();
    if let Some(id) = id {
        (task.cgroup_id, task.known) = (id, FieldSet::of(&[TaskField::CgroupId]));
    }
    if let Some(id) = v1_cpu_id {
        task.cgroup_v1_cpu_id = id;
        task.known = task.known.union(FieldSet::of(&[TaskField::CgroupV1CpuId]));
    }
    task
}

/// The rows of some columns: of each, an array for each batch.
fn made(
    parts: &[Arc<Books>],
    section: Section,
    columns: &[&'static Column],
    rows: usize,
) -> Result<Vec<Vec<ArrayRef>>, ArrowError> {
    let mut builders: Vec<Builder> = columns.iter().map(|column| Builder::new(column.kind, rows)).collect();
    for books in parts {
        let mut in_rows: Vec<(&Column, &mut Builder)> = Vec::new();
        for (column, builder) in columns.iter().zip(&mut builders) {
            if builder.is_in_rows(books, section, column) {
                in_rows.push((column, builder));
            }
        }
        let rows = if in_rows.is_empty() { 0 } else { books.len(section).unwrap_or(0) };
        for start in (0..rows).step_by(BLOCK) {
            for (column, builder) in &mut in_rows {
                (start..rows.min(start + BLOCK))
                    .for_each(|row| builder.add(books.cell(section, row, column)));
            }
        }
    }
    builders.into_iter().map(|builder| builder.arrays(rows)).collect()
}

/// The same, by several threads where that pays.
fn made_together(
    parts: &[Arc<Books>],
    section: Section,
    columns: &[&'static Column],
    rows: usize,
) -> Result<Vec<Vec<ArrayRef>>, ArrowError> {
    let helpers = match rows.saturating_mul(columns.len()) {
        ..MANY_VALUES => 0,
        _ => thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS) - 1,
    };
    if helpers == 0 {
        return made(parts, section, columns, rows);
    }
    let groups: Vec<&[&'static Column]> = columns.chunks(GROUP).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(groups.len()));
    let work = || {
        while let Some((number, group)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|number| Some((number, *groups.get(number)?)))
        {
            let arrays = made(parts, section, group, rows);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, arrays));
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            // Where there is no thread to be had, this one does it all.
            let _ = thread::Builder::new().name("arrow".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    let mut all = Vec::with_capacity(columns.len());
    for (_, arrays) in done {
        all.extend(arrays?);
    }
    Ok(all)
}

/// The batches of a table: rows of its parts, in their order.
pub(crate) fn batches(
    parts: &[Arc<Books>],
    section: Section,
    columns: &[&'static Column],
) -> Result<Vec<RecordBatch>, ArrowError> {
    let schema = schema(columns);
    let rows = parts.iter().map(|books| books.len(section).unwrap_or(0)).sum();
    let mut columns: Vec<_> =
        made_together(parts, section, columns, rows)?.into_iter().map(Vec::into_iter).collect();
    let batch = |(_, rows)| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let arrays = columns.iter_mut().filter_map(Iterator::next).collect();
        RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)
    };
    batches_of(rows).map(batch).collect()
}

/// A capsule with a stream of these batches.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
}

/// A capsule with a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(failed)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Columns of one length and of their own types always make a batch: only memory can be missing.
pub(crate) fn failed(error: ArrowError) -> PyErr {
    PyMemoryError::new_err(format!("cannot make a record batch: {error}; select fewer columns or rows"))
}
