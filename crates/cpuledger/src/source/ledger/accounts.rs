//! What each process is told of an interval, while it is added up from its tasks.

use cpuledger_model::buffer::empty;
use cpuledger_model::counters::Counters;
use cpuledger_model::states::{OffTasks, States};
use cpuledger_model::task::TaskId;

use crate::attribution::Parts;
use crate::attribution::difference::lives::Growth;
use crate::source::records::nothing_used;

use super::along::place_along;

/// What a task of a process adds to that: what it did off the CPU.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OffCpu {
    /// In the interval.
    pub(super) states: Option<States>,
    /// When the interval began, and when it ended.
    pub(super) at_start: Option<OffTasks>,
    pub(super) at_end: Option<OffTasks>,
}

impl OffCpu {
    fn none() -> OffCpu {
        let nothing = Some(OffTasks::default());
        OffCpu { states: Some(States::default()), at_start: nothing, at_end: nothing }
    }

    /// Where it is not known of one task, it is not known of the process.
    pub(super) fn add(&mut self, more: &OffCpu) {
        self.states = self.states.zip(more.states).map(|(mut sum, more)| {
            sum.add(&more);
            sum
        });
        self.at_start = sum_of(self.at_start, more.at_start);
        self.at_end = sum_of(self.at_end, more.at_end);
    }

    /// That of tasks that have not run for this time.
    pub(super) fn of_idle(tasks: OffTasks, ns: u64) -> OffCpu {
        OffCpu { states: Some(tasks.rest_for(ns)), at_start: Some(tasks), at_end: Some(tasks) }
    }
}

fn sum_of(tasks: Option<OffTasks>, more: Option<OffTasks>) -> Option<OffTasks> {
    let (mut sum, more) = tasks.zip(more)?;
    sum.add(&more);
    Some(sum)
}

/// A process of the interval in the making.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) process: TaskId,
    pub(super) parts: Parts,
    pub(super) growth: Counters,
    /// By how much the time of its tasks on a CPU grew more than their runtime; `None`: not known of one of them.
    pub(super) ahead_ns: Option<i64>,
    /// Likewise, of the dead that it inherits from.
    pub(super) children_ahead_ns: Option<i64>,
    /// Whether a task of it ran and nothing tells what its figures grew by: then they are not known of the process.
    pub(super) is_partial: bool,
    /// Of its tasks that ran.
    pub(super) off_cpu: OffCpu,
    /// How many of those live.
    pub(super) living: u32,
    /// One of its tasks, for its name where nothing else tells it.
    pub(super) index: Option<usize>,
}

/// Those of all processes that have time, or a task that is told, sorted by process. Memory is reused.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    list: Vec<Account>,
    /// The place that was looked for last.
    last: usize,
}

impl Accounts {
    /// Begins an interval with the processes that have time, and those of which a task is told.
    pub(super) fn begin<'a>(&mut self, parts: impl Iterator<Item = (&'a TaskId, &'a Parts)>) {
        empty(&mut self.list);
        self.list.extend(parts.map(|(&process, &parts)| Account {
            process,
            parts,
            growth: nothing_used(),
            ahead_ns: Some(0),
            children_ahead_ns: Some(0),
            is_partial: false,
            off_cpu: OffCpu::none(),
            living: 0,
            index: None,
        }));
        self.list.sort_unstable_by_key(|account| account.process);
    }

    /// Leaves those without time out that are not seen: that they did nothing would be untrue.
    pub(super) fn keep(&mut self, mut is_seen: impl FnMut(TaskId) -> bool) {
        self.list.retain(|account| account.parts.total_ns() > 0 || is_seen(account.process));
    }

    pub(super) fn all(&self) -> &[Account] {
        &self.list
    }

    /// Whether a process has time, by its pid alone.
    pub(super) fn has(&self, pid: i32) -> bool {
        self.list.binary_search_by_key(&pid, |account| account.process.tid.0).is_ok()
    }

    /// Whether this process has time.
    pub(super) fn has_process(&self, process: TaskId) -> bool {
        self.list.binary_search_by_key(&process, |account| account.process).is_ok()
    }

    fn find(&mut self, process: TaskId) -> Option<&mut Account> {
        let place = place_along(&self.list, &mut self.last, &process, |account| account.process);
        self.list.get_mut(place).filter(|account| account.process == process)
    }

    /// A task that lives, by its place in the interval.
    pub(super) fn add_living(&mut self, process: TaskId, index: usize) {
        let Some(account) = self.find(process) else { return };
        account.index = Some(index);
        account.living += 1;
    }

    /// What a task of the process grew by; `None`: that is not known, or comes later.
    pub(super) fn add_growth(&mut self, process: TaskId, growth: Option<Growth>) {
        let Some(account) = self.find(process) else { return };
        let ahead_ns = growth.filter(|growth| growth.stolen_ns.is_some()).map(|growth| growth.ahead_ns);
        account.ahead_ns = account.ahead_ns.zip(ahead_ns).map(|(sum, more)| sum + more);
        match growth {
            Some(growth) => account.growth.add(&growth.counters),
            None => account.is_partial = true,
        }
    }

    /// By how much a dead task is ahead whose time the process inherits; `None`: that is not known.
    pub(super) fn inherit(&mut self, heir: TaskId, ahead_ns: Option<i64>) {
        let Some(account) = self.find(heir) else { return };
        account.children_ahead_ns = account.children_ahead_ns.zip(ahead_ns).map(|(sum, more)| sum + more);
    }

    pub(super) fn add_off_cpu(&mut self, process: TaskId, off_cpu: &OffCpu) {
        if let Some(account) = self.find(process) {
            account.off_cpu.add(off_cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::task::Tid;

    fn id(tid: i32) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(1) }
    }

    #[test]
    fn a_process_without_time_has_what_its_tasks_did_off_the_cpu() {
        let nothing = Parts::default();
        let parts = [(id(7), nothing), (id(8), Parts { self_ns: 3, ..nothing }), (id(9), nothing)];
        let mut accounts = Accounts::default();
        accounts.begin(parts.iter().map(|(process, parts)| (process, parts)));
        accounts.keep(|process| process == id(9));
        let unseen = States { elapsed_ns: 12, unseen_ns: 12, ..States::default() };
        let off_cpu = OffCpu { states: Some(unseen), ..OffCpu::none() };
        [7, 8, 9].into_iter().for_each(|pid| accounts.add_off_cpu(id(pid), &off_cpu));
        let told: Vec<_> =
            accounts.all().iter().map(|account| (account.process, account.off_cpu.states)).collect();
        assert_eq!(told, [(id(8), Some(unseen)), (id(9), Some(unseen))], "the kernel hides one of them");
    }
}
