//! The dead of one interval: what each used since the last cut, and which rows of the snapshot are theirs.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use cpuledger_model::boottime::Boottime;
use cpuledger_model::buffer::{Trim, empty};
use cpuledger_model::exit::{Death, Exit, Exits, Fold};
use cpuledger_model::interval::Exited;
use cpuledger_model::make;
use cpuledger_model::task::{Pid, Task, TaskId};
use rustc_hash::FxHashMap;

use crate::attribution::Attribution;

use super::baseline::{Baseline, Last, Life};

/// By how much two clocks of the kernel may disagree on a death, an interrupt between their readings included.
const CLOCK_SLACK_NS: u64 = 10_000_000;

/// Parents of exits without identity; the rest share one entry.
const FOLDS_LIMIT: usize = 1 << 16;

/// Bounds what waits for the end of the interval: exits beyond `limit` lose their identity, not their time, as those
/// do that find the ring of the hook full. To be called whenever exits were added.
///
/// Births beyond it are dropped: then the parent at the fork is not known.
pub fn bound_exits(exits: &mut Exits, limit: usize) {
    exits.births.truncate(limit);
    if exits.exits.len() <= limit && exits.folds.len() <= FOLDS_LIMIT {
        return;
    }
    let beyond = exits.exits.drain(limit.min(exits.exits.len())..);
    let beyond = beyond
        .map(|Death { exit, .. }| make!(Fold { ppid: exit.ppid, exits: 1, runtime_ns: exit.runtime_ns }));
    let mut sums: FxHashMap<Pid, Fold> = FxHashMap::default();
    for fold in exits.folds.drain(..).chain(beyond) {
        let has_room = sums.len() < FOLDS_LIMIT - 1 || sums.contains_key(&fold.ppid);
        let ppid = if has_room { fold.ppid } else { Pid(0) };
        let sum = sums.entry(ppid).or_insert(make!(Fold { ppid, exits: 0, runtime_ns: 0 }));
        sum.exits += fold.exits;
        sum.runtime_ns += fold.runtime_ns;
    }
    exits.folds.extend(sums.into_values());
}

/// A death of this interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) exit: Exit,
    pub(super) at: Boottime,
    pub(super) used_ns: u64,
}

#[derive(Debug, Default)]
pub(super) struct Deaths {
    /// Of this interval.
    pub(super) due: Vec<Due>,
    /// One for each parent.
    pub(super) folds: Vec<Fold>,
    /// The place in `folds` of that of each parent; of pid 0: of those whose parent is not known.
    fold_places: FxHashMap<Pid, usize>,
    /// Died after the cut: they belong to the next interval.
    pending: Vec<Death>,
    /// Index in `due` of the second death under one identity, and whether it may only be a late record of the first.
    second_deaths: Vec<(usize, bool)>,
    /// Index of task and process of each listed task that is both dead and alive.
    pub(super) unclear_rows: Vec<(usize, usize)>,
    /// What may be hidden in a fold: the parent of the process, and what the task had used at the last cut.
    hidden: Vec<(Pid, u64)>,
    /// Threads that left without a record: process, baseline, identity. Filled only if an exec has to be explained.
    vanished: BTreeSet<(Pid, u64, TaskId)>,
    /// When each task of `due` died last. Filled likewise.
    died: FxHashMap<TaskId, Boottime>,
}

impl Deaths {
    /// Takes the exits since the last cut; those after this one wait for the next.
    pub(super) fn take(&mut self, cut: Boottime, exits: &mut Exits) {
        empty(&mut self.due);
        empty(&mut self.folds);
        empty(&mut self.hidden);
        empty(&mut self.second_deaths);
        empty(&mut self.unclear_rows);
        self.vanished.clear();
        self.died.trim();
        self.died.clear();
        self.fold_places.trim();
        self.fold_places.clear();
        for fold in exits.folds.drain(..) {
            let place = *self.fold_places.entry(fold.ppid).or_insert(self.folds.len());
            match self.folds.get_mut(place) {
                Some(sum) => {
                    sum.exits += fold.exits;
                    sum.runtime_ns += fold.runtime_ns;
                }
                None => self.folds.push(fold),
            }
        }
        self.pending.append(&mut exits.exits);
        let due = &mut self.due;
        self.pending.retain(|&Death { exit, at, .. }| {
            if at >= cut {
                return true;
            }
            due.push(Due { exit, at, used_ns: 0 });
            false
        });
        self.pending.trim();
    }

    /// They died before the first cut: what they used is of no interval. That they died counts: others descend from them.
    pub(super) fn forget(&mut self) {
        self.due.iter_mut().for_each(|due| due.used_ns = 0);
        self.second_deaths.clear();
        self.folds.clear();
        self.fold_places.clear();
    }

