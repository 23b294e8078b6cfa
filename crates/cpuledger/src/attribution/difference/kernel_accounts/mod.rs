//! The books where the kernel keeps account of the dead, and reports what ran. Pure algebra, no kernel.
//!
//! Each cut has a record of every task that ran since the last one, and is not released. What its process got from dead threads and from dead
//! processes is in that record too. So the share of a process is what these three grew by: *self*, *exited threads*, *exited children*. A
//! thread that is released has left all it used to its process, also what it had at the last cut, which was in the intervals before. That is
//! taken away again, and likewise what a released process had from what its heir got. Hence all shares together are what was used.
//!
//! The kernel says which accounts can have grown, so nothing here visits what did not run, apart from a cut that has all tasks. A report of a
//! death says who may be gone; nothing else is taken from it. A zombie has not been released, so it is a process like others, and its time is
//! still its own.
//!
//! The kernel reads records in batches, while tasks are released. A part can therefore be less than nothing for an interval. Then it is 0, and
//! the next intervals make up for it.

mod changes;
mod deaths;
mod state;

use cpuledger_model::account::Used;
use cpuledger_model::boottime::Boottime;
use cpuledger_model::buffer::Trim;

use changes::at_least_nothing;
pub(crate) use state::{AccountCut, Fit, KernelAccounts, Share, Shown, Told};
use state::{LastProcess, LastTask};

impl KernelAccounts {
    /// Tasks that are known.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The start of a process, if it is known.
    pub(crate) fn start_of(&self, pid: i32) -> Option<Boottime> {
        self.processes.get(&pid)?.start
    }

    /// How many deaths wait to be settled.
    pub(crate) fn dying(&self) -> usize {
        self.dying.len()
    }

    pub(crate) fn task_mut(&mut self, tid: i32) -> Option<&mut LastTask> {
        self.tasks.get_mut(&tid)
    }

    pub(crate) fn process_mut(&mut self, pid: i32) -> Option<&mut LastProcess> {
        self.processes.get_mut(&pid)
    }

    /// What a task had used at the last cut, if this is the same one.
    pub(crate) fn used_by(&self, tid: i32, start: Boottime) -> Used {
        self.tasks.get(&tid).filter(|last| last.start == start).map_or(Used::default(), |last| last.used)
    }

    /// Begins with the next cut, which has to have all tasks. Deaths that were reported stay known: their tasks may be among these.
    pub(crate) fn begin_anew(&mut self) {
        let (dying, suspects) = (std::mem::take(&mut self.dying), std::mem::take(&mut self.suspects));
        *self = KernelAccounts { dying, suspects, ..KernelAccounts::default() };
    }

    /// Weighs a cut. `lives` says whether a task is there now, by its process and its number. Nothing has changed until it is taken over by
    /// [`KernelAccounts::close`], so another cut can be weighed in its place.
    pub(crate) fn weigh(&mut self, cut: &AccountCut<'_>, lives: impl Fn(i32, i32) -> bool) -> Fit {
        self.judge(cut, &lives);
        self.find_changes(cut);
        self.settle(cut);
        self.fit(cut)
    }

    /// Closes the interval with the cut that was weighed last: the share of each process that has a record, and the growth of each record. The
    /// first cut only opens one.
    pub(crate) fn close(&mut self, cut: &AccountCut<'_>, shares: &mut Vec<Share>, growth: &mut Vec<Used>) {
        shares.clear();
        growth.clear();
        let grown = cut.told.iter().map(|told| told.used.since(&self.used_by(told.tid, told.start)));
        growth.extend(grown.map(at_least_nothing));
        self.remove_released(cut);
        for change in std::mem::take(&mut self.changes) {
            let share = self.take_over(cut, &change);
            shares.extend(share.filter(|_| self.has_begun));
        }
        self.link(cut);
        self.attribution.forget(cut.at_ns);
        self.has_begun = true;
        self.tasks.trim();
        self.processes.trim();
    }

    /// Tells the engine the accounting parents of those that have a record.
    fn link(&mut self, cut: &AccountCut<'_>) {
        let id_of = |pid: i32| self.processes.get(&pid).and_then(|process| process.id(pid));
        for told in cut.told.chunk_by(|one, other| one.pid == other.pid).filter_map(|records| records.first())
        {
            let parent = told.dead.accounting_parent.cast_signed();
            if let Some((process, parent)) =
                id_of(told.pid).zip(id_of(parent)).filter(|(one, other)| one != other)
            {
                self.attribution.add(process, parent);
            }
        }
    }
}

#[cfg(test)]
mod tests;
