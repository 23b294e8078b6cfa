//! Descriptors that a service manager hands to a service when it starts it: its listening socket, and what it has kept over a restart.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// A descriptor of the service manager.
#[derive(Debug)]
pub struct Inherited {
    /// What it is called: by `FDNAME` where the service stored it, by `FileDescriptorName=` of the unit of a socket.
    pub name: String,
    /// The descriptor, which no program that this one starts gets.
    pub fd: OwnedFd,
}

/// Takes the descriptors that `LISTEN_FDS` tells of, if `LISTEN_PID` is this process. A second call finds none.
///
/// # Errors
/// When the variables are not what a service manager sets, or a descriptor is not open.
pub fn inherited() -> io::Result<Vec<Inherited>> {
    static IS_TAKEN: AtomicBool = AtomicBool::new(false);
    if IS_TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    // It sets O_CLOEXEC, which fails for one that is not open.
    let told = sd_notify::listen_fds_with_names()?;
    // SAFETY: the service manager has opened them for this process before it began, and they are open. They are taken once, by the
    // swap above. No other code of this process takes descriptors by their number.
    Ok(told.map(|(fd, name)| Inherited { name, fd: unsafe { OwnedFd::from_raw_fd(fd) } }).collect())
}
