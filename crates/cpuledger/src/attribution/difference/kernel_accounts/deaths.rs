//! Who has been released. The kernel does not say it with a cut: it reports that a task dies, while that still runs.
//!
//! A task that has reported, and has no record at the next cut, was released before: it ran since the last cut, so it would have one. One that has a
//! record is a zombie, or still on its way. A zombie that has no record any more has not run, or was released: it is looked for. Whether one that is
//! gone by then was released before the cut or just after it is seen by what its heir has got.

use cpuledger_model::boottime::Boottime;
use cpuledger_model::task::TaskId;

use super::changes::start_of;
use super::state::{AccountCut, Dying, KernelAccounts, Phase, Told, Verdict, Verdicts};

/// An age in a report is in whole microseconds.
const AGE_SLACK_NS: u64 = 1_000;

/// Whether a death was surely reported before the cut.
fn is_before(at_ns: u64, cut: &AccountCut<'_>) -> bool {
    at_ns + AGE_SLACK_NS < cut.at_ns
}

impl KernelAccounts {
    /// Takes note of the report of a task that dies at that instant, CLOCK_MONOTONIC.
    pub(crate) fn report(&mut self, [pid, tid]: [i32; 2], start: Boottime, at_ns: u64, is_last: bool) {
        let (is_leader, phase) = (pid == tid, Phase::Reported(at_ns));
        if !is_leader {
            self.dying.push(Dying { tid, pid, start: Some(start), is_process: false, phase });
        }
        if is_last {
            if !self.processes.contains_key(&pid) {
                self.suspects.remove(&pid);
            }
            let own = Some(start).filter(|_| is_leader);
            let start = own.or_else(|| self.processes.get(&pid).and_then(|process| process.start));
            self.dying.push(Dying { tid: pid, pid, start, is_process: true, phase });
        } else if is_leader {
            self.suspects.insert(pid);
        }
    }

    /// Takes note of a process that has died, whose report was not seen.
    pub(crate) fn note_zombie(&mut self, pid: i32, start: Boottime) {
        let is_same = |dying: &Dying| dying.is_process && dying.pid == pid;
        if !self.dying.iter().any(is_same) {
            self.dying.push(Dying {
                tid: pid,
                pid,
                start: Some(start),
                is_process: true,
                phase: Phase::Zombie,
            });
        }
    }

    /// Forgets the deaths of tasks that no cut has had, and none will have. `lives` as in [`KernelAccounts::weigh`].
    pub(crate) fn forget_short_lived(&mut self, lives: impl Fn(i32, i32) -> bool) {
        let KernelAccounts { dying, tasks, processes, .. } = self;
        dying.retain(|&Dying { tid, pid, is_process, .. }| {
            let is_known = if is_process { processes.contains_key(&pid) } else { tasks.contains_key(&tid) };
            is_known || lives(pid, tid)
        });
        self.suspects.retain(|&pid| processes.contains_key(&pid) || lives(pid, pid));
    }

    /// Judges who was released by the cut.
    pub(super) fn judge(&mut self, cut: &AccountCut<'_>, lives: &dyn Fn(i32, i32) -> bool) {
        let dying = self.dying.iter().filter(|dying| dying.is_process);
        self.dying_processes.clear();
        self.dying_processes.extend(dying.map(|dying| dying.pid));
        let verdicts = (0..self.dying.len()).map(|index| self.verdict(self.dying[index], cut, lives));
        let of_dying = verdicts.collect();
        self.verdicts = Verdicts { of_dying, ..Verdicts::default() };
        if cut.has_all {
            self.find_missing(cut);
        }
        self.find_replaced(cut);
        self.find_renumbered(cut, lives);
    }

    fn verdict(&mut self, dying: Dying, cut: &AccountCut<'_>, lives: &dyn Fn(i32, i32) -> bool) -> Verdict {
        let Dying { tid, pid, start, is_process, phase } = dying;
        let is_same = |found: Boottime| start.is_none_or(|start| start == found);
        let records = cut.of_process(pid);
        // A process is there as long as any task of it.
        let is_told = match is_process {
            true => !records.is_empty() && start_of(records).is_none_or(is_same),
            false => cut.find(pid, tid).is_some_and(|told| is_same(told.start)),
        };
        if is_told {
            return Verdict::Stays;
        }
        let known = match is_process {
            true => self.processes.get(&pid).and_then(|process| process.start),
            false => self.tasks.get(&tid).filter(|task| task.pid == pid).map(|task| task.start),
        };
        // One that has died after the cut may have been born after it, too. The next one may have it.
        let is_later = matches!(phase, Phase::Reported(at_ns) if !is_before(at_ns, cut));
        if !known.is_some_and(is_same) {
            return if is_later { Verdict::Stays } else { Verdict::Over };
        }
        match phase {
            Phase::Reported(_) if !is_later => return Verdict::Released,
            Phase::Gone => return Verdict::Released,
            _ if cut.has_all => return Verdict::Released,
            // A release is seen at the process, or at the heir.
            Phase::Zombie if !self.is_news(dying, cut) => return Verdict::Stays,
            Phase::Zombie | Phase::Reported(_) => {}
        }
        if lives(pid, tid) { Verdict::Stays } else { Verdict::Perhaps }
    }

