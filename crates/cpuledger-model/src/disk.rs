//! What disks did for tasks: the figures of the account [`crate::accounts::Account::Disk`].

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

/// Requests of one kind that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Adds others. A sum that is too large for a number is the greatest one.
    pub fn add(&mut self, more: Requests) {
        self.count = self.count.saturating_add(more.count);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.ns = self.ns.saturating_add(more.ns);
    }
}

/// Requests by kind, as /proc/diskstats has them. It counts flushes too, which are of no task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiskUse {
    /// Reads.
    pub reads: Requests,
    /// Writes, but for discards.
    pub writes: Requests,
    /// Discards.
    pub discards: Requests,
    /// For how long tasks were blocked for I/O until a request of theirs ended, in nanoseconds: the part of their I/O wait that is known to be for this.
    pub blocked_ns: u64,
}

impl DiskUse {
    /// Adds another.
    pub fn add(&mut self, more: &DiskUse) {
        self.reads.add(more.reads);
        self.writes.add(more.writes);
        self.discards.add(more.discards);
        self.blocked_ns = self.blocked_ns.saturating_add(more.blocked_ns);
    }
}

/// Buckets of [`DiskTimes`]: the first has requests that took less than 2,048 ns, each of the next less than twice as long. The last has all others.
pub const BUCKETS: usize = 32;

/// Disks that are told apart in an interval; all others are one.
pub const MOST_DISKS: usize = 256;

/// How many requests took how long.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiskTimes {
    /// Reads.
    pub reads: [u64; BUCKETS],
    /// Writes, likewise.
    pub writes: [u64; BUCKETS],
}

impl DiskTimes {
    fn add(&mut self, more: &DiskTimes) {
        let own = self.reads.iter_mut().chain(&mut self.writes);
        for (own, more) in own.zip(more.reads.iter().chain(&more.writes)) {
            *own = own.saturating_add(*more);
        }
    }
}

/// A disk in an interval, or all other disks together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Disk {
    /// Its numbers, as /proc/diskstats begins with; `None`: all others, of which there are more than [`MOST_DISKS`].
    pub numbers: Option<(u32, u32)>,
    /// Its name, as /proc/diskstats has it; empty: not known.
    pub name: Vec<u8>,
    /// What has ended.
    pub all: DiskUse,
    /// The part of that which is in no row: it began before the account was kept, or its task had no slot, or has died since.
    pub unattributed: DiskUse,
    /// Before the device had the requests, summed, in nanoseconds.
    pub queue_ns: u64,
    /// From then to their end, likewise.
    pub device_ns: u64,
    /// How many of them took how long. `None`: not known, as where a frame has said the rest.
    pub times: Option<Box<DiskTimes>>,
}

/// Which disk it is: all others are last.
type Identity<'a> = (bool, Option<(u32, u32)>, &'a [u8]);

impl Disk {
    /// What was read and written, in bytes: the busiest disk has most.
    pub fn moved_bytes(&self) -> u64 {
        self.all.reads.bytes.saturating_add(self.all.writes.bytes)
    }

    /// One that has got other numbers, or another name, since is another one.
    fn identity(&self) -> Identity<'_> {
        let name: &[u8] = if self.numbers.is_some() { &self.name } else { &[] };
        (self.numbers.is_none(), self.numbers, name)
    }

    fn add(&mut self, more: &Disk) {
        self.all.add(&more.all);
        self.unattributed.add(&more.unattributed);
        self.queue_ns = self.queue_ns.saturating_add(more.queue_ns);
        self.device_ns = self.device_ns.saturating_add(more.device_ns);
        match (&mut self.times, &more.times) {
            (Some(own), Some(more)) => own.add(more),
            _ => self.times = None,
        }
    }
}

/// All disks of an interval or a span.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Disks {
    /// Each once, by its numbers and its name; all others come last.
    pub devices: Vec<Disk>,
    /// What has ended for tasks that have no row, of any disk: they have died, or their slot is another one's since.
    pub forgotten: DiskUse,
}

impl Disks {
    /// These, of which the same may come more than once, and what has ended for tasks that have no row. Of more than [`MOST_DISKS`], those that read and
    /// wrote least are one.
    pub fn of(devices: impl IntoIterator<Item = Disk>, forgotten: DiskUse) -> Disks {
        let mut devices: Vec<Disk> = devices.into_iter().collect();
        devices.sort_by(|one, other| one.identity().cmp(&other.identity()));
        devices.dedup_by(|later, first| {
            let is_same = later.identity() == first.identity();
            if is_same {
                first.add(later);
            }
            is_same
        });
        let mut disks = Disks { devices, forgotten };
        disks.keep(MOST_DISKS);
        disks
    }

    /// Adds those of another interval; at most that many are told apart.
    pub fn add(&mut self, more: &Disks, most: usize) {
        self.forgotten.add(&more.forgotten);
        for disk in &more.devices {
            match self.devices.binary_search_by(|own| own.identity().cmp(&disk.identity())) {
                Ok(place) => self.devices[place].add(disk),
                Err(place) => self.devices.insert(place, disk.clone()),
            }
        }
        self.keep(most);
    }

