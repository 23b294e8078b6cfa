//! What the dead have not reported. A task reports its death while it runs. The scheduler last counted its time at the last tick, up
//! to 4 ms ago, and the task still needs time to release its memory. But its parent knows. When the parent waits for the child,
//! the kernel adds all that the child has used to the parent's figures in /proc. What these show beyond the reports is time of
//! the dead children of that parent.
//!
//! Both sides are sums over whole lives, and over all descendants of a child: the figures of its parent include what the child had
//! waited for. What has been reported and not been waited for yet is owed. It is set off against what comes, so no time
//! is given twice.

use cpuledger_model::boottime::Boottime;
use cpuledger_model::make;
use cpuledger_model::task::Pid;
use rustc_hash::{FxHashMap, FxHashSet};

use cpuledger_model::exit::Fold;

/// A longer chain of processes that all died since the last time is cut here: the rest waits.
const MAX_GENERATIONS: usize = 64;

/// Parents that are remembered at most; beyond that all are forgotten, and learned anew.
const MOST_PROCESSES: usize = 1 << 18;

/// What /proc says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Said {
    /// CPU time of those it has waited for.
    pub children_ns: u64,
    /// Its start.
    pub start: Boottime,
    /// Where it is dead and not waited for yet: its parent, and at most how much that will get.
    pub zombie: Option<(i32, u64)>,
}

/// A process of which children have died.
#[derive(Debug, Clone, Copy)]
struct Parent {
    said: Said,
    /// Reported, and not yet waited for.
    owed_ns: u64,
}

/// A process that has died.
#[derive(Debug, Clone, Copy)]
struct Dead {
    pid: i32,
    ppid: i32,
    /// What it reported, of all its threads.
    told_ns: u64,
    /// Whether its parent could not be read the last time.
    has_waited: bool,
}

/// The parents, and what has died since they were last asked.
#[derive(Debug, Default)]
pub struct Reaped {
    /// A process that is younger had waited for no child before.
    since: Boottime,
    parents: FxHashMap<i32, Parent>,
    dead: Vec<Dead>,
    asked: FxHashMap<i32, Said>,
}

impl Reaped {
    /// Begins, with what every process says of itself now.
    pub fn begin(now: Boottime, all: impl Iterator<Item = (i32, Said)>) -> Reaped {
        let mut reaped = Reaped { since: now, ..Reaped::default() };
        let mut zombies = Vec::new();
        for (pid, said) in all {
            zombies.extend(said.zombie);
            reaped.parents.insert(pid, Parent { said, owed_ns: 0 });
        }
        for (parent, most_ns) in zombies {
            if let Some(parent) = reaped.parents.get_mut(&parent) {
                parent.owed_ns += most_ns;
            }
        }
        reaped
    }

    /// A process has died.
    pub fn died(&mut self, pid: i32, ppid: i32, told_ns: u64) {
        self.dead.push(Dead { pid, ppid, told_ns, has_waited: false });
    }

    /// What a process says of itself, whether or not a child of it has reported.
    pub fn heard(&mut self, pid: i32, said: Said) {
        self.asked.insert(pid, said);
    }

    /// Those that have reported their deaths.
    pub fn dead(&self) -> FxHashSet<i32> {
        self.dead.iter().map(|dead| dead.pid).collect()
    }

    /// Deaths that are not settled yet.
    pub fn unsettled(&self) -> usize {
        self.dead.len()
    }

    /// Asks the parents of the dead. Each child that they have waited for by now has reported by now: the reports must be read after
    /// this and before [`Reaped::settle`].
    pub fn ask(&mut self, mut say: impl FnMut(i32) -> Option<Said>) {
        for dead in &self.dead {
            if !self.asked.contains_key(&dead.ppid)
                && let Some(said) = say(dead.ppid)
            {
                self.asked.insert(dead.ppid, said);
            }
        }
    }

