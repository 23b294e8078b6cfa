//! How much of the matrix is run: which suites in which guest.

use std::fmt;
use std::str::FromStr;

use crate::Machine;
use crate::suite::{SUITES, Suite};

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// No suite that takes minutes; on all machines the same.
    Short,
    /// Each suite on each kernel, and those about CPUs on each machine; those that take minutes on one kernel only.
    #[default]
    Usual,
    /// Every suite in every guest.
    Whole,
}

impl Extent {
    /// Whether this suite is run on that machine; `is_newest`: with the newest kernel that it has.
    pub fn has(self, suite: &Suite, machine: Machine, is_newest: bool) -> bool {
        match self {
            Extent::Short => !suite.is_long(),
            Extent::Whole => true,
            Extent::Usual => match machine {
                Machine::TwoCpus => !suite.is_long() || is_newest,
                Machine::Arm64 => !suite.is_long(),
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
    /// Those of the guest with that machine and a kernel that is the newest on it or not.
    pub fn on(&self, machine: Machine, is_newest: bool) -> Chosen {
        Chosen::of(|suite| {
            self.part.is_none_or(|part| suite.name().contains(part))
                && self.extent.has(suite, machine, is_newest)
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

    #[test]
    fn every_suite_is_run_with_some_kernel() {
        for suite in SUITES {
            assert!(Extent::Usual.has(suite, Machine::TwoCpus, true), "{}", suite.name());
            assert_eq!(Extent::Usual.has(suite, Machine::TwoCpus, false), !suite.is_long());
            assert_eq!(Extent::Short.has(suite, Machine::ManyCpus, true), !suite.is_long());
            assert!(Machine::ALL.into_iter().all(|machine| Extent::Whole.has(suite, machine, false)));
        }
        let of_cpus = SUITES.iter().filter(|suite| Extent::Usual.has(suite, Machine::SparseCpus, true));
        assert!(of_cpus.clone().any(|suite| suite.target == "coverage_root") && of_cpus.count() > 5);
    }
}
