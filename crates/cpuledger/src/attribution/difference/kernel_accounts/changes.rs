//! What each process that has a record grew by.

use cpuledger_model::account::{Dead, Used};
use cpuledger_model::boottime::Boottime;
use cpuledger_model::make;
use cpuledger_model::task::{Pid, TaskId};

use crate::attribution::Parts;

use super::state::{
    AccountCut, Change, Fit, KernelAccounts, LastProcess, LastTask, Owed, Share, Shown, Told,
};

impl Change {
    pub(super) fn id(&self) -> Option<TaskId> {
        Some(TaskId::new(self.pid, self.start?.ns()))
    }

    /// Takes away what a released process has left that was in intervals already.
    pub(super) fn inherit(&mut self, released: &LastProcess) {
        self.children.remove(&released.own());
        self.children.remove(&released.dead.children);
        self.owed.children_ns += released.owed.threads_ns + released.owed.children_ns;
    }

    /// Its own part, that of dead threads, and that of dead children, in time on a CPU. Those of the dead may be less than nothing.
    fn parts_ns(&self) -> [i64; 3] {
        let [own_ns, threads_ns, children_ns] =
            [self.own, self.threads, self.children].map(|used| used.cpu_ns().cast_signed());
        // After an exec by a thread, its own part may be less, and that of dead threads is more.
        let less_ns = own_ns.min(0);
        [own_ns - less_ns, threads_ns + less_ns - self.owed.threads_ns, children_ns - self.owed.children_ns]
    }

    /// The parts as they are told, and what is owed from then on.
    fn told_parts(&self) -> (Parts, Owed) {
        let [own_ns, threads_ns, children_ns] = self.parts_ns();
        let at_least_nothing = |ns: i64| ns.max(0).cast_unsigned();
        let parts = Parts {
            self_ns: at_least_nothing(own_ns),
            exited_threads_ns: at_least_nothing(threads_ns),
            exited_children_ns: at_least_nothing(children_ns),
        };
        (parts, Owed { threads_ns: -threads_ns.min(0), children_ns: -children_ns.min(0) })
    }
}

/// Of growth that is less than nothing, nothing.
pub(super) fn at_least_nothing(used: Used) -> Used {
    let bounded = |ns: u64| ns.cast_signed().max(0).cast_unsigned();
    make!(Used {
        runtime_ns: bounded(used.runtime_ns),
        user_ns: bounded(used.user_ns),
        system_ns: bounded(used.system_ns),
        stolen_ns: bounded(used.stolen_ns),
    })
}

impl KernelAccounts {
    /// The process of these records, as it was at the last cut.
    pub(super) fn same_process(&self, records: &[Told]) -> Option<&LastProcess> {
        let pid = records.first()?.pid;
        let start = start_of(records);
        let is_same = |last: &&LastProcess| last.start.zip(start).is_none_or(|(last, now)| last == now);
        self.processes.get(&pid).filter(is_same)
    }

    /// Finds what each process grew by, without what released ones have left.
    pub(super) fn find_changes(&mut self, cut: &AccountCut<'_>) {
        let mut begin = 0;
        let mut changes = Vec::new();
        for records in cut.told.chunk_by(|one, other| one.pid == other.pid) {
            changes.extend(self.change(records, begin));
            begin += records.len();
        }
        self.changes = changes;
    }

    fn change(&self, records: &[Told], begin: usize) -> Option<Change> {
        let first = records.iter().min_by_key(|told| told.place)?;
        let last = self.same_process(records);
        let mut own = Used::default();
        for told in records {
            own.add(&told.used.since(&self.used_by(told.tid, told.start)));
        }
        let dead = last.map_or(Dead::default(), |last| last.dead);
        Some(Change {
            pid: first.pid,
            start: last.and_then(|last| last.start).or(start_of(records)),
            is_new: last.is_none(),
            told: begin..begin + records.len(),
            dead: first.dead,
            own,
            threads: first.dead.threads.since(&dead.threads),
            children: first.dead.children.since(&dead.children),
            owed: last.map_or(Owed::default(), |last| last.owed),
        })
    }

    pub(super) fn change_of(&mut self, pid: i32) -> Option<&mut Change> {
        let index = self.changes.binary_search_by_key(&pid, |change| change.pid).ok()?;
        self.changes.get_mut(index)
    }

    /// How the changes fit the time there was.
    pub(super) fn fit(&self, cut: &AccountCut<'_>) -> Fit {
        if !self.has_begun {
            return Fit { excess_ns: 0, lacking_ns: 0 };
        }
        let mut fit = Fit { excess_ns: -cut.capacity_ns.cast_signed(), lacking_ns: 0 };
        for change in &self.changes {
            let (parts, owed) = change.told_parts();
            fit.excess_ns = fit.excess_ns.saturating_add_unsigned(parts.total_ns());
            let more_ns =
                owed.threads_ns + owed.children_ns - change.owed.threads_ns - change.owed.children_ns;
            fit.lacking_ns += more_ns.max(0);
        }
        fit
    }

    /// Remembers the records of a process, and returns its share.
    pub(super) fn take_over(&mut self, cut: &AccountCut<'_>, change: &Change) -> Option<Share> {
        let records = cut.told.get(change.told.clone())?;
        let mut process = match change.is_new {
            true => LastProcess::default(),
            false => self.processes.remove(&change.pid).unwrap_or_default(),
        };
        let was_one_task = change.is_new || process.threads.len() == 1;
        process.living.add(&change.own);
        for told in records {
            self.take_over_task(told, &mut process);
        }
        if process.threads.len() <= 1 {
            self.suspects.remove(&change.pid);
        }
        let (parts, owed) = change.told_parts();
        (process.start, process.dead, process.owed) = (change.start, change.dead, owed);
        let share = Share {
            pid: change.pid,
            told: change.told.clone(),
            parts,
            own: at_least_nothing(change.own),
            threads: at_least_nothing(change.threads),
            children: at_least_nothing(change.children),
            total: process.own(),
            is_one_task: was_one_task && process.threads.len() == 1 && change.threads == Used::default(),
            accounting_parent: Some(Pid(change.dead.accounting_parent.cast_signed()))
                .filter(|pid| pid.0 != 0),
        };
        self.processes.insert(change.pid, process);
        Some(share)
    }

    fn take_over_task(&mut self, told: &Told, process: &mut LastProcess) {
        let known = self.tasks.get_mut(&told.tid);
        if let Some(known) = known.filter(|known| known.start == told.start && known.pid == told.pid) {
            known.used = told.used;
            return;
        }
        let place = process.threads.len() as u32;
        process.threads.push(told.tid);
        let (start, pid, used) = (told.start, told.pid, told.used);
        self.tasks.insert(told.tid, LastTask { start, pid, place, used, shown: Shown::default() });
    }
}

/// The start of a process, if its leader has a record.
pub(super) fn start_of(records: &[Told]) -> Option<Boottime> {
    records.iter().find(|told| told.tid == told.pid).map(|leader| leader.start)
}
