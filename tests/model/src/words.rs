//! The words that hook and reader exchange. Every number in them is the one of `bpf/abi.h`.

use cpuledger_bpf::abi;

/// The slot number of the idle task of each CPU.
pub const IDLE: u64 = abi::CPULEDGER_SLOT_IDLE as u64;

/// The slot number of a task that found no slot.
pub const NO_SLOT: u64 = abi::CPULEDGER_SLOT_NONE as u64;

/// In `current`: the slot is the leader's, for a thread that found none.
pub const OF_LEADER: u64 = abi::CPULEDGER_CURRENT_OF_LEADER as u64;

/// The first slot number that is a task's.
pub const FIRST_SLOT: u64 = abi::CPULEDGER_SLOT_FIRST as u64;

/// In a link to a free slot: it and those after it were never used.
pub const RUN: u64 = abi::CPULEDGER_FREE_RUN as u64;

/// The number of the first interval.
pub const FIRST_INTERVAL: u64 = abi::CPULEDGER_FIRST_INTERVAL as u64;

/// Places for the ends of intervals.
pub const CUTS: usize = abi::CPULEDGER_CUTS as usize;

/// In a `run` word: which entry of `current` is running.
pub const PARITY: u64 = abi::CPULEDGER_RUN_PARITY as u64;

/// In a `run` word: the CPU is online, and no hook has seen yet what runs there.
pub const UNCOVERED: u64 = abi::CPULEDGER_RUN_UNCOVERED as u64;

/// In a `run` word: the CPU is offline.
pub const OFFLINE: u64 = abi::CPULEDGER_RUN_OFFLINE as u64;

/// In a `run` word: one of the two, so that the CPU is not in the books.
pub const OUT: u64 = abi::CPULEDGER_RUN_OUT as u64;

/// In a cut: the reader has published it early enough.
pub const CONFIRMED: u64 = abi::CPULEDGER_CUT_CONFIRMED as u64;

/// The end of an interval that has none yet, as `ledger.bpf.c` has it.
pub const NO_CUT: u64 = u64::MAX >> abi::CPULEDGER_CUT_SHIFT;

/// A cut that a hook has voided: it is [`NO_CUT`] and confirmed.
pub const VOID_CUT: u64 = u64::MAX;

/// In the flags of a slot: its task has died.
pub const EXITED: u64 = abi::CPULEDGER_SLOT_EXITED as u64;

/// In the flags of a slot: it stands for its process until the cut.
pub const COLLECTS: u64 = abi::CPULEDGER_SLOT_COLLECTS as u64;

/// Attempts of the hook to change `run`.
pub const RUN_ATTEMPTS: u32 = abi::CPULEDGER_RUN_ATTEMPTS;

/// Attempts to take or give back a slot.
pub const FREE_ATTEMPTS: u32 = abi::CPULEDGER_FREE_ATTEMPTS;

const _: () = assert!(PARITY + OUT < 1 << abi::CPULEDGER_RUN_SHIFT, "the bits of `run` are below its time");
const _: () = assert!(CONFIRMED < 1 << abi::CPULEDGER_CUT_SHIFT, "the bit of a cut is below its time");
const _: () = assert!(VOID_CUT & CONFIRMED != 0 && VOID_CUT >> abi::CPULEDGER_CUT_SHIFT == NO_CUT);

/// A `run` word.
#[must_use]
pub fn run_word(start_ns: u64, bits: u64) -> u64 {
    start_ns << abi::CPULEDGER_RUN_SHIFT | bits
}

/// When the segment of a `run` word began.
#[must_use]
pub fn start_ns(run: u64) -> u64 {
    run >> abi::CPULEDGER_RUN_SHIFT
}

/// A cut that is proposed and not yet confirmed.
#[must_use]
pub fn proposed(cut_ns: u64) -> u64 {
    cut_ns << abi::CPULEDGER_CUT_SHIFT
}

/// The time of a cut.
#[must_use]
pub fn cut_ns(word: u64) -> u64 {
    word >> abi::CPULEDGER_CUT_SHIFT
}

/// Which of two accumulators, marks or lists is that of an interval.
#[must_use]
pub fn parity_of(interval: u64) -> usize {
    (interval & 1) as usize
}
