//! What cgroups send and receive on the wire: what `bpf/wire.bpf.c` counts.
//!
//! The counters never decrease. A cut reads them some 100 µs late, and an interval has what they have grown by since the last time.

use std::fs::File;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use cpuledger_model::accounts::Account;
use cpuledger_model::wire::{self, WireCgroup, WireUse};
use cpuledger_proc::task::cgroup::Hierarchy;
use cpuledger_proc::task::mountinfo::cgroup_root;
use rustix::thread::{CapabilitySet, capabilities};

use crate::abi;
use crate::error::Error;
use crate::object;

use super::parts;
use super::shared::Shared;

/// The compiled `bpf/wire.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wire.bpf.o.zst"));

const CGROUPS: u32 = abi::CPULEDGER_WIRE_CGROUPS;
const OTHER: u32 = abi::CPULEDGER_WIRE_OTHER;
const FREE: u64 = abi::CPULEDGER_CLASS_FREE as u64;
const USED: u64 = abi::CPULEDGER_CLASS_USED as u64;
const CLAIMED: u64 = abi::CPULEDGER_CLASS_CLAIMED as u64;
const RETIRED: u64 = abi::CPULEDGER_CLASS_RETIRED as u64;
const _: () = assert!(wire::MOST_WIRE_CGROUPS == CGROUPS as usize - 1, "each number but OTHER is a cgroup's");

/// Intervals without a packet after which the reader takes back the number of a cgroup.
const IDLE_INTERVALS: u32 = 60;

/// Inode of the root of a hierarchy. Inside a cgroup namespace the folder that is mounted is another one.
const ROOT_INODE: u64 = 1;

/// One number in so many is a cgroup's; the others stay unused. It is one, but for tests.
static FREE_IN: AtomicU32 = AtomicU32::new(1);

/// Has accounts of the network that are attached from now on tell fewer cgroups apart on the wire: for one number in so many. For tests.
#[cfg(feature = "testing")]
pub fn tell_cgroups_apart(free_in: u32) {
    FREE_IN.store(free_in, Ordering::Relaxed);
}

/// The attached hooks. They go with it.
pub(super) struct Wire {
    cgroups: Shared<abi::cpuledger_wire_cgroup>,
    uses: Shared<abi::cpuledger_wire_use>,
    cpus: u32,
    /// The first interval that they have seen all of.
    since: u64,
    /// By number: what it had at the last cut, and for how many intervals nothing has been added.
    last: Vec<(WireUse, u32)>,
    _hooks: Vec<OwnedFd>,
}

/// Why the wire cannot be counted, as far as that can be told without trying.
pub(super) fn lacks() -> Option<Error> {
    let has_right = capabilities(None)
        .is_ok_and(|sets| sets.effective.intersects(CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN));
    if !has_right {
        return Some(unknown("CAP_NET_ADMIN is missing; run cpuledger as root, or grant it"));
    }
    root().err()
}

/// That packets and bytes of cgroups are not known.
fn unknown(why: impl std::fmt::Display) -> Error {
    Error::NoPart { account: Account::Network, part: "figures of the wire", what: why.to_string() }
}

/// The root of the unified hierarchy: whatever is attached there sees all cgroups.
fn root() -> Result<(PathBuf, File), Error> {
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let path = cgroup_root(&mounts, Hierarchy::Unified)
        .ok_or_else(|| unknown("the root of cgroup v2 is not mounted; mount it, or boot with cgroup v2"))?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let root = File::open(&path).map_err(|error| unknown(format_args!("{}: {error}", path.display())))?;
    match root.metadata() {
        Ok(of) if of.ino() == ROOT_INODE => Ok((path, root)),
        _ => Err(unknown(format_args!(
            "{} is not the root of all cgroups; leave the cgroup namespace",
            path.display()
        ))),
    }
}

/// Where the root of all cgroups of version 2 is mounted; `None`: it is not.
pub fn wire_root() -> Option<PathBuf> {
    root().ok().map(|(path, _)| path)
}

