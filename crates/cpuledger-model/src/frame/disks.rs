//! What each disk did, as rows of a table. What disks did is in the columns that the interval has for the sum of all.

use crate::disk::{Disk, DiskUse, Disks, MOST_DISKS, Requests};
use crate::frame::column::Column;
use crate::frame::layout::MOST_TEXT_BYTES;
use crate::frame::names::Names;
use crate::frame::table::Table;

/// A row is of all that a disk did, or of one of these parts of it; their numbers never change.
const UNATTRIBUTED: u64 = 1;
const FORGOTTEN: u64 = 2;

/// Of each disk and of all others: what it did and the part in no row; and what ended for tasks without a row.
pub(crate) const MOST_ROWS: usize = 2 * (MOST_DISKS + 1) + 1;

/// Requests, bytes and times of each kind.
const USED: [[Column; 3]; 3] = [
    [Column::ENDED_READS, Column::ENDED_READ_BYTES, Column::ENDED_READ_NS],
    [Column::ENDED_WRITES, Column::ENDED_WRITTEN_BYTES, Column::ENDED_WRITE_NS],
    [Column::ENDED_DISCARDS, Column::ENDED_DISCARDED_BYTES, Column::ENDED_DISCARD_NS],
];

/// The columns of these rows.
pub(crate) const COLUMNS: [Column; 16] = {
    let [[reads, read, read_ns], [writes, written, write_ns], [discards, discarded, discard_ns]] = USED;
    [
        Column::DISK_MAJOR,
        Column::DISK_MINOR,
        Column::DISK_NAME,
        Column::DISK_PART,
        reads,
        read,
        read_ns,
        writes,
        written,
        write_ns,
        discards,
        discarded,
        discard_ns,
        Column::QUEUE_NS,
        Column::DEVICE_NS,
        Column::ENDED_BLOCKED_NS,
    ]
};

/// Puts them in the place of all rows, and their names among those of the frame.
pub(crate) fn write(table: &mut Table, names: &mut Names, disks: &Disks) {
    let nothing = DiskUse::default();
    let mut rows: Vec<(Option<&Disk>, Option<u64>, &DiskUse)> = Vec::new();
    for disk in &disks.devices {
        rows.push((Some(disk), None, &disk.all));
        if disk.unattributed != nothing {
            rows.push((Some(disk), Some(UNATTRIBUTED), &disk.unattributed));
        }
    }
    if disks.forgotten != nothing {
        rows.push((None, Some(FORGOTTEN), &disks.forgotten));
    }
    table.reset(rows.len());
    for (row, (disk, part, used)) in rows.into_iter().enumerate() {
        let numbers = disk.and_then(|disk| disk.numbers);
        let name = disk.map(|disk| &disk.name).filter(|name| numbers.is_some() && !name.is_empty());
        let name = name.map(|name| names.intern(&name[..name.len().min(MOST_TEXT_BYTES as usize)]).into());
        let whole = disk.filter(|_| part.is_none());
        for (column, value) in [
            (Column::DISK_MAJOR, numbers.map(|(major, _)| major.into())),
            (Column::DISK_MINOR, numbers.map(|(_, minor)| minor.into())),
            (Column::DISK_NAME, name),
            (Column::DISK_PART, part),
            (Column::QUEUE_NS, whole.map(|disk| disk.queue_ns)),
            (Column::DEVICE_NS, whole.map(|disk| disk.device_ns)),
            (Column::ENDED_BLOCKED_NS, Some(used.blocked_ns)),
        ] {
            table.set(column, row, value);
        }
        for (columns, Requests { count, bytes, ns }) in
            USED.into_iter().zip([used.reads, used.writes, used.discards])
        {
            for (column, value) in columns.into_iter().zip([count, bytes, ns]) {
                table.set(column, row, Some(value));
            }
        }
    }
}

