//! Who waited for a CPU because of whom, in a closed interval.

use cpuledger_model::accounts::Account;
use cpuledger_model::counters::Counters;
use cpuledger_model::pairs::WaitPairs;
use cpuledger_model::waits::WaitTotals;

use crate::abi;

/// What a task waited for a CPU in an interval, and what it made others wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blame {
    /// How long it waited, in nanoseconds.
    pub suffered_ns: u64,
    /// How long others waited for the CPU that it had, in nanoseconds: two that waited for one second count as two.
    pub caused_ns: u64,
}

impl Blame {
    /// Whether there is any.
    pub fn is_some(&self) -> bool {
        self.suffered_ns > 0 || self.caused_ns > 0
    }

    /// Makes the fields of the account those of this.
    pub fn store_into(&self, counters: &mut Counters) {
        counters.wait_suffered_ns = self.suffered_ns;
        counters.wait_caused_ns = self.caused_ns;
        counters.known = counters.known.union(Account::Blame.fields());
    }
}

/// A task that waited for a CPU in an interval and had none.
#[derive(Debug, Clone, Copy)]
pub struct Waited {
    /// Number of its slot.
    pub number: u32,
    /// Its blame.
    pub blame: Blame,
    /// The identity of the task.
    pub slot: abi::cpuledger_slot,
}

/// All waits of an interval.
#[derive(Debug, Clone, Copy)]
pub struct Waits<'a> {
    /// The sums. What is in no row was suffered by tasks without one.
    pub totals: WaitTotals,
    /// Tasks that waited and did not run.
    pub waited: &'a [Waited],
    /// Wake-ups, since the ledger was attached, of tasks that it did not know: those waits are not in the books.
    pub unseen: u64,
    /// Events, since the ledger was attached, that the kernel has not shown: tasks that were found elsewhere than where they waited.
    pub amended: u64,
    /// Which cgroup made which wait; `None`: that is not kept.
    pub pairs: Option<&'a WaitPairs>,
    /// By how much the books of pairs differed from those of blame, in nanoseconds. It is 0 where the kernel shows all events.
    pub pairs_off_ns: u64,
    /// CPUs whose number of waiters is not that of the tasks that wait for it. It is 0 where the kernel shows all events.
    pub miscounted_cpus: u32,
}
