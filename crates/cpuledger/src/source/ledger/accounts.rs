//! What each process is told of an interval, while it is added up from its tasks.

use cpuledger_model::buffer::empty;
use cpuledger_model::counters::Counters;
use cpuledger_model::field::Field;
use cpuledger_model::interval::{Divided, Division};
use cpuledger_model::make;
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
        self.states = sum_of(self.states, more.states, States::add);
        self.at_start = sum_of(self.at_start, more.at_start, OffTasks::add);
        self.at_end = sum_of(self.at_end, more.at_end, OffTasks::add);
    }

    /// That of tasks that have not run for this time.
    pub(super) fn of_idle(tasks: OffTasks, ns: u64) -> OffCpu {
        OffCpu { states: Some(tasks.rest_for(ns)), at_start: Some(tasks), at_end: Some(tasks) }
    }
}

/// What two did; `None`: it is not known of one of them.
pub(super) fn sum_of<T>(sum: Option<T>, more: Option<T>, add: fn(&mut T, &T)) -> Option<T> {
    let (mut sum, more) = sum.zip(more)?;
    add(&mut sum, &more);
    Some(sum)
}

/// What of the time of tasks was user time, and by how much their time on a CPU grew more than their runtime; `None`: it is not known of one of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaskDivision {
    pub(super) user_ns: Option<u64>,
    pub(super) ahead_ns: Option<i64>,
}

impl TaskDivision {
    /// Of no task.
    const NOTHING: TaskDivision = TaskDivision { user_ns: Some(0), ahead_ns: Some(0) };
    pub(super) const UNKNOWN: TaskDivision = TaskDivision { user_ns: None, ahead_ns: None };

    /// Of one task, which had a CPU for that long.
    pub(super) fn of(growth: &Growth, wall_ns: u64) -> TaskDivision {
        let Growth { counters, stolen_ns, ahead_ns, .. } = *growth;
        let is_known = counters.known.contains(Field::User) && counters.known.contains(Field::System);
        let ahead_ns = stolen_ns.map(|_| ahead_ns);
        let user_ns = |ahead_ns: i64| {
            let stolen_ns = ahead_ns.max(0).cast_unsigned();
            Divided::by_counts(wall_ns, stolen_ns, counters.user_ns, counters.system_ns).user_ns
        };
        TaskDivision { user_ns: ahead_ns.filter(|_| is_known).map(user_ns), ahead_ns }
    }

    fn add(&mut self, more: TaskDivision) {
        self.user_ns = self.user_ns.zip(more.user_ns).map(|(sum, more)| sum + more);
        self.ahead_ns = self.ahead_ns.zip(more.ahead_ns).map(|(sum, more)| sum + more);
    }
}

/// Whose time of a process it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Its living tasks.
    Own,
    /// Those that died.
    DeadThreads,
    /// The dead that it inherits from.
    DeadChildren,
}

/// A process of the interval in the making.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) process: TaskId,
    pub(super) parts: Parts,
    pub(super) growth: Counters,
    /// How the time of each [`Of`] divides.
    divisions: [TaskDivision; 3],
    /// What accounts have booked to its tasks, and to the dead that it inherits from.
    pub(super) booked: Counters,
    /// Whether a task of it ran and nothing tells what its figures grew by: then they are not known of the process.
    pub(super) is_partial: bool,
    /// Of its tasks that ran.
    pub(super) off_cpu: OffCpu,
    /// How many of those live.
    pub(super) living: u32,
    /// One of its tasks, for its name where nothing else tells it.
    pub(super) index: Option<usize>,
}

impl Account {
    /// By how much the time of its tasks on a CPU grew more than their runtime, and that of the dead that it inherits from; `None`: it is not known.
    pub(super) fn ahead_ns(&self) -> [Option<i64>; 2] {
        let [own, dead_threads, dead_children] = self.divisions.map(|of| of.ahead_ns);
        [own.zip(dead_threads).map(|(own, dead)| own + dead), dead_children]
    }

    /// How its parts divide, if that much was stolen of its tasks.
    pub(super) fn division(&self, stolen_ns: u64) -> Division {
        let threads_stolen_ns = |(_, ahead_ns): (i64, i64)| {
            let most_ns = stolen_ns.min(self.parts.exited_threads_ns);
            // What is not of these is of the living, and not more than they have.
            ahead_ns.max(0).cast_unsigned().min(most_ns).max(stolen_ns.saturating_sub(self.parts.self_ns))
        };
        let [own, dead_threads, dead_children] = self.divisions;
        make!(Division {
            self_user_ns: own.user_ns,
            exited_threads_user_ns: dead_threads.user_ns,
            exited_threads_stolen_ns: own.ahead_ns.zip(dead_threads.ahead_ns).map(threads_stolen_ns),
            exited_children_user_ns: dead_children.user_ns,
        })
    }
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
    pub(super) fn begin<'a>(
        &mut self,
        parts: impl Iterator<Item = (&'a TaskId, &'a Parts)>,
        nothing_booked: Counters,
    ) {
        empty(&mut self.list);
        self.list.extend(parts.map(|(&process, &parts)| Account {
            process,
            parts,
            growth: nothing_used(),
            divisions: [TaskDivision::NOTHING; 3],
            booked: nothing_booked,
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

    /// What a task grew by, and how its time divides; `None`: that is not known, or comes later.
    pub(super) fn add_growth(
        &mut self,
        process: TaskId,
        of: Of,
        growth: Option<&Growth>,
        division: TaskDivision,
    ) {
        let Some(account) = self.find(process) else { return };
        account.divisions[of as usize].add(division);
        match growth {
            Some(growth) => account.growth.add(&growth.counters),
            None => account.is_partial = true,
        }
    }

    /// How the time of a dead task divides that the process inherits.
    pub(super) fn inherit(&mut self, heir: TaskId, division: TaskDivision) {
        if let Some(account) = self.find(heir) {
            account.divisions[Of::DeadChildren as usize].add(division);
        }
    }

    /// What accounts have booked to a task of the process, or to one that it inherits from. Returns whether the process is there.
    pub(super) fn book(&mut self, process: TaskId, booked: &Counters) -> bool {
        let account = self.find(process);
        let is_there = account.is_some();
        account.into_iter().for_each(|account| account.booked.add(booked));
        is_there
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
        accounts.begin(parts.iter().map(|(process, parts)| (process, parts)), Counters::default());
        accounts.keep(|process| process == id(9));
        let unseen = make!(States { elapsed_ns: 12, unseen_ns: 12 });
        let off_cpu = OffCpu { states: Some(unseen), ..OffCpu::none() };
        [7, 8, 9].into_iter().for_each(|pid| accounts.add_off_cpu(id(pid), &off_cpu));
        let told: Vec<_> =
            accounts.all().iter().map(|account| (account.process, account.off_cpu.states)).collect();
        assert_eq!(told, [(id(8), Some(unseen)), (id(9), Some(unseen))], "the kernel hides one of them");
    }
}
