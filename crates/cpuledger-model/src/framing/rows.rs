//! Rows of a listing, decoded one at a time.

use crate::frame::{Column, Frame, Section};

use crate::task::{Pid, Task};

use super::error::FrameError;
use super::figure::Figure;
use super::members::{KnownFields, check_fields};
use super::read_task;

/// The processes or tasks of a listing.
pub struct Rows<'a> {
    frame: &'a Frame,
    section: Section,
    told: KnownFields,
}

impl<'a> Rows<'a> {
    /// Checks them all, without decoding a whole row.
    ///
    /// # Errors
    /// As [`super::read_listing`].
    pub fn of(frame: &'a Frame, section: Section) -> Result<Rows<'a>, FrameError> {
        let told = KnownFields::of(frame, section);
        check_fields(frame, section, &told)?;
        let table = frame.table(section);
        for column in [Column::TID, Column::PID, Column::START_TIME_NS] {
            if !table.is_whole(column) {
                return Err(FrameError::Missing { column: column.name() });
            }
        }
        Ok(Rows { frame, section, told })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.frame.table(self.section).len()
    }

    /// The process of a row, which was checked.
    pub fn pid(&self, row: usize) -> Pid {
        Pid::get(self.frame, self.section, Column::PID, row).ok().flatten().unwrap_or_default()
    }

    /// A row.
    ///
    /// # Errors
    /// None, as it was checked.
    pub fn read(&self, row: usize) -> Result<Task, FrameError> {
        let mut task = Task::default();
        self.read_into(&mut task, row)?;
        Ok(task)
    }

    /// Makes `task`, a fresh one or another row that these have read, that row.
    ///
    /// # Errors
    /// As [`Rows::read`].
    pub fn read_into(&self, task: &mut Task, row: usize) -> Result<(), FrameError> {
        read_task(task, self.frame, self.section, row, &self.told)
    }
}
