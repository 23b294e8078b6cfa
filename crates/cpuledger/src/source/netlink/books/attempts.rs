//! When a cut is good enough, or has to be taken again.
//!
//! The kernel reads the records of a cut in batches, while tasks run and are released. What a cut has too much or too little by that differs from
//! one to the next, so two that agree about the idle time since the last interval have neither. Where CPUs idle they cannot agree, and what a cut
//! lacks may hide in that.

use crate::attribution::difference::kernel_accounts::Fit;
use crate::machine;

/// How often a cut is taken at most.
pub(super) const MOST_ATTEMPTS: usize = 6;

/// How often a cut is taken where CPUs idle.
const ENOUGH_WHERE_IDLE: usize = 3;

/// The part of the time there was from which CPUs idle: less may be what cuts lack.
const IDLE_PART: i64 = 200;

/// What parts of a cut may be less than nothing.
pub(super) const LACKING_NS: i64 = 10_000;

/// What a cut may have too much.
pub(super) fn excess_limit_ns(online_cpus: u32) -> i64 {
    i64::from(online_cpus) * 10_000
}

/// While it lives, this thread runs before all that share the CPUs, if it may, and has no other policy already: who loses the CPU in a cut has tasks
/// released meanwhile.
pub(super) struct Undisturbed {
    is_inherited: Option<bool>,
}

impl Undisturbed {
    pub(super) fn begin() -> Undisturbed {
        let may = |is_inherited: &bool| machine::come_in_real_time(*is_inherited).is_ok();
        Undisturbed { is_inherited: machine::inherits_sharing().filter(may) }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        if let Some(is_inherited) = self.is_inherited {
            // What it had before is never refused.
            _ = machine::share_cpus(is_inherited);
        }
    }
}

/// The cuts that were taken for one interval.
#[derive(Debug)]
pub(super) struct Attempts {
    limit_ns: i64,
    /// What each had too much.
    excesses_ns: Vec<i64>,
}

impl Attempts {
    pub(super) fn new(online_cpus: u32) -> Attempts {
        Attempts { limit_ns: excess_limit_ns(online_cpus), excesses_ns: Vec::with_capacity(MOST_ATTEMPTS) }
    }

    /// Whether this cut, the next one, is taken. `capacity_ns`: the time there was. `may_lack`: it may lack the time of the dead, so another has to
    /// agree.
    pub(super) fn is_enough(&mut self, fit: Fit, capacity_ns: u64, may_lack: bool) -> bool {
        let Fit { excess_ns, lacking_ns } = fit;
        let is_close = |other_ns: &i64| (excess_ns - other_ns).abs() <= self.limit_ns;
        // What they agree about may be too much: the interval before lacked it.
        let agrees = self.excesses_ns.iter().any(is_close);
        self.excesses_ns.push(excess_ns);
        let is_idle = self.excesses_ns.len() >= ENOUGH_WHERE_IDLE
            && excess_ns <= -(capacity_ns.cast_signed() / IDLE_PART).max(self.limit_ns);
        let is_good = agrees || is_idle || (excess_ns <= self.limit_ns && !may_lack);
        self.excesses_ns.len() == MOST_ATTEMPTS || (is_good && lacking_ns <= LACKING_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY_NS: u64 = 2_000_000_000;

    /// How many of these are taken, on two CPUs.
    fn taken(may_lack: bool, excesses_us: &[i64]) -> usize {
        let mut attempts = Attempts::new(2);
        let fits = excesses_us.iter().map(|us| Fit { excess_ns: us * 1_000, lacking_ns: 0 });
        1 + fits.take_while(|fit| !attempts.is_enough(*fit, CAPACITY_NS, may_lack)).count()
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
        assert_eq!(taken(true, &[278, 13_299, 738, 278, 279]), 4);
        assert_eq!(taken(true, &[900, 800, 700, 600, 500, 400, 300]), MOST_ATTEMPTS);
    }

    #[test]
    fn a_busy_machine_shows_what_a_cut_lacks() {
        assert_eq!(taken(true, &[-1, 1]), 2);
        assert_eq!(taken(true, &[-342, -193, 0, 1]), 4);
        assert_eq!(taken(true, &[106, 0, -143, 0]), 4);
    }

    #[test]
    fn an_idle_machine_is_not_asked_for_long() {
        assert_eq!(taken(true, &[-100_000, -100_100, -100_200]), ENOUGH_WHERE_IDLE);
        assert_eq!(taken(true, &[-100_000, -100_010]), 2);
    }

    #[test]
    fn parts_below_nothing_are_taken_again() {
        let mut attempts = Attempts::new(2);
        let fit = |lacking_ns| Fit { excess_ns: 0, lacking_ns };
        let enough = [70_000, 70_000, 0].map(|ns| attempts.is_enough(fit(ns), CAPACITY_NS, false));
        assert_eq!(enough, [false, false, true]);
    }
}
