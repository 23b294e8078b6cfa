//! What the machine as a whole tells of itself, for the head of the screen: CPUs, memory, load and pressure.

use std::fs;

use cpuledger_proc::machine::meminfo::parse_memory;
use cpuledger_proc::machine::pressure::parse_pressure;
use cpuledger_proc::machine::stat;

pub use cpuledger_proc::machine::meminfo::Memory;
pub use cpuledger_proc::machine::pressure::Pressure;
pub use cpuledger_proc::machine::stat::CpuStates;

use crate::machine::{self, Load};

/// Ticks of one CPU since the boot, by what it did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuTicks {
    /// Its number.
    pub cpu: u32,
    /// In user mode, nice or not.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
    /// Of interrupts and of the hypervisor.
    pub stolen: u64,
    /// Idle, waiting for I/O or not.
    pub idle: u64,
}

/// What a CPU did in an interval, in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuShare {
    /// Its number.
    pub cpu: u32,
    /// As in [`CpuTicks`].
    pub user: u32,
    /// As in [`CpuTicks`].
    pub system: u32,
    /// As in [`CpuTicks`].
    pub stolen: u32,
}

impl CpuTicks {
    /// What it did since then.
    pub fn since(&self, before: &CpuTicks) -> CpuShare {
        let parts = [
            self.user.saturating_sub(before.user),
            self.system.saturating_sub(before.system),
            self.stolen.saturating_sub(before.stolen),
            self.idle.saturating_sub(before.idle),
        ];
        let all: u64 = parts.iter().sum();
        let [user, system, stolen, _] = parts.map(|part| (part * 1000).checked_div(all).unwrap_or(0) as u32);
        CpuShare { cpu: self.cpu, user, system, stolen }
    }
}

/// What has been read at one instant.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HostStatistics {
    /// Of each online CPU.
    pub cpus: Vec<CpuTicks>,
    /// Of all CPUs together (`None`), and of each online one by its number.
    pub states: Vec<(Option<u32>, CpuStates)>,
    /// Tasks ever forked.
    pub forks: Option<u64>,
    /// Tasks that run or are ready to.
    pub running: Option<u32>,
    /// Memory and swap.
    pub memory: Option<Memory>,
    /// Of CPU, memory and I/O; `None`: the kernel does not tell (CONFIG_PSI).
    pub pressure: [Option<Pressure>; 3],
    /// Load averages and the number of tasks.
    pub load: Option<Load>,
}

impl HostStatistics {
    /// Reads it; what cannot be read is unknown.
    pub fn read() -> HostStatistics {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let text = read("/proc/stat");
        let states = stat::cpus(&text);
        HostStatistics {
            cpus: ticks(&states),
            states,
            forks: stat::forks(&text),
            running: stat::running(&text),
            memory: parse_memory(&read("/proc/meminfo")),
            pressure: ["cpu", "memory", "io"]
                .map(|name| parse_pressure(&read(&format!("/proc/pressure/{name}")))),
            load: machine::load(),
        }
    }

    /// What each CPU did since then; one that was not there then is left out.
    pub fn shares_since(&self, before: &HostStatistics) -> Vec<CpuShare> {
        let then = |cpu| before.cpus.iter().find(|ticks| ticks.cpu == cpu);
        self.cpus.iter().filter_map(|ticks| Some(ticks.since(then(ticks.cpu)?))).collect()
    }
}

/// Those of single CPUs, in fewer parts.
fn ticks(states: &[(Option<u32>, CpuStates)]) -> Vec<CpuTicks> {
    let of_one = |&(cpu, states): &(Option<u32>, CpuStates)| {
        Some(CpuTicks {
            cpu: cpu?,
            user: states.user + states.nice,
            system: states.system,
            stolen: states.irq + states.softirq + states.steal,
            idle: states.idle + states.waiting,
        })
    };
    states.iter().filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cpu_did_is_told_in_thousandths() {
        let states = stat::cpus("cpu  9 9 9 9\ncpu0 10 1 20 60 4 1 2 2 0 0\ncpu3 1 2 3 4\nintr 5\n");
        let first = CpuTicks { cpu: 0, user: 11, system: 20, stolen: 5, idle: 64 };
        assert_eq!(ticks(&states), [first, CpuTicks { cpu: 3, user: 3, system: 3, stolen: 0, idle: 4 }]);
        let share = first.since(&CpuTicks::default());
        assert_eq!(share, CpuShare { cpu: 0, user: 110, system: 200, stolen: 50 });
        assert_eq!(first.since(&first), CpuShare::default());
    }

    #[test]
    fn this_machine_has_a_cpu_and_memory() {
        let statistics = HostStatistics::read();
        assert!(!statistics.cpus.is_empty() && statistics.memory.is_some_and(|memory| memory.total > 0));
        assert!(statistics.forks.is_some_and(|forks| forks > 0));
        assert_eq!(statistics.shares_since(&statistics).len(), statistics.cpus.len());
    }
}
