//! The values of a column on their way into arrays.

use std::sync::Arc;

use arrow_array::builder::{NullBufferBuilder, StringViewBuilder};
use arrow_array::types::{ArrowPrimitiveType, Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringViewArray};
use arrow_schema::ArrowError;
use arrow_select::take::take;
use rustc_hash::FxHashMap;

use crate::books::printable;

/// Most rows of a batch: consumers work on batches one by one.
pub(crate) const MOST_ROWS: usize = 65_536;

/// The lengths of the batches of that many rows, each with its begin.
pub(crate) fn batches_of(rows: usize) -> impl ExactSizeIterator<Item = (usize, usize)> {
    (0..rows.div_ceil(MOST_ROWS)).map(move |batch| {
        let begin = batch * MOST_ROWS;
        (begin, (rows - begin).min(MOST_ROWS))
    })
}

/// Values of one type, row by row. As long as all are the same, they are not stored.
#[derive(Debug)]
pub(crate) struct Run<Type: ArrowPrimitiveType> {
    /// That there will be.
    all_rows: usize,
    rows: usize,
    /// That of all rows so far, unless `is_stored`.
    same: Option<Type::Native>,
    is_stored: bool,
    values: Vec<Type::Native>,
    nulls: NullBufferBuilder,
}

/// Numbers.
pub(crate) type NumberRun = Run<Int64Type>;

impl<Type: ArrowPrimitiveType> Run<Type> {
    pub(crate) fn new(all_rows: usize) -> Run<Type> {
        let nulls = NullBufferBuilder::new(all_rows);
        Run { all_rows, rows: 0, same: None, is_stored: false, values: Vec::new(), nulls }
    }

    /// Appends rows with the same value.
    pub(crate) fn append_same(&mut self, value: Option<Type::Native>, rows: usize) {
        if self.rows == 0 {
            self.same = value;
        }
        if self.is_stored || value != self.same {
            self.store();
            self.values.resize(self.values.len() + rows, value.unwrap_or_default());
            self.append_known(value.is_some(), rows);
        }
        self.rows += rows;
    }

    /// Appends a row.
    #[inline]
    pub(crate) fn push(&mut self, value: Option<Type::Native>) {
        if !self.is_stored {
            return self.append_same(value, 1);
        }
        self.values.push(value.unwrap_or_default());
        self.nulls.append(value.is_some());
        self.rows += 1;
    }

    /// Appends rows: `append` puts their values, of those without one any, and returns whether there are such. Then `are_known` says which.
    pub(crate) fn append_each<Known: Iterator<Item = bool>>(
        &mut self,
        append: impl FnOnce(&mut Vec<Type::Native>) -> bool,
        are_known: impl FnOnce() -> Known,
    ) {
        self.store();
        let any_is_absent = append(&mut self.values);
        if any_is_absent {
            are_known().for_each(|is_known| self.nulls.append(is_known));
        } else {
            self.nulls.append_n_non_nulls(self.values.len() - self.rows);
        }
        self.rows = self.values.len();
    }

    fn store(&mut self) {
        if self.is_stored {
            return;
        }
        self.is_stored = true;
        self.values.reserve_exact(self.all_rows);
        self.values.resize(self.rows, self.same.unwrap_or_default());
        self.append_known(self.same.is_some(), self.rows);
    }

    fn append_known(&mut self, are_known: bool, rows: usize) {
        if are_known { self.nulls.append_n_non_nulls(rows) } else { self.nulls.append_n_nulls(rows) }
    }

    /// The array of all rows; where all values are the same, that of the longest batch, which is a part of it.
    fn array(mut self) -> (PrimitiveArray<Type>, bool) {
        if self.is_stored {
            return (PrimitiveArray::new(self.values.into(), self.nulls.finish()), true);
        }
        let rows = self.rows.min(MOST_ROWS);
        let array = match self.same {
            Some(value) => PrimitiveArray::new(vec![value; rows].into(), None),
            None => PrimitiveArray::new_null(rows),
        };
        (array, false)
    }

    /// An array for each batch.
    pub(crate) fn arrays(self) -> Vec<ArrayRef> {
        let rows = self.rows;
        let (array, is_whole) = self.array();
        cut(&array, rows, is_whole)
    }
}

/// The arrays of batches: parts of one, each from its own place or, unless that is whole, from its begin.
fn cut(array: &dyn Array, rows: usize, is_whole: bool) -> Vec<ArrayRef> {
    batches_of(rows).map(|(begin, rows)| array.slice(if is_whole { begin } else { 0 }, rows)).collect()
}

/// Texts: each is stored once, and rows have its number.
pub(crate) struct TextRun {
    run: Run<UInt32Type>,
    /// As rows have them: not escaped.
    numbers: FxHashMap<Box<[u8]>, u32>,
    texts: StringViewBuilder,
}

impl TextRun {
    pub(crate) fn new(all_rows: usize) -> TextRun {
        TextRun { run: Run::new(all_rows), numbers: FxHashMap::default(), texts: StringViewBuilder::new() }
    }

    /// The number of a text.
    pub(crate) fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        // So many texts are in no memory.
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(text.into(), number);
        self.texts.append_value(printable(text));
        number
    }

    /// Appends a row.
    #[inline]
    pub(crate) fn push(&mut self, number: Option<u32>) {
        self.run.push(number);
    }

    /// Appends rows with the same text.
    #[inline]
    pub(crate) fn append_same(&mut self, number: Option<u32>, rows: usize) {
        if rows == 1 { self.run.push(number) } else { self.run.append_same(number, rows) }
    }

    /// An array for each batch.
    pub(crate) fn arrays(mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let rows = self.run.rows;
        if !self.run.is_stored && self.run.same.is_none() {
            return Ok(cut(&StringViewArray::new_null(rows.min(MOST_ROWS)), rows, false));
        }
        let texts: ArrayRef = Arc::new(self.texts.finish());
        let (numbers, is_whole) = self.run.array();
        Ok(cut(&take(&texts, &numbers, None)?, rows, is_whole))
    }
}
