//! What accounts have booked in an interval, as rows are made of it.

use cpuledger_model::accounts::Account;
use cpuledger_model::counters::Counters;
use cpuledger_model::disk::{DiskUse, Disks};
use cpuledger_model::field::FieldSet;
use cpuledger_model::make;
use cpuledger_model::traffic::NetworkTotals;
use cpuledger_model::wire::Wire;

use super::waits::Blame;

/// What accounts have booked in a closed interval.
#[derive(Debug, Default)]
pub struct Booked {
    /// The fields of the accounts that were kept for all of it.
    pub(super) known: FieldSet,
    /// By the place of a task among those of the interval, in this order: those with anything.
    pub(super) of_tasks: Vec<(usize, Counters)>,
    /// What all sockets have sent and received.
    pub(super) network: NetworkTotals,
    /// What cgroups sent and received on the wire. `None`: that is not kept.
    pub(super) wire: Option<Wire>,
    /// What has ended for tasks that did not run.
    pub(super) of_others: Vec<Rested>,
    /// `None`: that is not kept.
    pub(super) disks: Option<Disks>,
}

/// What the hooks of an account have booked to a slot.
pub(super) struct Taken<U> {
    pub(super) used: U,
    /// Start of the task that it is of.
    pub(super) owner_ns: u64,
}

/// A task that did not run in the interval, and for which something was booked.
#[derive(Debug, Clone, Copy)]
pub struct Rested {
    /// Its tid and its pid.
    pub ids: [i32; 2],
    /// When it began, and when its process did: CLOCK_BOOTTIME.
    pub starts_ns: [u64; 2],
    /// What was booked.
    pub booked: Counters,
}

impl Booked {
    /// Adds what a task has left that has no row.
    pub(super) fn lose(&mut self, used: &DiskUse) {
        self.disks.iter_mut().for_each(|disks| disks.forgotten.add(used));
    }

    /// An account was kept for all of the interval.
    pub(super) fn know(&mut self, account: Account) {
        self.known = self.known.union(account.fields());
    }

    /// What a task has waited, and made others wait, if that is kept. `place`: as [`Booked::of_task`].
    pub(super) fn blame(&mut self, place: Option<usize>, blame: Option<Blame>) {
        let Some((place, blame)) = place.zip(blame).filter(|(_, blame)| blame.is_some()) else { return };
        if self.of_tasks.last().is_none_or(|(last, _)| *last != place) {
            self.of_tasks.push((place, self.nothing()));
        }
        if let Some((_, counters)) = self.of_tasks.last_mut() {
            blame.store_into(counters);
        }
    }

    /// The fields that are known of each task.
    pub fn known(&self) -> FieldSet {
        self.known
    }

    /// What was booked to the task at this place of [`super::Interval::tasks`].
    pub fn of_task(&self, place: usize) -> Counters {
        let found = self.of_tasks.binary_search_by_key(&place, |(place, _)| *place);
        found.map_or_else(|_| self.nothing(), |found| self.of_tasks[found].1)
    }

    /// What is known of a task that did not run.
    pub fn nothing(&self) -> Counters {
        make!(Counters { known: self.known })
    }

    /// What was booked for tasks that did not run: each waits, or has been woken.
    pub fn of_others(&self) -> &[Rested] {
        &self.of_others
    }

    /// What disks did; `None` while that is not kept.
    pub fn disks(&self) -> Option<&Disks> {
        self.disks.as_ref()
    }

    /// What cgroups sent and received on the wire; `None` while that is not kept.
    pub fn wire(&self) -> Option<&Wire> {
        self.wire.as_ref()
    }

    /// What all sockets of the machine have sent and received; absent while that is not kept.
    pub fn network(&self) -> NetworkTotals {
        self.network
    }
}
