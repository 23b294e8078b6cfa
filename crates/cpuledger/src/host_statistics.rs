//! What the machine as a whole tells of itself, for the head of the screen: CPUs, memory, load and pressure.

use std::fs;

use cpuledger_proc::machine::meminfo::parse_memory;
use cpuledger_proc::machine::pressure::parse_pressure;
use cpuledger_proc::machine::stat;

pub use cpuledger_proc::machine::meminfo::Memory;
pub use cpuledger_proc::machine::pressure::Pressure;
pub use cpuledger_proc::machine::stat::CpuStates;

use crate::machine::{self, Load};

/// What a CPU did in an interval, in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuShare {
    /// Its number.
    pub cpu: u32,
    /// In user mode, nice or not.
    pub user: u32,
    /// In the kernel.
    pub system: u32,
    /// Of interrupts and of the hypervisor.
    pub stolen: u32,
}

impl CpuShare {
    /// Of a CPU between two instants. The parts are put together first: what waits for I/O may fall, as the kernel moves it to idle time.
    fn of(cpu: u32, before: &CpuStates, now: &CpuStates) -> CpuShare {
        let parts = |of: &CpuStates| {
            [of.user + of.nice, of.system, of.irq + of.softirq + of.steal, of.idle + of.waiting]
        };
        let (before, now) = (parts(before), parts(now));
        let parts: [u64; 4] = std::array::from_fn(|part| now[part].saturating_sub(before[part]));
        let all: u64 = parts.iter().sum();
        let [user, system, stolen, _] = parts.map(|part| (part * 1000).checked_div(all).unwrap_or(0) as u32);
        CpuShare { cpu, user, system, stolen }
    }
}

/// What has been read at one instant.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HostStatistics {
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
        HostStatistics {
            states: stat::cpus(&text),
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
        let then = |cpu| before.states.iter().find(|(then, _)| *then == Some(cpu));
        let share = |(cpu, now): &(Option<u32>, CpuStates)| {
            let cpu = (*cpu)?;
            then(cpu).map(|(_, before)| CpuShare::of(cpu, before, now))
        };
        self.states.iter().filter_map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cpu_did_is_told_in_thousandths() {
        let states = stat::cpus("cpu  9 9 9 9\ncpu0 10 1 20 60 4 1 2 2 0 0\ncpu3 1 2 3 4\nintr 5\n");
        let statistics = HostStatistics { states, ..HostStatistics::default() };
        let zero = |(cpu, _): &(Option<u32>, CpuStates)| (*cpu, CpuStates::default());
        let states = statistics.states.iter().map(zero).collect();
        let first = CpuShare { cpu: 0, user: 110, system: 200, stolen: 50 };
        let shares = statistics.shares_since(&HostStatistics { states, ..HostStatistics::default() });
        assert_eq!(shares, [first, CpuShare { cpu: 3, user: 300, system: 300, stolen: 0 }]);
        assert_eq!(statistics.shares_since(&statistics)[0], CpuShare::default());
    }

    /// A CPU was idle for 10 ticks and busy for 90, and its wait for I/O turned into idle time.
    #[test]
    fn what_waits_for_io_may_become_idle_time() {
        let of = |text: &str| HostStatistics { states: stat::cpus(text), ..HostStatistics::default() };
        let (before, now) = (of("cpu0 0 0 0 1000 290 0 0 0\n"), of("cpu0 90 0 0 1100 200 0 0 0\n"));
        assert_eq!(now.shares_since(&before), [CpuShare { cpu: 0, user: 900, system: 0, stolen: 0 }]);
    }

    #[test]
    fn this_machine_has_a_cpu_and_memory() {
        let statistics = HostStatistics::read();
        assert!(statistics.states.len() > 1 && statistics.memory.is_some_and(|memory| memory.total > 0));
        assert!(statistics.forks.is_some_and(|forks| forks > 0));
        assert_eq!(statistics.shares_since(&statistics).len(), statistics.states.len() - 1);
    }
}
