//! When a cut is good enough, or has to be taken again.
//!
//! The kernel reads the records of a cut in batches, while tasks run and are released. What a cut has too much or too little by that differs from
//! one to the next, so two that agree about the idle time since the last interval have neither. Where a CPU idles, they cannot agree, and a task
//! that is released meanwhile may hide in that.

use crate::attribution::difference::kernel_accounts::Fit;

/// How often a cut is taken at most.
pub(super) const MOST_ATTEMPTS: usize = 6;

/// How often a cut is taken where each of them has more idle time than the one before.
const ENOUGH_WHERE_IDLE: usize = 3;

/// What parts of a cut may be less than nothing.
pub(super) const LACKING_NS: i64 = 10_000;

/// What a cut may have too much.
pub(super) fn excess_limit_ns(online_cpus: u32) -> i64 {
    i64::from(online_cpus) * 10_000
}

/// The cuts that were taken for one interval.
#[derive(Debug)]
pub(super) struct Attempts {
    limit_ns: i64,
    count: usize,
    last_excess_ns: Option<i64>,
}

impl Attempts {
    pub(super) fn new(online_cpus: u32) -> Attempts {
        Attempts { limit_ns: excess_limit_ns(online_cpus), count: 0, last_excess_ns: None }
    }

    /// Whether this cut, the next one, is taken. `may_lack`: it may lack the time of the dead, so another has to agree.
    pub(super) fn is_enough(&mut self, Fit { excess_ns, lacking_ns }: Fit, may_lack: bool) -> bool {
        self.count += 1;
        let grown_ns = self.last_excess_ns.replace(excess_ns).map(|last_ns| excess_ns - last_ns);
        if self.count == MOST_ATTEMPTS {
            return true;
        }
        if lacking_ns > LACKING_NS {
            return false;
        }
        // What they agree about may be too much: the interval before lacked it.
        let agrees = grown_ns.is_some_and(|ns| ns.abs() <= self.limit_ns);
        let is_idle = self.count >= ENOUGH_WHERE_IDLE && grown_ns.is_some_and(|ns| ns <= self.limit_ns);
        agrees || (excess_ns <= self.limit_ns && (!may_lack || is_idle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these are taken, on two CPUs.
    fn taken(may_lack: bool, excesses_us: &[i64]) -> usize {
        let mut attempts = Attempts::new(2);
        let fits = excesses_us.iter().map(|us| Fit { excess_ns: us * 1_000, lacking_ns: 0 });
        1 + fits.take_while(|fit| !attempts.is_enough(*fit, may_lack)).count()
    }

    #[test]
    fn a_cut_that_lacks_nothing_is_taken_at_once() {
        assert_eq!(taken(false, &[-500_000]), 1);
        assert_eq!(taken(false, &[19]), 1);
    }

    #[test]
    fn a_cut_with_too_much_is_taken_again() {
        assert_eq!(taken(false, &[17_880, 2]), 2);
        // All have it: the interval before lacked it.
        assert_eq!(taken(false, &[185, 186]), 2);
        assert_eq!(taken(true, &[278, 13_299, 738, 278, 279]), 5);
        assert_eq!(taken(true, &[900, 800, 700, 600, 500, 400, 300]), MOST_ATTEMPTS);
    }

    #[test]
    fn a_busy_machine_shows_what_a_cut_lacks() {
        assert_eq!(taken(true, &[-1, 1]), 2);
        // The second of these lacks 193 us, and the first something, too.
        assert_eq!(taken(true, &[-342, -193, 0, 1]), 4);
        assert_eq!(taken(true, &[83, 83]), 2);
        assert_eq!(taken(true, &[83, -193, 83, 82]), 4);
    }

    #[test]
    fn an_idle_machine_is_not_asked_for_long() {
        assert_eq!(taken(true, &[-100_000, -100_100, -100_200]), ENOUGH_WHERE_IDLE);
        // The third has less idle time than the second: that one lacked something.
        assert_eq!(taken(true, &[-100_000, -100_900, -100_200, -100_300]), 4);
    }

    #[test]
    fn parts_below_nothing_are_taken_again() {
        let mut attempts = Attempts::new(2);
        let fit = |lacking_ns| Fit { excess_ns: 0, lacking_ns };
        assert_eq!([70_000, 70_000, 0].map(|ns| attempts.is_enough(fit(ns), false)), [false, false, true]);
    }
}
