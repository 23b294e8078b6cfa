//! How large a ledger is, what it keeps, and what its reader remembers.

use cpuledger_model::accounts::{Account, Accounts};
use serde::{Deserialize, Serialize};

use crate::abi;

use super::{blame, pairs};

/// How large a ledger shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Tasks that can be told apart: those that have run since the ledger was attached and are alive, and those that died
    /// in the running interval. Between `CPULEDGER_MIN_SLOTS` and `CPULEDGER_MAX_SLOTS`. Unless stated,
    /// `CPULEDGER_DEFAULT_SLOTS`: as many as 16 MiB of locked memory hold.
    pub slots: u32,
    /// Whether to keep what tasks do while they are on no CPU.
    pub off: bool,
    /// What else to keep from the first interval on: [`super::Ledger::keep`] changes it, but for [`Account::Blame`] and [`Account::Pairs`], which are parts of the hooks of a switch.
    pub accounts: Accounts,
}

impl Default for Options {
    fn default() -> Options {
        Options::DEFAULT
    }
}

const _: () = assert!(
    Options::DEFAULT.locked_bytes(512) < 16 * 1024 * 1024,
    "on 512 CPUs the default ledger locks 16 MiB or more: lower CPULEDGER_DEFAULT_SLOTS of abi.h"
);

impl Options {
    const DEFAULT: Options =
        Options { slots: abi::CPULEDGER_DEFAULT_SLOTS, off: true, accounts: Accounts::NONE };

    /// The numbers of slots that a ledger can have.
    pub fn possible_slots() -> std::ops::RangeInclusive<u32> {
        abi::CPULEDGER_MIN_SLOTS..=abi::CPULEDGER_MAX_SLOTS
    }

    /// Kernel memory that a ledger of this size locks, in bytes, on a machine whose CPUs have numbers below `cpu_ids`.
    pub const fn locked_bytes(&self, cpu_ids: u32) -> u64 {
        let of_slot = size_of::<abi::cpuledger_slot>()
            + size_of::<abi::cpuledger_slot_rest>()
            + size_of::<abi::cpuledger_slot_off>();
        self.slots as u64 * of_slot as u64
            + 2 * self.places(cpu_ids) as u64 * size_of::<u64>() as u64
            + self.buckets() as u64 * size_of::<abi::cpuledger_bucket>() as u64
            + cpu_ids as u64 * size_of::<abi::cpuledger_cpu>() as u64
            + size_of::<abi::cpuledger_control>() as u64
            + if self.has_blame() {
                blame::locked_bytes(self.slots, cpu_ids, self.places(cpu_ids))
            } else {
                0
            }
            + if self.has_pairs() { pairs::locked_bytes(cpu_ids) } else { 0 }
    }

    /// Whether to keep who waits for a CPU because of whom.
    pub(super) const fn has_blame(&self) -> bool {
        self.accounts.whole().contains(Account::Blame)
    }

    /// Whether to keep which cgroup makes which wait, too.
    pub(super) const fn has_pairs(&self) -> bool {
        self.accounts.contains(Account::Pairs)
    }

    /// Fewer free slots are few: the dead are folded.
    pub(super) fn low_slots(&self) -> u32 {
        self.slots / abi::CPULEDGER_LOW_SLOTS_SHARE
    }

    /// Free slots that a CPU takes or gives back at once.
    pub(super) fn slot_batch(&self, possible_cpus: u32) -> u32 {
        if self.slots < abi::CPULEDGER_LEAST_BATCHED_SLOTS {
            return 1;
        }
        let most = self.slots / abi::CPULEDGER_BATCHED_SLOTS_SHARE / possible_cpus;
        most.clamp(1, abi::CPULEDGER_SLOT_BATCH)
    }

    /// Places on the list of an interval: each CPU may leave a part of the last ones it has reserved, and most of those for the task
    /// that had it when it went offline.
    pub(super) const fn places(&self, possible_cpus: u32) -> u32 {
        let batch = abi::CPULEDGER_LIST_BATCH;
        self.slots.next_multiple_of(batch) + 2 * possible_cpus * batch
    }

    /// Buckets of the index of tids: at most half of their entries are ever used.
    pub(super) const fn buckets(&self) -> u32 {
        (2 * self.slots / abi::CPULEDGER_BUCKET_ENTRIES).next_power_of_two()
    }
}

/// What a reader remembers between two cuts, besides the shared records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub(super) options: Options,
    /// Whether a hook tells when a CPU goes offline.
    pub(super) is_watching_cpus: bool,
    pub(super) interval: u64,
    pub(super) start_ns: u64,
    /// When the running interval ends, if that was chosen already.
    pub(super) published_ns: Option<u64>,
    /// By CPU number: the word that the reader wrote last. Only for another reader.
    pub(super) written: Vec<u64>,
    /// Slots of the dead that do not fill a batch.
    pub(super) freed: Vec<u32>,
    /// Places that were reserved on the lists of all closed intervals.
    pub(super) reserved: u64,
    /// Slots of tasks that waited for a CPU at the last cut, where that is kept. Only for another reader.
    #[serde(default)]
    pub(super) waiters: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::Options;
    use crate::abi;

    #[test]
    fn batches_are_whole_on_large_machines_and_leave_small_ledgers_their_slots() {
        let batch = |slots, cpus| Options { slots, ..Options::default() }.slot_batch(cpus);
        assert_eq!(batch(Options::default().slots, 64), abi::CPULEDGER_SLOT_BATCH);
        assert_eq!(batch(Options::default().slots, 1024), 2);
        assert_eq!(batch(abi::CPULEDGER_LEAST_BATCHED_SLOTS, 2), abi::CPULEDGER_SLOT_BATCH);
        assert_eq!(batch(abi::CPULEDGER_LEAST_BATCHED_SLOTS - 1, 2), 1);
    }
}
