//! What an export has done.

use cpuledger_model::frame::{Column, Frame};
use cpuledger_recording::{Gap, Loss};

use crate::schema::Table;

/// What was done.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Intervals that were written.
    pub intervals: u64,
    /// Rows of all tables that were written.
    pub rows: u64,
    /// Files that were written.
    pub files: u64,
    /// Segments that were there already.
    pub segments_there: u64,
    /// Segments that a writer has, and that were left out.
    pub segments_open: u64,
    /// Intervals whose time the calendar of others has too, as the clock was set back.
    pub repeated: u64,
    /// Intervals whose parts are not their capacity. The ledger makes none.
    pub unbalanced: u64,
    /// Intervals that the recording does not have.
    pub losses: Vec<Loss>,
    /// Times of which it has nothing.
    pub gaps: Vec<Gap>,
}

impl Summary {
    /// Counts an interval; its rows.
    pub(crate) fn add(&mut self, frame: &Frame) -> u64 {
        let rows = Table::ALL.iter().map(|table| frame.table(table.section()).len() as u64).sum();
        self.intervals += 1;
        self.rows += rows;
        self.unbalanced += u64::from(is_unbalanced(frame));
        rows
    }

    pub(crate) fn merge(&mut self, mut other: Summary) {
        self.intervals += other.intervals;
        self.rows += other.rows;
        self.files += other.files;
        self.unbalanced += other.unbalanced;
        self.losses.append(&mut other.losses);
    }
}

/// Where the source has an exact cut, and the sums are not those that docs/export.md promises.
fn is_unbalanced(frame: &Frame) -> bool {
    let of = |column| frame.figure(column);
    let (Some(capacity), Some(idle), Some(unattributed)) =
        (of(Column::CAPACITY_NS), of(Column::IDLE_NS), of(Column::UNATTRIBUTED_NS))
    else {
        return false;
    };
    let rows = frame.table(Table::Usage.section()).all(Column::CPU_NS);
    let used: u64 = rows.flatten().sum();
    of(Column::ATTRIBUTED_NS) != Some(used) || used + idle + unattributed != capacity
}
