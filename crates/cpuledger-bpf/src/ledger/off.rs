//! What tasks do while they are on no CPU: the reader's half. `bpf/off.bpf.h` has the other half.
//!
//! # How it is booked
//!
//! docs/states.md says what each state means, and how exact it is.
//!
//! - **One word** in each slot (`off`) has the time and the state since the task left the CPU. The switch that brings the task back books what lies
//!   in the running interval.
//! - **The wait for a CPU** is at the end of that time. It is the growth of `sched_info.run_delay` and, as the kernel adds the last wait only after
//!   the hook, `rq->clock` less `sched_info.last_queued`. A hook at each wake-up would cost another lookup of the slot.
//! - **Nothing is booked in an interval that is over.** The reader computes what the task did at the cut: it is the elapsed time less all that is booked.
//!   A task may come back after the cut and before the reader looks. Then the hook leaves the old word in `at_cut`, with the number of the interval,
//!   before it overwrites `off`. `tests/protocol` has this part of the protocol, too. On the simulated machines each time must be explained to the
//!   nanosecond (`Interval::off_fault_ns`).
//! - **Tasks that do not run** are not visited: `source/ledger/resting.rs` remembers those that did not sleep when they ran last. So
//!   an interval knows what each task, and how many tasks of each process, did off the CPU at both of its cuts. Frames carry that: of a row that ran in one
//!   of two frames, a merge knows what it did in the other.
//! - **A child that has not run** is on no list of an interval. The fork hook puts it on a list of births of its CPU, which the reader takes as a whole at
//!   each cut (`list_birth`, `src/ledger/births.rs`). So it has a row that waits, at the cost of what was forked.
//! - **A thread that execs** becomes the leader: the slot that it gets as such says its states from that switch on.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use cpuledger_model::states::OffState;

use crate::abi;

use super::shared::{Shared, of_parity, take_word};

const OFF: usize = offset_of!(abi::cpuledger_slot_off, off);
const RUN_DELAY: usize = offset_of!(abi::cpuledger_slot_off, run_delay_ns);
const CUT_INTERVAL: usize = offset_of!(abi::cpuledger_slot_off, cut_interval);
const AT_CUT: usize = offset_of!(abi::cpuledger_slot_off, at_cut);
const NS: usize = offset_of!(abi::cpuledger_slot_off, ns);
const STATES: usize = abi::CPULEDGER_OFF_STATES as usize;
const WAITS: usize = abi::CPULEDGER_OFF_WAITS as usize;
const UNSEEN: usize = abi::CPULEDGER_OFF_UNSEEN as usize;

/// What a task did in an interval while it was on no CPU, in nanoseconds, by [`OffState`]. With its time on a CPU the sum is the time it was alive.
pub type OffTimes = [u64; STATES];

/// By their numbers in the kernel half.
const ALL: [OffState; STATES] =
    [OffState::Waits, OffState::Sleeps, OffState::Blocked, OffState::Io, OffState::Stopped, OffState::Unseen];
const _: () = assert!(
    OffState::Waits as u32 == abi::CPULEDGER_OFF_WAITS
        && OffState::Sleeps as u32 == abi::CPULEDGER_OFF_SLEEPS
        && OffState::Blocked as u32 == abi::CPULEDGER_OFF_BLOCKED
        && OffState::Io as u32 == abi::CPULEDGER_OFF_IO
        && OffState::Stopped as u32 == abi::CPULEDGER_OFF_STOPPED
        && OffState::Unseen as u32 == abi::CPULEDGER_OFF_UNSEEN
);

/// What is known of a task off the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Off {
    /// What it did in the interval.
    pub time: OffTimes,
    /// What it did at the cut. `None`: it was on a CPU, or is dead.
    pub at_cut: Option<OffState>,
    /// Since when it does that, CLOCK_MONOTONIC. `None`: it has run since the cut, or was on a CPU.
    pub since_ns: Option<u64>,
    /// Since when it has been alive in the interval, CLOCK_MONOTONIC. With the time on a CPU, `time` adds up to what has passed from then
    /// to its end or the cut.
    pub begin_ns: u64,
    /// Since when its slot tells what it does, CLOCK_MONOTONIC: since its start or, after an exec by a thread, since that.
    pub first_ns: u64,
}

