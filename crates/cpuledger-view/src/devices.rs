//! What each disk did in an interval, as `top --by device` has it.

use std::cmp::Reverse;

use cpuledger_model::disk::{Disk, DiskTotals, Requests};
use cpuledger_model::interval::Interval;

use crate::member::{Member, known};

/// A disk, or all of them where an interval does not say which. What is not known of it is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceRow {
    /// The numbers of the device; `None`: all disks together.
    pub numbers: Option<(u32, u32)>,
    /// Reads, their bytes and their time in nanoseconds.
    pub reads: Figures,
    /// Writes, likewise.
    pub writes: Figures,
    /// Discards, likewise.
    pub discards: Figures,
    /// The part of the time before the device had the requests.
    pub queue_ns: Option<u64>,
    /// The part from then to the end.
    pub device_ns: Option<u64>,
    /// Of the bytes read: those in no row of a process.
    pub unattributed_read_bytes: Option<u64>,
    /// Of the bytes written: likewise.
    pub unattributed_written_bytes: Option<u64>,
}

/// Requests of one kind, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// How many.
    pub count: Option<u64>,
    /// Their bytes.
    pub bytes: Option<u64>,
    /// From the call to the end, summed.
    pub ns: Option<u64>,
}

impl From<Requests> for Figures {
    fn from(of: Requests) -> Figures {
        Figures { count: Some(of.count), bytes: Some(of.bytes), ns: Some(of.ns) }
    }
}

impl DeviceRow {
    fn of_disk(disk: &Disk) -> DeviceRow {
        DeviceRow {
            numbers: Some((disk.major, disk.minor)),
            reads: disk.all.reads.into(),
            writes: disk.all.writes.into(),
            discards: disk.all.discards.into(),
            queue_ns: Some(disk.queue_ns),
            device_ns: Some(disk.device_ns),
            unattributed_read_bytes: Some(disk.unattributed.reads.bytes),
            unattributed_written_bytes: Some(disk.unattributed.writes.bytes),
        }
    }

    pub(crate) fn of_all(totals: &DiskTotals) -> DeviceRow {
        DeviceRow {
            reads: Figures { count: totals.reads, bytes: totals.read_bytes, ns: totals.read_ns },
            writes: Figures { count: totals.writes, bytes: totals.written_bytes, ns: totals.write_ns },
            unattributed_read_bytes: totals.unattributed_read_bytes,
            unattributed_written_bytes: totals.unattributed_written_bytes,
            ..DeviceRow::default()
        }
    }
}

/// The keys of a row in JSON, but for its name.
pub(crate) static DEVICE: [Member<DeviceRow>; 15] = [
    Member { key: "major", value: |row| known(row.numbers.map(|(major, _)| major.into())) },
    Member { key: "minor", value: |row| known(row.numbers.map(|(_, minor)| minor.into())) },
    Member { key: "reads", value: |row| known(row.reads.count) },
    Member { key: "read_bytes", value: |row| known(row.reads.bytes) },
    Member { key: "read_ns", value: |row| known(row.reads.ns) },
    Member { key: "writes", value: |row| known(row.writes.count) },
    Member { key: "written_bytes", value: |row| known(row.writes.bytes) },
    Member { key: "write_ns", value: |row| known(row.writes.ns) },
    Member { key: "discards", value: |row| known(row.discards.count) },
    Member { key: "discarded_bytes", value: |row| known(row.discards.bytes) },
    Member { key: "discard_ns", value: |row| known(row.discards.ns) },
    Member { key: "queue_ns", value: |row| known(row.queue_ns) },
    Member { key: "device_ns", value: |row| known(row.device_ns) },
    Member { key: "unattributed_read_bytes", value: |row| known(row.unattributed_read_bytes) },
    Member { key: "unattributed_written_bytes", value: |row| known(row.unattributed_written_bytes) },
];

/// The disks of an interval, the busiest by bytes first. One row of all, where it does not divide them; `None`: no account was kept.
pub fn rows(interval: &Interval) -> Option<Vec<DeviceRow>> {
    let Some(disks) = &interval.disks else {
        let totals = &interval.disk_totals;
        return (*totals != DiskTotals::default()).then(|| vec![DeviceRow::of_all(totals)]);
    };
    let mut rows: Vec<DeviceRow> = disks.devices.iter().map(DeviceRow::of_disk).collect();
    let bytes = |figures: Figures| figures.bytes.unwrap_or(0);
    rows.sort_by_key(|row| (Reverse(bytes(row.reads).saturating_add(bytes(row.writes))), row.numbers));
    Some(rows)
}

#[cfg(test)]
pub(crate) mod tests {
    use cpuledger_model::disk::{DiskUse, Disks};
    use cpuledger_model::make;

    use super::*;

    fn requests(count: u64) -> Requests {
        make!(Requests { count, bytes: count << 12, ns: count * 250_000 })
    }

    /// Two disks; the second has read and written more, and some of it is in no row.
    pub(crate) fn example() -> Interval {
        let quiet = make!(Disk {
            major: 8,
            minor: 0,
            all: make!(DiskUse { reads: requests(3) }),
            queue_ns: 50_000,
            device_ns: 700_000,
        });
        let busy = make!(Disk {
            major: 259,
            minor: 1,
            all: make!(DiskUse { reads: requests(1000), writes: requests(200), discards: requests(1) }),
            unattributed: make!(DiskUse { writes: requests(5) }),
            queue_ns: 250_000,
            device_ns: 300_000_000,
        });
        let disks = make!(Disks { devices: vec![quiet, busy] });
        make!(Interval { disk_totals: DiskTotals::of(&disks), disks: Some(disks) })
    }

    #[test]
    fn the_busiest_disk_is_first_and_what_is_not_divided_is_one_row() {
        let interval = example();
        let told = rows(&interval).expect("it is kept");
        assert_eq!(told.iter().map(|row| row.numbers).collect::<Vec<_>>(), [Some((259, 1)), Some((8, 0))]);
        assert_eq!(told[0].unattributed_written_bytes, Some(5 << 12));
        // As a frame has it.
        let sums = make!(Interval { disks: None, ..interval });
        let told = rows(&sums).expect("it is kept");
        let [all] = told[..] else { panic!("{told:?}") };
        assert_eq!((all.numbers, all.reads.count, all.writes.bytes), (None, Some(1003), Some(200 << 12)));
        assert_eq!((all.discards, all.queue_ns), (Figures::default(), None), "what is not known is absent");
        assert_eq!(rows(&Interval::default()), None);
    }
}
