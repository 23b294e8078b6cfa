//! The service manager, if there is one: the socket that it hands over, and what it is told (sd_notify(3), sd_listen_fds(3)).

use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::ensure;
use cpuledger_service::inherited;
use sd_notify::NotifyState;

/// The listening socket of the manager; `None`: it has not handed one over.
///
/// # Errors
/// When it has handed over several sockets.
pub fn listener() -> anyhow::Result<Option<OwnedFd>> {
    let mut sockets = inherited()?.into_iter();
    let first = sockets.next().map(|inherited| inherited.fd);
    ensure!(
        sockets.next().is_none(),
        "the service manager has handed over more than one socket; hand over one"
    );
    Ok(first)
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
