//! What one row of a report adds up.

/// What was used. What no interval told is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amounts {
    /// CPU time of the tasks of this name, the dead included. Each nanosecond is in one row.
    pub self_ns: u64,
    /// Of that: of threads that ended before their process.
    pub exited_threads_ns: u64,
    /// Of `self_ns`: of processes that ended.
    pub ended_ns: u64,
    /// Of that: of dead processes whose identity was lost. Their heir has it.
    pub unidentified_ns: u64,
    /// CPU time of the dead processes that these inherit from. It is in `self_ns` of other rows or of this one, and in no sum.
    pub inherited_ns: u64,
    /// Time spent waiting for a CPU.
    pub waiting_ns: Option<u64>,
    /// Time on a CPU in which they did not execute; not told of the dead.
    pub stolen_ns: Option<u64>,
    /// Likewise of the dead processes that these inherit from: it is in no other row.
    pub inherited_stolen_ns: Option<u64>,
    /// Page faults without I/O; not told of the dead.
    pub minor_faults: Option<u64>,
    /// Page faults with I/O; not told of the dead.
    pub major_faults: Option<u64>,
    /// Processes that were born in an interval, and ran or died in it.
    pub births: u64,
    /// Processes that died.
    pub deaths: u64,
}

/// The sum of what is known.
pub(crate) fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

impl Amounts {
    /// Adds what another row has.
    pub fn add(&mut self, more: &Amounts) {
        for (own, more) in [
            (&mut self.self_ns, more.self_ns),
            (&mut self.exited_threads_ns, more.exited_threads_ns),
            (&mut self.ended_ns, more.ended_ns),
            (&mut self.unidentified_ns, more.unidentified_ns),
            (&mut self.inherited_ns, more.inherited_ns),
            (&mut self.births, more.births),
            (&mut self.deaths, more.deaths),
        ] {
            *own = own.saturating_add(more);
        }
        for (own, more) in [
            (&mut self.waiting_ns, more.waiting_ns),
            (&mut self.stolen_ns, more.stolen_ns),
            (&mut self.inherited_stolen_ns, more.inherited_stolen_ns),
            (&mut self.minor_faults, more.minor_faults),
            (&mut self.major_faults, more.major_faults),
        ] {
            *own = sum(*own, more);
        }
    }

    /// Adds what a process that died has: `births` is 1 if it was born in the same interval.
    #[inline]
    pub(crate) fn add_dead(&mut self, self_ns: u64, waiting_ns: Option<u64>, births: u64) {
        self.self_ns = self.self_ns.saturating_add(self_ns);
        self.ended_ns = self.ended_ns.saturating_add(self_ns);
        self.waiting_ns = sum(self.waiting_ns, waiting_ns);
        self.births += births;
        self.deaths += 1;
    }

    /// Time on a CPU in which these, and the dead that they inherit from, did not execute.
    pub fn all_stolen_ns(&self) -> Option<u64> {
        sum(self.stolen_ns, self.inherited_stolen_ns)
    }

    /// The sum of several.
    pub fn total<'a>(all: impl IntoIterator<Item = &'a Amounts>) -> Amounts {
        let mut total = Amounts::default();
        all.into_iter().for_each(|one| total.add(one));
        total
    }
}
