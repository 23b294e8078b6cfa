//! Tasks that were woken in an interval and have not run in it.

use cpuledger_bpf::ledger::{Interval as Closed, OffState, Waiting};
use rustc_hash::FxHashMap;

use crate::buffer::empty;
use crate::clock::Boottime;
use crate::interval::{Interval, Usage};
use crate::snapshot::Snapshot;
use crate::task::{Task, TaskId, Tid};

use super::{RowBuilder, with_wait};

/// A task that waits for a CPU since a time within an interval in which it has not run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    process: TaskId,
    task: TaskId,
    /// What it did before.
    rested: OffState,
    /// For how long it did that in the interval.
    rested_ns: u64,
}

impl RowBuilder {
    /// Remembers those that wait for a CPU, and have not run. From here on they are told to wait in all of the interval: see
    /// [`RowBuilder::tell_late`].
    pub(super) fn take_waiting(&mut self, closed: &Closed<'_>) {
        empty(&mut self.late);
        for Waiting { number, record, rested, since_ns } in closed.waiting {
            let id = |tid, start_ns| TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns) };
            let task = id(record.tid, record.start_time_ns);
            let process = id(record.pid, record.process_start_time_ns);
            let known = self.resting.wait(*number, task, process);
            if known == Some(OffState::Waits) {
                continue;
            }
            self.lives.wait(task, *number, *since_ns);
            let rested = known.or(*rested).unwrap_or(OffState::Sleeps);
            let rested_ns = since_ns.saturating_sub(closed.start_ns);
            if rested_ns > 0 && rested != OffState::Waits {
                self.late.push(Late { process, task, rested, rested_ns });
            }
        }
    }

    /// Tells what they did before they were woken, in their rows and those of their processes.
    pub(super) fn tell_late(&mut self, snapshot: &Snapshot, into: &mut Interval) {
        if self.late.is_empty() {
            return;
        }
        let places =
            |rows: &[Task]| -> FxHashMap<TaskId, usize> { rows.iter().map(Task::id).zip(0..).collect() };
        let (processes, tasks) = (places(&snapshot.processes), places(&snapshot.tasks));
        for late in &self.late {
            let process = processes.get(&late.process).map(|&place| &mut into.processes[place]);
            let task = tasks.get(&late.task).map(|&place| &mut into.tasks[place]);
            process.into_iter().chain(task).for_each(|usage| late.tell(usage));
        }
    }
}

impl Late {
    fn tell(&self, usage: &mut Usage) {
        let Some((states, at_start)) = usage.states.as_mut().zip(usage.off_at_start.as_mut()) else { return };
        if at_start.waiting == 0 || states.runqueue_wait_ns < self.rested_ns {
            return;
        }
        states.rest_before_wait(self.rested, self.rested_ns);
        at_start.waiting -= 1;
        *at_start.count_mut(self.rested) += 1;
        usage.growth = with_wait(usage.growth, usage.states);
    }
}
