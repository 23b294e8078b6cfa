//! The words that hook and reader exchange. Every number in them is the one of `bpf/abi.h`.
//!
//! # What memory promises, access by access
//!
//! The model uses for each access of the hook the weakest ordering that any kernel gives it, so a run of it is one on arm64, too. On x86
//! all are stronger: each atomic instruction is a full barrier, loads and stores stay in order but for a store before a load.
//!
//! | in C | BPF | x86 | arm64 | here |
//! |---|---|---|---|---|
//! | `__sync_val_compare_and_swap` | `cmpxchg` | full barrier | full barrier if it succeeds (`casal`; without LSE `ldxr`, `stlxr`, `dmb ish`), else nothing | acquire and release, and a fence behind it, if it succeeds; else relaxed |
//! | `__sync_lock_test_and_set` | `xchg` | full barrier | full barrier, also where the value is not used (`swpal`) | acquire and release, and a fence behind it |
//! | `__sync_fetch_and_add`, value used | `atomic_fetch_add` | full barrier | full barrier (`ldaddal`) | likewise |
//! | `__sync_fetch_and_add`, value not used | `lock +=` | full barrier | atomic, and orders nothing (`stadd`) | relaxed |
//! | load, store, `volatile` or not | load, store | in order, but for a store before a load | in no order, but a load comes after the one that its address is computed from | relaxed; acquire, where the address of all that follows and matters depends on it |
//!
//! What the protocol needs of them, by the word of `abi.h`; *reader* is `src/ledger/`, whose orderings are Rust's. Each need is a mutation
//! that leaves it out and must be found.
//!
//! | word | hook | reader | what orders it |
//! |---|---|---|---|
//! | `cpu.run` | compare-and-swap | load acquire, compare-and-swap | full barrier on both sides: all of a switch before it, interval and cut after it, and the clock before it (`HookSwapRelaxed`, `CutReadBeforeSwap`, `RunReadRelaxed`) |
//! | `cpu.booked` | exchange, behind all that was booked | load acquire | release: a reader that sees it sees accumulators, list entries, `at_cut` and the final values of the dead (`BookedRelaxed`, `AwaitRelaxed`, `BookedEarly`) |
//! | `cpu.current`, `current_pid` | store before the compare-and-swap of `run` | load acquire between load and compare-and-swap of `run` | by `run` (`CurrentWrittenLate`, `CurrentReadLate`) |
//! | `cpu.idle_ns`, `no_slot_ns`, `uncovered_ns`, `offline_ns`, `slot.wall_ns` | load, add, store | exchange relaxed | towards the reader by `booked`; back again by `interval`, from which the address of the accumulator is computed (`IntervalRelaxed`, `CutReadRelaxed`); from CPU to CPU by the kernel, which lets a task run nowhere before its last CPU has let go of it, and reports a CPU as offline only when that one is dead |
//! | `cpu.at_cut` | store | exchange relaxed | by `booked` (`AnyoneAtCut`, `AtCutNotCleared`) |
//! | `slot_off.ns` | load, add, store | exchange relaxed | by `booked`, and back again by `interval`, as `slot.wall_ns` (`OffBookedAfterCut`) |
//! | `slot_off.at_cut`, `cut_interval`, `off` | in this order: store, exchange, store | `off` load acquire, then `cut_interval` load acquire, then `at_cut` | the exchange and the acquires: a reader that misses the old `off` finds what was left of it (`OffNotLeft`, `OffLeftLate`, `OffLeftRelaxed`, `OffReadLate`, `OffReadRelaxed`) |
//! | `control.interval` | load | store release | what was emptied comes before it (`IntervalRelaxed`); all that the hook reads by it has an address computed from it |
//! | `control.cut` | load, its address from `interval`; compare-and-swap | store, fence, compare-and-swap | the hook reads its clock, then passes a barrier, then reads the cut; the reader writes the cut, passes a fence, then reads the clock: one of them sees the other (`ProposedWithoutBarrier`, `CutReadBeforeSwap`). arm64 may read the clock before the proposal is seen: as if the reader's clock were behind by that, for which there is the margin of 20 µs (`clock_ahead`) |
//! | `slot.mark` | load; exchange | – | only the exchange decides (`MarkNotExchanged`) |
//! | `control.listed`, entries of the list | fetch-and-add, then a store of the entry | load acquire, then loads relaxed | not by each other: the entry comes after the count. The reader looks when every switch that can have listed in this interval is booked |
//! | `slot.folded_*` | add without value; exchange when it is moved on | exchange relaxed | towards the reader by `booked`; towards another fold it need not be seen: what comes later stays in the slot and is found at the cut, or is carried on by the next (`FoldNotAtomic`) |
//! | contents of a new slot | stores, then compare-and-swap of the index or of `run` | loads relaxed | by `run` and `booked`; for other CPUs by the index entry, from which the address of the slot is computed |
//! | `slot.exit_interval`, `flags`, `tid` | stores at the last switch; loads by others that look for an heir | loads relaxed | towards the reader by `booked`. Others may see them late: then a task that looks alive is folded into, and passes the time on |
//! | `control.free_head`, links of free slots | load, dependent load of the link, compare-and-swap | stores, compare-and-swap release | the link by the address, its truth by the tag (`FreeRelaxed`, `UntaggedHead`) |
//! | batches of a CPU, `list_place` | compare-and-swap, loads, stores | – | of one CPU alone |
//! | `control.free_count`, `is_low`, what was lost | fetch-and-add; load | fetch-and-add, load, relaxed | nothing hangs on them but how soon a ledger is thought to be short of slots |
//! | `control.hotplug` | fetch-and-add | load, before the list of online CPUs is read | the value is used, so that the addition is a barrier: the kernel's mask has changed before it |

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
