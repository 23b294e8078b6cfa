//! What disks did in a span: all together, and each.

use cpuledger_model::disk::{DiskTotals, Disks};
use cpuledger_model::frame::{Column, Frame};
use cpuledger_model::framing;
use serde::{Deserialize, Serialize};

/// Disks of a span that are told apart; all others are one.
pub(crate) const MOST_DISKS: usize = 4096;

/// What all disks did in those intervals of a span that have an account of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSums {
    /// How many intervals have it.
    pub intervals: u64,
    totals: DiskTotals,
}

impl DiskSums {
    /// Of one interval, which has all figures or none.
    pub(crate) fn of(frame: &Frame) -> DiskSums {
        let totals = framing::disk_totals(frame);
        if totals.is_whole() { DiskSums { intervals: 1, totals } } else { DiskSums::default() }
    }

    /// Adds those of another interval or span.
    pub(crate) fn add(&mut self, more: &DiskSums) {
        match (self.intervals, more.intervals) {
            (_, 0) => {}
            (0, _) => *self = *more,
            _ => {
                self.intervals = self.intervals.saturating_add(more.intervals);
                self.totals.add(&more.totals);
            }
        }
    }

    /// The sums; `None`: no interval has an account.
    pub fn totals(&self) -> Option<DiskTotals> {
        (self.intervals > 0).then_some(self.totals)
    }
}

/// What each disk did in a span. With the sums of the intervals that do not say which disk, these add up to [`DiskSums`] of the span.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceSums {
    /// How many intervals say what each disk did.
    pub intervals: u64,
    /// Each disk, in these.
    pub disks: Disks,
    /// The sums of the others that have an account: recordings of older versions have these alone.
    pub undivided: DiskSums,
}

impl DeviceSums {
    /// Adds an interval.
    pub(crate) fn add_frame(&mut self, frame: &Frame) {
        if frame.figure(Column::KNOWS_DISKS) == Some(1) {
            self.intervals = self.intervals.saturating_add(1);
            self.disks.add(&frame.disks(), MOST_DISKS);
        } else {
            self.undivided.add(&DiskSums::of(frame));
        }
    }

    /// Adds those of another span.
    pub(crate) fn add(&mut self, more: &DeviceSums) {
        self.intervals = self.intervals.saturating_add(more.intervals);
        self.disks.add(&more.disks, MOST_DISKS);
        self.undivided.add(&more.undivided);
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::disk::{Disk, DiskUse, Requests};
    use cpuledger_model::make;

    use super::*;

    /// A frame with the sums of these disks alone, or with each.
    fn frame(disks: &Disks, has_each: bool) -> Frame {
        let interval = make!(cpuledger_model::Interval {
            disk_totals: DiskTotals::of(disks),
            disks: Some(disks.clone()).filter(|_| has_each),
        });
        let mut frame = Frame::new();
        framing::write(&interval, &framing::Circumstances::default(), &mut frame);
        frame
    }

    fn disk(minor: u32, count: u64) -> Disk {
        let requests = make!(Requests { count, bytes: count << 9, ns: 100 * count });
        make!(Disk {
            numbers: Some((8, minor)),
            name: format!("sd{minor}").into_bytes(),
            all: make!(DiskUse { reads: requests, writes: requests }),
            queue_ns: count,
        })
    }

    #[test]
    fn intervals_without_an_account_are_not_zero() {
        let mut sums = DiskSums::of(&Frame::new());
        assert_eq!((sums.intervals, sums.totals()), (0, None));
        let disks = Disks::of([disk(1, 3)], DiskUse::default());
        for more in
            [DiskSums::of(&frame(&disks, true)), DiskSums::default(), DiskSums::of(&frame(&disks, false))]
        {
            sums.add(&more);
        }
        let twice = Disks::of([disk(1, 3), disk(1, 3)], DiskUse::default());
        assert_eq!((sums.intervals, sums.totals()), (2, Some(DiskTotals::of(&twice))));
    }

    #[test]
    fn each_disk_and_what_is_not_divided_are_the_sum() {
        let forgotten = make!(DiskUse { reads: make!(Requests { count: 1, bytes: 512, ns: 1 }) });
        let frames = [
            frame(&Disks::of([disk(1, 3), disk(2, 5)], forgotten), true),
            frame(&Disks::of([disk(1, 7)], DiskUse::default()), false),
            frame(&Disks::of([disk(2, 11)], DiskUse::default()), true),
            Frame::new(),
        ];
        let (mut sums, mut each) = (DiskSums::default(), [DeviceSums::default(), DeviceSums::default()]);
        for (place, frame) in frames.iter().enumerate() {
            sums.add(&DiskSums::of(frame));
            each[place / 2].add_frame(frame);
        }
        let [mut each, later] = each;
        each.add(&later);
        assert_eq!((sums.intervals, each.intervals, each.undivided.intervals), (3, 2, 1));
        let counts: Vec<u64> = each.disks.devices.iter().map(|disk| disk.all.reads.count).collect();
        assert_eq!(counts, [3, 16]);
        let mut whole = DiskTotals::of(&each.disks);
        whole.add(&each.undivided.totals().expect("one has them"));
        assert_eq!(Some(whole), sums.totals());
    }
}
