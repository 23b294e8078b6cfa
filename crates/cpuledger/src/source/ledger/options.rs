//! How large a ledger is.

use cpuledger_bpf::ledger as kernel;

use cpuledger_model::accounts::Accounts;

/// How large a ledger shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Tasks that can be told apart: those that have run since it was attached and are alive, and those that died in the
    /// running interval.
    pub slots: u32,
    /// Whether it is replaced by a larger one, at a cut, when slots run low: up to [`MOST_GROWN_SLOTS`].
    pub may_grow: bool,
    /// Whether it keeps what tasks do while they are on no CPU. Without it the states of all rows are unknown, and a switch costs less.
    pub states: bool,
    /// What it keeps besides, from the first interval on.
    pub accounts: Accounts,
}

/// A ledger that grows by itself stays below 64 MiB of locked memory; while one takes over from another, both are there.
pub const MOST_GROWN_SLOTS: u32 = 131_072;

impl Default for Options {
    fn default() -> Options {
        Options {
            slots: kernel::Options::default().slots,
            may_grow: true,
            states: true,
            accounts: Accounts::NONE,
        }
    }
}

impl Options {
    /// The numbers of slots that a ledger can have.
    pub fn possible_slots() -> std::ops::RangeInclusive<u32> {
        kernel::Options::possible_slots()
    }
}
