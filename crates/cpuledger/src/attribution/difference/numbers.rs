//! Which process had a number at an instant. Snapshots and exits tell parents by their pids, which are used again.

use cpuledger_model::boottime::Boottime;
use cpuledger_model::task::{Pid, Task, TaskId, Tid};

use super::baseline::Last;

/// The process that inherits from orphans.
const INIT: Pid = Pid(1);

/// The processes of a cut, of which a parent can be one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed<'a> {
    /// Sorted by pid.
    pub(super) processes: &'a [Task],
    /// Of each: whether one of its tasks is alive.
    pub(super) alive: &'a [bool],
}

impl Listed<'_> {
    pub(super) fn index(&self, pid: Pid) -> Option<usize> {
        self.processes.binary_search_by_key(&pid, |row| row.pid).ok()
    }

    /// The place of this very process.
    pub(super) fn place(&self, process: TaskId) -> Option<usize> {
        let index = self.index(Pid(process.tid.0))?;
        (self.processes[index].start_time_ns == process.start_time_ns).then_some(index)
    }

    /// Likewise, if it lives.
    pub(super) fn living(&self, process: TaskId) -> Option<usize> {
        self.place(process).filter(|&index| self.alive[index])
    }

    /// The place of the process that takes what has no known heir: init, or the first where init is not in sight.
    pub(super) fn last_resort(&self) -> Option<usize> {
        self.index(INIT).or(if self.processes.is_empty() { None } else { Some(0) })
    }

    /// Its identity.
    pub(super) fn last_resort_id(&self) -> Option<TaskId> {
        self.last_resort().map(|index| process_id(&self.processes[index]))
    }

    /// A process that started after that instant merely has the number.
    fn at(&self, pid: Pid, at: Boottime) -> Option<TaskId> {
        self.index(pid)
            .map(|index| process_id(&self.processes[index]))
            .filter(|process| process.start_time_ns <= at)
    }
}

/// Identity of a process: that of its leader.
pub(super) fn process_id(row: &Task) -> TaskId {
    TaskId { tid: Tid(row.pid.0), start_time_ns: row.start_time_ns }
}

/// The processes that died in this interval and in the one before: the record of a child may come an interval after that of its
/// parent.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Sorted by number and start.
    now: Vec<TaskId>,
    before: Vec<TaskId>,
}

impl Numbers {
    /// Opens an interval with its dead, and forgets those of the interval before the last.
    pub(super) fn open_interval(&mut self, dead: impl Iterator<Item = TaskId>) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        self.now.extend(dead);
        self.now.sort_unstable();
        self.now.dedup();
    }

    /// The process that had the number at that instant, by the list of this cut, the dead, and the list of the last cut (sorted by pid).
    pub(super) fn find(&self, pid: Pid, at: Boottime, listed: Listed<'_>, last: &[Last]) -> Option<TaskId> {
        let of_dead = |dead: &[TaskId]| {
            let end = dead.partition_point(|id| (id.tid.0, id.start_time_ns) <= (pid.0, at));
            end.checked_sub(1).map(|index| dead[index]).filter(|id| id.tid.0 == pid.0)
        };
        let of_last_cut = || {
            let index = last.binary_search_by_key(&pid.0, |last| last.id.tid.0).ok()?;
            Some(last[index].id)
        };
        listed
            .at(pid, at)
            .or_else(|| of_dead(&self.now))
            .or_else(|| of_dead(&self.before))
            .or_else(of_last_cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::make;

    fn at(ns: u64) -> Boottime {
        Boottime::from_ns(ns)
    }

    fn process(pid: i32, start_time_ns: u64) -> Task {
        make!(Task { tid: Tid(pid), pid: Pid(pid), start_time_ns: at(start_time_ns) })
    }

    fn id(pid: i32, start_time_ns: u64) -> TaskId {
        TaskId { tid: Tid(pid), start_time_ns: at(start_time_ns) }
    }

    #[test]
    fn a_number_that_is_used_again_is_told_apart_by_the_time() {
        let processes = [process(1, 0), process(10, 5), process(20, 90)];
        let listed = Listed { processes: &processes, alive: &[true; 3] };
        let mut numbers = Numbers::default();
        numbers.open_interval([id(20, 60), id(20, 6)].into_iter());
        let find = |numbers: &Numbers, pid, when| numbers.find(Pid(pid), at(when), listed, &[]);
        assert_eq!(find(&numbers, 20, 95), Some(id(20, 90)));
        assert_eq!(find(&numbers, 20, 80), Some(id(20, 60)));
        assert_eq!(find(&numbers, 20, 40), Some(id(20, 6)));
        assert_eq!(find(&numbers, 20, 5), None);
        assert_eq!(find(&numbers, 10, 40), Some(id(10, 5)));
        // The dead are known for one more interval.
        numbers.open_interval([].into_iter());
        assert_eq!(find(&numbers, 20, 40), Some(id(20, 6)));
        numbers.open_interval([].into_iter());
        assert_eq!(find(&numbers, 20, 40), None);
        let last = [Last { id: id(20, 6), ppid: Pid(1), has_known_heir: false }];
        assert_eq!(numbers.find(Pid(20), at(40), listed, &last), Some(id(20, 6)));
    }

    #[test]
    fn who_has_no_heir_goes_to_init_or_to_the_first() {
        let processes = [process(1, 0), process(10, 5)];
        let of = |processes| Listed { processes, alive: &[true; 2] }.last_resort();
        assert_eq!((of(&processes), of(&processes[1..]), of(&[])), (Some(0), Some(0), None));
    }

    #[test]
    fn a_zombie_is_in_its_place_and_does_not_live() {
        let processes = [process(1, 0), process(10, 5)];
        let listed = Listed { processes: &processes, alive: &[true, false] };
        assert_eq!(
            (listed.place(id(10, 5)), listed.living(id(10, 5)), listed.place(id(10, 6))),
            (Some(1), None, None)
        );
    }
}
