//! What the machine as a whole tells of itself, for the head of the screen: CPUs, memory, load and pressure.
//!
//! Decoding is apart from reading: [`Vitals::read`] alone touches files.

use std::fs;

use crate::machine::{self, Load};

/// Ticks of one CPU since the boot, by what it did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// Ticks of one CPU, or of all, as /proc/stat divides them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuStates {
    /// In user mode, not nice; guests are in it.
    pub user: u64,
    /// In user mode, nice.
    pub nice: u64,
    /// In the kernel.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle, while a task of it waited for I/O.
    pub waiting: u64,
    /// In interrupts.
    pub irq: u64,
    /// In soft interrupts.
    pub softirq: u64,
    /// Of the hypervisor.
    pub steal: u64,
}

impl CpuStates {
    /// What they have grown by since then.
    pub fn since(&self, before: &CpuStates) -> CpuStates {
        CpuStates {
            user: self.user.saturating_sub(before.user),
            nice: self.nice.saturating_sub(before.nice),
            system: self.system.saturating_sub(before.system),
            idle: self.idle.saturating_sub(before.idle),
            waiting: self.waiting.saturating_sub(before.waiting),
            irq: self.irq.saturating_sub(before.irq),
            softirq: self.softirq.saturating_sub(before.softirq),
            steal: self.steal.saturating_sub(before.steal),
        }
    }
}

/// What a CPU did in an interval, in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// Memory in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// All there is.
    pub total: u64,
    /// What nothing uses.
    pub free: u64,
    /// What could be had without swapping.
    pub available: u64,
    /// Buffers, page cache and what the kernel can give back.
    pub cache: u64,
    /// Swap.
    pub swap_total: u64,
    /// Free swap.
    pub swap_free: u64,
}

/// Shares of time in which tasks waited for a resource, over 10 s, in hundredths of a percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Some tasks waited.
    pub some: u32,
    /// All of them did; `None`: not told.
    pub full: Option<u32>,
}

/// What has been read at one instant.
#[derive(Debug, Clone, Default)]
pub struct Vitals {
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

impl Vitals {
    /// Reads it; what cannot be read is unknown.
    pub fn read() -> Vitals {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let stat = read("/proc/stat");
        let states = parse_states(&stat);
        Vitals {
            cpus: ticks(&states),
            states,
            forks: machine::number_after(&stat, "processes "),
            running: machine::number_after(&stat, "procs_running ")
                .and_then(|running| running.try_into().ok()),
            memory: parse_memory(&read("/proc/meminfo")),
            pressure: ["cpu", "memory", "io"]
                .map(|name| parse_pressure(&read(&format!("/proc/pressure/{name}")))),
            load: machine::load(),
        }
    }

    /// What each CPU did since then; one that was not there then is left out.
    pub fn shares_since(&self, before: &Vitals) -> Vec<CpuShare> {
        let then = |cpu| before.cpus.iter().find(|ticks| ticks.cpu == cpu);
        self.cpus.iter().filter_map(|ticks| Some(ticks.since(then(ticks.cpu)?))).collect()
    }
}

/// The lines `cpu` and `cpu0`, `cpu1`, ….
fn parse_states(stat: &str) -> Vec<(Option<u32>, CpuStates)> {
    let lines = stat.lines().take_while(|line| line.starts_with("cpu"));
    lines.filter_map(parse_cpu).collect()
}

/// `cpu0 user nice system idle iowait irq softirq steal …`; guests are in user time.
fn parse_cpu(line: &str) -> Option<(Option<u32>, CpuStates)> {
    let mut words = line.split_ascii_whitespace();
    let cpu = match words.next()?.strip_prefix("cpu")? {
        "" => None,
        number => Some(number.parse().ok()?),
    };
    let mut next = || words.next().map_or(Some(0), |word| word.parse::<u64>().ok());
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (waiting, irq, softirq, steal) = (next()?, next()?, next()?, next()?);
    Some((cpu, CpuStates { user, nice, system, idle, waiting, irq, softirq, steal }))
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

fn parse_memory(meminfo: &str) -> Option<Memory> {
    let bytes = |name| machine::number_after(meminfo, name).map(|kib| kib * 1024);
    let or_none = |name| bytes(name).unwrap_or(0);
    Some(Memory {
        total: bytes("MemTotal:")?,
        free: or_none("MemFree:"),
        available: bytes("MemAvailable:").or_else(|| bytes("MemFree:"))?,
        cache: or_none("Buffers:") + or_none("Cached:") + or_none("SReclaimable:"),
        swap_total: or_none("SwapTotal:"),
        swap_free: or_none("SwapFree:"),
    })
}

/// `some avg10=0.12 avg60=…`, and `full …` on the next line.
fn parse_pressure(text: &str) -> Option<Pressure> {
    let share = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" avg10="))?;
        let (whole, rest) = line.split_once('.')?;
        let hundredths: u32 = rest.get(..2)?.parse().ok()?;
        Some(whole.parse::<u32>().ok()? * 100 + hundredths)
    };
    Some(Pressure { some: share("some")?, full: share("full") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_read_and_compared() {
        let text = "cpu  9 9 9 9\ncpu0 10 1 20 60 4 1 2 2 0 0\ncpu3 1 2 3 4\nintr 5\ncpu9 1 1 1 1\n";
        let states = parse_states(text);
        let cpus = ticks(&states);
        let all = CpuStates { user: 9, nice: 9, system: 9, idle: 9, ..CpuStates::default() };
        assert_eq!((states.len(), states[0], states[1].1.steal), (3, (None, all), 2));
        assert_eq!(
            states[1].1.since(&all),
            CpuStates { user: 1, system: 11, idle: 51, waiting: 4, irq: 1, softirq: 2, steal: 2, nice: 0 }
        );
        let first = CpuTicks { cpu: 0, user: 11, system: 20, stolen: 5, idle: 64 };
        assert_eq!(cpus, [first, CpuTicks { cpu: 3, user: 3, system: 3, stolen: 0, idle: 4 }]);
        let share = first.since(&CpuTicks::default());
        assert_eq!(share, CpuShare { cpu: 0, user: 110, system: 200, stolen: 50 });
        assert_eq!(first.since(&first), CpuShare::default());
    }

    #[test]
    fn memory_and_pressure_are_read() {
        let memory = parse_memory(
            "MemTotal: 100 kB\nMemAvailable: 40 kB\nBuffers: 1 kB\nCached: 2 kB\nSwapTotal: 8 kB\n",
        );
        let expected = Memory {
            total: 102_400,
            free: 0,
            available: 40_960,
            cache: 3072,
            swap_total: 8192,
            swap_free: 0,
        };
        assert_eq!((memory, parse_memory("")), (Some(expected), None));
        let text = "some avg10=1.05 avg60=82.96 avg300=79.23 total=5\nfull avg10=0.10 avg60=0.00 total=0\n";
        assert_eq!(parse_pressure(text), Some(Pressure { some: 105, full: Some(10) }));
        assert_eq!(parse_pressure(""), None);
    }

    #[test]
    fn this_machine_has_a_cpu_and_memory() {
        let vitals = Vitals::read();
        assert!(!vitals.cpus.is_empty() && vitals.memory.is_some_and(|memory| memory.total > 0));
        assert!(vitals.forks.is_some_and(|forks| forks > 0));
        assert_eq!(vitals.shares_since(&vitals).len(), vitals.cpus.len());
    }
}
