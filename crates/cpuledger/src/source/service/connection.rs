//! The way to the service, and whether it is one to be believed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger_model::source_kind::SourceKind;
use cpuledger_service::client::{Client, SOCKET, socket_path};
use nix::unistd::User;
use rustix::net::sockopt::socket_peercred;

use crate::error::Error;
use crate::source::namespace::check_namespace;
use cpuledger_proc::escape::escaped;

/// How long a service may take to answer a call, or to take a connection: one that does not is stopped, or has too much to do, and the next
/// best source is asked. Its calls gather for less, and so does a walk of a million tasks take.
pub(super) const ANSWER: Duration = Duration::from_millis(500);

/// The user that the service may run as, beside root.
const SERVICE_USER: &str = "cpuledger";

/// A sentence has no more characters. Those of a service of this version have half as many.
const MOST_CHARACTERS: usize = 400;

pub(super) fn unusable(reason: impl ToString) -> Error {
    Error::Unusable { source_kind: SourceKind::Service, reason: sentence(reason) }
}

/// What is said of a service: one line in which nothing moves a cursor or hides. It may have the words of the service, which may be any process, and
/// every message about one is made here.
pub(super) fn sentence(reason: impl ToString) -> String {
    let reason = reason.to_string();
    match reason.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => escaped(&reason.as_bytes()[..end]) + "...",
        None => escaped(reason.as_bytes()),
    }
}

/// Connects to the socket that `--socket` or `$CPULEDGER_SOCKET` names, else to that of the machine. No call takes longer than `timeout`.
///
/// # Errors
/// When nothing listens there, or it is not to be believed, or it would tell of other tasks than those of this namespace.
pub(super) fn connect(timeout: Duration) -> Result<Client, Error> {
    let path = socket_path();
    let client = Client::connect(&path, timeout).map_err(unusable)?;
    check_namespace(SourceKind::Service)?;
    // A socket that the caller names is the caller's choice.
    if path == Path::new(SOCKET) {
        let peer = socket_peercred(client.socket()).map_err(unusable)?;
        if !owner_is_trusted(peer.uid.as_raw()) {
            return Err(unusable(format!(
                "its socket belongs to user {}, who could show false figures; only root and the user `{SERVICE_USER}` are \
                 trusted, or another socket that --socket or $CPULEDGER_SOCKET names",
                peer.uid.as_raw()
            )));
        }
    }
    Ok(client)
}

/// Whether the figures of a service of this user are believed.
fn owner_is_trusted(uid: u32) -> bool {
    uid == 0
        || User::from_name(SERVICE_USER).ok().flatten().is_some_and(|service| service.uid.as_raw() == uid)
}

/// Whether something listens at the socket.
pub fn listens() -> bool {
    Client::connect(&socket_path(), Duration::ZERO).is_ok()
}

/// How long a service may take to answer [`answers`].
const GLANCE: Duration = Duration::from_millis(100);

/// Whether a service answers at once. Where there is none, that costs a system call or two.
pub fn answers() -> bool {
    connect(GLANCE).is_ok_and(|mut client| client.info().is_ok())
}

/// The directory that the service records to; `None`: there is no service that answers at once, or it records nothing.
pub fn recording() -> Option<PathBuf> {
    let info = connect(GLANCE).ok()?.info().ok()?;
    info.recording.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_service_are_one_short_line() {
        assert_eq!(sentence("no\x1b]0;title\x07\n\u{202e}"), r"no\x1b]0;title\x07\n\xe2\x80\xae");
        let long = sentence("\u{e4}".repeat(1 << 20));
        assert_eq!(long.chars().count(), MOST_CHARACTERS + 3);
    }

    #[test]
    fn another_user_is_not_believed() {
        let of_service = User::from_name(SERVICE_USER).ok().flatten().map(|user| user.uid.as_raw());
        assert!(owner_is_trusted(0));
        for uid in [1, 1000, 65_534, u32::MAX] {
            assert_eq!(owner_is_trusted(uid), of_service == Some(uid), "{uid}");
        }
    }
}