    /// Appends what the parents that were asked know beyond the reports.
    pub fn settle(&mut self, now: Boottime, into: &mut Vec<Fold>) {
        if self.parents.len() > MOST_PROCESSES {
            self.parents.clear();
            self.since = now;
        }
        let parent_of: FxHashMap<i32, i32> = self.dead.iter().map(|dead| (dead.pid, dead.ppid)).collect();
        let mut told: FxHashMap<i32, u64> = FxHashMap::default();
        let mut rest = Vec::new();
        for dead in std::mem::take(&mut self.dead) {
            let living = self.living_ancestor(&parent_of, dead.ppid);
            let Some(living) = living.filter(|pid| self.asked.contains_key(pid)) else {
                if !dead.has_waited {
                    rest.push(Dead { has_waited: true, ..dead });
                }
                continue;
            };
            // What it had waited for is in the figures of its parent now, and what it owed may be.
            let former = self.parents.remove(&dead.pid);
            let before_ns = former.map_or(0, |parent| parent.said.children_ns + parent.owed_ns);
            *told.entry(living).or_default() += dead.told_ns + before_ns;
        }
        self.dead = rest;
        for (pid, said) in std::mem::take(&mut self.asked) {
            let told_ns = told.get(&pid).copied().unwrap_or(0);
            // One that has died since it was asked is in the sum of its own parent.
            if parent_of.contains_key(&pid) {
                continue;
            }
            let extra_ns = advance(&mut self.parents, self.since, pid, said, told_ns);
            if extra_ns > 0 {
                into.push(make!(Fold { ppid: Pid(pid), exits: 0, runtime_ns: extra_ns }));
            }
        }
    }

    fn living_ancestor(&self, parent_of: &FxHashMap<i32, i32>, ppid: i32) -> Option<i32> {
        let mut pid = ppid;
        for _ in 0..MAX_GENERATIONS {
            match parent_of.get(&pid) {
                Some(&next) => pid = next,
                None => return Some(pid),
            }
        }
        None
    }
}