impl Off {
    /// It has been woken at this time, which is before the cut, and has waited for a CPU from then on.
    pub(super) fn wait_since(&mut self, woken_ns: u64, cut_ns: u64) {
        let rests = self.at_cut.zip(self.since_ns).filter(|(state, _)| *state != OffState::Waits);
        let Some((state, since_ns)) = rests else { return };
        let begin_ns = woken_ns.max(since_ns).max(self.begin_ns);
        let rested_ns = &mut self.time[state as usize];
        let waits_ns = cut_ns.saturating_sub(begin_ns).min(*rested_ns);
        *rested_ns -= waits_ns;
        self.time[WAITS] += waits_ns;
        (self.at_cut, self.since_ns) = (Some(OffState::Waits), Some(begin_ns));
    }
}

/// A task that has left its CPU, and is on none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) state: OffState,
    pub(super) since_ns: u64,
    /// What the kernel said then that it had waited for a CPU in its life.
    pub(super) run_delay_ns: u64,
}

/// What the task of this slot does now; `None`: it is on a CPU.
pub(super) fn left(offs: &Shared<abi::cpuledger_slot_off>, number: u32) -> Option<Left> {
    let (state, since_ns) = unpack(offs.word(number, OFF).load(Ordering::Acquire))?;
    Some(Left { state, since_ns, run_delay_ns: offs.word(number, RUN_DELAY).load(Ordering::Relaxed) })
}

/// What the task of this slot did at the cut of this interval, and from when on it waited for a CPU instead, if it has come onto one since. `None`: it
/// has not, or was on one.
pub(super) fn before_return(
    offs: &Shared<abi::cpuledger_slot_off>,
    number: u32,
    interval: u64,
) -> Option<(OffState, u64)> {
    let has_come = offs.word(number, CUT_INTERVAL).load(Ordering::Acquire) == interval;
    has_come.then(|| unpack(offs.word(number, AT_CUT).load(Ordering::Relaxed))).flatten()
}

/// What is known of a task whose time off the CPU is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alive {
    /// In which interval.
    pub(super) interval: u64,
    /// [`Off::first_ns`]
    pub(super) first_ns: u64,
    /// From when to when it was alive in it, CLOCK_MONOTONIC.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// How long it was on a CPU meanwhile.
    pub(super) on_ns: u64,
    /// Whether it was on one at the end.
    pub(super) is_on_at_end: bool,
}

/// What a task did at the cut: the state, and from when on it waited for a CPU instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AtCut {
    state: OffState,
    waits_since_ns: u64,
    /// Since when, if it still does that.
    since_ns: Option<u64>,
}

