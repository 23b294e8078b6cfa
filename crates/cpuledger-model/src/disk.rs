//! What disks did for tasks: the figures of the account [`crate::accounts::Account::Disk`].

use crate::accounts::Account;
use crate::counters::Counters;

/// Requests of one kind that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requests {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the call of the task to the end, summed, in nanoseconds. Requests that began before the account was kept have none.
    pub ns: u64,
}

impl Requests {
    /// Adds others.
    pub fn add(&mut self, more: Requests) {
        self.count += more.count;
        self.bytes += more.bytes;
        self.ns += more.ns;
    }
}

/// Requests by kind, as /proc/diskstats has them. It counts flushes too, which are of no task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskUse {
    /// Reads.
    pub reads: Requests,
    /// Writes, but for discards.
    pub writes: Requests,
    /// Discards.
    pub discards: Requests,
}

impl DiskUse {
    /// Adds another.
    pub fn add(&mut self, more: &DiskUse) {
        self.reads.add(more.reads);
        self.writes.add(more.writes);
        self.discards.add(more.discards);
    }

    /// Makes the fields of the account those of this. Discards have none.
    pub fn store_into(&self, counters: &mut Counters) {
        counters.disk_reads = self.reads.count;
        counters.disk_read_bytes = self.reads.bytes;
        counters.disk_read_ns = self.reads.ns;
        counters.disk_writes = self.writes.count;
        counters.disk_written_bytes = self.writes.bytes;
        counters.disk_write_ns = self.writes.ns;
        counters.known = counters.known.union(Account::Disk.fields());
    }
}

/// Buckets of a [`Disk`]: the first has requests that took less than 2,048 ns, each of the next less than twice as long. The last has all others.
pub const BUCKETS: usize = 32;

/// A device in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disk {
    /// Its numbers, as /proc/diskstats begins with.
    pub major: u32,
    /// Likewise.
    pub minor: u32,
    /// What has ended.
    pub all: DiskUse,
    /// The part of that which is in no row: it began before the account was kept, or its task had no slot, or has died since.
    pub unattributed: DiskUse,
    /// Before the device had the requests, summed, in nanoseconds.
    pub queue_ns: u64,
    /// From then to their end, likewise.
    pub device_ns: u64,
    /// How many reads took how long.
    pub read_times: [u64; BUCKETS],
    /// Likewise, writes.
    pub write_times: [u64; BUCKETS],
}

/// All devices of an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disks {
    /// Each, by its numbers.
    pub devices: Vec<Disk>,
    /// What has ended for tasks that have no row, of any device: they have died, or their slot is another one's since.
    pub forgotten: DiskUse,
}

impl Disks {
    /// What has ended at all devices.
    pub fn all(&self) -> DiskUse {
        self.sum(|disk| &disk.all)
    }

    /// What of that is in no row.
    pub fn unattributed(&self) -> DiskUse {
        let mut sum = self.sum(|disk| &disk.unattributed);
        sum.add(&self.forgotten);
        sum
    }

    fn sum(&self, of: impl Fn(&Disk) -> &DiskUse) -> DiskUse {
        let mut sum = DiskUse::default();
        self.devices.iter().for_each(|disk| sum.add(of(disk)));
        sum
    }
}

/// What has ended at all devices in an interval; absent while the account is not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskTotals {
    /// Reads.
    pub reads: Option<u64>,
    /// Their bytes.
    pub read_bytes: Option<u64>,
    /// Their time from the call to the end, summed, in nanoseconds.
    pub read_ns: Option<u64>,
    /// Writes.
    pub writes: Option<u64>,
    /// Their bytes.
    pub written_bytes: Option<u64>,
    /// Their time, likewise.
    pub write_ns: Option<u64>,
    /// Of the bytes read: those in no row.
    pub unattributed_read_bytes: Option<u64>,
    /// Of the bytes written: likewise.
    pub unattributed_written_bytes: Option<u64>,
}

impl DiskTotals {
    /// Those of these devices.
    pub fn of(disks: &Disks) -> DiskTotals {
        let (DiskUse { reads, writes, .. }, unattributed) = (disks.all(), disks.unattributed());
        DiskTotals {
            reads: Some(reads.count),
            read_bytes: Some(reads.bytes),
            read_ns: Some(reads.ns),
            writes: Some(writes.count),
            written_bytes: Some(writes.bytes),
            write_ns: Some(writes.ns),
            unattributed_read_bytes: Some(unattributed.reads.bytes),
            unattributed_written_bytes: Some(unattributed.writes.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_field() {
        let requests = |count| Requests { count, bytes: 10 * count, ns: 100 * count };
        let mut disk_use = DiskUse { reads: requests(1), writes: requests(2), discards: requests(4) };
        disk_use.add(&disk_use.clone());
        let mut counters = Counters::default();
        disk_use.store_into(&mut counters);
        assert_eq!(counters.known, Account::Disk.fields());
        assert_eq!((counters.disk_reads, counters.disk_read_bytes, counters.disk_read_ns), (2, 20, 200));
        assert_eq!((counters.disk_writes, counters.disk_written_bytes, counters.disk_write_ns), (4, 40, 400));
    }
}
