//! Who waited for a CPU because of whom, in a closed interval.

use cpuledger_model::accounts::Account;
use cpuledger_model::counters::Counters;
use cpuledger_model::make;
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

/// All waits of an interval. What was suffered is equal to what was caused.
#[derive(Debug, Clone, Copy)]
pub struct Waits<'a> {
    /// Σ over tasks of what they waited, in nanoseconds.
    pub suffered_ns: u64,
    /// The part of it in which a task with a row had the CPU.
    pub tasks_ns: u64,
    /// In which a task without a slot had it.
    pub no_slot_ns: u64,
    /// In which the CPU was idle.
    pub idle_ns: u64,
    /// In which the task could not run because its cgroup had used up its quota when it left the CPU.
    pub quota_ns: u64,
    /// In which the task that had the CPU was interrupted. `None`: the kernel does not tell it.
    pub interrupts_ns: Option<u64>,
    /// In which the hypervisor had the CPU. `None`: the kernel does not tell it.
    pub stolen_ns: Option<u64>,
    /// What was suffered by tasks that have no row, in nanoseconds.
    pub strays_suffered_ns: u64,
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

impl Waits<'_> {
    /// What was caused.
    pub fn caused_ns(&self) -> u64 {
        let taken_ns = self.interrupts_ns.unwrap_or(0) + self.stolen_ns.unwrap_or(0);
        self.tasks_ns + self.no_slot_ns + self.idle_ns + self.quota_ns + taken_ns
    }

    /// The sums.
    pub fn totals(&self) -> WaitTotals {
        make!(WaitTotals {
            suffered_ns: Some(self.suffered_ns),
            tasks_ns: Some(self.tasks_ns),
            no_slot_ns: Some(self.no_slot_ns),
            idle_ns: Some(self.idle_ns),
            quota_ns: Some(self.quota_ns),
            interrupts_ns: self.interrupts_ns,
            stolen_ns: self.stolen_ns,
            unattributed_suffered_ns: Some(self.strays_suffered_ns),
        })
    }

    /// What was suffered less what was caused: 0.
    pub fn imbalance_ns(&self) -> i128 {
        i128::from(self.suffered_ns) - i128::from(self.caused_ns())
    }
}
