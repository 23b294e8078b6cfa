//! What tasks do in an interval, on a CPU and off it.

use crate::task::State;

/// What a process or a task did while it was on no CPU, in nanoseconds. With the time on a CPU the parts add up to the time it was alive:
/// `cpu + runqueue_wait + blocked + sleep + stopped + unseen = elapsed`. Of a process it is the sum over its threads, those that
/// died in the interval included; its CPU time in this sum is [`Usage::self_ns`] and [`Usage::exited_threads_ns`].
///
/// [`Usage::self_ns`]: crate::Usage::self_ns
/// [`Usage::exited_threads_ns`]: crate::Usage::exited_threads_ns
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
        let mut states = States { elapsed_ns, ..States::default() };
        let part_ns = match state.0 {
            b'S' | b'I' | b'R' => &mut states.sleep_ns,
            b'D' => &mut states.blocked_ns,
            b'T' | b't' => &mut states.stopped_ns,
            _ => return None,
        };
        *part_ns = elapsed_ns;
        Some(states)
    }

    /// The time it was on no CPU.
    pub fn off_ns(&self) -> u64 {
        self.runqueue_wait_ns + self.blocked_ns + self.sleep_ns + self.stopped_ns + self.unseen_ns
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
