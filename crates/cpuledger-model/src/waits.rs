//! Who waited for a CPU because of whom: the sums of the account [`crate::accounts::Account::Blame`].

/// All waits of an interval, in nanoseconds; absent while the account is not kept. What was suffered is equal to what was caused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitTotals {
    /// How long tasks waited for a CPU: the sum over all of them.
    pub suffered_ns: Option<u64>,
    /// The part of that in which a task with a row had the CPU.
    pub tasks_ns: Option<u64>,
    /// In which a task without a row had it: it had no slot, or was forgotten.
    pub no_slot_ns: Option<u64>,
    /// In which the CPU was idle.
    pub idle_ns: Option<u64>,
    /// In which the task could not run, as its cgroup had used up its quota when it left the CPU.
    pub quota_ns: Option<u64>,
    /// In which the task that had the CPU was interrupted. Absent where the kernel does not tell it: then that task has caused it.
    pub interrupts_ns: Option<u64>,
    /// In which the hypervisor had the CPU. Absent likewise.
    pub stolen_ns: Option<u64>,
    /// The part of what was suffered that is in no row.
    pub unattributed_suffered_ns: Option<u64>,
}

impl WaitTotals {
    /// Of an interval in which no task waited.
    pub const NOTHING: WaitTotals = WaitTotals {
        suffered_ns: Some(0),
        tasks_ns: Some(0),
        no_slot_ns: Some(0),
        idle_ns: Some(0),
        quota_ns: Some(0),
        interrupts_ns: Some(0),
        stolen_ns: Some(0),
        unattributed_suffered_ns: Some(0),
    };

    /// What was suffered less all that was caused: 0. `None`: it is not known.
    pub fn imbalance_ns(&self) -> Option<i64> {
        let caused_ns = [self.tasks_ns?, self.no_slot_ns?, self.idle_ns?, self.quota_ns?];
        let taken_ns = [self.interrupts_ns, self.stolen_ns].into_iter().flatten();
        let caused_ns = caused_ns.into_iter().chain(taken_ns).fold(0, u64::wrapping_add);
        Some(self.suffered_ns?.wrapping_sub(caused_ns).cast_signed())
    }

    /// Takes what was booked to a task of which there is no row.
    pub fn lose_row(&mut self, suffered_ns: u64, caused_ns: u64) {
        self.tasks_ns = self.tasks_ns.map(|sum| sum.saturating_sub(caused_ns));
        self.no_slot_ns = self.no_slot_ns.map(|sum| sum + caused_ns);
        self.unattributed_suffered_ns = self.unattributed_suffered_ns.map(|sum| sum + suffered_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::WaitTotals;

    #[test]
    fn what_belongs_to_no_row_stays_in_the_sums() {
        let mut totals =
            WaitTotals { suffered_ns: Some(9), tasks_ns: Some(7), idle_ns: Some(2), ..WaitTotals::NOTHING };
        totals.lose_row(4, 3);
        assert_eq!((totals.tasks_ns, totals.no_slot_ns), (Some(4), Some(3)));
        assert_eq!((totals.unattributed_suffered_ns, totals.imbalance_ns()), (Some(4), Some(0)));
        assert_eq!(WaitTotals::default().imbalance_ns(), None);
        let totals = WaitTotals { interrupts_ns: Some(2), stolen_ns: None, ..totals };
        assert_eq!(totals.imbalance_ns(), Some(-2));
    }
}
