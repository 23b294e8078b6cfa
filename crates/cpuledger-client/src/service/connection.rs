//! The way to the service, and whether it is one to be believed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger_model::source_kind::SourceKind;
use cpuledger_service::client::{Client, socket_path};

use crate::error::Error;
use crate::namespace::check_namespace;
use cpuledger_proc::escape::escaped;

/// How long a service may take to answer a call, or to take a connection: one that does not is stopped, or has too much to do, and the next
/// best source is asked. Its calls gather for less, and so does a walk of a million tasks take.
pub(super) const ANSWER: Duration = Duration::from_millis(500);

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

/// Connects to the socket at `path`. No call takes longer than `timeout`.
///
/// # Errors
/// When nothing listens there, or it is not to be believed, or it would tell of other tasks than those of this namespace.
pub(super) fn connect(path: &Path, timeout: Duration) -> Result<Client, Error> {
    let client = Client::connect(path, timeout).map_err(unusable)?;
    check_namespace(SourceKind::Service)?;
    client.check_owner(path).map_err(unusable)?;
    Ok(client)
}

/// Whether something listens at the socket.
pub fn listens() -> bool {
    Client::connect(&socket_path(), Duration::ZERO).is_ok()
}

/// How long a service may take to answer [`answers`].
const GLANCE: Duration = Duration::from_millis(100);

/// Whether a service answers at once. Where there is none, that costs a system call or two.
pub fn answers() -> bool {
    connect(&socket_path(), GLANCE).is_ok_and(|mut client| client.info().is_ok())
}

/// The directory that the service records to; `None`: there is no service that answers at once, or it records nothing.
pub fn recording() -> Option<PathBuf> {
    let info = connect(&socket_path(), GLANCE).ok()?.info().ok()?;
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
}
