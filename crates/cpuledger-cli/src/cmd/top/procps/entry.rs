//! A row before it is written.

use cpuledger::Task;
use cpuledger::counters::Counters;

/// A process or thread of an iteration.
#[derive(Debug)]
pub struct Entry<'a> {
    /// As it is at the end.
    pub whole: &'a Task,
    /// What its counters have grown by.
    pub growth: Counters,
    /// CPU time in that time.
    pub cpu_ns: u64,
    /// What 100 % of one CPU are: the interval or, in the first iteration, the time since it began.
    pub length_ns: u64,
    /// CPU time of dead children that is to be added to its own.
    pub children_ns: u64,
}

impl Entry<'_> {
    /// CPU time in billionths of the time.
    pub fn share(&self) -> u128 {
        u128::from(self.cpu_ns) * 1_000_000_000 / u128::from(self.length_ns.max(1))
    }

    /// CPU time of its life; what is not known is none.
    pub fn time_ns(&self) -> u64 {
        self.whole.lifetime_cpu_ns().unwrap_or(0) + self.children_ns
    }

    /// Whether nothing of it would be seen in `%CPU`, and it does not run now either.
    pub fn is_idle(&self) -> bool {
        self.whole.state.0 != b'R' && tenths(self.cpu_ns, self.length_ns) == 0
    }
}

/// Thousandths of a whole, to the nearest: tenths of a percent.
pub fn tenths(part: u64, whole: u64) -> u64 {
    let whole = u128::from(whole.max(1));
    ((u128::from(part) * 2000 + whole) / (2 * whole)) as u64
}
