//! What all disks did in a span.

use cpuledger_model::disk::DiskTotals;
use cpuledger_model::frame::{Column, Frame};
use cpuledger_model::make;

/// The figures of a frame, in the order of those of [`DiskTotals`].
pub(crate) const FIGURES: [Column; 8] = [
    Column::ENDED_READS,
    Column::ENDED_READ_BYTES,
    Column::ENDED_READ_NS,
    Column::ENDED_WRITES,
    Column::ENDED_WRITTEN_BYTES,
    Column::ENDED_WRITE_NS,
    Column::UNATTRIBUTED_READ_BYTES,
    Column::UNATTRIBUTED_WRITTEN_BYTES,
];

/// What all disks did in those intervals of a span that have an account of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskSums {
    /// How many intervals have it.
    pub intervals: u64,
    figures: [u64; FIGURES.len()],
}

impl DiskSums {
    /// Of one interval, which has all figures or none.
    pub(crate) fn of(frame: &Frame) -> DiskSums {
        let figures = FIGURES.map(|column| frame.figure(column));
        if figures.iter().any(Option::is_none) {
            return DiskSums::default();
        }
        DiskSums { intervals: 1, figures: figures.map(Option::unwrap_or_default) }
    }

    /// Adds those of another interval or span.
    pub(crate) fn add(&mut self, more: &DiskSums) {
        self.intervals = self.intervals.saturating_add(more.intervals);
        for (own, more) in self.figures.iter_mut().zip(more.figures) {
            *own = own.saturating_add(more);
        }
    }

    /// The sums; `None`: no interval has an account.
    pub fn totals(&self) -> Option<DiskTotals> {
        if self.intervals == 0 {
            return None;
        }
        let [reads, read, read_ns, writes, written, write_ns, unattributed_read, unattributed_written] =
            self.figures.map(Some);
        Some(make!(DiskTotals {
            reads,
            read_bytes: read,
            read_ns,
            writes,
            written_bytes: written,
            write_ns,
            unattributed_read_bytes: unattributed_read,
            unattributed_written_bytes: unattributed_written,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_without_an_account_are_not_zero() {
        let mut frame = Frame::new();
        let mut sums = DiskSums::of(&frame);
        assert_eq!((sums.intervals, sums.totals()), (0, None));
        for (value, column) in (1..).zip(FIGURES) {
            frame.set_figure(column, Some(value));
        }
        sums.add(&DiskSums::of(&frame));
        sums.add(&DiskSums::default());
        sums.add(&DiskSums::of(&frame));
        assert_eq!(sums.intervals, 2);
        let expected = make!(DiskTotals {
            reads: Some(2),
            read_bytes: Some(4),
            read_ns: Some(6),
            writes: Some(8),
            written_bytes: Some(10),
            write_ns: Some(12),
            unattributed_read_bytes: Some(14),
            unattributed_written_bytes: Some(16),
        });
        assert_eq!(sums.totals(), Some(expected));
    }
}
