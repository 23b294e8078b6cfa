//! The process of each task: a column of tasks may be told as the difference from that of the processes. Most processes have one task,
//! and most figures of that are those of the process.

use std::iter::repeat_n;

use crate::frame::column::Column;
use crate::frame::sections::{Frame, Section};
use crate::frame::table::{ABSENT, Table, raw_of_signed, signed_of_raw};

/// The rows of processes that the tasks of a frame belong to.
pub(crate) struct Owners<'a> {
    processes: &'a Table,
    /// Tasks of a process stand together, in most frames.
    runs: Vec<Run>,
}

/// Tasks behind each other that belong to one process.
struct Run {
    /// The row of that process, if it has one.
    owner: Option<usize>,
    tasks: usize,
}

impl<'a> Owners<'a> {
    /// By pid. `None`: the pids of the processes do not ascend, so that it is not certain which row belongs to a task.
    pub(crate) fn of(frame: &'a Frame) -> Option<Owners<'a>> {
        let (processes, tasks) = (frame.table(Section::Processes), frame.table(Section::Tasks));
        let pids: Vec<u64> = (0..processes.len()).map(|row| processes.raw(Column::PID, row)).collect();
        if !pids.is_sorted_by(|earlier, later| earlier < later) {
            return None;
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut last = None;
        for task in 0..tasks.len() {
            let pid = tasks.raw(Column::PID, task);
            match runs.last_mut().filter(|_| last == Some(pid)) {
                Some(run) => run.tasks += 1,
                None => runs.push(Run { owner: pids.binary_search(&pid).ok(), tasks: 1 }),
            }
            last = Some(pid);
        }
        Some(Owners { processes, runs })
    }

    /// The row of the process of each task.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Option<usize>> {
        self.runs.iter().flat_map(|run| repeat_n(run.owner, run.tasks))
    }

    /// How many tasks there are behind each other with the same base, and that base: it is added to their differences. It is the value of
    /// their process, or 0 where that has none.
    fn bases(&self, column: Column) -> impl Iterator<Item = (usize, u64)> {
        let values = self.processes.values(column);
        self.runs.iter().map(move |run| match run.owner.map(|row| values.raw(row)) {
            None | Some(ABSENT) => (run.tasks, 0),
            Some(value) => (run.tasks, value),
        })
    }

    /// Tells the difference of each value from that of its process, as a signed number in a table. Returns whether all can be told.
    pub(crate) fn differ(&self, column: Column, values: &[u64], mut tell: impl FnMut(u64)) -> bool {
        let mut can_be_told = true;
        let mut rest = values;
        for (tasks, base) in self.bases(column) {
            let (of_process, behind) = rest.split_at(tasks.min(rest.len()));
            for &value in of_process {
                let difference = raw_of_signed(value.wrapping_sub(base).cast_signed());
                can_be_told &= difference != ABSENT || value == ABSENT;
                tell(if value == ABSENT { ABSENT } else { difference });
            }
            rest = behind;
        }
        can_be_told
    }

    /// The values whose differences these are. Returns whether all are values.
    pub(crate) fn add(&self, column: Column, differences: &mut [u64]) -> bool {
        let mut are_values = true;
        let mut rest = differences;
        for (tasks, base) in self.bases(column) {
            let (of_process, behind) = rest.split_at_mut(tasks.min(rest.len()));
            for difference in of_process {
                if *difference != ABSENT {
                    *difference = base.wrapping_add(signed_of_raw(*difference).cast_unsigned());
                    are_values &= *difference != ABSENT;
                }
            }
            rest = behind;
        }
        are_values
    }
}
