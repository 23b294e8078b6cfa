//! The service manager, if there is one: what it is told, and given to keep (sd_notify(3), sd_pid_notify_with_fds(3)).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sd_notify::NotifyState;

/// How long the manager may take to read what it was told.
const READING: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Whether there is a manager that may keep descriptors over a restart. Before systemd 254 it does not say whether it does.
pub fn may_keep() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some() && std::env::var("FDSTORE").as_deref() != Ok("0")
}

/// Gives the manager a descriptor to keep, by this name.
///
/// # Errors
/// When it cannot be sent.
pub fn store(name: &str, fd: BorrowedFd<'_>) -> io::Result<()> {
    // By itself the manager would drop those that poll(2) says are at their end.
    let states = [NotifyState::FdStore, NotifyState::FdName(name), NotifyState::Custom("FDPOLL=0")];
    sd_notify::notify_with_fds(&states, &[fd])
}

/// The manager drops what it keeps by these names; it has done so afterwards.
pub fn forget(names: &[String]) {
    for name in names {
        tell(&[NotifyState::FdStoreRemove, NotifyState::FdName(name)]);
    }
    // A manager that does not answer has them longer.
    let _ = wait_until_read();
}

/// Waits until the manager has read all that it was told before.
///
/// # Errors
/// When it has not within some seconds.
pub fn wait_until_read() -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    sd_notify::notify_with_fds(&[NotifyState::Custom("BARRIER=1")], &[writer.as_fd()])?;
    drop(writer);
    // The manager closes the other end.
    match poll(&mut [PollFd::new(&reader, PollFlags::empty())], Some(&READING))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// How often the manager wants to hear from the service.
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

/// The service answers from now on.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// It reads its configuration; [`ready`] follows.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// It ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// It lives, with this number of connections.
pub fn alive(connections: usize) {
    let status = format!("{connections} connections");
    tell(&[NotifyState::Watchdog, NotifyState::Status(&status)]);
}

/// Where there is no manager, there is none to tell.
fn tell(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
