//! The process of each task: a column of tasks may be told as the difference from that of the processes. Most processes have one task,
//! and most figures of that are those of the process.

use crate::column::Column;
use crate::frame::{Frame, Section};
use crate::table::{ABSENT, Table, raw_of_signed, signed_of_raw};

/// The rows of processes that the tasks of a frame belong to.
pub(crate) struct Owners<'a> {
    processes: &'a Table,
    /// One for each task.
    rows: Vec<Option<usize>>,
}

impl<'a> Owners<'a> {
    /// By pid. `None`: the pids of the processes do not ascend, so that it is not certain which row belongs to a task.
    pub(crate) fn of(frame: &'a Frame) -> Option<Owners<'a>> {
        let (processes, tasks) = (frame.table(Section::Processes), frame.table(Section::Tasks));
        let pids: Vec<u64> = (0..processes.len()).map(|row| processes.raw(Column::PID, row)).collect();
        if !pids.is_sorted_by(|earlier, later| earlier < later) {
            return None;
        }
        // Tasks of a process stand together, in most frames.
        let mut last = None;
        let row = |task| {
            let pid = tasks.raw(Column::PID, task);
            if last.is_none_or(|row: usize| pids[row] != pid) {
                last = pids.binary_search(&pid).ok();
            }
            last
        };
        Some(Owners { processes, rows: (0..tasks.len()).map(row).collect() })
    }

    /// The row of the process of each task.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows.iter().copied()
    }

    /// What is added to the difference of each task: the value of its process, or 0 where that has none.
    fn bases(&self, column: Column) -> impl Iterator<Item = u64> {
        let values = self.processes.values(column);
        self.rows.iter().map(move |row| match row.map(|row| values.raw(row)) {
            None | Some(ABSENT) => 0,
            Some(value) => value,
        })
    }

    /// Appends the difference of each value from that of its process, as a signed number in a table. Returns whether all can be told.
    pub(crate) fn differ(&self, column: Column, values: &[u64], into: &mut Vec<u64>) -> bool {
        let mut can_be_told = true;
        into.extend(values.iter().zip(self.bases(column)).map(|(&value, base)| {
            if value == ABSENT {
                return ABSENT;
            }
            let difference = raw_of_signed(value.wrapping_sub(base).cast_signed());
            can_be_told &= difference != ABSENT;
            difference
        }));
        can_be_told
    }

    /// The values whose differences these are. Returns whether all are values.
    pub(crate) fn add(&self, column: Column, differences: &mut [u64]) -> bool {
        let mut are_values = true;
        for (difference, base) in differences.iter_mut().zip(self.bases(column)) {
            if *difference != ABSENT {
                *difference = base.wrapping_add(signed_of_raw(*difference).cast_unsigned());
                are_values &= *difference != ABSENT;
            }
        }
        are_values
    }
}
