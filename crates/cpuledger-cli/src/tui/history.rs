//! CPU time of the last intervals, for the sparkline.

use std::collections::VecDeque;

use cpuledger::TaskId;
use cpuledger::interval::Row;
use cpuledger_view::interval::column::per_mille;

use super::frame::{Frame, Kind};
use super::travel::Cell;

/// Intervals that are remembered.
pub const INTERVALS: usize = 60;

/// Rows that are remembered of an interval, those with the most time.
const MOST_ROWS: usize = 4096;

/// Intervals of which it is remembered what they used of the machine.
const MOST_CELLS: usize = 600;

/// The last intervals, the newest last.
#[derive(Debug, Default)]
pub struct History {
    moments: VecDeque<Moment>,
    machine: VecDeque<Cell>,
}

#[derive(Debug)]
struct Moment {
    length_ns: u64,
    /// Of a process, in thousandths of one CPU.
    most: u64,
    /// Processes and tasks that ran, by identity.
    rows: [Vec<(TaskId, u64)>; 2],
}

impl History {
    /// Remembers an interval.
    pub fn add(&mut self, frame: &Frame) {
        if frame.interval.is_since_boot() {
            return;
        }
        if self.machine.len() == MOST_CELLS {
            self.machine.pop_front();
        }
        self.machine.push_back(frame.cell());
        if self.moments.len() == INTERVALS {
            self.moments.pop_front();
        }
        self.moments.push_back(Moment {
            length_ns: frame.interval.length_ns(),
            most: frame
                .interval
                .processes
                .iter()
                .map(|row| row.usage.cpu_ns)
                .max()
                .map_or(0, |most_ns| per_mille(most_ns, frame.interval.length_ns())),
            rows: [ran(&frame.interval.processes), ran(&frame.interval.tasks)],
        });
    }

    /// What each interval used of the machine, the newest last.
    pub fn machine(&self) -> impl Iterator<Item = Cell> {
        self.machine.iter().copied()
    }

    /// The most that a process had in an interval, in thousandths of one CPU.
    pub fn most(&self) -> u64 {
        self.moments.iter().map(|moment| moment.most).max().unwrap_or(0)
    }

    /// Thousandths of one CPU in each interval, the newest last.
    pub fn of(&self, kind: Kind, id: TaskId) -> Vec<u64> {
        let share = |moment: &Moment| {
            let rows = &moment.rows[kind as usize];
            let found = rows.binary_search_by_key(&id, |(known, _)| *known);
            found.map_or(0, |index| per_mille(rows[index].1, moment.length_ns))
        };
        self.moments.iter().map(share).collect()
    }
}

fn ran(rows: &[Row]) -> Vec<(TaskId, u64)> {
    let ran = rows.iter().filter(|row| row.usage.cpu_ns > 0);
    let mut ran: Vec<(TaskId, u64)> = ran.map(|row| (row.task.id(), row.usage.cpu_ns)).collect();
    if ran.len() > MOST_ROWS {
        ran.select_nth_unstable_by_key(MOST_ROWS, |(_, cpu_ns)| std::cmp::Reverse(*cpu_ns));
        ran.truncate(MOST_ROWS);
    }
    ran.sort_unstable();
    ran
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn the_last_sixty_are_remembered() {
        let mut history = History::default();
        let frame = fixture::frame();
        let id = frame.interval.processes[0].task.id();
        for _ in 0..INTERVALS + 5 {
            history.add(&frame);
        }
        let shares = history.of(Kind::Process, id);
        assert_eq!(shares.len(), INTERVALS);
        assert!(
            shares.iter().all(|&share| share
                == per_mille(frame.interval.processes[0].usage.cpu_ns, frame.interval.length_ns()))
        );
        let other = TaskId { start_time_ns: id.start_time_ns.with_slack_ns(1), ..id };
        assert_eq!(history.of(Kind::Process, other), [0; INTERVALS]);
    }
}
