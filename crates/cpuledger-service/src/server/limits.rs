//! What callers may take of the service, each and all together.

use std::time::Duration;

/// The limits of a server. What goes beyond one is closed, and no other connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum number of connections of one user. A reader keeps one.
    pub connections_of_user: usize,
    /// Maximum number of bytes of calls that have not ended, of all connections.
    pub pending_bytes: usize,
    /// Maximum number of bytes of calls that have not ended, of one user.
    pub pending_bytes_of_user: usize,
    /// Maximum number of bytes of frames that were asked for and not read, of all connections. A call for one more is refused.
    pub unread_bytes: usize,
    /// The same of one user. Its calls wait until it has read.
    pub unread_bytes_of_user: usize,
    /// Time from the first byte of a call to its last.
    pub call_time: Duration,
    /// Time within which a reply is read.
    pub reply_time: Duration,
    /// Calls of one connection that are answered before other connections are looked at again.
    pub calls_of_turn: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 8192,
            connections_of_user: 2048,
            pending_bytes: 8 << 20,
            pending_bytes_of_user: 1 << 20,
            unread_bytes: 48 << 20,
            unread_bytes_of_user: 16 << 20,
            call_time: Duration::from_secs(5),
            reply_time: Duration::from_secs(5),
            calls_of_turn: 8,
        }
    }
}
