//! What a task did in all of its life, from interval to interval.

use cpuledger_model::states::{Lived, OffState, OffTasks, States};
use serde::{Deserialize, Serialize};

/// What a task that ran did in an interval, as it is added to its life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) states: States,
    /// Since when it was alive in the interval, and until when, CLOCK_MONOTONIC.
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    /// What it does from there on.
    pub(crate) rests: OffState,
}

/// The sum over a life, from one interval in which a task ran to the next: between these it rests.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct LifeStates {
    lived: Lived,
    until_ns: u64,
    rests: OffState,
}

impl LifeStates {
    /// A life that began at this time, and what it did until it ran.
    pub(crate) fn new(begin_ns: u64, rests: OffState) -> LifeStates {
        LifeStates { lived: Lived::default(), until_ns: begin_ns, rests }
    }

    /// Adds an interval in which it ran.
    pub(crate) fn pass(&mut self, cpu_ns: u64, stretch: &Stretch) {
        let rested_ns = stretch.begin_ns.saturating_sub(self.until_ns);
        self.lived.states.add(&OffTasks::one(Some(self.rests)).rest_for(rested_ns));
        self.lived.states.add(&stretch.states);
        self.lived.cpu_ns += cpu_ns;
        self.until_ns = stretch.end_ns;
        self.rests = stretch.rests;
    }

    /// It has not run, and does something else since this time.
    pub(crate) fn rest(&mut self, since_ns: u64, rests: OffState) {
        let rested_ns = since_ns.saturating_sub(self.until_ns);
        self.lived.states.add(&OffTasks::one(Some(self.rests)).rest_for(rested_ns));
        self.until_ns = self.until_ns.max(since_ns);
        self.rests = rests;
    }

    /// All of it.
    pub(crate) fn lived(&self) -> Lived {
        self.lived
    }
}
