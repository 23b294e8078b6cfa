//! When a cut is good enough, or has to be taken again.
//!
//! The kernel reads the records of a cut in batches, while tasks run and are released. The surplus or shortfall differs from cut to cut, so three that
//! agree about the idle time since the last interval have neither, nor has one without idle time. Where CPUs idle, idle time grows between cuts, and
//! can hide a shortfall.

use crate::attribution::difference::kernel_accounts::Fit;
use crate::machine;

/// How often a cut is taken at most.
pub(super) const MOST_ATTEMPTS: usize = 8;

/// Where more than this part of the capacity is idle, cuts cannot agree, and none is taken for that.
const IDLE_PART: i64 = 10;

/// What parts of a cut may be less than nothing.
const LACKING_NS: i64 = 10_000;

/// What a cut may have too much.
fn excess_limit_ns(online_cpus: u32) -> i64 {
    i64::from(online_cpus) * 10_000
}

/// Whether a cut has not too much, nor parts that are less than nothing.
pub(super) fn fits(fit: Fit, online_cpus: u32) -> bool {
    fit.excess_ns <= excess_limit_ns(online_cpus) && fit.lacking_ns <= LACKING_NS
}

/// While it lives, this thread runs before all that share the CPUs, if it may, and nobody has made it run after others: if we lose the CPU during a cut,
/// tasks are released meanwhile.
pub(super) struct Undisturbed {
    is_inherited: Option<bool>,
}

impl Undisturbed {
    pub(super) fn begin() -> Undisturbed {
        let is_nice = rustix::process::getpriority_process(None).is_ok_and(|nice| nice > 0);
        let may = |is_inherited: &bool| !is_nice && machine::come_in_real_time(*is_inherited).is_ok();
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
    online_cpus: u32,
    /// How each fits, and the capacity since the last interval.
    taken: Vec<(Fit, i64)>,
}

impl Attempts {
    pub(super) fn new(online_cpus: u32) -> Attempts {
        Attempts { online_cpus, taken: Vec::with_capacity(MOST_ATTEMPTS) }
    }

    /// Whether to keep this cut, the next one. `may_lack`: it may lack the time of the dead, so another has to agree.
    pub(super) fn is_enough(&mut self, fit: Fit, capacity_ns: u64, may_lack: bool) -> bool {
        let (capacity_ns, limit_ns) = (capacity_ns.cast_signed(), excess_limit_ns(self.online_cpus));
        // What they agree about may be too much, or too little: the interval before lacked it, or had it.
        let agrees = |(earlier, earlier_ns): &&(Fit, i64)| {
            let passed_ns = capacity_ns - earlier_ns;
            let idle_ns =
                i128::from(fit.excess_ns.min(0)) * i128::from(passed_ns) / i128::from(capacity_ns.max(1));
            let (limit_ns, grown_ns) = (i128::from(limit_ns), i128::from(fit.excess_ns - earlier.excess_ns));
            (idle_ns - limit_ns..=limit_ns).contains(&grown_ns)
                && (fit.lacking_ns - earlier.lacking_ns).abs() <= LACKING_NS
        };
        // Short lives are alike: two cuts may lack the same, or have the same too much.
        let agree = self.taken.iter().filter(agrees).count() >= 2;
        self.taken.push((fit, capacity_ns));
        let is_busy = fit.excess_ns >= -limit_ns;
        let is_idle = fit.excess_ns < -capacity_ns / IDLE_PART;
        agree
            || (fits(fit, self.online_cpus) && (is_idle || is_busy || !may_lack))
            || self.taken.len() == MOST_ATTEMPTS
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
        assert_eq!(taken(false, &[185, 186, 184]), 3);
        assert_eq!(taken(true, &[278, 13_299, 738, 278, 279]), 5);
        // Two that ran on after the cut have the same by chance.
        assert_eq!(taken(true, &[248, 83, 250, 1]), 4);
        assert_eq!(taken(true, &[900, 800, 700, 600, 500, 400, 300]), MOST_ATTEMPTS);
    }

    #[test]
    fn a_busy_machine_shows_what_a_cut_lacks() {
        assert_eq!(taken(true, &[-1]), 1);
        assert_eq!(taken(true, &[-342, -193, 0]), 3);
        assert_eq!(taken(true, &[-105, -105, 0]), 3);
        assert_eq!(taken(true, &[106, -143, 107, 108]), 4);
        // All have it: the interval before had too much.
        assert_eq!(taken(true, &[-488, -487, -105, -488]), 4);
    }

    #[test]
    fn an_idle_machine_is_asked_once() {
        assert_eq!(taken(true, &[-500_000]), 1);
    }

    /// A part that idles is expected to idle on.
    #[test]
    fn idle_time_grows_between_cuts() {
        let mut attempts = Attempts::new(2);
        let fit = |excess_ns| Fit { excess_ns, lacking_ns: 0 };
        assert!(!attempts.is_enough(fit(-20_000_000), 2_000_000_000, true));
        assert!(!attempts.is_enough(fit(-20_500_000), 2_050_000_000, true));
        assert!(attempts.is_enough(fit(-21_000_000), 2_100_000_000, true));
        // It need not, where the interval before had too much.
        let mut attempts = Attempts::new(2);
        assert!(!attempts.is_enough(fit(-488_000), 2_000_000_000, true));
        assert!(!attempts.is_enough(fit(-487_000), 2_400_000_000, true));
        assert!(attempts.is_enough(fit(-488_000), 2_800_000_000, true));
    }

    #[test]
    fn parts_below_nothing_are_taken_again() {
        let enough = |lacking: &[i64]| {
            let mut attempts = Attempts::new(2);
            let fits = lacking.iter().map(|&lacking_ns| Fit { excess_ns: 0, lacking_ns });
            1 + fits.take_while(|fit| !attempts.is_enough(*fit, CAPACITY_NS, false)).count()
        };
        assert_eq!(enough(&[70_000, 0]), 2);
        // All have it: the interval before had too much.
        assert_eq!(enough(&[70_000, 300_000, 70_000, 70_000]), 4);
    }
}
