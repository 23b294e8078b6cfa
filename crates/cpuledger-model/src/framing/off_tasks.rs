//! What tasks did off the CPU at the cuts, as columns: a merge needs it of rows that ran in one of two intervals only.

use crate::frame::{Column, Frame, Section};

use crate::states::OffTasks;

use super::error::FrameError;
use super::figure::Figure;

/// The counts in the order of [`Column::OFF_AT_START`].
fn counts(tasks: &OffTasks) -> [u64; 6] {
    let OffTasks { waiting, sleeping, blocked, io_waiting, stopped, unseen } = *tasks;
    [waiting, sleeping, blocked, io_waiting, stopped, unseen]
}

/// Puts the columns of all rows.
pub(super) fn write(
    frame: &mut Frame,
    section: Section,
    columns: [Column; 6],
    rows: impl Iterator<Item = Option<OffTasks>> + Clone,
) {
    for (place, column) in columns.into_iter().enumerate() {
        let values = rows.clone().map(|tasks| tasks.map(|tasks| counts(&tasks)[place]));
        u64::fill(frame, section, column, values);
    }
}

/// That of a row; `None`: it is not known.
pub(super) fn read(
    frame: &Frame,
    section: Section,
    columns: [Column; 6],
    row: usize,
) -> Result<Option<OffTasks>, FrameError> {
    let mut counts = [0; 6];
    for (count, column) in counts.iter_mut().zip(columns) {
        let Some(value) = u64::get(frame, section, column, row)? else { return Ok(None) };
        *count = value;
    }
    let [waiting, sleeping, blocked, io_waiting, stopped, unseen] = counts;
    Ok(Some(OffTasks { waiting, sleeping, blocked, io_waiting, stopped, unseen }))
}
