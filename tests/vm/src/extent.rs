//! How much of the matrix is run: which suites in which guest.

use std::fmt;
use std::str::FromStr;

use crate::suite::{SUITES, Suite};
use crate::{Machine, Series};

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// No suite that takes minutes; on all machines the same.
    Short,
    /// Each suite on each kernel, and those about CPUs on each machine; those that take minutes on one kernel only, and those that
    /// show the same on each kernel on the oldest and the newest.
    #[default]
    Usual,
    /// Every suite in every guest.
    Whole,
}

impl Extent {
    /// Whether this suite is run on that machine with a kernel of this series, one of these, which the matrix has for it, oldest first.
    pub fn has(self, suite: &Suite, machine: Machine, series: Series, all: &[Series]) -> bool {
        let is_newest = all.last() == Some(&series);
        let is_oldest = all.iter().find(|series| suite.fits(**series)) == Some(&series);
        let is_short = !suite.is_long() && (!suite.is_at_ends() || is_oldest || is_newest);
        match self {
            Extent::Short => is_short,
            Extent::Whole => true,
            Extent::Usual => match machine {
                Machine::TwoCpus => is_short || is_newest,
                Machine::Arm64 => is_short,
                Machine::ManyCpus | Machine::SparseCpus | Machine::Concurrent => suite.is_of_cpus(),
            },
        }
    }
}

/// The parameter of the kernel that names the suites of a guest.
pub const PARAMETER: &str = "cpuledger_vm.suites=";

/// Suites, by their places in [`SUITES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen(u64);

const _: () = assert!(SUITES.len() <= u64::BITS as usize);

impl Chosen {
    /// All that fit.
    pub fn of(fits: impl Fn(&Suite) -> bool) -> Chosen {
        let bits = SUITES.iter().enumerate().map(|(place, suite)| u64::from(fits(suite)) << place);
        Chosen(bits.fold(0, |all, bit| all | bit))
    }

    /// They, in their order.
    pub fn suites(self) -> impl Iterator<Item = &'static Suite> {
        SUITES.iter().enumerate().filter(move |(place, _)| self.0 >> place & 1 == 1).map(|(_, suite)| suite)
    }

    /// Whether this one is among them.
    pub fn has(self, suite: &Suite) -> bool {
        self.suites().any(|chosen| chosen.name() == suite.name())
    }

    /// Those that the command line of the running kernel names.
    pub fn of_command_line(line: &str) -> Option<Chosen> {
        line.split_whitespace().find_map(|word| word.strip_prefix(PARAMETER)?.parse().ok())
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl FromStr for Chosen {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Chosen, Self::Err> {
        u64::from_str_radix(text, 16).map(Chosen)
    }
}

/// Which suites are run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    /// Only those whose name has this in it.
    pub part: Option<&'a str>,
    /// How many of these.
    pub extent: Extent,
}

impl Choice<'_> {
    /// Those of the guest with that machine and a kernel of this series, one of all these.
    pub fn on(&self, machine: Machine, series: Series, all: &[Series]) -> Chosen {
        Chosen::of(|suite| {
            self.part.is_none_or(|part| suite.name().contains(part))
                && self.extent.has(suite, machine, series, all)
        })
    }

    /// Whether each suite is run somewhere.
    pub fn is_complete(&self) -> bool {
        self.part.is_none() && self.extent != Extent::Short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_knows_its_suites_by_the_command_line() {
        for chosen in [Chosen::of(|_| true), Chosen::of(Suite::is_long), Chosen::of(|_| false)] {
            let line = format!("quiet {PARAMETER}{chosen} panic=-1\n");
            assert_eq!(Chosen::of_command_line(&line), Some(chosen));
        }
        assert_eq!(Chosen::of_command_line("quiet"), None);
        let long = Chosen::of(Suite::is_long);
        assert!(SUITES.iter().all(|suite| long.has(suite) == suite.is_long()));
        assert!(long.suites().count() < SUITES.len());
    }

    const ALL: [Series; 4] = [Series(5, 10), Series(6, 1), Series(6, 12), Series(7, 3)];

    fn has(extent: Extent, suite: &Suite, machine: Machine, series: Series) -> bool {
        extent.has(suite, machine, series, &ALL)
    }

    #[test]
    fn every_suite_is_run_with_some_kernel() {
        for suite in SUITES {
            let usual = |series| has(Extent::Usual, suite, Machine::TwoCpus, series);
            assert!(usual(ALL[3]), "{}", suite.name());
            assert_eq!(ALL.into_iter().any(|series| usual(series) && series < ALL[3]), !suite.is_long());
            assert_eq!(has(Extent::Short, suite, Machine::ManyCpus, ALL[3]), !suite.is_long());
            assert!(Machine::ALL.into_iter().all(|machine| has(Extent::Whole, suite, machine, ALL[0])));
        }
        let of_cpus = SUITES.iter().filter(|suite| has(Extent::Usual, suite, Machine::SparseCpus, ALL[3]));
        assert!(of_cpus.clone().any(|suite| suite.target == "coverage_root") && of_cpus.count() > 5);
    }

    #[test]
    fn what_shows_the_same_everywhere_is_run_on_the_oldest_kernel_that_has_what_it_needs() {
        let on = |target: &str| {
            let suite = SUITES.iter().find(|suite| suite.target == target).expect("such a suite");
            ALL.map(|series| has(Extent::Usual, suite, Machine::TwoCpus, series))
        };
        assert_eq!(on("doctor_root"), [true, false, false, true]);
        assert_eq!(on("clock_root"), [false, true, false, true]);
        assert_eq!(on("listing_whole_root"), [false, false, true, true]);
        assert_eq!(on("walk_root"), [true; 4]);
    }
}
