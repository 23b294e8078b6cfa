//! Rows of a column, until they are written.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder};
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, DictionaryArray};

use crate::names::Names;
use crate::schema::{Kind, ZONE};

/// A dictionary of more names is begun anew where the format allows for it.
const MOST_NAMES: usize = 65_536;

/// The values of a column.
#[derive(Debug)]
pub(crate) enum Builder {
    Number(PrimitiveBuilder<Int64Type>),
    Time(PrimitiveBuilder<TimestampMicrosecondType>),
    Text(PrimitiveBuilder<Int32Type>, Names),
    Flag(BooleanBuilder),
}

impl Builder {
    pub(crate) fn new(kind: Kind) -> Builder {
        match kind {
            Kind::Number => Builder::Number(PrimitiveBuilder::new()),
            Kind::Time => Builder::Time(PrimitiveBuilder::new().with_data_type(kind.data_type())),
            Kind::Text => Builder::Text(PrimitiveBuilder::new(), Names::default()),
            Kind::Flag => Builder::Flag(BooleanBuilder::new()),
        }
    }

    /// Adds rows without a value.
    pub(crate) fn add_nothing(&mut self, rows: usize) {
        match self {
            Builder::Number(builder) => builder.append_nulls(rows),
            Builder::Time(builder) => builder.append_nulls(rows),
            Builder::Text(builder, _) => builder.append_nulls(rows),
            Builder::Flag(builder) => builder.append_nulls(rows),
        }
    }

    /// Adds rows of the same number or time.
    pub(crate) fn add_same(&mut self, value: i64, rows: usize) {
        match self {
            Builder::Number(builder) => builder.append_value_n(value, rows),
            Builder::Time(builder) => builder.append_value_n(value, rows),
            Builder::Flag(builder) => builder.append_n(rows, value != 0),
            Builder::Text(builder, _) => builder.append_nulls(rows),
        }
    }

    /// Adds a number or a flag for each row.
    pub(crate) fn add_numbers(&mut self, values: impl Iterator<Item = Option<i64>>) {
        match self {
            Builder::Number(builder) => builder.extend(values),
            Builder::Flag(builder) => {
                values.for_each(|value| builder.append_option(value.map(|value| value != 0)));
            }
            // No such column is of numbers.
            Builder::Time(builder) => builder.extend(values),
            Builder::Text(builder, _) => builder.append_nulls(values.count()),
        }
    }

    /// The texts and their numbers, for a column of texts.
    pub(crate) fn texts(&mut self) -> Option<(&mut PrimitiveBuilder<Int32Type>, &mut Names)> {
        match self {
            Builder::Text(builder, names) => Some((builder, names)),
            _ => None,
        }
    }

    /// The array of the rows so far; it begins anew.
    pub(crate) fn finish(&mut self, keeps_names: bool) -> ArrayRef {
        match self {
            Builder::Number(builder) => Arc::new(builder.finish()),
            Builder::Time(builder) => Arc::new(builder.finish().with_timezone(ZONE)),
            Builder::Flag(builder) => Arc::new(builder.finish()),
            Builder::Text(builder, names) => {
                let array = DictionaryArray::new(builder.finish(), Arc::new(names.array()));
                if !keeps_names && names.len() > MOST_NAMES {
                    names.clear();
                }
                Arc::new(array)
            }
        }
    }
}
