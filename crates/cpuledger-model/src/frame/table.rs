//! The rows of a section, column by column.

use std::fmt;

use crate::frame::column::{COLUMNS, Column, Kind};
use crate::frame::trim::trim;

/// Stands for a value that is absent. It is greater than any value, so the least of several values is never it unless all are.
pub(crate) const ABSENT: u64 = u64::MAX;

/// Between a signed number and the unsigned one that a table keeps: the order is the same.
const SIGN: u64 = 1 << 63;

pub(crate) fn raw_of_signed(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

pub(crate) fn signed_of_raw(raw: u64) -> i64 {
    (raw ^ SIGN).cast_signed()
}

/// The values of a column.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    /// That of each row, where `each` is empty.
    pub(crate) constant: u64,
    /// One for each row; or empty.
    pub(crate) each: Vec<u64>,
}

/// Of a column without values.
static NOTHING: Values = Values::NOTHING;

impl Default for Values {
    fn default() -> Values {
        Values::NOTHING
    }
}

impl Values {
    const NOTHING: Values = Values { constant: ABSENT, each: Vec::new() };

    #[inline]
    pub(crate) fn raw(&self, row: usize) -> u64 {
        if self.each.is_empty() { self.constant } else { self.each[row] }
    }

    pub(crate) fn is_absent(&self) -> bool {
        self.each.is_empty() && self.constant == ABSENT
    }

    pub(crate) fn clear(&mut self) {
        self.constant = ABSENT;
        self.each.clear();
    }

    /// Keeps one value where all rows have the same, or nothing where it is absent in all.
    pub(crate) fn merge_equal(&mut self) {
        if let [first, rest @ ..] = &*self.each
            && *rest == self.each[..rest.len()]
        {
            self.constant = *first;
            self.each.clear();
        }
    }
}

/// The values of a column, for a look at many rows: where all rows have the same, there is one value and the mask is 0.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    values: &'a [u64],
    mask: usize,
}

impl Cells<'_> {
    /// As [`Table::get`].
    ///
    /// # Panics
    /// May panic if there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<u64> {
        Some(self.values[row & self.mask]).filter(|raw| *raw != ABSENT)
    }
}

/// As [`Cells`], for a column with signed numbers.
#[derive(Debug, Clone, Copy)]
pub struct SignedCells<'a>(Cells<'a>);

impl SignedCells<'_> {
    /// As [`Table::get_signed`].
    ///
    /// # Panics
    /// May panic if there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        self.0.get(row).map(signed_of_raw)
    }
}

/// The numbers of a column, for a copy of all rows: see [`Table::numbers`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Numbers<'a> {
    /// All rows have this one; `None`: it is absent in all.
    Same(Option<i64>),
    /// Each row has its own.
    Each(EachNumber<'a>),
}

impl<'a> Numbers<'a> {
    /// That of each of so many rows.
    pub fn iter(self, rows: usize) -> impl Iterator<Item = Option<i64>> + use<'a> {
        (0..rows).map(move |row| match self {
            Numbers::Same(number) => number,
            Numbers::Each(each) => each.get(row),
        })
    }
}

/// A number or nothing for each row.
#[derive(Debug, Clone, Copy)]
pub struct EachNumber<'a> {
    raw: &'a [u64],
    is_signed: bool,
}

impl EachNumber<'_> {
    fn get(&self, row: usize) -> Option<i64> {
        let raw = Some(self.raw[row]).filter(|raw| *raw != ABSENT);
        raw.map(|raw| if self.is_signed { signed_of_raw(raw) } else { saturated(raw) })
    }

    /// Appends the number of each row, and any number where it is absent. Returns whether it is in one.
    pub fn append_to(&self, numbers: &mut Vec<i64>) -> bool {
        if self.is_signed {
            numbers.extend(self.raw.iter().map(|&raw| signed_of_raw(raw)));
        } else {
            numbers.extend(self.raw.iter().map(|&raw| saturated(raw)));
        }
        self.raw.iter().fold(false, |any, &raw| any | (raw == ABSENT))
    }

    /// Of each row, whether it has a number.
    pub fn are_known(&self) -> impl ExactSizeIterator<Item = bool> {
        self.raw.iter().map(|&raw| raw != ABSENT)
    }
}

/// No figure of a machine is larger.
fn saturated(raw: u64) -> i64 {
    raw.min(i64::MAX.cast_unsigned()).cast_signed()
}

/// The values of a column that is made row by row. [`Table::take`] puts them into a table without a copy. Which of the two ways of adding a
/// value is right is told by the kind of the column.
///
/// `u64::MAX` and `i64::MAX` are not values: they become the next lower number.
#[derive(Debug, Clone, Default)]
pub struct NewColumn(Vec<u64>);

impl NewColumn {
    /// Starts anew.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends the value of the next row; `None`: it is absent.
    #[inline]
    pub fn push(&mut self, value: Option<u64>) {
        self.0.push(raw(value));
    }