    /// Whether there is a record that would say that a zombie was released.
    fn is_news(&mut self, dying: Dying, cut: &AccountCut<'_>) -> bool {
        if !dying.is_process {
            return !cut.of_process(dying.pid).is_empty();
        }
        let id = self.processes.get(&dying.pid).and_then(|process| process.id(dying.pid));
        id.is_none_or(|id| {
            let heir = self.attribution.heir(id);
            // If that is dying, it may have been released, too.
            let pid = heir.tid.0;
            heir == id || !cut.of_process(pid).is_empty() || self.dying_processes.contains(&pid)
        })
    }

    /// What is missing in a cut that has all.
    fn find_missing(&mut self, cut: &AccountCut<'_>) {
        let Verdicts { tasks, processes, .. } = &mut self.verdicts;
        let is_missing = |pid: &&i32| cut.of_process(**pid).is_empty();
        processes.extend(self.processes.keys().filter(is_missing));
        for (&tid, task) in &self.tasks {
            let is_told = cut.find(task.pid, tid).is_some_and(|told| told.start == task.start);
            if !is_told && !cut.of_process(task.pid).is_empty() {
                tasks.push(tid);
            }
        }
    }

    /// Those whose number another one has now.
    fn find_replaced(&mut self, cut: &AccountCut<'_>) {
        for records in cut.told.chunk_by(|one, other| one.pid == other.pid) {
            let Some(first) = records.first() else { continue };
            if self.processes.contains_key(&first.pid) && self.same_process(records).is_none() {
                self.verdicts.processes.push(first.pid);
                continue;
            }
            let is_other = |told: &&Told| {
                let known = self.tasks.get(&told.tid);
                known.is_some_and(|known| known.start != told.start || known.pid != told.pid)
            };
            self.verdicts.tasks.extend(records.iter().filter(is_other).map(|told| told.tid));
        }
    }

    /// Threads that have no number of their own any more. They are taken for released if that fits.
    fn find_renumbered(&mut self, cut: &AccountCut<'_>, lives: &dyn Fn(i32, i32) -> bool) {
        let mut vanished = Vec::new();
        for &pid in &self.suspects {
            let records = cut.of_process(pid);
            let Some(last) = self.same_process(records) else { continue };
            if records.iter().all(|told| told.dead.threads == last.dead.threads) {
                continue;
            }
            let others = last.threads.iter().filter(|&&tid| tid != pid && cut.find(pid, tid).is_none());
            vanished.extend(others.filter(|&&tid| !lives(pid, tid)).map(|&tid| (pid, tid)));
        }
        for (pid, tid) in vanished {
            if self.dying.iter().any(|dying| !dying.is_process && dying.tid == tid) {
                continue;
            }
            let start = self.tasks.get(&tid).map(|task| task.start);
            self.dying.push(Dying { tid, pid, start, is_process: false, phase: Phase::Zombie });
            self.verdicts.of_dying.push(Verdict::Perhaps);
        }
    }

    /// Takes what the released had at the last cut from what was got of them.
    pub(super) fn settle(&mut self, cut: &AccountCut<'_>) {
        for index in 0..self.dying.len() {
            let Dying { tid, pid, is_process, .. } = self.dying[index];
            match self.verdicts.of_dying[index] {
                Verdict::Released if is_process => self.verdicts.processes.push(pid),
                Verdict::Released => self.verdicts.tasks.push(tid),
                Verdict::Stays | Verdict::Perhaps | Verdict::Over => {}
            }
        }
        self.verdicts.processes.sort_unstable();
        self.verdicts.processes.dedup();
        self.verdicts.tasks.sort_unstable();
        self.verdicts.tasks.dedup();
        self.end_released(cut.at_ns);
        for index in 0..self.verdicts.processes.len() {
            self.give_to_heir(self.verdicts.processes[index], false);
        }
        for index in 0..self.verdicts.tasks.len() {
            self.give_to_process(self.verdicts.tasks[index], false);
        }
        let certain = [self.verdicts.processes.len(), self.verdicts.tasks.len()];
        for index in 0..self.dying.len() {
            if self.verdicts.of_dying[index] != Verdict::Perhaps {
                continue;
            }
            let Dying { tid, pid, is_process, .. } = self.dying[index];
            // It is missing, or its number is another's; or it was found as a zombie, and its last thread has reported.
            let Verdicts { processes, tasks, .. } = &self.verdicts;
            let (released, certain) = if is_process { (processes, certain[0]) } else { (tasks, certain[1]) };
            let (certain, perhaps) = released.split_at(certain);
            let is_taken = certain.binary_search(&tid).is_ok() || perhaps.contains(&tid);
            let fits = is_taken
                || if is_process { self.give_to_heir(pid, true) } else { self.give_to_process(tid, true) };
            if fits {
                self.verdicts.of_dying[index] = Verdict::Released;
            }
            if fits && !is_taken {
                if is_process { self.verdicts.processes.push(pid) } else { self.verdicts.tasks.push(tid) }
            }
        }
    }

