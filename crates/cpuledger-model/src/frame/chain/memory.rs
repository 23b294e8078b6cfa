//! What earlier frames of a chain have told, row by row.

use crate::frame::column::{COLUMNS, Column};
use crate::frame::table::{ABSENT, Values};

/// Stands for the place of what has none.
pub(super) const NONE: u32 = u32::MAX;

/// The rows of a section, with what they had last.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    pub(super) rows: usize,
    columns: Vec<Vec<u64>>,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { rows: 0, columns: vec![Vec::new(); COLUMNS] }
    }
}

impl Memory {
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(Vec::clear);
    }

    /// The rows that are new get places behind the others.
    pub(super) fn extend(&mut self, places: &mut [u32]) {
        for place in places.iter_mut().filter(|place| **place == NONE) {
            *place = self.rows as u32;
            self.rows += 1;
        }
    }

    pub(super) fn column(&self, column: Column) -> &[u64] {
        &self.columns[column.index()]
    }

    /// What the rows at these places have now.
    pub(super) fn learn(&mut self, column: Column, places: &[u32], values: &Values) {
        let own = &mut self.columns[column.index()];
        if own.is_empty() && values.is_absent() {
            return;
        }
        own.resize(self.rows, ABSENT);
        if values.each.is_empty() {
            places.iter().for_each(|place| own[*place as usize] = values.constant);
        } else {
            places.iter().zip(&values.each).for_each(|(place, value)| own[*place as usize] = *value);
        }
    }
}
