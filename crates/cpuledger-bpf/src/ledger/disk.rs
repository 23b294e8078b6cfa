//! The account of disks: what `bpf/disk.bpf.c` books.

use std::fmt;
use std::mem::offset_of;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::pod_read_unaligned;
use cpuledger_model::accounts::Account;
use cpuledger_model::counters::Counters;
use cpuledger_model::disk::{BUCKETS, Disk, DiskTimes, DiskUse, Disks, Requests};
use cpuledger_model::make;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::abi;
use crate::error::Error;
use crate::object;

use super::booked::Taken;
use super::cut;
use super::parts::{self, Needs, Parts};
use super::shared::{Shared, take_word};

/// The compiled `bpf/disk.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/disk.bpf.o"));

/// What disks did for a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskDisks {
    pub(super) all: DiskUse,
    /// The part of its time blocked for it that was swap-in; `None`: the kernel does not say it.
    pub(super) swap_blocked_ns: Option<u64>,
}

impl TaskDisks {
    pub(super) fn store_into(&self, counters: &mut Counters) {
        self.all.store_into(self.swap_blocked_ns, counters);
    }
}

/// In this order: what begins is known when it ends.
const HOOKS: [&str; 4] = ["on_io_done", "on_complete", "on_issue", "on_io_start"];

const CONTROL: &str = ".data.disk";
const USE_BYTES: usize = size_of::<abi::cpuledger_disk_use>();
const DISK_BYTES: usize = size_of::<abi::cpuledger_disk>();
const USES_BYTES: usize = USE_BYTES * abi::CPULEDGER_DISK_KINDS as usize;
const _: () = assert!(
    abi::CPULEDGER_DISK_BUCKETS as usize == BUCKETS && 1 << (abi::CPULEDGER_DISK_FIRST_SHIFT + 1) == 2048
);

/// Devices that are told apart, in both intervals. Tests have fewer.
static MOST_DEVICES: AtomicU32 = AtomicU32::new(abi::CPULEDGER_DISKS);

/// Has accounts of disks that are attached from now on tell fewer devices apart. For tests.
#[cfg(feature = "testing")]
pub fn tell_devices_apart(most: u32) {
    MOST_DEVICES.store(most, Ordering::Relaxed);
}

/// The attached hooks. They go with it.
pub(super) struct DiskBook {
    slots: Shared<abi::cpuledger_slot_disk>,
    listed: Shared<u64>,
    cpus: Shared<abi::cpuledger_cpu_disk>,
    control: Shared<abi::cpuledger_disk_control>,
    /// The records of devices, by [`abi::cpuledger_disk_key`].
    devices: MapHandle,
    counts: (u32, u32),
    /// The first interval that they have seen all of.
    since: u64,
    _hooks: Vec<OwnedFd>,
}

impl fmt::Debug for DiskBook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DiskBook").field("since", &self.since).finish_non_exhaustive()
    }
}

/// Two of what the hooks are attached to: the others are older.
pub(super) static NEEDS: Needs = Needs::new(Account::Disk, ["block_io_start", "block_io_done"], "6.5");

impl DiskBook {
    /// Attaches the hooks to the ledger with these parts, of so many slots and CPUs. The interval `since` is the first that counts.
    ///
    /// # Errors
    /// On kernels before 6.5, which do not tell what begins; and as [`super::Ledger::attach`].
    pub(super) fn attach(ledger: &Parts, (slots, cpus): (u32, u32), since: u64) -> Result<DiskBook, Error> {
        let sizes = [
            ("slot_disks", slots),
            ("disk_listed", 2 * slots),
            ("cpu_disks", cpus),
            ("disks", MOST_DEVICES.load(Ordering::Relaxed)),
        ];
        let object = parts::load_beside(ledger, &NEEDS, ("cpuledger_disk", OBJECT), &sizes)?;
        let map = |name| object::map(&object, name);
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to share the records of disks", &error);
        Ok(DiskBook {
            slots: Shared::unmapped(&map("slot_disks").as_fd(), slots)?,
            listed: Shared::new(&map("disk_listed").as_fd(), 2 * slots)?,
            cpus: Shared::new(&map("cpu_disks").as_fd(), cpus)?,
            control: Shared::new(&map(CONTROL).as_fd(), 1)?,
            devices: MapHandle::try_from(&map("disks")).map_err(refused)?,
            counts: (slots, cpus),
            since,
            _hooks: parts::attach_all(&object, &HOOKS)?,
        })
    }

    /// Whether all of an interval is in it.
    pub(super) fn is_whole(&self, interval: u64) -> bool {
        interval >= self.since
    }

    /// As the ledger does with its own slots.
    ///
    /// # Errors
    /// When the kernel refuses the memory.
    pub(super) fn map_up_to(&mut self, end: u32) -> Result<(), Error> {
        self.slots.map_up_to(end)
    }

    /// Waits for the hooks that have begun.
    ///
    /// # Errors
    /// When one does not come to its end.
    pub(super) fn close(&self) -> Result<(), Error> {
        let words = [offset_of!(abi::cpuledger_cpu_disk, entered), offset_of!(abi::cpuledger_cpu_disk, left)];
        (0..self.counts.1).try_for_each(|cpu| {
            cut::wait_for_hooks("disks", cpu, words.map(|word| self.cpus.word(cpu, word)))
        })
    }

