//! CPU time by mode, as far as frames tell it.

use cpuledger_model::frame::{Column, Frame, Section, Table};

/// What is needed of a frame.
pub const COLUMNS: [Column; 7] = [
    Column::CPU_NS,
    Column::SELF_USER_NS,
    Column::EXITED_THREADS_USER_NS,
    Column::EXITED_CHILDREN_USER_NS,
    Column::STOLEN_NS,
    Column::EXITED_CHILDREN_STOLEN_NS,
    Column::PID,
];

/// CPU time in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modes {
    /// In user mode.
    pub user_ns: u128,
    /// In the kernel.
    pub system_ns: u128,
    /// Interrupts and the hypervisor had the CPU.
    pub stolen_ns: u128,
    /// No interval told the mode.
    pub unknown_ns: u128,
}

impl Modes {
    /// Adds CPU time; `None`: a part of it is not told.
    pub fn add(&mut self, cpu_ns: u64, user_ns: Option<u64>, stolen_ns: Option<u64>) {
        let (Some(user_ns), Some(stolen_ns)) = (user_ns, stolen_ns) else {
            self.unknown_ns += u128::from(cpu_ns);
            return;
        };
        // Parts never exceed the whole, so they always add up to it.
        let stolen_ns = stolen_ns.min(cpu_ns);
        let user_ns = user_ns.min(cpu_ns - stolen_ns);
        self.user_ns += u128::from(user_ns);
        self.stolen_ns += u128::from(stolen_ns);
        self.system_ns += u128::from(cpu_ns - stolen_ns - user_ns);
    }

    /// Adds what another has.
    pub fn add_all(&mut self, more: &Modes) {
        let Modes { user_ns, system_ns, stolen_ns, unknown_ns } = *more;
        self.user_ns += user_ns;
        self.system_ns += system_ns;
        self.stolen_ns += stolen_ns;
        self.unknown_ns += unknown_ns;
    }

    /// All but what was stolen.
    pub fn executed_ns(&self) -> u128 {
        self.user_ns + self.system_ns + self.unknown_ns
    }

    /// Adds what all processes of an interval used.
    pub fn add_frame(&mut self, frame: &Frame) {
        let table = frame.table(Section::Processes);
        for row in 0..table.len() {
            let Some(cpu_ns) = table.get(Column::CPU_NS, row) else { continue };
            let user_ns = sum(
                table,
                row,
                &[Column::SELF_USER_NS, Column::EXITED_THREADS_USER_NS, Column::EXITED_CHILDREN_USER_NS],
            );
            let stolen_ns = sum(table, row, &[Column::STOLEN_NS, Column::EXITED_CHILDREN_STOLEN_NS]);
            self.add(cpu_ns, user_ns, stolen_ns);
        }
    }

    /// Each with its value of `cpu.mode`.
    pub fn named(&self) -> [(&'static str, u128); 4] {
        [
            ("user", self.user_ns),
            ("system", self.system_ns),
            ("stolen", self.stolen_ns),
            ("unknown", self.unknown_ns),
        ]
    }
}

/// The sum of these; `None`: one is not told.
pub fn sum(table: &Table, row: usize, columns: &[Column]) -> Option<u64> {
    columns.iter().try_fold(0_u64, |sum, column| Some(sum.saturating_add(table.get(*column, row)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_add_up_to_the_time_whatever_the_parts_are() {
        for (user, stolen) in [
            (Some(3), Some(4)),
            (Some(30), Some(4)),
            (Some(u64::MAX), Some(u64::MAX)),
            (None, Some(1)),
            (Some(1), None),
        ] {
            let mut modes = Modes::default();
            modes.add(10, user, stolen);
            let sum: u128 = modes.named().into_iter().map(|(_, ns)| ns).sum();
            assert_eq!(sum, 10, "{modes:?}");
        }
    }
}