impl Wire {
    /// Attaches the hooks, for so many CPUs. The interval `since` is the first that counts.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN, without cgroups of version 2, and as [`super::Ledger::attach`].
    pub(super) fn attach(cpus: u32, since: u64) -> Result<Wire, Error> {
        if let Some(error) = lacks() {
            return Err(error);
        }
        let (_, root) = root()?;
        let count = cpus.saturating_mul(CGROUPS);
        let object = object::load("cpuledger_wire", OBJECT, |open| {
            object::resize(open, "wire_uses", count);
            Ok(())
        })?;
        let cgroups = Shared::<abi::cpuledger_wire_cgroup>::new(
            &object::map(&object, "wire_cgroups").as_fd(),
            CGROUPS,
        )?;
        let is_free = |number: &u32| (number + 1).is_multiple_of(FREE_IN.load(Ordering::Relaxed));
        // What nobody gives back, nobody gets.
        for number in (0..CGROUPS).filter(|number| !is_free(number)) {
            let state = cgroups.word(number, offset_of!(abi::cpuledger_wire_cgroup, state));
            state.store(CLAIMED, Ordering::Relaxed);
        }
        let uses = Shared::new(&object::map(&object, "wire_uses").as_fd(), count)?;
        let attach = |program: libbpf_rs::ProgramMut<'_>| {
            parts::keep("to attach the hooks of cgroups", program.attach_cgroup(root.as_raw_fd()))
        };
        let hooks = object.progs_mut().map(attach).collect::<Result<_, _>>()?;
        let last = vec![(WireUse::default(), 0); CGROUPS as usize];
        Ok(Wire { cgroups, uses, cpus, since, last, _hooks: hooks })
    }

    /// Whether all of an interval is in it.
    pub(super) fn is_whole(&self, interval: u64) -> bool {
        interval >= self.since
    }

    /// What has been counted since the last time. Numbers that nobody has used for a while are free from now on.
    pub(super) fn take(&mut self) -> wire::Wire {
        let mut told = Vec::new();
        for number in 0..CGROUPS {
            let state = self.cgroups.word(number, offset_of!(abi::cpuledger_wire_cgroup, state));
            let own = state.load(Ordering::Acquire);
            if number != OTHER && own != USED && own != RETIRED {
                continue;
            }
            let sum = self.sum(number);
            let (last, idle) = &mut self.last[number as usize];
            let grown = grown(&sum, last);
            *last = sum;
            if grown != WireUse::default() {
                let id = self.cgroups.word(number, offset_of!(abi::cpuledger_wire_cgroup, cgroup_id));
                let id = (number != OTHER).then(|| id.load(Ordering::Relaxed));
                told.push(WireCgroup::new(id, grown));
                *idle = 0;
            } else if number != OTHER {
                // A hook that has found it used may still count: it has an interval for that. One that is later counts for the next owner.
                *idle = if own == RETIRED { 0 } else { *idle + 1 };
                if own == RETIRED {
                    state.store(FREE, Ordering::Release);
                } else if *idle >= IDLE_INTERVALS {
                    state.store(RETIRED, Ordering::Release);
                }
            }
        }
        wire::Wire::of(told)
    }

    /// What has been counted for a number by all CPUs.
    fn sum(&self, number: u32) -> WireUse {
        let mut sum = WireUse::default();
        for cpu in 0..self.cpus {
            let abi::cpuledger_wire_use { bytes, packets } = self.uses.copy(cpu * CGROUPS + number);
            let [sent, received] = [abi::CPULEDGER_SENT, abi::CPULEDGER_RECEIVED].map(|way| way as usize);
            sum.add(&WireUse::of([bytes[sent], packets[sent], bytes[received], packets[received]]));
        }
        sum
    }
}

/// By how much one is more than an earlier one.
fn grown(sum: &WireUse, last: &WireUse) -> WireUse {
    let (sum, last) = (sum.figures(), last.figures());
    WireUse::of(std::array::from_fn(|place| sum[place].wrapping_sub(last[place])))
}
