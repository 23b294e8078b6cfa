//! The opening: where it works, what this kernel tells, and what a refusal means.

use std::fs;
use std::io;

use cpuledger_client::namespace::{check_namespace, is_initial_user_namespace};
use cpuledger_model::source_kind::SourceKind;
use nix::errno::Errno;

use crate::error::Error;
use crate::facts;

use super::layout::{self, Taskstats};
use super::message::{self, Body};
use super::rows::Abilities;
use super::socket::{Failure, Socket};

/// The switch of delay accounting, since Linux 5.14.
const DELAY_ACCOUNTING: &str = "/proc/sys/kernel/task_delayacct";

fn unusable(reason: &str) -> Error {
    Error::unusable(SourceKind::Netlink, reason)
}

/// Reports of exits come to the initial namespaces only, and answers elsewhere count by other numbers.
pub fn check_namespaces() -> Result<(), Error> {
    check_namespace(SourceKind::Netlink)?;
    if is_initial_user_namespace() == Some(false) {
        return Err(unusable(
            "capabilities of this user namespace do not count for taskstats; run cpuledger as the host's root, outside \
             the user namespace",
        ));
    }
    Ok(())
}

/// Why it cannot be opened, in a sentence.
pub fn refused(failure: Failure) -> Error {
    match failure {
        Failure::Errno(Errno::EPERM | Errno::EACCES) => unusable(&format!(
            "reading taskstats is not permitted: CAP_NET_ADMIN is missing; run cpuledger as root, or give the binary the \
             capability: setcap cap_net_admin=ep {}",
            facts::own_file()
        )),
        Failure::Errno(Errno::ENOENT) => unusable(
            "this kernel offers no taskstats; boot one built with CONFIG_TASKSTATS or, in a container, use the \
             host's network namespace",
        ),
        Failure::Errno(Errno::EPROTONOSUPPORT | Errno::EAFNOSUPPORT) => {
            unusable("this kernel has no generic netlink; boot one with CONFIG_NET")
        }
        Failure::Errno(Errno::EINVAL) => unusable(
            "the kernel reports exits to the initial PID and user namespaces only; run cpuledger on the host",
        ),
        failure => failed(failure),
    }
}

/// That queries are answered, and deaths are not reported.
pub fn no_reports() -> Error {
    unusable(
        "the kernel reports exits only to the host's network namespace, but cpuledger runs in another one; run cpuledger in \
         the host's network namespace",
    )
}

/// What went wrong with an open source.
pub fn failed(failure: Failure) -> Error {
    match failure {
        Failure::Unknown(unknown) => unusable(&unknown.to_string()),
        Failure::Errno(errno) => Error::Netlink { source: io::Error::from(errno) },
    }
}

/// Asks for ourselves: what comes, and what is filled in.
pub fn probe(socket: &mut Socket) -> Result<(Taskstats, Abilities), Failure> {
    // The scheduler brings our runtime up to date before it goes on.
    rustix::thread::sched_yield();
    let myself = rustix::thread::gettid().as_raw_nonzero().get();
    socket.query([(message::ATTR_PID, myself)].into_iter())?;
    let mut answer = Err(Failure::Errno(Errno::ENOMSG));
    socket.receive_all(|message| match message.body {
        Body::Figures(figures) => {
            answer = layout::decode(figures.task.unwrap_or_default()).map_err(Failure::from);
        }
        Body::Outcome(errno) if errno != 0 => answer = Err(Failure::Errno(Errno::from_raw(errno))),
        _ => {}
    })?;
    let figures = answer?;
    let switch = fs::read_to_string(DELAY_ACCOUNTING).ok();
    let abilities = Abilities {
        has_runtime: figures.runtime_ns > 0,
        has_delays: has_delays(switch.as_deref(), &figures),
        has_io: fs::exists("/proc/self/io").unwrap_or(false),
    };
    Ok((figures, abilities))
}

/// By its switch; where there is none, the kernel tells the runtime only with delay accounting.
fn has_delays(switch: Option<&str>, figures: &Taskstats) -> bool {
    switch.map_or(figures.runtime_ns > 0, |value| value.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_accounting_is_told_by_its_switch_or_by_what_it_fills_in() {
        let silent = Taskstats::default();
        let telling = Taskstats { runtime_ns: 1, ..silent };
        assert!(!has_delays(Some("0\n"), &telling) && has_delays(Some("1\n"), &silent));
        assert!(has_delays(None, &telling) && !has_delays(None, &silent));
    }

    #[test]
    fn every_refusal_names_its_remedy() {
        for (errno, part) in [
            (Errno::EPERM, "setcap cap_net_admin=ep"),
            (Errno::ENOENT, "CONFIG_TASKSTATS"),
            (Errno::EINVAL, "run cpuledger on the host"),
            (Errno::EPROTONOSUPPORT, "CONFIG_NET"),
            (Errno::ENOMEM, "netlink"),
        ] {
            let sentence = refused(Failure::Errno(errno)).to_string();
            assert!(sentence.contains(part), "{sentence}");
        }
        let sentence = failed(Failure::Unknown(layout::Unknown::Version(99))).to_string();
        assert!(sentence.contains("version 99") && sentence.contains("another source"), "{sentence}");
    }
}