    /// As [`NewColumn::push`], for a column with signed numbers.
    #[inline]
    pub fn push_signed(&mut self, value: Option<i64>) {
        self.0.push(raw(value.map(raw_of_signed)));
    }
}

/// The rows of a section: a value or nothing for each column and row. Its memory is reused.
///
/// `u64::MAX` and `i64::MAX` are not values: they become the next lower number.
#[derive(Clone, Default)]
pub struct Table {
    rows: usize,
    /// By the place of the column; empty where none has values.
    columns: Vec<Values>,
    /// A bit for each column that may have values, so that a table with few of them is soon cleared.
    touched: [u64; COLUMNS.div_ceil(64)],
}

impl Table {
    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Starts anew with this number of rows, of which nothing is known.
    pub fn reset(&mut self, rows: usize) {
        self.rows = rows;
        for (word, touched) in self.touched.iter_mut().enumerate() {
            let mut rest = std::mem::take(touched);
            while rest != 0 {
                self.columns[word * 64 + rest.trailing_zeros() as usize].clear();
                rest &= rest - 1;
            }
        }
    }

    /// The columns that may have values.
    pub(crate) fn touched(&self) -> impl Iterator<Item = Column> {
        self.touched.iter().enumerate().flat_map(|(word, touched)| {
            let mut rest = *touched;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.wrapping_sub(1);
                (bit < 64).then(|| Column::at(word * 64 + bit))
            })
        })
    }

    /// Gives back memory that is much more than its rows need.
    pub(crate) fn trim(&mut self) {
        for column in &mut self.columns {
            trim(&mut column.each, self.rows);
        }
    }

    /// The value of a row; of a text, its number. `None`: it is absent.
    ///
    /// # Panics
    /// If there is no such row, or the column has signed numbers.
    #[inline]
    pub fn get(&self, column: Column, row: usize) -> Option<u64> {
        assert!(column.kind() != Kind::Signed, "{column:?} has signed numbers");
        Some(self.raw(column, row)).filter(|raw| *raw != ABSENT)
    }

    /// The value of a row of a column with signed numbers.
    ///
    /// # Panics
    /// If there is no such row, or the column has no signed numbers.
    #[inline]
    pub fn get_signed(&self, column: Column, row: usize) -> Option<i64> {
        assert!(column.kind() == Kind::Signed, "{column:?} has no signed numbers");
        Some(self.raw(column, row)).filter(|raw| *raw != ABSENT).map(signed_of_raw)
    }

    /// Puts a value into a row.
    ///
    /// # Panics
    /// If there is no such row, or the column has signed numbers.
    pub fn set(&mut self, column: Column, row: usize, value: Option<u64>) {
        assert!(column.kind() != Kind::Signed, "{column:?} has signed numbers");
        self.set_raw(column, row, raw(value));
    }

    /// Puts a value into a row of a column with signed numbers.
    ///
    /// # Panics
    /// If there is no such row, or the column has no signed numbers.
    pub fn set_signed(&mut self, column: Column, row: usize, value: Option<i64>) {
        assert!(column.kind() == Kind::Signed, "{column:?} has no signed numbers");
        self.set_raw(column, row, raw(value.map(raw_of_signed)));
    }

    /// Puts a value into each row: the first of `values` into the first row. Rows for which there is none get nothing.
    ///
    /// # Panics
    /// If the column has signed numbers.
    pub fn fill(&mut self, column: Column, values: impl IntoIterator<Item = Option<u64>>) {
        assert!(column.kind() != Kind::Signed, "{column:?} has signed numbers");
        self.fill_raw(column, values.into_iter().map(raw));
    }

    /// As [`Table::fill`] for a column with signed numbers.
    ///
    /// # Panics
    /// If the column has no signed numbers.
    pub fn fill_signed(&mut self, column: Column, values: impl IntoIterator<Item = Option<i64>>) {
        assert!(column.kind() == Kind::Signed, "{column:?} has no signed numbers");
        self.fill_raw(column, values.into_iter().map(|value| raw(value.map(raw_of_signed))));
    }

    /// Takes the values of a column: the first into the first row. Rows for which there is none get nothing. `values` is empty then, and has
    /// the memory of the column before.
    pub fn take(&mut self, column: Column, values: &mut NewColumn) {
        values.0.resize(self.rows, ABSENT);
        let each = &mut self.values_mut(column).each;
        std::mem::swap(each, &mut values.0);
        values.clear();
    }

    /// The value of each row, as [`Table::get`] has it.
    ///
    /// # Panics
    /// If the column has signed numbers.
    pub fn all(&self, column: Column) -> impl ExactSizeIterator<Item = Option<u64>> {
        assert!(column.kind() != Kind::Signed, "{column:?} has signed numbers");
        let values = self.values(column);
        (0..self.rows).map(|row| Some(values.raw(row)).filter(|raw| *raw != ABSENT))
    }

    /// The value of each row, as [`Table::get_signed`] has it.
    ///
    /// # Panics
    /// If the column has no signed numbers.
    pub fn all_signed(&self, column: Column) -> impl ExactSizeIterator<Item = Option<i64>> {
        assert!(column.kind() == Kind::Signed, "{column:?} has no signed numbers");
        let values = self.values(column);
        (0..self.rows).map(|row| Some(values.raw(row)).filter(|raw| *raw != ABSENT).map(signed_of_raw))
    }

    /// The values of a column, to be looked at row by row.
    ///
    /// # Panics
    /// If the column has signed numbers.
    pub fn cells(&self, column: Column) -> Cells<'_> {
        assert!(column.kind() != Kind::Signed, "{column:?} has signed numbers");
        self.raw_cells(column)
    }

    /// As [`Table::cells`] for a column with signed numbers.
    ///
    /// # Panics
    /// If the column has no signed numbers.
    pub fn signed_cells(&self, column: Column) -> SignedCells<'_> {
        assert!(column.kind() == Kind::Signed, "{column:?} has no signed numbers");
        SignedCells(self.raw_cells(column))
    }

    /// The numbers of a column, or those of its texts. Greater ones become `i64::MAX`.
    pub fn numbers(&self, column: Column) -> Numbers<'_> {
        let (values, is_signed) = (self.values(column), column.kind() == Kind::Signed);
        if !values.each.is_empty() {
            return Numbers::Each(EachNumber { raw: &values.each, is_signed });
        }
        let constant = Some(values.constant).filter(|raw| *raw != ABSENT);
        Numbers::Same(constant.map(|raw| if is_signed { signed_of_raw(raw) } else { saturated(raw) }))
    }

    fn raw_cells(&self, column: Column) -> Cells<'_> {
        let values = self.values(column);
        if values.each.is_empty() {
            Cells { values: std::slice::from_ref(&values.constant), mask: 0 }
        } else {
            Cells { values: &values.each, mask: usize::MAX }
        }
    }

    /// Whether a row has a value in this column.
    pub fn has(&self, column: Column) -> bool {
        let values = self.values(column);
        if values.each.is_empty() {
            self.rows > 0 && values.constant != ABSENT
        } else {
            values.each.iter().any(|raw| *raw != ABSENT)
        }
    }

    /// Whether each row has a value in this column.
    pub fn is_whole(&self, column: Column) -> bool {
        let values = self.values(column);
        if values.each.is_empty() {
            self.rows == 0 || values.constant != ABSENT
        } else {
            values.each.iter().all(|raw| *raw != ABSENT)
        }
    }

    /// Whether the column is known to have the same value in all rows, or none in any. Of a frame that was decoded, it is where that is so.
    #[inline]
    pub fn is_uniform(&self, column: Column) -> bool {
        self.values(column).each.is_empty()
    }

    pub(crate) fn fill_raw(&mut self, column: Column, values: impl Iterator<Item = u64>) {
        let rows = self.rows;
        let each = &mut self.values_mut(column).each;
        each.clear();
        each.extend(values.take(rows));
        each.resize(rows, ABSENT);
    }

    #[inline]
    pub(crate) fn raw(&self, column: Column, row: usize) -> u64 {
        assert!(row < self.rows, "there is no row {row}");
        self.values(column).raw(row)
    }

    pub(crate) fn set_raw(&mut self, column: Column, row: usize, raw: u64) {
        assert!(row < self.rows, "there is no row {row}");
        let rows = self.rows;
        let values = self.values_mut(column);
        if values.each.is_empty() {
            if raw == values.constant {
                return;
            }
            values.each.resize(rows, values.constant);
        }
        values.each[row] = raw;
    }

    #[inline]
    pub(crate) fn values(&self, column: Column) -> &Values {
        self.columns.get(column.index()).unwrap_or(&NOTHING)
    }

    pub(crate) fn values_mut(&mut self, column: Column) -> &mut Values {
        let index = column.index();
        self.touched[index / 64] |= 1 << (index % 64);
        if self.columns.is_empty() {
            self.columns.resize_with(COLUMNS, Values::default);
        }
        &mut self.columns[index]
    }
}

impl fmt::Debug for Table {
    /// Its columns that have values.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = Column::known().filter(|column| self.has(*column));
        let values = |column| (0..self.rows).map(move |row| self.raw(column, row));
        formatter
            .debug_map()
            .entries(
                columns
                    .map(|column| (column, values(column).map(|raw| told(column, raw)).collect::<Vec<_>>())),
            )
            .finish()
    }
}

/// A value as a number, whatever its sign.
fn told(column: Column, raw: u64) -> Option<i128> {
    let signed = column.kind() == Kind::Signed;
    (raw != ABSENT).then(|| if signed { signed_of_raw(raw).into() } else { raw.into() })
}

#[inline]
fn raw(value: Option<u64>) -> u64 {
    value.map_or(ABSENT, |value| value.min(ABSENT - 1))
}
