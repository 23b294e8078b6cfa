//! Rows of a listing, decoded one at a time.

use cpuledger_frame::{Column, Frame, Section};

use crate::task::{Pid, Task, Tid};

use super::error::FrameError;
use super::figure::Figure;
use super::members::{Told, check_fields};
use super::read_task;

/// The processes or tasks of a listing.
pub(crate) struct Rows<'a> {
    frame: &'a Frame,
    section: Section,
    told: Told,
}

impl<'a> Rows<'a> {
    /// Checks them all, without decoding a whole row.
    ///
    /// # Errors
    /// As [`super::read_listing`].
    pub(crate) fn of(frame: &'a Frame, section: Section) -> Result<Rows<'a>, FrameError> {
        let told = Told::of(frame, section);
        check_fields(frame, section, &told)?;
        for row in 0..frame.table(section).len() {
            let is_known = Tid::get(frame, section, Column::TID, row)?.is_some()
                && Pid::get(frame, section, Column::PID, row)?.is_some()
                && frame.table(section).get(Column::START_TIME_NS, row).is_some();
            if !is_known {
                return Err(FrameError::Missing { column: Column::TID.name() });
            }
        }
        Ok(Rows { frame, section, told })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.frame.table(self.section).len()
    }

    /// The process of a row, which was checked.
    pub(crate) fn pid(&self, row: usize) -> Pid {
        Pid::get(self.frame, self.section, Column::PID, row).ok().flatten().unwrap_or_default()
    }

    /// A row.
    ///
    /// # Errors
    /// None, as it was checked.
    pub(crate) fn read(&self, row: usize) -> Result<Task, FrameError> {
        let mut task = Task::default();
        self.read_into(&mut task, row)?;
        Ok(task)
    }

    /// Makes `task`, a fresh one or another row of this section, that row.
    ///
    /// # Errors
    /// As [`Rows::read`].
    pub(crate) fn read_into(&self, task: &mut Task, row: usize) -> Result<(), FrameError> {
        read_task(task, self.frame, self.section, row, &self.told)
    }
}
