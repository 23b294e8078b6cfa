//! CPU time of the machine that no task had, as the kernel counts it by the tick.

use std::time::Duration;

use crate::Error;

/// Sums over all CPUs since the boot, by the first line of /proc/stat.
#[derive(Debug, Clone, Copy)]
pub struct Ticks {
    /// No task ran.
    pub idle: Duration,
    /// Interrupts, where the kernel tells them from the tasks they came upon.
    pub interrupts: Duration,
    /// The host of a virtual machine had the CPU, where it says so.
    pub stolen: Duration,
    /// How many switches there were.
    pub switches: u64,
    /// How many interrupts there were.
    pub interrupted: u64,
}

impl Ticks {
    /// Those of now.
    ///
    /// # Errors
    /// [`Error::System`] without procfs.
    pub fn now() -> Result<Ticks, Error> {
        let text = std::fs::read_to_string("/proc/stat").map_err(Error::system("read /proc/stat"))?;
        let ticks = text.split_whitespace().skip(1).map_while(|word| word.parse().ok());
        let ticks: Vec<u64> = ticks.collect();
        // user nice system idle iowait irq softirq steal: all kernels have them, in hundredths of a second.
        let sum = |which: &[usize]| {
            Duration::from_millis(10 * which.iter().filter_map(|&index| ticks.get(index)).sum::<u64>())
        };
        let count = |name: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            rest.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        Ok(Ticks {
            idle: sum(&[3, 4]),
            interrupts: sum(&[5, 6]),
            stolen: sum(&[7]),
            switches: count("ctxt "),
            interrupted: count("intr "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Ticks;

    #[test]
    fn no_count_falls() {
        let (first, last) = (Ticks::now().expect("procfs"), Ticks::now().expect("procfs"));
        assert!(first.interrupts <= last.interrupts && first.stolen <= last.stolen);
        assert!(!last.idle.is_zero() && last.switches > 0 && last.interrupted > 0);
    }
}
