//! What tasks do in an interval, on a CPU and off it.

use serde::{Deserialize, Serialize};

use crate::task::State;

/// What a task does while it is on no CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum OffState {
    /// It is runnable, and waits for a CPU.
    Waits,
    /// It sleeps until a signal or an event.
    Sleeps,
    /// It waits without being interruptible, but not for I/O.
    Blocked,
    /// Likewise, for I/O.
    Io,
    /// A signal, a tracer or a freezer has stopped it.
    Stopped,
    /// That is not known.
    Unseen,
}

/// What a process or a task did while it was on no CPU, in nanoseconds. With the time on a CPU the parts add up to the time it was alive:
/// `cpu + runqueue_wait + blocked + sleep + stopped + unseen = elapsed`. Of a process it is the sum over its threads, those that
/// died in the interval included; its CPU time in this sum is [`Usage::self_ns`] and [`Usage::exited_threads_ns`].
///
/// [`Usage::self_ns`]: crate::Usage::self_ns
/// [`Usage::exited_threads_ns`]: crate::Usage::exited_threads_ns
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct States {
    /// The time it was alive in the interval.
    pub elapsed_ns: u64,
    /// It was runnable, and waited for a CPU.
    pub runqueue_wait_ns: u64,
    /// It waited without being interruptible, for I/O or anything else.
    pub blocked_ns: u64,
    /// The part of [`States::blocked_ns`] in which it waited for I/O.
    pub io_wait_ns: u64,
    /// It slept until a signal or an event.
    pub sleep_ns: u64,
    /// A signal, a tracer or a freezer had stopped it.
    pub stopped_ns: u64,
    /// What it did is not known: it had not run since the ledger was attached, or the kernel has not shown a switch of it.
    pub unseen_ns: u64,
}

impl States {
    /// What a task did that had no CPU all the time, and is in this state after that. `R`: it has been woken since, so it slept. Whether it
    /// waited for I/O is not told; `None`: nor is what it did.
    pub fn of_one(state: State, elapsed_ns: u64) -> Option<States> {
        Some(OffTasks::one(Some(off_state(state)?)).rest_for(elapsed_ns))
    }

    /// The time it was on no CPU.
    pub fn off_ns(&self) -> u64 {
        self.runqueue_wait_ns + self.blocked_ns + self.sleep_ns + self.stopped_ns + self.unseen_ns
    }

    /// For the first so many of the nanoseconds that a task waited for a CPU, it did this instead.
    pub fn rest_before_wait(&mut self, rested: OffState, ns: u64) {
        self.runqueue_wait_ns -= ns;
        let rest = OffTasks::one(Some(rested)).rest_for(ns);
        self.add(&States { elapsed_ns: 0, ..rest });
    }

    /// Adds what another task did.
    pub fn add(&mut self, other: &States) {
        let States { elapsed_ns, runqueue_wait_ns, blocked_ns, io_wait_ns, sleep_ns, stopped_ns, unseen_ns } =
            other;
        self.elapsed_ns += elapsed_ns;
        self.runqueue_wait_ns += runqueue_wait_ns;
        self.blocked_ns += blocked_ns;
        self.io_wait_ns += io_wait_ns;
        self.sleep_ns += sleep_ns;
        self.stopped_ns += stopped_ns;
        self.unseen_ns += unseen_ns;
    }
}

/// How many tasks of a row do what at an instant, while they are on no CPU. Those that have one are not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OffTasks {
    /// They are runnable, and wait for a CPU.
    pub waiting: u64,
    /// They sleep until a signal or an event.
    pub sleeping: u64,
    /// They wait without being interruptible, but not for I/O.
    pub blocked: u64,
    /// Likewise, for I/O.
    pub io_waiting: u64,
    /// A signal, a tracer or a freezer has stopped them.
    pub stopped: u64,
    /// What they do is not known.
    pub unseen: u64,
}

impl OffTasks {
    /// One task, which does this; `None`: it has a CPU, or is not alive.
    pub fn one(state: Option<OffState>) -> OffTasks {
        let mut one = OffTasks::default();
        if let Some(state) = state {
            *one.count_mut(state) = 1;
        }
        one
    }

    /// The number of those that do this.
    pub fn count_mut(&mut self, state: OffState) -> &mut u64 {
        match state {
            OffState::Waits => &mut self.waiting,
            OffState::Sleeps => &mut self.sleeping,
            OffState::Blocked => &mut self.blocked,
            OffState::Io => &mut self.io_waiting,
            OffState::Stopped => &mut self.stopped,
            OffState::Unseen => &mut self.unseen,
        }
    }

    /// Adds other tasks.
    pub fn add(&mut self, other: &OffTasks) {
        let OffTasks { waiting, sleeping, blocked, io_waiting, stopped, unseen } = other;
        self.waiting += waiting;
        self.sleeping += sleeping;
        self.blocked += blocked;
        self.io_waiting += io_waiting;
        self.stopped += stopped;
        self.unseen += unseen;
    }

    /// What they do in that time, if none of them does anything else.
    pub fn rest_for(&self, ns: u64) -> States {
        let OffTasks { waiting, sleeping, blocked, io_waiting, stopped, unseen } = self;
        States {
            elapsed_ns: (waiting + sleeping + blocked + io_waiting + stopped + unseen) * ns,
            runqueue_wait_ns: waiting * ns,
            blocked_ns: (blocked + io_waiting) * ns,
            io_wait_ns: io_waiting * ns,
            sleep_ns: sleeping * ns,
            stopped_ns: stopped * ns,
            unseen_ns: unseen * ns,
        }
    }
}

/// What a task did since the ledger was attached or, if it began later, in all of its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lived {
    /// CPU time.
    pub cpu_ns: u64,
    /// What it did while it was on no CPU.
    pub states: States,
}

impl Lived {
    /// The time it was alive less what it did in it: 0.
    pub fn imbalance_ns(&self) -> i64 {
        self.states.elapsed_ns.wrapping_sub(self.cpu_ns + self.states.off_ns()) as i64
    }
}

/// What a task has done that has not run, and whose state is this now. One that runs now was woken since; one that is parked sleeps.
pub fn off_state(state: State) -> Option<OffState> {
    match state.0 {
        b'S' | b'I' | b'R' | b'P' => Some(OffState::Sleeps),
        b'D' => Some(OffState::Blocked),
        b'T' | b't' => Some(OffState::Stopped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_run_did_what_its_state_says() {
        let of = |letter| States::of_one(State(letter), 10);
        let slept = States { elapsed_ns: 10, sleep_ns: 10, ..States::default() };
        for letter in *b"SIRP" {
            assert_eq!(of(letter), Some(slept), "{}", letter as char);
        }
        assert_eq!(of(b'D').map(|states| (states.blocked_ns, states.io_wait_ns)), Some((10, 0)));
        assert_eq!(of(b't').map(|states| states.stopped_ns), Some(10));
        assert_eq!(of(b'Z'), None);
    }
}