    /// Reads what was booked to a slot in an interval that lists it, and zeroes it. `None`: nothing.
    pub(super) fn take(&self, number: u32, interval: u64) -> Option<Taken<TaskDisks>> {
        let parity = (interval & 1) as usize;
        let word = |offset| self.slots.word(number, offset + 8 * parity).load(Ordering::Relaxed);
        if word(offset_of!(abi::cpuledger_slot_disk, mark)) != interval {
            return None;
        }
        let offset = offset_of!(abi::cpuledger_slot_disk, used) + USES_BYTES * parity;
        let all = take(&self.slots, number, offset);
        let swap = offset_of!(abi::cpuledger_slot_disk, swap_blocked_ns) + 8 * parity;
        let swap_blocked_ns = Some(take_word(self.slots.word(number, swap))).filter(|_| self.shows_swap());
        let owner_ns = word(offset_of!(abi::cpuledger_slot_disk, owner));
        let used = TaskDisks { all, swap_blocked_ns };
        (all != DiskUse::default()).then_some(Taken { used, owner_ns })
    }

    /// Whether the kernel says which requests are for swap, as far as there were any.
    pub(super) fn shows_swap(&self) -> bool {
        let hides = self.control.word(0, offset_of!(abi::cpuledger_disk_control, hides_swap));
        hides.load(Ordering::Relaxed) == 0
    }

    /// Empties the list of an interval.
    pub(super) fn take_listed(&self, interval: u64) -> Vec<u32> {
        let parity = (interval & 1) as usize;
        let count = self.control.word(0, offset_of!(abi::cpuledger_disk_control, listed) + 8 * parity);
        let count = count.swap(0, Ordering::Relaxed).min(self.counts.0.into()) as u32;
        let first = parity as u32 * self.counts.0;
        (first..first + count)
            .map(|place| self.listed.word(place, 0).load(Ordering::Relaxed) as u32)
            .collect()
    }

    /// Takes the records of all devices, by their numbers, and what tasks have left whose slots others have got.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn take_devices(&self, interval: u64) -> Result<Disks, Error> {
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to read the records of disks", &error);
        let parity = (interval & 1) as usize;
        let forgotten =
            take(&self.control, 0, offset_of!(abi::cpuledger_disk_control, folded) + USES_BYTES * parity);
        let mut devices: Vec<Disk> = self.take_others(parity).into_iter().collect();
        // A key that is deleted ends the walk over the others.
        for bytes in self.devices.keys().collect::<Vec<_>>() {
            let key: abi::cpuledger_disk_key = pod_read_unaligned(&bytes);
            if key.parity as usize != parity {
                continue;
            }
            if let Some(record) = self.devices.lookup(&bytes, MapFlags::ANY).map_err(refused)? {
                let numbers = Some((key.major, key.first_minor));
                devices.push(disk(numbers, &pod_read_unaligned(&record)));
            }
            self.devices.delete(&bytes).map_err(refused)?;
        }
        Ok(Disks::of(devices, forgotten))
    }

    /// Takes the record of the devices for which there was no room; `None`: there was room for all.
    fn take_others(&self, parity: usize) -> Option<Disk> {
        let offset = offset_of!(abi::cpuledger_disk_control, others) + DISK_BYTES * parity;
        let words = (offset..offset + DISK_BYTES).step_by(size_of::<u64>());
        let words: Vec<u64> = words.map(|at| take_word(self.control.word(0, at))).collect();
        let others = disk(None, &pod_read_unaligned(bytemuck::cast_slice(&words)));
        (others.all != DiskUse::default()).then_some(others)
    }
}

/// `numbers`: as [`Disk::numbers`].
fn disk(numbers: Option<(u32, u32)>, record: &abi::cpuledger_disk) -> Disk {
    let [reads, writes] = record.buckets;
    make!(Disk {
        numbers,
        all: uses(&record.all),
        unattributed: uses(&record.unattributed),
        queue_ns: record.queue_ns,
        device_ns: record.device_ns,
        times: Some(Box::new(make!(DiskTimes { reads, writes }))),
    })
}

fn uses(of: &[abi::cpuledger_disk_use; abi::CPULEDGER_DISK_KINDS as usize]) -> DiskUse {
    let blocked_ns = of.iter().map(|of| of.blocked_ns).sum();
    let [reads, writes, discards] =
        of.map(|of| make!(Requests { count: of.requests, bytes: of.bytes, ns: of.ns }));
    make!(DiskUse { reads, writes, discards, blocked_ns })
}

/// Reads and zeroes the accumulators at `offset` of a record.
fn take<R: bytemuck::AnyBitPattern>(records: &Shared<R>, index: u32, offset: usize) -> DiskUse {
    let mut blocked_ns = 0;
    let mut requests = |kind: u32| {
        let place = offset + USE_BYTES * kind as usize;
        let word = |of_use| take_word(records.word(index, place + of_use));
        blocked_ns += word(offset_of!(abi::cpuledger_disk_use, blocked_ns));
        make!(Requests {
            count: word(offset_of!(abi::cpuledger_disk_use, requests)),
            bytes: word(offset_of!(abi::cpuledger_disk_use, bytes)),
            ns: word(offset_of!(abi::cpuledger_disk_use, ns)),
        })
    };
    make!(DiskUse {
        reads: requests(abi::CPULEDGER_DISK_READ),
        writes: requests(abi::CPULEDGER_DISK_WRITE),
        discards: requests(abi::CPULEDGER_DISK_DISCARD),
        blocked_ns,
    })
}
