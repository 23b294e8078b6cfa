//! What each disk did, as `top --by device` and `report --by device` have it.

use std::cmp::Reverse;

use cpuledger_model::disk::{Disk, DiskTotals, Disks, Requests};
use cpuledger_model::interval::Interval;
use cpuledger_proc::escape::escaped;

use crate::member::{Member, known};

/// Which disks a row is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// The disk with these numbers.
    Disk(u32, u32),
    /// All that have no row of their own.
    Others,
    /// All, where an interval does not say which.
    #[default]
    All,
}

/// A disk, or several. What is not known of it is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceRow {
    /// Which.
    pub of: Of,
    /// The name of a disk, as /proc/diskstats has it; empty: not known.
    pub name: Vec<u8>,
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
    /// For how long tasks were blocked for I/O until a request of theirs ended.
    pub blocked_ns: Option<u64>,
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
    pub(crate) fn of_disk(disk: &Disk) -> DeviceRow {
        DeviceRow {
            of: disk.numbers.map_or(Of::Others, |(major, minor)| Of::Disk(major, minor)),
            name: disk.name.clone(),
            reads: disk.all.reads.into(),
            writes: disk.all.writes.into(),
            discards: disk.all.discards.into(),
            queue_ns: Some(disk.queue_ns),
            device_ns: Some(disk.device_ns),
            blocked_ns: Some(disk.all.blocked_ns),
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

    /// What text calls it: a disk without a name by its numbers.
    pub fn label(&self) -> String {
        match self.of {
            Of::Disk(major, minor) if self.name.is_empty() => format!("{major}:{minor}"),
            Of::Disk(..) => escaped(&self.name),
            Of::Others => "(other disks)".to_owned(),
            Of::All => "(all disks)".to_owned(),
        }
    }

    fn numbers(&self) -> Option<(u32, u32)> {
        if let Of::Disk(major, minor) = self.of { Some((major, minor)) } else { None }
    }
}

/// The keys of a row in JSON, but for its name.
pub(crate) static DEVICE: [Member<DeviceRow>; 16] = [
    Member { key: "major", value: |row| known(row.numbers().map(|(major, _)| major.into())) },
    Member { key: "minor", value: |row| known(row.numbers().map(|(_, minor)| minor.into())) },
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
    Member { key: "blocked_ns", value: |row| known(row.blocked_ns) },
    Member { key: "unattributed_read_bytes", value: |row| known(row.unattributed_read_bytes) },
    Member { key: "unattributed_written_bytes", value: |row| known(row.unattributed_written_bytes) },
];

/// So many of the first are those of a disk of an interval, which says by process what is in no row.
pub(crate) const OF_DISK: usize = 14;

/// The disks of an interval, the busiest by bytes first. One row of all, where it does not divide them; `None`: no account was kept.
pub fn rows(interval: &Interval) -> Option<Vec<DeviceRow>> {
    let Some(disks) = &interval.disks else {
        let totals = &interval.disk_totals;
        return (*totals != DiskTotals::default()).then(|| vec![DeviceRow::of_all(totals)]);
    };
    Some(rows_of(disks))
}

/// Each of these disks, the busiest by bytes first, and all others last.
pub(crate) fn rows_of(disks: &Disks) -> Vec<DeviceRow> {
    let mut disks: Vec<&Disk> = disks.devices.iter().collect();
    disks.sort_by_key(|disk| (disk.numbers.is_none(), Reverse(disk.moved_bytes()), disk.numbers));
    disks.into_iter().map(DeviceRow::of_disk).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use cpuledger_model::disk::{DiskTimes, DiskUse};
    use cpuledger_model::make;

    use super::*;

    fn requests(count: u64) -> Requests {
        make!(Requests { count, bytes: count << 12, ns: count * 250_000 })
    }

    /// Three disks; the second has read and written more, and some of it is in no row. What the others are is not known.
    pub(crate) fn example() -> Interval {
        let quiet = make!(Disk {
            numbers: Some((8, 0)),
            all: make!(DiskUse { reads: requests(3) }),
            queue_ns: 50_000,
            device_ns: 700_000,
        });
        let busy = make!(Disk {
            numbers: Some((259, 1)),
            name: b"nvme0n1".to_vec(),
            all: make!(DiskUse {
                reads: requests(1000),
                writes: requests(200),
                discards: requests(1),
                blocked_ns: 280_000_000
            }),
            unattributed: make!(DiskUse { writes: requests(5) }),
            queue_ns: 250_000,
            device_ns: 300_000_000,
            times: Some(Box::new(DiskTimes::default())),
        });
        let others = make!(Disk { all: make!(DiskUse { reads: requests(2000) }), device_ns: 900_000 });
        let disks = Disks::of([quiet, busy, others], DiskUse::default());
        make!(Interval { disk_totals: DiskTotals::of(&disks), disks: Some(disks) })
    }

    #[test]
    fn the_busiest_disk_is_first_and_what_is_not_divided_is_one_row() {
        let interval = example();
        let told = rows(&interval).expect("it is kept");
        let labels: Vec<String> = told.iter().map(DeviceRow::label).collect();
        assert_eq!(labels, ["nvme0n1", "8:0", "(other disks)"], "others are last, however much they did");
        assert_eq!(told[0].unattributed_written_bytes, Some(5 << 12));
        // As a frame of an older version has it.
        let sums = make!(Interval { disks: None, ..interval });
        let told = rows(&sums).expect("it is kept");
        let [all] = &told[..] else { panic!("{told:?}") };
        assert_eq!((all.of, all.reads.count, all.writes.bytes), (Of::All, Some(3003), Some(200 << 12)));
        assert_eq!((all.discards, all.queue_ns), (Figures::default(), None), "what is not known is absent");
        assert_eq!(rows(&Interval::default()), None);
    }

    #[test]
    fn a_name_is_escaped() {
        let row = DeviceRow { of: Of::Disk(7, 0), name: b"lo\x1b[31m\n".to_vec(), ..DeviceRow::default() };
        assert!(!row.label().contains(char::is_control), "{:?}", row.label());
    }
}
