//! Where the time of all CPUs went.

use cpuledger_model::frame::{Column, Frame};
use serde::{Deserialize, Serialize};

use crate::disks::DiskSums;

/// Why time is unattributed: the figures of a frame, with the words for them.
pub(crate) const REASONS: [(Column, &str); 4] = [
    (Column::NO_SLOT_NS, "no slot"),
    (Column::FORGOTTEN_TASK_NS, "forgotten task"),
    (Column::UNCOVERED_CPU_NS, "uncovered CPU"),
    (Column::NOT_ATTACHED_NS, "not attached"),
];

/// The capacity of a span and its parts: it is the sum of `attributed_ns`, `idle_ns`, `unattributed_ns` and `untold_ns`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Number of intervals.
    pub intervals: u64,
    /// Their length, added up.
    pub length_ns: u64,
    /// Online CPUs × length.
    pub capacity_ns: u64,
    /// Of tasks.
    pub attributed_ns: u64,
    /// Of that: of rows that the recording does not show, as those of other users.
    pub hidden_ns: u64,
    /// Of the idle tasks.
    pub idle_ns: u64,
    /// What could not be attributed.
    pub unattributed_ns: u64,
    /// Of that, by reason.
    reasons_ns: [u64; REASONS.len()],
    /// Of intervals whose source has no exact cut: what is neither attributed nor told to be idle.
    pub untold_ns: u64,
    /// Tasks that died and whose identity was lost.
    pub unidentified_exits: u64,
    /// Tasks that died and were not told of.
    pub missed_exits: u64,
    /// Switches that the kernel has not shown.
    pub missed_switches: u64,
    /// CPU time of the processes that the kernel hides: it is in the rows of others and in `idle_ns`.
    pub hidden_cpu_ns: u64,
    /// What all disks did.
    pub disks: DiskSums,
}

impl Balance {
    /// Of one interval; `booked_ns` is the sum of its rows, and `hidden_ns` what it tells of those that it does not show.
    pub(crate) fn of(frame: &Frame, booked_ns: u64, hidden_ns: u64) -> Balance {
        let figure = |column| frame.figure(column).unwrap_or_default();
        // Without a figure of its own, an interval has what its rows have.
        let attributed_ns = frame.figure(Column::ATTRIBUTED_NS).unwrap_or_default();
        let attributed_ns = attributed_ns.max(booked_ns.saturating_add(hidden_ns));
        let capacity_ns = figure(Column::CAPACITY_NS);
        let (idle, unattributed) = (frame.figure(Column::IDLE_NS), frame.figure(Column::UNATTRIBUTED_NS));
        let told_ns = attributed_ns
            .saturating_add(idle.unwrap_or_default())
            .saturating_add(unattributed.unwrap_or_default());
        let is_exact = idle.is_some() && unattributed.is_some();
        Balance {
            intervals: 1,
            length_ns: frame.length_ns().unwrap_or_default(),
            capacity_ns,
            attributed_ns,
            hidden_ns: attributed_ns - booked_ns,
            idle_ns: idle.unwrap_or_default(),
            unattributed_ns: unattributed.unwrap_or_default(),
            reasons_ns: REASONS.map(|(column, _)| figure(column)),
            untold_ns: if is_exact { 0 } else { capacity_ns.saturating_sub(told_ns) },
            unidentified_exits: figure(Column::UNIDENTIFIED_EXITS),
            missed_exits: figure(Column::MISSED_EXITS),
            missed_switches: figure(Column::MISSED_SWITCHES),
            hidden_cpu_ns: figure(Column::HIDDEN_CPU_NS),
            disks: DiskSums::of(frame),
        }
    }

    /// Adds that of another interval or span.
    pub fn add(&mut self, more: &Balance) {
        self.disks.add(&more.disks);
        for (own, more) in self.reasons_ns.iter_mut().zip(more.reasons_ns) {
            *own = own.saturating_add(more);
        }
        for (own, more) in [
            (&mut self.intervals, more.intervals),
            (&mut self.length_ns, more.length_ns),
            (&mut self.capacity_ns, more.capacity_ns),
            (&mut self.attributed_ns, more.attributed_ns),
            (&mut self.hidden_ns, more.hidden_ns),
            (&mut self.idle_ns, more.idle_ns),
            (&mut self.unattributed_ns, more.unattributed_ns),
            (&mut self.untold_ns, more.untold_ns),
            (&mut self.unidentified_exits, more.unidentified_exits),
            (&mut self.missed_exits, more.missed_exits),
            (&mut self.missed_switches, more.missed_switches),
            (&mut self.hidden_cpu_ns, more.hidden_cpu_ns),
        ] {
            *own = own.saturating_add(more);
        }
    }

    /// Name in JSON and amount of the capacity and its parts.
    pub fn figures(&self) -> [(&'static str, u64); 8] {
        [
            ("intervals", self.intervals),
            ("length_ns", self.length_ns),
            ("capacity_ns", self.capacity_ns),
            ("attributed_ns", self.attributed_ns),
            ("idle_ns", self.idle_ns),
            ("unattributed_ns", self.unattributed_ns),
            ("untold_ns", self.untold_ns),
            ("hidden_ns", self.hidden_ns),
        ]
    }

    /// Name in JSON, words and amount of each reason why time is unattributed.
    pub fn reasons(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        REASONS.iter().zip(self.reasons_ns).map(|((column, words), ns)| (column.name(), *words, ns))
    }

    /// The capacity less all its parts: 0, unless an interval does not balance.
    pub fn imbalance_ns(&self) -> i64 {
        let parts_ns = [self.attributed_ns, self.idle_ns, self.unattributed_ns, self.untold_ns];
        let parts_ns = parts_ns.into_iter().map(i128::from).sum::<i128>();
        i64::try_from(i128::from(self.capacity_ns) - parts_ns).unwrap_or(i64::MAX)
    }
}
