//! CPU time as a kernel with accounts of the dead reports it (`kernel/series`): cumulative, and nothing is lost.

/// CPU time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Used {
    /// On a CPU, by the scheduler.
    pub runtime_ns: u64,
    /// In user mode, by ticks unless the kernel does better.
    pub user_ns: u64,
    /// In kernel mode, likewise.
    pub system_ns: u64,
    /// What interrupts and the hypervisor took meanwhile: no part of the others.
    pub stolen_ns: u64,
}

impl Used {
    /// The time for which it had a CPU.
    pub fn cpu_ns(&self) -> u64 {
        self.runtime_ns.wrapping_add(self.stolen_ns)
    }

    /// Adds what another one used.
    pub fn add(&mut self, other: &Used) {
        self.runtime_ns = self.runtime_ns.wrapping_add(other.runtime_ns);
        self.user_ns = self.user_ns.wrapping_add(other.user_ns);
        self.system_ns = self.system_ns.wrapping_add(other.system_ns);
        self.stolen_ns = self.stolen_ns.wrapping_add(other.stolen_ns);
    }

    /// Takes away what another one used. What is less than nothing wraps around: [`Used::add`] brings it back.
    pub fn remove(&mut self, other: &Used) {
        self.runtime_ns = self.runtime_ns.wrapping_sub(other.runtime_ns);
        self.user_ns = self.user_ns.wrapping_sub(other.user_ns);
        self.system_ns = self.system_ns.wrapping_sub(other.system_ns);
        self.stolen_ns = self.stolen_ns.wrapping_sub(other.stolen_ns);
    }

    /// What it grew by since then; less than nothing wraps around.
    #[must_use]
    pub fn since(mut self, before: &Used) -> Used {
        self.remove(before);
        self
    }
}

/// The dead whose time belongs to a process: the same in the record of each of its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Dead {
    /// The process that will inherit its time; 0: none in sight.
    pub accounting_parent: u32,
    /// What its exited threads used.
    pub threads: Used,
    /// What processes used that it inherited from.
    pub children: Used,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_less_its_parts_is_nothing() {
        let one = Used { runtime_ns: 7, user_ns: 4, system_ns: 2, stolen_ns: 1 };
        let other = Used { runtime_ns: 70, user_ns: 40, system_ns: 20, stolen_ns: 10 };
        let mut sum = one;
        sum.add(&other);
        assert_eq!((sum.cpu_ns(), sum.since(&other)), (88, one));
        // Less than nothing, for a while.
        let mut less = one.since(&other);
        less.add(&other);
        assert_eq!(less, one);
    }
}