/// The disks of all rows. One whose numbers are none is among the others, and a part that is not known here says nothing.
pub(crate) fn read(table: &Table, names: &Names) -> Disks {
    let mut forgotten = DiskUse::default();
    let mut devices = Vec::new();
    for row in 0..table.len() {
        let get = |column| table.get(column, row).unwrap_or(0);
        let [reads, writes, discards] =
            USED.map(|[count, bytes, ns]| Requests { count: get(count), bytes: get(bytes), ns: get(ns) });
        let used = DiskUse { reads, writes, discards, blocked_ns: get(Column::ENDED_BLOCKED_NS) };
        let number = |column| u32::try_from(table.get(column, row)?).ok();
        let name = table.get(Column::DISK_NAME, row).and_then(|number| names.get(number)).unwrap_or_default();
        let numbers = number(Column::DISK_MAJOR).zip(number(Column::DISK_MINOR));
        // All others have no name.
        let name = numbers.map_or_else(Vec::new, |_| name.to_vec());
        let disk = Disk { numbers, name, ..Disk::default() };
        devices.push(match table.get(Column::DISK_PART, row) {
            None => {
                let (queue_ns, device_ns) = (get(Column::QUEUE_NS), get(Column::DEVICE_NS));
                Disk { all: used, queue_ns, device_ns, ..disk }
            }
            Some(UNATTRIBUTED) => Disk { unattributed: used, ..disk },
            Some(FORGOTTEN) => {
                forgotten.add(&used);
                continue;
            }
            Some(_) => continue,
        });
    }
    Disks::of(devices, forgotten)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Section};

    fn requests(count: u64) -> Requests {
        Requests { count, bytes: count << 12, ns: 1000 * count }
    }

    fn disks() -> Disks {
        let busy = Disk {
            numbers: Some((259, 1)),
            name: b"nvme0n1".to_vec(),
            all: DiskUse { reads: requests(9), writes: requests(4), discards: requests(1), blocked_ns: 23 },
            unattributed: DiskUse { writes: requests(2), ..DiskUse::default() },
            queue_ns: 17,
            device_ns: 19,
            ..Disk::default()
        };
        let gone = Disk {
            numbers: Some((8, 0)),
            all: DiskUse { reads: requests(1), ..DiskUse::default() },
            ..Disk::default()
        };
        let others = Disk {
            all: DiskUse { writes: requests(3), ..DiskUse::default() },
            queue_ns: 5,
            ..Disk::default()
        };
        Disks::of([busy, gone, others], DiskUse { reads: requests(2), ..DiskUse::default() })
    }

    fn decoded(frame: &Frame) -> Frame {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).expect("it is short");
        Frame::decode(&bytes).expect("a frame")
    }

    #[test]
    fn what_is_written_is_read() {
        let mut frame = Frame::new();
        frame.set_disks(&disks());
        assert_eq!(frame.table(Section::Disks).len(), 5, "three disks, and two parts that are in no row");
        let frame = decoded(&frame);
        assert_eq!(frame.disks(), disks());
        assert_eq!(frame.text_of(Section::Disks, Column::DISK_NAME, 1), Some(&b"nvme0n1"[..]));
        // No other column has a value: a reader that wants these has all.
        let table = frame.table(Section::Disks);
        let used: Vec<Column> = Column::known().filter(|column| table.has(*column)).collect();
        assert!(
            used.iter().all(|column| COLUMNS.contains(column)) && used.len() == COLUMNS.len(),
            "{used:?}"
        );
    }

    #[test]
    fn what_a_newer_version_says_of_a_disk_changes_no_sum() {
        let mut frame = Frame::new();
        frame.set_disks(&disks());
        let all = disks().all();
        let table = frame.table_mut(Section::Disks);
        table.set(Column::DISK_PART, 2, Some(99));
        table.set(Column::DISK_MAJOR, 0, Some(1 << 32));
        let read = decoded(&frame).disks();
        assert!(read.devices.iter().all(|disk| disk.numbers.is_some() || disk.name.is_empty()), "{read:?}");
        assert_eq!(read.all(), all);
        assert_eq!(read.devices.len(), 2, "a disk without numbers is among the others: {read:?}");
        assert_eq!(read.devices[0].unattributed, DiskUse::default());
    }

    #[test]
    fn a_frame_of_others_with_too_many_disks_is_bounded() {
        let rows = 3 * MOST_DISKS;
        let mut frame = Frame::new();
        let table = frame.table_mut(Section::Disks);
        table.reset(rows);
        table.fill(Column::DISK_MAJOR, (0..rows as u64).map(Some));
        table.fill(Column::DISK_MINOR, (0..rows as u64).map(Some));
        table.fill(Column::ENDED_READ_BYTES, (0..rows as u64).map(Some));
        let read = frame.disks();
        assert_eq!(read.devices.len(), MOST_DISKS + 1);
        assert_eq!(read.all().reads.bytes, (0..rows as u64).sum());
    }
}