    /// None of these inherits any more.
    fn end_released(&mut self, at_ns: u64) {
        let perhaps = self.dying.iter().zip(&self.verdicts.of_dying);
        let perhaps = perhaps.filter(|(dying, verdict)| dying.is_process && **verdict == Verdict::Perhaps);
        let released = self.verdicts.processes.iter().copied().chain(perhaps.map(|(dying, _)| dying.pid));
        for pid in released {
            if let Some(id) = self.processes.get(&pid).and_then(|process| process.id(pid)) {
                self.attribution.end(id, at_ns);
            }
        }
    }

    fn heir_of(&mut self, pid: i32) -> Option<TaskId> {
        let id = self.processes.get(&pid)?.id(pid)?;
        Some(self.attribution.heir(id)).filter(|heir| *heir != id)
    }

    /// Takes what a process had at the last cut from what its heir has got. `if_it_fits`: only if that is enough. Returns whether it was taken.
    fn give_to_heir(&mut self, pid: i32, if_it_fits: bool) -> bool {
        let heir = self.heir_of(pid);
        let Some(released) = self.processes.remove(&pid) else { return false };
        let mut is_given = false;
        if let Some(heir) = heir
            && let Some(change) = self.change_of(heir.tid.0).filter(|change| change.id() == Some(heir))
            && (!if_it_fits || change.children.cpu_ns().cast_signed() >= released.left_ns())
        {
            change.inherit(&released);
            is_given = true;
        }
        self.processes.insert(pid, released);
        is_given
    }

    /// Likewise, a thread and its process.
    fn give_to_process(&mut self, tid: i32, if_it_fits: bool) -> bool {
        let Some(task) = self.tasks.get(&tid) else { return false };
        let (pid, used) = (task.pid, task.used);
        let start = self.processes.get(&pid).and_then(|process| process.start);
        let Some(change) = self.change_of(pid) else { return false };
        let is_same =
            change.id().map(|id| id.start_time_ns).zip(start).is_none_or(|(one, other)| one == other);
        let fits = || change.threads.cpu_ns().cast_signed() >= used.cpu_ns().cast_signed();
        if !is_same || (if_it_fits && !fits()) {
            return false;
        }
        change.threads.remove(&used);
        true
    }

    /// Forgets the released, and remembers how far the others are.
    pub(super) fn remove_released(&mut self, cut: &AccountCut<'_>) {
        let Verdicts { of_dying, tasks, processes } = std::mem::take(&mut self.verdicts);
        tasks.into_iter().for_each(|tid| self.remove_task(tid));
        processes.into_iter().for_each(|pid| self.remove_process(pid));
        let mut next = of_dying.into_iter();
        let tells_start = &self.processes;
        self.dying.retain_mut(|dying| {
            let verdict = next.next().unwrap_or(Verdict::Over);
            dying.phase = match (verdict, dying.phase) {
                (Verdict::Perhaps, _) => Phase::Gone,
                // It has run after the cut, so it will have a record, or be released.
                (_, Phase::Reported(at_ns)) if !is_before(at_ns, cut) => Phase::Reported(at_ns),
                _ => Phase::Zombie,
            };
            if dying.is_process && dying.start.is_none() {
                dying.start = tells_start.get(&dying.pid).and_then(|process| process.start);
            }
            matches!(verdict, Verdict::Stays | Verdict::Perhaps)
        });
    }

    fn remove_task(&mut self, tid: i32) {
        let Some(task) = self.tasks.remove(&tid) else { return };
        let has_change = self.change_of(task.pid).is_some();
        let Some(process) = self.processes.get_mut(&task.pid) else { return };
        process.living.remove(&task.used);
        if !has_change {
            process.owed.threads_ns += task.used.cpu_ns().cast_signed();
        }
        let place = task.place as usize;
        if process.threads.get(place) == Some(&tid) {
            process.threads.swap_remove(place);
            if let Some(moved) = process.threads.get(place).and_then(|tid| self.tasks.get_mut(tid)) {
                moved.place = task.place;
            }
        }
    }

    /// What its heir has no record of yet is owed by that.
    fn remove_process(&mut self, pid: i32) {
        let heir = self.heir_of(pid);
        let Some(process) = self.processes.remove(&pid) else { return };
        self.suspects.remove(&pid);
        for tid in &process.threads {
            if self.tasks.get(tid).is_some_and(|task| task.pid == pid) {
                self.tasks.remove(tid);
            }
        }
        let Some(heir) = heir else { return };
        let has_change = self.change_of(heir.tid.0).is_some_and(|change| change.id() == Some(heir));
        let living = self.processes.get_mut(&heir.tid.0).filter(|living| living.id(heir.tid.0) == Some(heir));
        if let Some(living) = living.filter(|_| !has_change) {
            living.owed.children_ns += process.left_ns();
        }
    }
}