/// Reads and zeroes what was booked for a task, and adds what it did from the last booking to the end. In the second place: the time
/// that the hooks have booked too much or too little, which is 0 but where the clocks of two CPUs differ.
pub(super) fn take(offs: &Shared<abi::cpuledger_slot_off>, number: u32, alive: Alive) -> (Off, i64) {
    // In this order: a hook writes the second before it overwrites the first.
    let word = offs.word(number, OFF).load(Ordering::Acquire);
    let at_cut = match before_return(offs, number, alive.interval) {
        Some((state, waits_since_ns)) => Some(AtCut { state, waits_since_ns, since_ns: None }),
        None => unpack(word)
            .filter(|(_, since_ns)| *since_ns < alive.end_ns)
            .map(|(state, since_ns)| AtCut { state, waits_since_ns: u64::MAX, since_ns: Some(since_ns) }),
    };
    let at_cut = at_cut.filter(|_| !alive.is_on_at_end);
    let mut ns = [0; STATES];
    for (state, ns) in ns.iter_mut().enumerate() {
        *ns = take_word(offs.word(number, of_parity(NS + 16 * state, alive.interval))).cast_signed();
    }
    let length_ns = alive.end_ns.saturating_sub(alive.begin_ns);
    let rest_ns = length_ns.wrapping_sub(alive.on_ns).cast_signed() - ns.iter().sum::<i64>();
    let mut fault_ns = 0;
    match at_cut {
        Some(AtCut { state, waits_since_ns, since_ns }) if rest_ns >= 0 => {
            if let Some(since_ns) = since_ns {
                let expected_ns = alive.end_ns - since_ns.max(alive.begin_ns).min(alive.end_ns);
                fault_ns = rest_ns - expected_ns.cast_signed();
            }
            let waits_ns = alive.end_ns.saturating_sub(waits_since_ns).cast_signed().min(rest_ns);
            ns[WAITS] += waits_ns;
            ns[state as usize] += rest_ns - waits_ns;
        }
        _ => {
            fault_ns = rest_ns;
            ns[UNSEEN] += rest_ns;
        }
    }
    let time = settled(ns);
    // Where switches are hidden, a task may have been given time on a CPU from before it was born, be it after the cut: then it is taken
    // for older.
    let excess_ns = time.iter().sum::<u64>().cast_signed() - ns.iter().sum::<i64>();
    fault_ns += excess_ns;
    let begin_ns = alive.begin_ns.min(alive.end_ns).saturating_sub(excess_ns.max(0).cast_unsigned());
    let has_woken = |at_cut: &AtCut| at_cut.waits_since_ns < alive.end_ns;
    let since_ns = at_cut.and_then(|at_cut| at_cut.since_ns);
    let at_cut = at_cut.map(|at_cut| if has_woken(&at_cut) { OffState::Waits } else { at_cut.state });
    (Off { time, at_cut, since_ns, begin_ns, first_ns: alive.first_ns.min(begin_ns) }, fault_ns)
}

/// Whether a task that was forked at `first_ns` has waited for its first turn until the cut.
pub(super) fn waits_since_birth(
    offs: &Shared<abi::cpuledger_slot_off>,
    number: u32,
    interval: u64,
    first_ns: u64,
) -> bool {
    // In this order, as in `take`.
    let word = offs.word(number, OFF).load(Ordering::Acquire);
    before_return(offs, number, interval).or_else(|| unpack(word)) == Some((OffState::Waits, first_ns))
}

/// No hook has seen when the task of this slot left its CPU: nothing is known of it from `since_ns` on. `lose_sight` of the hooks does the same.
pub(super) fn lose_sight(offs: &Shared<abi::cpuledger_slot_off>, number: u32, since_ns: u64) {
    let word = since_ns << abi::CPULEDGER_OFF_SHIFT | u64::from(abi::CPULEDGER_OFF_UNSEEN + 1);
    // If it is not 0, the task has come and gone elsewhere since.
    let _ = offs.word(number, OFF).compare_exchange(0, word, Ordering::AcqRel, Ordering::Relaxed);
}

/// The same sum without a negative number.
fn settled(mut ns: [i64; STATES]) -> [u64; STATES] {
    for place in 0..STATES {
        let lacking = ns[place].min(0);
        ns[place] -= lacking;
        let mut left = lacking;
        while left < 0 {
            let Some(largest) = (0..STATES).max_by_key(|other| ns[*other]).filter(|other| ns[*other] > 0)
            else {
                break;
            };
            let given = ns[largest].min(-left);
            ns[largest] -= given;
            left += given;
        }
    }
    ns.map(|ns| ns.max(0).cast_unsigned())
}

/// State and time of a word that is packed as `off`; `None`: the task is on a CPU.
fn unpack(word: u64) -> Option<(OffState, u64)> {
    let state = (word & u64::from(abi::CPULEDGER_OFF_MASK)).checked_sub(1)? as usize;
    Some((*ALL.get(state)?, word >> abi::CPULEDGER_OFF_SHIFT))
}