    /// What each used since the last cut.
    pub(super) fn settle(
        &mut self,
        first_cut: Boottime,
        start_slack_ns: u64,
        baselines: &mut FxHashMap<TaskId, Baseline>,
    ) {
        for (index, death) in self.due.iter_mut().enumerate() {
            let exit = &death.exit;
            match baselines.entry(exit.task) {
                Entry::Occupied(known) if known.get().life == Life::Settled => {
                    self.second_deaths.push((index, false))
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    if known.life == Life::Dead && exit.task == exit.process {
                        self.second_deaths.push((index, true)); // or the first, whose record is late
                    }
                    death.used_ns = exit.runtime_ns.saturating_sub(known.runtime_ns);
                    known.runtime_ns = exit.runtime_ns;
                    known.life = Life::Settled;
                }
                Entry::Vacant(unknown) => {
                    // Born after the last cut, or on its way out at the first, when it was no longer listed.
                    let is_younger = exit.task.start_time_ns.with_slack_ns(start_slack_ns) >= first_cut;
                    death.used_ns = if is_younger { exit.runtime_ns } else { 0 };
                    unknown.insert(Baseline {
                        runtime_ns: exit.runtime_ns,
                        pid: Pid(exit.process.tid.0),
                        seen: 0,
                        counters: u32::MAX,
                        life: Life::Settled,
                    });
                }
            }
        }
    }

    /// Whether there are two tasks under one identity, which only an exec by a thread other than the leader explains:
    /// the leader dies, and the thread takes over its tid and start time.
    pub(super) fn have_exchanges(&self) -> bool {
        !self.second_deaths.is_empty() || !self.unclear_rows.is_empty()
    }

    /// Gathers the threads that left the list without a record: one of them may go on under the identity of a leader.
    pub(super) fn gather_vanished(&mut self, cut: u32, baselines: &FxHashMap<TaskId, Baseline>) {
        let missing = |known: &Baseline| known.seen != cut && known.life == Life::Alive;
        self.vanished.extend(
            baselines
                .iter()
                .filter(|(id, known)| missing(known) && id.tid.0 != known.pid.0)
                .map(|(id, known)| (known.pid, known.runtime_ns, *id)),
        );
        for due in &self.due {
            let died = self.died.entry(due.exit.task).or_insert(due.at);
            *died = due.at.max(*died);
        }
    }

    /// The baseline of the thread that goes on as the leader of `pid` and had used at most `runtime_ns`.
    fn take_vanished(
        &mut self,
        pid: Pid,
        runtime_ns: u64,
        baselines: &mut FxHashMap<TaskId, Baseline>,
    ) -> Option<u64> {
        let [first, behind] =
            [0, runtime_ns.saturating_add(1)].map(|used_ns| (pid, used_ns, TaskId::default()));
        let found = *self.vanished.range(first..behind).next_back()?;
        self.vanished.remove(&found);
        let (_, used_ns, id) = found;
        baselines.remove(&id);
        Some(used_ns)
    }

    /// What the second task under an identity used, where it died in this interval too.
    pub(super) fn settle_second_deaths(&mut self, baselines: &mut FxHashMap<TaskId, Baseline>) {
        while let Some((index, is_late)) = self.second_deaths.pop() {
            let exit = self.due[index].exit;
            let pid = Pid(exit.process.tid.0);
            if let Some(known_ns) = self.take_vanished(pid, exit.runtime_ns, baselines) {
                self.due[index].used_ns = exit.runtime_ns - known_ns;
            } else if !is_late {
                self.due[index].used_ns = exit.runtime_ns; // born after the last cut
            }
        }
    }

    /// What a task used that the list says is alive and a record says is dead. After an exec it is another task (`Some`). Else it died so
    /// close to the cut that the clocks disagree, and its death counts.
    pub(super) fn settle_unclear(
        &mut self,
        row: &Task,
        cut: Boottime,
        baselines: &mut FxHashMap<TaskId, Baseline>,
    ) -> Option<u64> {
        if !row.is_leader() {
            return None;
        }
        let final_ns = baselines.get(&row.id())?.runtime_ns;
        let known_ns = self.take_vanished(row.pid, row.runtime_ns, baselines);
        let died_just_now =
            || self.died.get(&row.id()).is_some_and(|at| at.with_slack_ns(CLOCK_SLACK_NS) >= cut);
        if known_ns.is_none() && row.runtime_ns <= final_ns && died_just_now() {
            return None;
        }
        if let Some(known) = baselines.get_mut(&row.id()) {
            known.runtime_ns = row.runtime_ns;
            known.life = Life::Alive;
        }
        Some(row.runtime_ns - known_ns.unwrap_or(0))
    }

