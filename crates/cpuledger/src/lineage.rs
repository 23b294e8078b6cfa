//! Who inherits the time of a dead process: the first living ancestor.

use rustc_hash::FxHashMap;

use crate::clock::Boottime;
use crate::source::Exit;
use crate::task::{Pid, Task, TaskId};

/// A longer chain of processes that all died within two intervals is cut here, and ends with init.
const MAX_GENERATIONS: usize = 1 << 16;

/// The process that inherits from orphans.
const INIT: Pid = Pid(1);

/// The processes at a cut.
pub(crate) struct Household<'a> {
    /// Sorted by pid.
    pub(crate) processes: &'a [Task],
    /// Of each: whether one of its tasks is alive.
    pub(crate) alive: &'a [bool],
    /// Process and parent at the previous cut, sorted by pid.
    pub(crate) before: &'a [(TaskId, Pid)],
}

impl Household<'_> {
    fn index(&self, pid: Pid) -> Option<usize> {
        self.processes.binary_search_by_key(&pid, |row| row.pid).ok()
    }

    /// The process itself if it lives.
    pub(crate) fn living(&self, process: TaskId) -> Option<usize> {
        let index = self.index(Pid(process.tid.0))?;
        (self.alive[index] && self.processes[index].start_time_ns == process.start_time_ns).then_some(index)
    }

    /// Who takes what has no known heir: init, or whoever comes first where init is not in sight.
    pub(crate) fn last_resort(&self) -> Option<usize> {
        self.index(INIT).or(if self.processes.is_empty() { None } else { Some(0) })
    }
}

/// A process that died.
#[derive(Debug, Clone, Copy)]
struct Dead {
    start: Boottime,
    death: Boottime,
    ppid: Pid,
    heir: Option<usize>,
}

/// The dead of this interval and of the one before: a record may arrive one interval after that of the parent.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    now: FxHashMap<Pid, Dead>,
    before: FxHashMap<Pid, Dead>,
    path: Vec<Pid>,
}

