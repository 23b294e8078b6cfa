//! Rows as record batches, and these as a stream of the Arrow C data interface: other libraries take them over without a copy.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cpuledger_model::field::Value;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::books::{Books, Cell, printable};
use crate::columns::{Column, Kind, Section};

/// Most rows of a batch: of short intervals, many are in one.
const MOST_ROWS: usize = 65_536;

/// Rows that are read column by column at a time: they stay in a cache meanwhile.
const BLOCK: usize = 256;

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

enum Builder {
    Number(PrimitiveBuilder<Int64Type>),
    Text(StringViewBuilder),
    Flag(BooleanBuilder),
}

impl Builder {
    fn new(kind: Kind, rows: usize) -> Builder {
        match kind {
            Kind::Number => Builder::Number(PrimitiveBuilder::with_capacity(rows)),
            Kind::Text => Builder::Text(StringViewBuilder::with_capacity(rows).with_deduplicate_strings()),
            Kind::Flag => Builder::Flag(BooleanBuilder::with_capacity(rows)),
        }
    }

    fn add(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Builder::Number(builder), Cell::Value(Value::Unsigned(number))) => {
                // No figure of a machine is larger.
                builder.append_value(i64::try_from(number).unwrap_or(i64::MAX));
            }
            (Builder::Number(builder), Cell::Value(Value::Signed(number))) => builder.append_value(number),
            (Builder::Number(builder), _) => builder.append_null(),
            (Builder::Text(builder), Cell::Value(Value::Letter(letter))) => {
                builder.append_value(printable(&[letter]));
            }
            (Builder::Text(builder), Cell::Value(Value::Bytes(bytes))) => {
                builder.append_value(printable(bytes))
            }
            (Builder::Text(builder), _) => builder.append_null(),
            (Builder::Flag(builder), Cell::Flag(flag)) => builder.append_option(flag),
            (Builder::Flag(builder), Cell::Value(_)) => builder.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Builder::Number(mut builder) => Arc::new(builder.finish()),
            Builder::Text(mut builder) => Arc::new(builder.finish()),
            Builder::Flag(mut builder) => Arc::new(builder.finish()),
        }
    }
}

/// Rows of one interval.
struct Part<'a> {
    books: &'a Books,
    rows: Range<usize>,
}

/// The batches of a table: rows of its parts, in their order.
pub(crate) fn batches(
    parts: &[Arc<Books>],
    section: Section,
    columns: &[&'static Column],
) -> Result<Vec<RecordBatch>, ArrowError> {
    let schema = schema(columns);
    let mut batches = Vec::new();
    let mut pending: Vec<Part<'_>> = Vec::new();
    let mut pending_rows = 0;
    for books in parts {
        let mut next = 0;
        let len = books.len(section).unwrap_or(0);
        while next < len {
            let end = len.min(next + MOST_ROWS - pending_rows);
            pending.push(Part { books, rows: next..end });
            pending_rows += end - next;
            next = end;
            if pending_rows == MOST_ROWS {
                batches.push(batch(&pending, pending_rows, section, columns, &schema)?);
                pending.clear();
                pending_rows = 0;
            }
        }
    }
    if pending_rows > 0 {
        batches.push(batch(&pending, pending_rows, section, columns, &schema)?);
    }
    Ok(batches)
}

fn batch(
    parts: &[Part<'_>],
    rows: usize,
    section: Section,
    columns: &[&'static Column],
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let mut builders: Vec<Builder> = columns.iter().map(|column| Builder::new(column.kind, rows)).collect();
    for Part { books, rows } in parts {
        for start in rows.clone().step_by(BLOCK) {
            let block = start..rows.end.min(start + BLOCK);
            for (column, builder) in columns.iter().zip(&mut builders) {
                block.clone().for_each(|row| builder.add(books.cell(section, row, column)));
            }
        }
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = builders.into_iter().map(Builder::finish).collect();
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
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
