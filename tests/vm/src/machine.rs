//! The machines on which kernels are booted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Architecture;

/// A machine that the emulator makes. The kernel is told its name, from which the guest knows what is its to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// Two CPUs, which one thread of the emulator runs in turn. Every kernel is booted on it.
    TwoCpus,
    /// 64 CPUs, likewise in turn.
    ManyCpus,
    /// CPUs with gaps between the ids of those that are online; one has never been. In turn, too.
    SparseCpus,
    /// A thread of the emulator for each CPU: what two of them do is really at the same time.
    Concurrent,
    /// Two CPUs of another architecture, in turn.
    Arm64,
}

/// The parameter of the kernel that names the machine. The kernel leaves alone what has a dot in it.
pub const PARAMETER: &str = "cpuledger_vm.machine=";

/// Ids of CPUs that the guest takes offline before any test, on [`Machine::SparseCpus`].
pub const TAKEN_OFFLINE: [u32; 3] = [1, 3, 5];
/// Those that are left online then. CPU 7 is present and was never online.
pub const LEFT_ONLINE: [u32; 4] = [0, 2, 4, 6];

impl Machine {
    /// All of them.
    pub const ALL: [Machine; 5] =
        [Machine::TwoCpus, Machine::ManyCpus, Machine::SparseCpus, Machine::Concurrent, Machine::Arm64];

    /// What CPUs it has.
    pub const fn architecture(self) -> Architecture {
        match self {
            Machine::Arm64 => Architecture::Arm64,
            _ => Architecture::Amd64,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Machine::TwoCpus => "two-cpus",
            Machine::ManyCpus => "many-cpus",
            Machine::SparseCpus => "sparse-cpus",
            Machine::Concurrent => "concurrent",
            Machine::Arm64 => "arm64",
        }
    }

    /// What the head of a column says of it, behind the kernel.
    pub const fn label(self) -> &'static str {
        match self {
            Machine::TwoCpus => "",
            Machine::ManyCpus => ", 64 CPUs",
            Machine::SparseCpus => ", CPUs 0, 2, 4, 6",
            Machine::Concurrent => ", a thread a CPU",
            Machine::Arm64 => ", arm64",
        }
    }

    /// CPUs that are present.
    pub const fn cpus(self) -> u32 {
        match self {
            Machine::TwoCpus | Machine::Arm64 => 2,
            Machine::ManyCpus => 64,
            Machine::SparseCpus => 8,
            Machine::Concurrent => 4,
        }
    }

    /// What the kernel is told of its CPUs.
    pub const fn parameters(self) -> &'static str {
        match self {
            Machine::SparseCpus => "maxcpus=7",
            _ => "",
        }
    }

    /// The machine that the command line of the running kernel names.
    pub fn of_command_line(line: &str) -> Option<Machine> {
        line.split_whitespace().find_map(|word| word.strip_prefix(PARAMETER)?.parse().ok())
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Machine, String> {
        Machine::ALL.into_iter().find(|machine| machine.name() == text).ok_or_else(|| {
            let names = Machine::ALL.map(Machine::name);
            format!("`{text}` is no machine of the matrix: use one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_the_command_line() {
        for machine in Machine::ALL {
            let line = format!("console=ttyS0 quiet {PARAMETER}{machine} panic=-1\n");
            assert_eq!(Machine::of_command_line(&line), Some(machine));
        }
        assert_eq!(Machine::of_command_line("quiet"), None);
        assert!("two".parse::<Machine>().is_err_and(|error| error.contains("sparse-cpus")));
    }

    #[test]
    fn what_is_left_online_is_not_taken_offline() {
        assert!(LEFT_ONLINE.iter().all(|cpu| !TAKEN_OFFLINE.contains(cpu)));
        assert!(((LEFT_ONLINE.len() + TAKEN_OFFLINE.len()) as u32) < Machine::SparseCpus.cpus());
    }
}
