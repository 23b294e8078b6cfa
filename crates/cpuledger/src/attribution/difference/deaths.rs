//! The dead of one interval: what each used since the last cut, and which rows of the snapshot are theirs.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::attribution::Attribution;
use crate::clock::Boottime;
use crate::exit::{Death, Exit, Exits, Fold};
use crate::interval::Exited;
use crate::task::{Pid, Task, TaskId};

use super::baseline::{Baseline, Last, Life};

/// By how much two clocks of the kernel may disagree on a death, an interrupt between their readings included.
const CLOCK_SLACK_NS: u64 = 10_000_000;

/// Exits of one interval that keep their identity: at 3,000 a second, those of 87 s, in some 40 MB.
pub const EXITS_LIMIT: usize = 1 << 18;

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
    let beyond =
        beyond.map(|Death { exit, .. }| Fold { ppid: exit.ppid, exits: 1, runtime_ns: exit.runtime_ns });
    let mut sums: FxHashMap<Pid, Fold> = FxHashMap::default();
    for fold in exits.folds.drain(..).chain(beyond) {
        let has_room = sums.len() < FOLDS_LIMIT - 1 || sums.contains_key(&fold.ppid);
        let ppid = if has_room { fold.ppid } else { Pid(0) };
        let sum = sums.entry(ppid).or_insert(Fold { ppid, exits: 0, runtime_ns: 0 });
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
    pub(super) folds: Vec<Fold>,
    /// Died after the cut: they belong to the next interval.
    pending: Vec<Death>,
    /// Index in `due` of the second death under one identity, and whether it may only be a late record of the first.
    second_deaths: Vec<(usize, bool)>,
    /// Index of task and process of each listed task that is both dead and alive.
    pub(super) unclear_rows: Vec<(usize, usize)>,
    /// What may be hidden in a fold: the parent of the process, and what the task had used at the last cut.
    hidden: Vec<(Pid, u64)>,
    /// Threads that left without a record: process, identity, baseline. Filled only if an exec has to be explained.
    vanished: Vec<(Pid, TaskId, u64)>,
}

impl Deaths {
    /// Takes the exits since the last cut; those after this one wait for the next.
    pub(super) fn take(&mut self, cut: Boottime, exits: &mut Exits) {
        self.due.clear();
        self.folds.clear();
        self.hidden.clear();
        self.vanished.clear();
        self.second_deaths.clear();
        self.unclear_rows.clear();
        self.folds.append(&mut exits.folds);
        self.pending.append(&mut exits.exits);
        let due = &mut self.due;
        self.pending.retain(|&Death { exit, at }| {
            if at >= cut {
                return true;
            }
            due.push(Due { exit, at, used_ns: 0 });
            false
        });
    }

    /// They died before the first cut: what they used is of no interval. That they died counts: others descend from them.
    pub(super) fn forget(&mut self) {
        self.due.iter_mut().for_each(|due| due.used_ns = 0);
        self.second_deaths.clear();
        self.folds.clear();
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
                .map(|(id, known)| (known.pid, *id, known.runtime_ns)),
        );
        self.vanished.sort_unstable_by_key(|&(pid, id, runtime_ns)| (pid, runtime_ns, id));
    }

    /// The baseline of the thread that goes on as the leader of `pid` and had used at most `runtime_ns`.
    fn take_vanished(
        &mut self,
        pid: Pid,
        runtime_ns: u64,
        baselines: &mut FxHashMap<TaskId, Baseline>,
    ) -> Option<u64> {
        let end = self.vanished.partition_point(|&(other, _, used_ns)| (other, used_ns) <= (pid, runtime_ns));
        let index = end.checked_sub(1).filter(|&index| self.vanished[index].0 == pid)?;
        let (_, id, used_ns) = self.vanished.remove(index);
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
        let died_just_now = || {
            let is_same =
                |due: &Due| due.exit.task == row.id() && due.at.with_slack_ns(CLOCK_SLACK_NS) >= cut;
            self.due.iter().any(is_same)
        };
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
        let holds_deaths = |fold: &&Fold| fold.exits > 0;
        self.folds.iter().filter(holds_deaths).any(|fold| fold.ppid == ppid || fold.ppid == Pid(0))
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
        // First those of a known parent, then the others.
        for is_known in [true, false] {
            for fold in self.folds.iter_mut().filter(|fold| (fold.ppid != Pid(0)) == is_known) {
                let mut room = fold.exits;
                self.hidden.retain(|&(ppid, runtime_ns)| {
                    let fits = room > 0 && runtime_ns <= fold.runtime_ns && (ppid == fold.ppid || !is_known);
                    if fits {
                        room -= 1;
                        fold.runtime_ns -= runtime_ns;
                    }
                    !fits
                });
            }
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
            Exited {
                ends_process: Some(last.get(&process) == Some(&index) && !lives(process)),
                exit: death.exit,
                cpu_ns: death.used_ns,
                accounting_parent: heir.map(|heir| Pid(heir.tid.0)),
                accounting_start: heir.map(|heir| heir.start_time_ns),
                ..Exited::default()
            }
        }));
    }
}
