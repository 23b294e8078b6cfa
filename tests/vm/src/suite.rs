//! Which tests run in the guest, and what they need.

use crate::{Feature, Machine, Series};

/// The tests of one binary.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// The package, as cargo knows it.
    pub package: &'static str,
    /// The test target; empty: the checks of the guest itself.
    pub target: &'static str,
    /// What all of them need.
    pub needs: &'static [Feature],
    /// Of single tests, whose names begin so, what they need on top, or why they are run elsewhere only.
    pub exceptions: &'static [(&'static str, Exception)],
}

/// How a test differs from the others of its suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    /// It needs this, too.
    Needs(Feature),
    /// It cannot run in the guest, on whatever kernel, for this is missing.
    Elsewhere(&'static str),
    /// It cannot run on this machine, for this reason.
    NotOn(Machine, &'static str),
    /// It takes minutes where the CPU is emulated.
    Long,
    /// It depends on what CPUs the machine has: see [`crate::Extent`].
    OfCpus,
    /// It shows the same on each kernel that has what it needs: the oldest of these and the newest will do.
    AtEnds,
}

impl Suite {
    /// Whether it takes minutes where the CPU is emulated.
    pub fn is_long(&self) -> bool {
        self.exceptions.contains(&LONG)
    }

    /// Whether it depends on what CPUs there are.
    pub fn is_of_cpus(&self) -> bool {
        self.exceptions.contains(&OF_CPUS)
    }

    /// Whether the oldest kernel that has what it needs will do, and the newest.
    pub fn is_at_ends(&self) -> bool {
        self.exceptions.contains(&AT_ENDS)
    }

    /// Whether kernels of this series have what all its tests need.
    pub fn fits(&self, series: Series) -> bool {
        self.needs.iter().all(|feature| feature.since() <= series)
    }

    /// What it is called in events and tables: a target's name can be that of another package's, too.
    pub fn name(&self) -> String {
        match self.package.strip_prefix("cpuledger-") {
            None => format!("library: {}", self.target),
            Some("vm") => "the machine itself".to_owned(),
            Some("bpf") => format!("kernel half: {}", self.target),
            Some(_) => format!("binary: {}", self.target),
        }
    }

    /// The first feature that a test needs and the kernel lacks.
    pub fn lacks(&self, test: &str, has: impl Fn(Feature) -> bool) -> Option<Feature> {
        let own = self.exceptions_of(test).filter_map(|exception| match exception {
            Exception::Needs(feature) => Some(feature),
            _ => None,
        });
        self.needs.iter().copied().chain(own).find(|feature| !has(*feature))
    }

    /// Whether it can run on this machine at all.
    pub fn runs(&self, test: &str, machine: Machine) -> bool {
        !self.exceptions_of(test).any(|exception| match exception {
            Exception::Elsewhere(_) => true,
            Exception::NotOn(other, _) => other == machine,
            _ => false,
        })
    }

    fn exceptions_of<'a>(&'a self, test: &'a str) -> impl Iterator<Item = Exception> + 'a {
        // The module of a test is of no interest.
        let name = test.rsplit("::").next().unwrap_or(test);
        self.exceptions
            .iter()
            .filter(move |(start, _)| name.starts_with(start))
            .map(|(_, exception)| *exception)
    }
}

use Exception::{Elsewhere, Needs, NotOn};
use Feature::{Atomics, OpenCodedIterator, TaskByTid, TaskIterator};

const SPEED: Exception = Elsewhere("a CPU that is not emulated, for its speed");
/// One thread of the emulator runs each of them for 100 ms before the next has a turn.
const SPINNING: &str = "CPUs that never idle to be run at the same time";
/// Of a suite as a whole; [`Suite::is_long`] goes by it.
const LONG: (&str, Exception) = ("", Exception::Long);
/// Likewise; [`Suite::is_of_cpus`] goes by it.
const OF_CPUS: (&str, Exception) = ("", Exception::OfCpus);
/// Likewise; [`Suite::is_at_ends`] goes by it.
const AT_ENDS: (&str, Exception) = ("", Exception::AtEnds);
const STRACE: Exception = Elsewhere("strace");

/// What matters most comes first. What compares times to a few milliseconds is not among them, nor what makes tens of thousands of
/// tasks: emulated CPUs are too slow for it.
pub const SUITES: &[Suite] = &[
    Suite { package: "cpuledger-vm", target: "", needs: &[], exceptions: &[OF_CPUS] },
    Suite {
        package: "cpuledger",
        target: "bracket_root",
        needs: &[],
        exceptions: &[
            ("walk_in_one_call", Needs(OpenCodedIterator)),
            ("walk_by_iterator", Needs(TaskIterator)),
            ("walk_of_one_group", Needs(TaskIterator)),
            ("leaders_leave", Needs(TaskIterator)),
            ("netlink_agrees", SPEED),
        ],
    },
    Suite {
        package: "cpuledger",
        target: "walk_root",
        needs: &[TaskIterator],
        exceptions: &[
            ("every_thread_is_seen_by_both", Needs(OpenCodedIterator)),
            ("one_process_is_walked_alone", Needs(OpenCodedIterator)),
            ("one_walk_is_one_bpf_call", STRACE),
            ("exec_by_another_thread", SPEED),
        ],
    },
    Suite { package: "cpuledger", target: "walk_births_root", needs: &[TaskIterator], exceptions: &[] },
    Suite {
        package: "cpuledger-cli",
        target: "listing_whole_root",
        needs: &[Atomics, OpenCodedIterator],
        exceptions: &[("ps_lists_every_task_while", SPEED), AT_ENDS],
    },
    Suite { package: "cpuledger", target: "status_text_root", needs: &[OpenCodedIterator], exceptions: &[] },
    Suite {
        package: "cpuledger",
        target: "netlink_root",
        needs: &[],
        exceptions: &[LONG, ("a_death_that_is_not_told", SPEED), OF_CPUS],
    },
    Suite { package: "cpuledger", target: "procfs_root", needs: &[], exceptions: &[AT_ENDS] },
    Suite {
        package: "cpuledger",
        target: "lineage_root",
        needs: &[Atomics],
        exceptions: &[
            ("a_leader_that_ends_first", SPEED),
            ("a_thread_that_is_not_the_leader", SPEED),
            OF_CPUS,
        ],
    },
    Suite {
        package: "cpuledger-bpf",
        target: "ledger_root",
        needs: &[Atomics],
        exceptions: &[("a_storm_writes_shared_lines", SPEED), OF_CPUS],
    },
    Suite {
        package: "cpuledger-bpf",
        target: "inspect_root",
        needs: &[TaskByTid, OpenCodedIterator],
        exceptions: &[("one_inspection_is_one_bpf_call", STRACE)],
    },
    Suite {
        package: "cpuledger-bpf",
        target: "verifier_root",
        needs: &[],
        exceptions: &[("every_program_loads", Needs(OpenCodedIterator))],
    },
    Suite {
        package: "cpuledger-cli",
        target: "doctor_root",
        needs: &[],
        exceptions: &[("root_has_the_ledger", Needs(Atomics)), AT_ENDS],
    },
    Suite { package: "cpuledger-cli", target: "clock_root", needs: &[Atomics], exceptions: &[AT_ENDS] },
    Suite { package: "cpuledger-cli", target: "clock_scenes_root", needs: &[Atomics], exceptions: &[LONG] },
    Suite {
        package: "cpuledger-cli",
        target: "kill_root",
        needs: &[TaskIterator],
        exceptions: &[("sigkill_in_a_storm", SPEED), AT_ENDS],
    },
    Suite {
        package: "cpuledger-cli",
        target: "status_root",
        needs: &[OpenCodedIterator],
        exceptions: &[("texts_are_whole", SPEED), AT_ENDS],
    },
    Suite {
        package: "cpuledger",
        target: "states_root",
        needs: &[Atomics],
        exceptions: &[("a_task_that_waits_from_its_fork_on", SPEED)],
    },
    Suite { package: "cpuledger", target: "ledger_truth_root", needs: &[Atomics], exceptions: &[LONG] },
    Suite {
        package: "cpuledger",
        target: "ledger_against_kernel_root",
        needs: &[Atomics],
        exceptions: &[LONG],
    },
    Suite { package: "cpuledger", target: "ledger_balance_root", needs: &[Atomics], exceptions: &[LONG] },
    Suite {
        package: "cpuledger",
        target: "ledger_growth_root",
        needs: &[Atomics],
        exceptions: &[("it_grows_until", SPEED), ("of_a_fixed_size", SPEED), LONG],
    },
    Suite { package: "cpuledger", target: "no_going_back_root", needs: &[Atomics], exceptions: &[LONG] },
    Suite { package: "cpuledger", target: "ledger_cgroup_root", needs: &[Atomics], exceptions: &[LONG] },
    Suite {
        package: "cpuledger-bpf",
        target: "ledger_truth_root",
        needs: &[Atomics],
        exceptions: &[("at_each_cut_every_busy_cpu", NotOn(Machine::ManyCpus, SPINNING)), LONG],
    },
    Suite {
        package: "cpuledger-bpf",
        target: "ledger_system_calls_root",
        needs: &[Atomics],
        exceptions: &[("an_interval_only_sleeps", STRACE), OF_CPUS],
    },
    // Accounts: each says which kernel it needs.
    Suite { package: "cpuledger", target: "accounts_root", needs: &[Atomics], exceptions: &[] },
    Suite {
        package: "cpuledger",
        target: "blame_root",
        needs: &[Atomics],
        exceptions: &[("the_dead_keep_what", SPEED), LONG],
    },
    Suite { package: "cpuledger", target: "network_root", needs: &[Atomics], exceptions: &[] },
    Suite { package: "cpuledger", target: "wire_root", needs: &[Atomics], exceptions: &[] },
    // After what takes CPUs offline: its last test makes some kernels refuse that.
    Suite { package: "cpuledger-bpf", target: "coverage_root", needs: &[Atomics], exceptions: &[OF_CPUS] },
    Suite { package: "cpuledger-cli", target: "ledger_balance_root", needs: &[Atomics], exceptions: &[LONG] },
    Suite { package: "cpuledger-cli", target: "top_batch_root", needs: &[TaskIterator], exceptions: &[LONG] },
    // At the end: it suspends the guest.
    Suite {
        package: "cpuledger",
        target: "suspend_root",
        // Where a walk takes many reads, more runs meanwhile than the interval is long.
        needs: &[OpenCodedIterator],
        exceptions: &[
            LONG,
            ("", NotOn(Machine::Arm64, "a board whose emulation can be suspended")),
            (
                "",
                NotOn(Machine::ManyCpus, "CPUs that are all offline before the alarm that wakes the machine"),
            ),
            // The BIOS of the emulator starts all CPUs again when the machine wakes. Those that the kernel had taken offline spin in it from
            // then on, and take half of all turns.
            ("", NotOn(Machine::SparseCpus, "a BIOS that lets CPUs rest which were offline in the sleep")),
            OF_CPUS,
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_names_of_their_own() {
        let names: std::collections::BTreeSet<String> = SUITES.iter().map(Suite::name).collect();
        assert_eq!(names.len(), SUITES.len());
    }

    #[test]
    fn what_a_test_lacks_is_what_it_or_its_suite_needs() {
        let suite = Suite {
            package: "cpuledger",
            target: "a_root",
            needs: &[TaskIterator],
            exceptions: &[
                ("first", Needs(OpenCodedIterator)),
                ("third", Elsewhere("a printer")),
                ("fourth", NotOn(Machine::ManyCpus, "few CPUs")),
            ],
        };
        assert_eq!(suite.lacks("module::first_of_all_root", |_| false), Some(TaskIterator));
        assert_eq!(
            suite.lacks("first_of_all_root", |feature| feature == TaskIterator),
            Some(OpenCodedIterator)
        );
        assert_eq!(suite.lacks("not_first_root", |feature| feature == TaskIterator), None);
        let runs = |test| Machine::ALL.map(|machine| suite.runs(test, machine));
        assert_eq!(
            (runs("first_of_all_root"), runs("third_root")),
            (Machine::ALL.map(|_| true), Machine::ALL.map(|_| false))
        );
        let long = Suite { exceptions: &[LONG], ..suite };
        assert!(long.is_long() && !suite.is_long());
        assert!(Machine::ALL.into_iter().all(|machine| long.runs("any_root", machine)));
        assert_eq!(runs("fourth_root"), Machine::ALL.map(|machine| machine != Machine::ManyCpus));
    }
}
