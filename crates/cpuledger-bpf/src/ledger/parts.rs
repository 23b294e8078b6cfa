//! The maps and links of a ledger as descriptors with names.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use cpuledger_model::accounts::Account;
use libbpf_rs::Object;
use rustix::io::fcntl_dupfd_cloexec;

use crate::error::Error;
use crate::object;
use crate::probe::missing_tracepoint;

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
    (name, bytes): (&str, &[u8]),
    sizes: &[(&str, u32)],
) -> Result<Object, Error> {
    let loaded = object::load(name, bytes, |open| {
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
pub(super) fn attach_all(object: &Object, hooks: &[&str]) -> Result<Vec<OwnedFd>, Error> {
    let attach = |name: &&str| {
        let program = object.progs_mut().find(|program| program.name() == *name);
        let link = program
            .expect("the embedded object defines it")
            .attach()
            .map_err(|error| Error::from_libbpf(&format!("to attach the hook `{name}`"), &error))?;
        fcntl_dupfd_cloexec(link.as_fd(), 0).map_err(|errno| Error::from_errno("to keep a hook", errno))
    };
    hooks.iter().map(attach).collect()
}