    /// Whether a dead task without a record, of a process of that parent, may be among the exits without identity.
    pub(super) fn may_hide(&self, ppid: Pid) -> bool {
        let holds_deaths =
            |ppid| self.fold_places.get(&ppid).is_some_and(|place| self.folds[*place].exits > 0);
        holds_deaths(ppid) || holds_deaths(Pid(0))
    }

    /// Notes a task that may be in a fold, with what it had used at the last cut.
    pub(super) fn hide(&mut self, ppid: Pid, runtime_ns: u64) {
        self.hidden.push((ppid, runtime_ns));
    }

    /// Folds hold the runtime of whole lives: takes off what the vanished had used at the last cut.
    pub(super) fn settle_folds(
        &mut self,
        cut: u32,
        processes: &[Last],
        baselines: &FxHashMap<TaskId, Baseline>,
    ) {
        if self.folds.is_empty() {
            return;
        }
        for known in baselines.values() {
            if known.seen + 1 != cut || known.life != Life::Alive {
                continue;
            }
            if let Ok(index) = processes.binary_search_by_key(&known.pid, |last| Pid(last.id.tid.0)) {
                self.hidden.push((processes[index].ppid, known.runtime_ns));
            }
        }
        let mut rooms: Vec<u64> = self.folds.iter().map(|fold| fold.exits).collect();
        // First those of a known parent, then the others.
        for is_known in [true, false] {
            self.hidden.retain(|&(ppid, runtime_ns)| {
                let parent = if is_known { ppid } else { Pid(0) };
                let place = self.fold_places.get(&parent).filter(|_| (parent != Pid(0)) == is_known);
                let Some(&place) = place else { return true };
                let (fold, room) = (&mut self.folds[place], &mut rooms[place]);
                let fits = *room > 0 && runtime_ns <= fold.runtime_ns;
                if fits {
                    *room -= 1;
                    fold.runtime_ns -= runtime_ns;
                }
                !fits
            });
        }
    }

    /// The dead of the interval with what they used in it. `lives` says which processes live at the cut.
    pub(super) fn report(
        &self,
        attribution: &mut Attribution,
        lives: impl Fn(TaskId) -> bool,
        into: &mut Vec<Exited>,
    ) {
        // The last death of a process that does not live any more has ended it.
        let last: FxHashMap<TaskId, usize> =
            self.due.iter().enumerate().map(|(index, death)| (death.exit.process, index)).collect();
        into.extend(self.due.iter().enumerate().map(|(index, death)| {
            let process = death.exit.process;
            let heir = attribution.known_heir(process);
            make!(Exited {
                ends_process: Some(last.get(&process) == Some(&index) && !lives(process)),
                exit: death.exit,
                cpu_ns: death.used_ns,
                accounting_parent: heir.map(|heir| Pid(heir.tid.0)),
                accounting_start: heir.map(|heir| heir.start_time_ns),
            })
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60,000 parents, each of which has lost 2 children without identity: it took 7,200,000,000 steps.
    #[test]
    fn what_is_hidden_in_folds_is_found_once() {
        const PARENTS: i32 = 60_000;
        let fold = |ppid| make!(Fold { ppid: Pid(ppid), exits: 1, runtime_ns: 50 });
        let mut exits = Exits::default();
        // Those of one parent come in two parts.
        exits.folds.extend((0..2).flat_map(|_| (1..=PARENTS).map(fold)));
        exits.folds.push(make!(Fold { ppid: Pid(0), exits: 1, runtime_ns: 1_000 }));
        let mut deaths = Deaths::default();
        deaths.take(Boottime::from_ns(1), &mut exits);
        assert_eq!(deaths.folds.len(), PARENTS as usize + 1);
        assert!(
            (-1..=PARENTS).all(|ppid| deaths.may_hide(Pid(ppid))),
            "where one parent is not known, all may"
        );
        for ppid in 1..=PARENTS {
            deaths.hide(Pid(ppid), 20);
            deaths.hide(Pid(ppid), 30);
        }
        // One of another parent, and one that used more than all of that have.
        deaths.hide(Pid(-7), 400);
        deaths.hide(Pid(7), 2_000);
        deaths.settle_folds(9, &[], &FxHashMap::default());
        let (unknown, known) = deaths.folds.split_last().expect("there are some");
        assert!(known.iter().all(|fold| fold.runtime_ns == 50));
        assert_eq!(unknown.runtime_ns, 600);
        assert_eq!(deaths.hidden.len(), 1);
    }
}
