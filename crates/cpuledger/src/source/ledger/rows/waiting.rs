//! Tasks that were woken in an interval and have not run in it.

use cpuledger_bpf::ledger::{Interval as Closed, Waiting};
use cpuledger_model::buffer::empty;
use cpuledger_model::counters::Counters;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::{Interval, Usage};
use cpuledger_model::states::{OffState, States};
use cpuledger_model::task::TaskId;

use crate::attribution::difference::lives::Lives;
use crate::source::ledger::resting::RestingTasks;

use super::find::{place_of_process, place_of_row};

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

/// All of them of one interval.
#[derive(Debug, Default)]
pub(super) struct LateTasks(Vec<Late>);

impl LateTasks {
    /// Remembers those that wait for a CPU, and have not run. From here on they wait in all of the interval, until [`LateTasks::correct`].
    pub(super) fn take(&mut self, closed: &Closed<'_>, resting: &mut RestingTasks, lives: &mut Lives) {
        empty(&mut self.0);
        for Waiting { number, record, rested, since_ns } in closed.waiting {
            let task = TaskId::new(record.tid, record.start_time_ns);
            let process = TaskId::new(record.pid, record.process_start_time_ns);
            let known = resting.wait(*number, task, process);
            if known == Some(OffState::Waits) {
                continue;
            }
            lives.wait(task, *number, *since_ns);
            let rested = known.or(*rested).unwrap_or(OffState::Sleeps);
            let rested_ns = since_ns.saturating_sub(closed.start_ns);
            if rested_ns > 0 && rested != OffState::Waits {
                self.0.push(Late { process, task, rested, rested_ns });
            }
        }
    }

    /// Puts what they did before they were woken into their rows and those of their processes.
    pub(super) fn correct(&self, into: &mut Interval) {
        let Interval { processes, tasks, .. } = into;
        for late in &self.0 {
            let process = place_of_process(processes, late.process.tid.0);
            let process = process.filter(|&place| processes[place].task.id() == late.process);
            let task = place_of_row(tasks, late.task, late.process);
            let rows = process.map(|place| &mut processes[place]).into_iter();
            rows.chain(task.map(|place| &mut tasks[place])).for_each(|row| late.correct(&mut row.usage));
        }
    }
}

impl Late {
    fn correct(&self, usage: &mut Usage) {
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

/// These figures with what was waited for a CPU between the cuts, where that is known: the kernel adds it up when the wait is over.
pub(super) fn with_wait(mut growth: Counters, states: Option<States>) -> Counters {
    if let Some(States { runqueue_wait_ns, .. }) = states {
        growth.runqueue_wait_ns = runqueue_wait_ns;
        growth.known = growth.known.union(FieldSet::of(&[Field::RunqueueWait]));
    }
    growth
}
