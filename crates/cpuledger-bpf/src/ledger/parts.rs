//! The maps and links of a ledger as descriptors with names.

use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use bytemuck::AnyBitPattern;
use cpuledger_model::accounts::Account;
use libbpf_rs::{Link, Object, ProgramMut};
use rustix::io::fcntl_dupfd_cloexec;

use crate::abi;
use crate::error::Error;
use crate::object;
use crate::probe::missing_tracepoint;

use super::cut::wait_for_hooks;
use super::shared::Shared;

const ENTERED: usize = offset_of!(abi::cpuledger_cpu_network, entered);
const LEFT: usize = offset_of!(abi::cpuledger_cpu_network, left);
const _: () = assert!(
    ENTERED == offset_of!(abi::cpuledger_cpu_disk, entered)
        && LEFT == offset_of!(abi::cpuledger_cpu_disk, left)
);

/// Descriptors of maps and links, by name.
pub(super) type Parts = [(&'static str, OwnedFd)];

/// A part of that name: another descriptor of the same map or link.
pub(super) fn part(name: &'static str, fd: BorrowedFd<'_>) -> Result<(&'static str, OwnedFd), Error> {
    let fd = fcntl_dupfd_cloexec(fd, 0)
        .map_err(|errno| Error::from_errno("to keep a part of the ledger", errno))?;
    Ok((name, fd))
}

/// The part of that name.
pub(super) fn find<'a>(parts: &'a Parts, name: &str) -> Result<&'a OwnedFd, Error> {
    let found = parts.iter().find(|(of, _)| *of == name);
    found.map(|(_, fd)| fd).ok_or_else(|| unattachable(format!("its part `{name}` is missing")))
}

/// Why a ledger cannot be attached, or gone on with.
pub(super) fn unattachable(what: impl Into<String>) -> Error {
    Error::Unattachable { what: what.into() }
}

/// What an account needs of the kernel.
pub(super) struct Needs {
    account: Account,
    tracepoints: [&'static str; 2],
    /// The version of Linux that added them.
    linux: &'static str,
    /// Reading the types of a kernel takes milliseconds, and they do not change.
    missing: OnceLock<Option<&'static str>>,
}

impl Needs {
    pub(super) const fn new(account: Account, tracepoints: [&'static str; 2], linux: &'static str) -> Needs {
        Needs { account, tracepoints, linux, missing: OnceLock::new() }
    }

    /// Why this kernel cannot keep the account, as far as its types tell.
    pub(super) fn lacks(&self) -> Option<Error> {
        let name = (*self.missing.get_or_init(|| missing_tracepoint(&self.tracepoints)))?;
        let linux = self.linux;
        Some(Error::NoAccount {
            account: self.account,
            what: format!(
                "this kernel has no tracepoint {name}, which Linux {linux} added; boot a newer one"
            ),
        })
    }
}

/// What an account shares with its ledger.
const SHARED: [&str; 4] = [".data.control", "cpus", "slots", "slot_offs"];
/// What its object names and does not touch.
const UNUSED: [&str; 2] = ["slot_rests", "tid_index"];

/// Loads the object of an account, which shares the maps of the ledger with these parts. Its own maps get these numbers of entries.
pub(super) fn load_beside(
    ledger: &Parts,
    needs: &Needs,
    (name, packed): (&str, &[u8]),
    sizes: &[(&str, u32)],
) -> Result<Object, Error> {
    let loaded = object::load(name, packed, |open| {
        sizes.iter().for_each(|(map, entries)| object::resize(open, map, *entries));
        for mut map in open.maps_mut() {
            let Some(name) = map.name().to_str().map(str::to_owned) else { continue };
            if UNUSED.contains(&name.as_str()) {
                map.set_autocreate(false)
                    .map_err(|error| Error::from_libbpf("to leave out a map", &error))?;
            } else if SHARED.contains(&name.as_str()) {
                let part = find(ledger, &name)?;
                map.reuse_fd(part.as_fd())
                    .map_err(|error| Error::from_libbpf("to share the maps of the ledger", &error))?;
            }
        }
        Ok(())
    });
    loaded.map_err(|error| needs.lacks().unwrap_or(error))
}

/// Attaches these programs of an object, one after the other.
fn attach_all(object: &Object, hooks: &[&str]) -> Result<Vec<OwnedFd>, Error> {
    let attach = |name: &&str| {
        let program = object.progs_mut().find(|program| program.name() == *name);
        attach(name, program.expect("the embedded object defines it"))
    };
    hooks.iter().map(attach).collect()
}

pub(super) fn attach(name: &str, program: ProgramMut<'_>) -> Result<OwnedFd, Error> {
    keep(&format!("to attach the hook `{name}`"), program.attach())
}

/// The link that was made of a hook, as a descriptor.
pub(super) fn keep(what: &str, link: Result<Link, libbpf_rs::Error>) -> Result<OwnedFd, Error> {
    let link = link.map_err(|error| Error::from_libbpf(what, &error))?;
    fcntl_dupfd_cloexec(link.as_fd(), 0).map_err(|errno| Error::from_errno("to keep a hook", errno))
}

/// The attached hooks of an account that books by slot, and what they share with the reader. They go with it.
pub(super) struct Hooked<S: AnyBitPattern, C: AnyBitPattern> {
    /// Of what, as a sentence names it.
    of: &'static str,
    pub(super) slots: Shared<S>,
    /// Each begins with how many hooks have begun, and how many have ended.
    pub(super) cpus: Shared<C>,
    pub(super) counts: (u32, u32),
    /// The first interval that they have seen all of.
    since: u64,
    _links: Vec<OwnedFd>,
}

impl<S: AnyBitPattern, C: AnyBitPattern> Hooked<S, C> {
    /// Attaches these programs of an object, whose records of so many slots and CPUs are in these maps. The interval `since` is the first that counts.
    ///
    /// # Errors
    /// As [`attach_all`], and when the kernel refuses to map the records.
    pub(super) fn attach(
        of: &'static str,
        object: &Object,
        hooks: &[&str],
        [slots, cpus]: [&str; 2],
        counts: (u32, u32),
        since: u64,
    ) -> Result<Hooked<S, C>, Error> {
        Ok(Hooked {
            of,
            slots: Shared::unmapped(&object::map(object, slots).as_fd(), counts.0)?,
            cpus: Shared::new(&object::map(object, cpus).as_fd(), counts.1)?,
            counts,
            since,
            _links: attach_all(object, hooks)?,
        })
    }

    /// Whether all of an interval is in it.
    pub(super) fn is_whole(&self, interval: u64) -> bool {
        interval >= self.since
    }

    /// Waits for the hooks that have begun. All CPUs are closed: one that begins later books to the next interval.
    ///
    /// # Errors
    /// When one does not come to its end.
    pub(super) fn close(&self) -> Result<(), Error> {
        (0..self.counts.1).try_for_each(|cpu| {
            wait_for_hooks(self.of, cpu, [ENTERED, LEFT].map(|word| self.cpus.word(cpu, word)))
        })
    }
}