    /// Puts all but that many, those that read and wrote most, among the others.
    pub fn keep(&mut self, most: usize) {
        let named = self.devices.iter().filter(|disk| disk.numbers.is_some()).count();
        if named <= most {
            return;
        }
        let requests = |disk: &Disk| disk.all.reads.count.saturating_add(disk.all.writes.count);
        // Of equals, the first in the order of their numbers stay.
        let weight = |disk: &Disk| Reverse((disk.numbers.is_some(), disk.moved_bytes(), requests(disk)));
        self.devices.sort_by_key(weight);
        let mut rest = self.devices.drain(most..);
        let mut others = rest.next().unwrap_or_default();
        rest.for_each(|disk| others.add(&disk));
        (others.numbers, others.name) = (None, Vec::new());
        self.devices.sort_by(|one, other| one.identity().cmp(&other.identity()));
        self.devices.push(others);
    }

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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

    /// Whether all of them are known. An account that is kept tells all.
    pub fn is_whole(&self) -> bool {
        let mut own = *self;
        own.figures().iter().all(|figure| figure.is_some())
    }

    /// Adds those of another interval: what one of both does not know is not known of the sum.
    pub fn add(&mut self, more: &DiskTotals) {
        let mut more = *more;
        for (own, more) in self.figures().into_iter().zip(more.figures()) {
            *own = own.zip(*more).map(|(own, more)| own.saturating_add(more));
        }
    }

    fn figures(&mut self) -> [&mut Option<u64>; 8] {
        let DiskTotals {
            reads,
            read_bytes,
            read_ns,
            writes,
            written_bytes,
            write_ns,
            unattributed_read_bytes,
            unattributed_written_bytes,
        } = self;
        [
            reads,
            read_bytes,
            read_ns,
            writes,
            written_bytes,
            write_ns,
            unattributed_read_bytes,
            unattributed_written_bytes,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that has read so much.
    fn disk(minor: u32, name: &[u8], bytes: u64) -> Disk {
        let reads = Requests { count: 1, bytes, ns: 7 };
        Disk {
            numbers: Some((8, minor)),
            name: name.to_vec(),
            all: DiskUse { reads, ..DiskUse::default() },
            queue_ns: 2,
            device_ns: 3,
            times: Some(Box::default()),
            ..Disk::default()
        }
    }

    #[test]
    fn the_same_disk_comes_once_and_another_name_is_another_disk() {
        let disks = Disks::of([disk(1, b"b", 5), disk(0, b"a", 3), disk(1, b"b", 6)], DiskUse::default());
        assert_eq!(disks.devices.iter().map(Disk::moved_bytes).collect::<Vec<_>>(), [3, 11]);
        let mut both = disks.clone();
        both.add(&Disks::of([disk(1, b"c", 9), disk(1, b"b", 1)], DiskUse::default()), MOST_DISKS);
        assert_eq!(both.devices.iter().map(Disk::moved_bytes).collect::<Vec<_>>(), [3, 12, 9]);
        assert!(both.devices.iter().all(|disk| disk.times.is_some()));
        // What is not known of a part is not known of the sum.
        both.add(&Disks::of([Disk { times: None, ..disk(0, b"a", 0) }], DiskUse::default()), MOST_DISKS);
        assert_eq!(
            both.devices.iter().map(|disk| disk.times.is_some()).collect::<Vec<_>>(),
            [false, true, true]
        );
    }

    #[test]
    fn the_least_of_too_many_disks_are_one_and_nothing_is_lost() {
        let most = MOST_DISKS as u32;
        let all = (0..most + 9).map(|minor| disk(minor, b"", u64::from(minor)));
        let sum: u64 = all.clone().map(|disk| disk.moved_bytes()).sum();
        let mut disks = Disks::of(all, DiskUse::default());
        let is_whole = |disks: &Disks, named: usize| {
            let (others, rest) = disks.devices.split_last().expect("there are disks");
            assert_eq!((others.numbers, rest.len()), (None, named));
            assert!(
                rest.is_sorted_by_key(|disk| disk.numbers) && rest.iter().all(|disk| disk.numbers.is_some())
            );
            let figures = disks.all();
            assert_eq!((figures.reads.bytes, figures.reads.count), (sum, u64::from(most) + 9));
            assert_eq!(
                disks.devices.iter().map(|disk| disk.device_ns).sum::<u64>(),
                3 * (u64::from(most) + 9)
            );
        };
        is_whole(&disks, MOST_DISKS);
        assert_eq!(disks.devices[0].numbers, Some((8, 9)), "those with the least are among the others");
        disks.keep(2);
        is_whole(&disks, 2);
        assert_eq!(disks.devices[0].numbers, Some((8, most + 7)));
    }

    #[test]
    fn totals_of_two_intervals_add_up_where_both_are_known() {
        let known = DiskTotals::of(&Disks::of([disk(1, b"", 5)], DiskUse::default()));
        let mut sum = known;
        sum.add(&known);
        assert!(known.is_whole() && sum.is_whole());
        assert_eq!((sum.reads, sum.read_bytes, sum.unattributed_read_bytes), (Some(2), Some(10), Some(0)));
        sum.add(&DiskTotals { reads: None, ..known });
        assert_eq!((sum.reads, sum.read_bytes, sum.is_whole()), (None, Some(15), false));
    }
}