/// Brings a parent up to date; returns what it knows beyond what was told.
fn advance(parents: &mut FxHashMap<i32, Parent>, since: Boottime, pid: i32, said: Said, told_ns: u64) -> u64 {
    let known = parents.get(&pid).filter(|parent| parent.said.start == said.start);
    let (before_ns, owed_ns) = match known {
        Some(parent) => (parent.said.children_ns, parent.owed_ns),
        None if said.start >= since => (0, 0),
        // It is unknown for which children it waited before.
        None => (said.children_ns, 0),
    };
    let new_ns = said.children_ns.saturating_sub(before_ns);
    let due_ns = told_ns + owed_ns;
    parents.insert(pid, Parent { said, owed_ns: due_ns.saturating_sub(new_ns) });
    new_ns.saturating_sub(due_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ns: u64) -> Boottime {
        Boottime::from_ns(ns)
    }

    fn said(children_ms: u64) -> Said {
        Said { children_ns: children_ms * MS, start: at(5), zombie: None }
    }

    /// What is learned, in milliseconds, by the pid of the parent.
    fn settled(reaped: &mut Reaped) -> Vec<(i32, u64)> {
        let mut folds = Vec::new();
        reaped.settle(at(1_000), &mut folds);
        assert!(folds.iter().all(|fold| fold.exits == 0), "no death is told twice");
        let mut found: Vec<(i32, u64)> =
            folds.iter().map(|fold| (fold.ppid.0, fold.runtime_ns / MS)).collect();
        found.sort_unstable();
        found
    }

    fn reaped() -> Reaped {
        Reaped::begin(at(100), [(1, said(0)), (10, said(1_000))].into_iter())
    }

    #[test]
    fn a_parent_knows_what_its_children_did_not_tell() {
        let mut reaped = reaped();
        reaped.died(20, 10, 50 * MS);
        reaped.died(21, 10, 30 * MS);
        reaped.ask(|pid| (pid == 10).then(|| said(1_100)));
        assert_eq!(settled(&mut reaped), [(10, 20)]);
        reaped.died(22, 10, 30 * MS);
        reaped.ask(|_| Some(said(1_130)));
        assert_eq!(settled(&mut reaped), []);
    }

    #[test]
    fn what_is_not_waited_for_yet_is_set_off_later() {
        let mut reaped = reaped();
        reaped.died(20, 10, 400 * MS);
        reaped.ask(|_| Some(said(1_000)));
        assert_eq!(settled(&mut reaped), [], "a zombie");
        reaped.died(21, 10, 50 * MS);
        reaped.ask(|_| Some(said(1_460)));
        assert_eq!(settled(&mut reaped), [(10, 10)], "both were waited for");
        // A report that came after the parent was asked.
        reaped.died(22, 10, 5 * MS);
        reaped.ask(|_| Some(said(1_467)));
        reaped.died(23, 10, 70 * MS);
        assert_eq!(settled(&mut reaped), []);
        reaped.died(24, 10, 0);
        reaped.ask(|_| Some(said(1_540)));
        assert_eq!(settled(&mut reaped), [(10, 5)], "2 before and 3 now");
    }

    #[test]
    fn figures_of_a_dead_parent_are_in_those_of_its_own() {
        let mut reaped = reaped();
        // 20, which is young, waits for 30, and is not asked for the first time before 31 has died.
        reaped.died(30, 20, 100 * MS);
        reaped.ask(|_| Some(Said { children_ns: 104 * MS, start: at(200), zombie: None }));
        assert_eq!(settled(&mut reaped), [(20, 4)]);
        // It waits for 31 and dies, all since then: 8 for itself and 33 for 31, of which 30 were told.
        reaped.died(31, 20, 30 * MS);
        reaped.died(20, 10, 8 * MS);
        reaped.ask(|pid| (pid == 10).then(|| said(1_000 + 104 + 33 + 8)));
        assert_eq!(settled(&mut reaped), [(10, 3)]);
    }

    #[test]
    fn of_an_older_process_nothing_is_guessed() {
        let mut reaped = reaped();
        reaped.died(20, 11, 50 * MS);
        reaped.ask(|_| Some(said(90_000)));
        assert_eq!(settled(&mut reaped), [], "it was not there when all were asked");
        reaped.died(21, 11, 50 * MS);
        reaped.ask(|_| Some(said(90_060)));
        assert_eq!(settled(&mut reaped), [], "10 less than is owed");
        // The number of 10 is given to another process.
        reaped.died(22, 10, 50 * MS);
        reaped.ask(|_| Some(Said { children_ns: 57 * MS, start: at(300), zombie: None }));
        assert_eq!(settled(&mut reaped), [(10, 7)]);
    }

    #[test]
    fn a_death_before_the_beginning_is_no_news() {
        let zombie = Said { zombie: Some((10, 700 * MS)), ..said(0) };
        let mut reaped = Reaped::begin(at(100), [(20, zombie), (10, said(1_000))].into_iter());
        reaped.died(21, 10, 50 * MS);
        reaped.ask(|_| Some(said(1_000 + 680 + 55)));
        assert_eq!(settled(&mut reaped), []);
    }

    #[test]
    fn too_many_parents_are_forgotten_and_nothing_is_given_twice() {
        let many = (100..).take(MOST_PROCESSES).map(|pid| (pid, said(0)));
        let mut reaped = Reaped::begin(at(100), many.chain([(10, said(1_000))]));
        reaped.died(20, 10, 50 * MS);
        reaped.ask(|_| Some(Said { start: at(200), ..said(1_060) }));
        assert_eq!(settled(&mut reaped), [], "it is older than what is remembered now");
        assert_eq!(reaped.parents.len(), 1);
    }

    #[test]
    fn a_task_that_cannot_be_asked_is_waited_for_once() {
        let mut reaped = reaped();
        reaped.died(20, 12, 50 * MS);
        for _ in 0..2 {
            reaped.ask(|_| None);
            assert_eq!(settled(&mut reaped), []);
        }
        assert!(reaped.dead.is_empty());
        // A circle of reused numbers ends.
        reaped.died(40, 41, 1);
        reaped.died(41, 40, 1);
        reaped.ask(|_| Some(said(0)));
        assert_eq!(settled(&mut reaped), []);
    }
}
