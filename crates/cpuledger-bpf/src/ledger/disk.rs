//! The account of disks: what `bpf/disk.bpf.c` books.

use std::mem::offset_of;
use std::os::fd::AsFd;
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
use super::parts::{self, Hooked, Needs, Parts};
use super::shared::{Shared, of_parity, take_word};

/// The compiled `bpf/disk.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/disk.bpf.o.zst"));

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
const DISK_BYTES: usize = size_of::<abi::cpuledger_disk>();
const USES_BYTES: usize = size_of::<abi::cpuledger_disk_use>() * abi::CPULEDGER_DISK_KINDS as usize;
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
    pub(super) hooks: Hooked<abi::cpuledger_slot_disk, abi::cpuledger_cpu_disk>,
    listed: Shared<u64>,
    control: Shared<abi::cpuledger_disk_control>,
    /// The records of devices, by [`abi::cpuledger_disk_key`].
    devices: MapHandle,
}

/// Two of what the hooks are attached to: the others are older.
pub(super) static NEEDS: Needs = Needs::new(Account::Disk, ["block_io_start", "block_io_done"], "6.5");

impl DiskBook {
    /// Attaches the hooks to the ledger with these parts, of so many slots and CPUs. The interval `since` is the first that counts.
    ///
    /// # Errors
    /// On kernels before 6.5, which do not tell what begins; and as [`super::Ledger::attach`].
    pub(super) fn attach(ledger: &Parts, counts: (u32, u32), since: u64) -> Result<DiskBook, Error> {
        let maps = ["slot_disks", "cpu_disks"];
        let sizes = [
            (maps[0], counts.0),
            (maps[1], counts.1),
            ("disk_listed", 2 * counts.0),
            ("disks", MOST_DEVICES.load(Ordering::Relaxed)),
        ];
        let object = parts::load_beside(ledger, &NEEDS, ("cpuledger_disk", OBJECT), &sizes)?;
        let map = |name| object::map(&object, name);
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to share the records of disks", &error);
        Ok(DiskBook {
            listed: Shared::new(&map("disk_listed").as_fd(), 2 * counts.0)?,
            control: Shared::new(&map(CONTROL).as_fd(), 1)?,
            devices: MapHandle::try_from(&map("disks")).map_err(refused)?,
            hooks: Hooked::attach("disks", &object, &HOOKS, maps, counts, since)?,
        })
    }

    /// Reads what was booked to a slot in an interval that lists it, and zeroes it. `None`: nothing.
    pub(super) fn take(&self, number: u32, interval: u64) -> Option<Taken<TaskDisks>> {
        let slots = &self.hooks.slots;
        let word = |offset| slots.word(number, of_parity(offset, interval));
        let load = |offset| word(offset).load(Ordering::Relaxed);
        if load(offset_of!(abi::cpuledger_slot_disk, mark)) != interval {
            return None;
        }
        let offset = offset_of!(abi::cpuledger_slot_disk, used) + USES_BYTES * (interval & 1) as usize;
        let all = uses(&slots.take(number, offset));
        let swap_blocked_ns = take_word(word(offset_of!(abi::cpuledger_slot_disk, swap_blocked_ns)));
        let swap_blocked_ns = Some(swap_blocked_ns).filter(|_| self.shows_swap());
        let owner_ns = load(offset_of!(abi::cpuledger_slot_disk, owner));
        let is_told = all != DiskUse::default() && self.hooks.is_whole(interval);
        is_told.then_some(Taken { used: TaskDisks { all, swap_blocked_ns }, owner_ns })
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
        let most = self.hooks.counts.0;
        let count = count.swap(0, Ordering::Relaxed).min(most.into()) as u32;
        let first = parity as u32 * most;
        (first..first + count)
            .map(|place| self.listed.word(place, 0).load(Ordering::Relaxed) as u32)
            .collect()
    }

    /// Takes the records of all devices, by their numbers, and what tasks have left whose slots others have got.
    pub(super) fn take_devices(&self, interval: u64) -> Result<Disks, Error> {
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to read the records of disks", &error);
        let parity = (interval & 1) as usize;
        let folded = offset_of!(abi::cpuledger_disk_control, folded) + USES_BYTES * parity;
        let forgotten = uses(&self.control.take(0, folded));
        // Devices for which there was no room.
        let others = offset_of!(abi::cpuledger_disk_control, others) + DISK_BYTES * parity;
        let others = disk(None, &self.control.take(0, others));
        let mut devices = Vec::from_iter(Some(others).filter(|others| others.all != DiskUse::default()));
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