impl Lineage {
    /// Forgets the dead of the interval before the last.
    pub(crate) fn open_interval(&mut self) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.before.values_mut().for_each(|dead| dead.heir = None); // an index into rows that are gone
        self.now.clear();
    }

    /// Remembers the parent of a process of which a task died at `death`.
    pub(crate) fn remember(&mut self, process: TaskId, ppid: Pid, death: Boottime) {
        let dead = Dead { start: process.start_time_ns, death, ppid, heir: None };
        // Several tasks of one process: the last to die knows the parent best.
        self.now
            .entry(Pid(process.tid.0))
            .and_modify(|known| {
                if known.death <= death {
                    *known = dead;
                }
            })
            .or_insert(dead);
    }

    /// The heir of a process of which a task died: by the last of its deaths, for the parent of a process may change.
    pub(crate) fn heir_of(
        &mut self,
        household: &Household<'_>,
        exit: &Exit,
        death: Boottime,
    ) -> Option<usize> {
        let pid = Pid(exit.process.tid.0);
        let last = self.now.get(&pid).filter(|dead| dead.start == exit.process.start_time_ns);
        match last.copied() {
            Some(last) => last.heir.or_else(|| self.heir(household, pid, last.death)),
            None => self.heir(household, exit.ppid, death),
        }
    }

    /// The first living ancestor from `ppid` upwards of a process that died at `death`; `None` where no process is
    /// in sight at all.
    ///
    /// Where a link is missing (an ancestor whose record was lost) the chain ends at init: the kernel itself gives
    /// init the orphans.
    pub(crate) fn heir(&mut self, household: &Household<'_>, ppid: Pid, death: Boottime) -> Option<usize> {
        let (mut pid, mut death) = (ppid, death);
        self.path.clear();
        let mut steps = 0;
        let heir = loop {
            steps += 1;
            if steps > MAX_GENERATIONS {
                break household.last_resort();
            }
            // A process that started after the child's death merely has the number of the parent.
            let row = household.index(pid).filter(|&index| household.processes[index].start_time_ns <= death);
            if let Some(index) = row.filter(|&index| household.alive[index]) {
                break Some(index);
            }
            let dead = self.now.get(&pid).or_else(|| self.before.get(&pid));
            if let Some(dead) = dead.filter(|dead| dead.start <= death) {
                if dead.heir.is_some() {
                    break dead.heir;
                }
                self.path.push(pid);
                death = death.max(dead.death);
                pid = dead.ppid;
            } else if let Some(index) = row {
                pid = household.processes[index].ppid;
            } else if let Ok(index) = household.before.binary_search_by_key(&pid, |(id, _)| Pid(id.tid.0)) {
                pid = household.before[index].1;
            } else {
                break household.last_resort();
            }
        };
        for pid in &self.path {
            if let Some(dead) = self.now.get_mut(pid) {
                dead.heir = heir;
            }
        }
        heir
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tid;

    fn at(ns: u64) -> Boottime {
        Boottime::from_ns(ns)
    }

    fn process(pid: i32, ppid: i32, start_time_ns: u64) -> Task {
        Task {
            tid: Tid(pid),
            pid: Pid(pid),
            ppid: Pid(ppid),
            start_time_ns: at(start_time_ns),
            ..Task::default()
        }
    }

    fn id(pid: i32, start_time_ns: u64) -> TaskId {
        TaskId { tid: Tid(pid), start_time_ns: at(start_time_ns) }
    }

    #[test]
    fn the_first_living_ancestor_inherits() {
        let processes = [process(1, 0, 0), process(10, 1, 5), process(20, 10, 6)];
        let household = Household { processes: &processes, alive: &[true, true, false], before: &[] };
        let mut lineage = Lineage::default();
        lineage.remember(id(30, 7), Pid(20), at(50));
        lineage.remember(id(40, 8), Pid(30), at(40));
        // 40 died, its parent 30 too, 20 is a zombie, 10 lives.
        assert_eq!(lineage.heir(&household, Pid(30), at(40)), Some(1));
        assert_eq!(lineage.heir(&household, Pid(40), at(39)), Some(1));
        assert_eq!(lineage.heir(&household, Pid(10), at(39)), Some(1));
    }

    #[test]
    fn a_lost_link_ends_at_init() {
        let processes = [process(1, 0, 0), process(10, 1, 5)];
        let household =
            Household { processes: &processes, alive: &[true, true], before: &[(id(15, 5), Pid(10))] };
        let mut lineage = Lineage::default();
        assert_eq!(lineage.heir(&household, Pid(99), at(40)), Some(0));
        assert_eq!(lineage.heir(&household, Pid(15), at(40)), Some(1), "known from the previous cut");
    }

    #[test]
    fn a_reused_pid_does_not_inherit() {
        let processes = [process(1, 0, 0), process(10, 1, 5), process(20, 10, 90)];
        let household = Household { processes: &processes, alive: &[true; 3], before: &[] };
        let mut lineage = Lineage::default();
        lineage.remember(id(20, 6), Pid(10), at(50));
        assert_eq!(lineage.heir(&household, Pid(20), at(40)), Some(1));
        lineage.open_interval();
        assert_eq!(lineage.heir(&household, Pid(20), at(40)), Some(1), "remembered for one more interval");
        lineage.open_interval();
        assert_eq!(lineage.heir(&household, Pid(20), at(40)), Some(0));
    }

    #[test]
    fn a_circle_ends() {
        let processes = [process(1, 0, 0)];
        let before = [(id(30, 6), Pid(31)), (id(31, 6), Pid(30))];
        let household = Household { processes: &processes, alive: &[true], before: &before };
        let mut lineage = Lineage::default();
        lineage.remember(id(20, 6), Pid(21), at(50));
        lineage.remember(id(21, 6), Pid(20), at(50));
        assert_eq!(lineage.heir(&household, Pid(20), at(40)), Some(0));
        assert_eq!(lineage.heir(&household, Pid(30), at(40)), Some(0));
    }
}
