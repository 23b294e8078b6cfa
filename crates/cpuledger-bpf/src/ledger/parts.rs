//! The maps and links of a ledger as descriptors with names.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::fcntl_dupfd_cloexec;

use crate::error::Error;

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
