//! `/proc/stat`: CPUs in ticks, and counters of the machine.

use super::number_after;

/// Ticks of one CPU, or of all, since the boot.
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

/// The lines `cpu` and `cpu0`, `cpu1`, …: of all CPUs together (`None`), and of each online one by its number.
pub fn cpus(stat: &str) -> Vec<(Option<u32>, CpuStates)> {
    stat.lines().take_while(|line| line.starts_with("cpu")).filter_map(parse_cpu).collect()
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

/// Seconds from 1970 to the boot.
pub fn boot_time_seconds(stat: &str) -> Option<u64> {
    number_after(stat, "btime ")
}

/// Context switches since the boot.
pub fn switches(stat: &str) -> Option<u64> {
    number_after(stat, "ctxt ")
}

/// Tasks ever forked.
pub fn forks(stat: &str) -> Option<u64> {
    number_after(stat, "processes ")
}

/// Tasks that run or are ready to.
pub fn running(stat: &str) -> Option<u32> {
    number_after(stat, "procs_running ")?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_read_and_compared() {
        let text = "cpu  9 9 9 9\ncpu0 10 1 20 60 4 1 2 2 0 0\ncpu3 1 2 3 4\nintr 5\ncpu9 1 1 1 1\n";
        let states = cpus(text);
        let all = CpuStates { user: 9, nice: 9, system: 9, idle: 9, ..CpuStates::default() };
        let [first, second, third] = states[..] else { panic!("{states:?}") };
        assert_eq!((first, second.0, second.1.steal, third.0), ((None, all), Some(0), 2, Some(3)));
        assert_eq!(
            second.1.since(&all),
            CpuStates { user: 1, system: 11, idle: 51, waiting: 4, irq: 1, softirq: 2, steal: 2, nice: 0 }
        );
    }

    #[test]
    fn counters_are_found_by_name() {
        let stat = "cpu  1 2 3\nintr 99 1\nctxt 9257071\nbtime 17\nprocesses 740306\nprocs_running 3\n";
        let counters = (switches(stat), forks(stat), running(stat), boot_time_seconds(stat));
        assert_eq!(counters, (Some(9_257_071), Some(740_306), Some(3), Some(17)));
        assert_eq!(switches("processes 1\n"), None);
    }
}
