//! Frames that peers have asked for and not read: by which connections they go, and whose calls wait for that reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::connection::Connection;
use super::limits::Limits;

/// What a connection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    user: u32,
    /// Its address and its length: several connections may send the same frame.
    frame: Option<(usize, usize)>,
    /// What the kernel may hold of it.
    ahead: usize,
}

/// The connections, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Unread {
    /// Those by which a frame is sent, or was and is not read.
    parts: BTreeMap<u64, Part>,
    /// Those whose calls wait, with their users.
    waiting: BTreeMap<u64, u32>,
}

impl Unread {
    /// Counts a connection as what it is now. Returns those whose calls need not wait any longer.
    pub(super) fn count(&mut self, id: u64, connection: &Connection) -> BTreeSet<u64> {
        let (frame, ahead) = connection.unread();
        if frame.is_none() && ahead == 0 {
            return self.forget(id);
        }
        let frame = frame.map(|frame| (Arc::as_ptr(frame).addr(), frame.len()));
        self.parts.insert(id, Part { user: connection.peer.user(), frame, ahead });
        BTreeSet::new()
    }

    /// The connection holds nothing any more. Returns those whose calls need not wait any longer.
    pub(super) fn forget(&mut self, id: u64) -> BTreeSet<u64> {
        let Some(Part { user, .. }) = self.parts.remove(&id) else { return BTreeSet::new() };
        let released = self.waiting.iter().filter(|(_, of)| **of == user).map(|(id, _)| *id).collect();
        self.waiting.retain(|_, of| *of != user);
        released
    }

    /// Whether the calls of this connection wait, as its user has not read what it has asked for.
    pub(super) fn holds_back(&mut self, id: u64, user: u32, limits: &Limits) -> bool {
        let waits = self.bytes(|of| of == user) >= limits.unread_bytes_of_user;
        if waits {
            self.waiting.insert(id, user);
        } else {
            self.waiting.remove(&id);
        }
        waits
    }

    /// The connection has ended: its calls do not wait any more.
    pub(super) fn end(&mut self, id: u64) {
        self.waiting.remove(&id);
    }

    /// Whether no user may ask for a frame.
    pub(super) fn is_full(&self, limits: &Limits) -> bool {
        self.bytes(|_| true) >= limits.unread_bytes
    }

    /// Bytes that these users hold.
    fn bytes(&self, is_counted: impl Fn(u32) -> bool) -> usize {
        let parts = || self.parts.values().filter(|part| is_counted(part.user));
        let frames: BTreeMap<usize, usize> = parts().filter_map(|part| part.frame).collect();
        parts().map(|part| part.ahead).chain(frames.into_values()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_counts_once_and_calls_wait_for_their_own_user() {
        let limits = Limits { unread_bytes: 280, unread_bytes_of_user: 200, ..Limits::default() };
        let mut unread = Unread::default();
        let part = |user, address| Part { user, frame: Some((address, 100)), ahead: 20 };
        unread.parts = [(1, part(7, 1000)), (2, part(7, 1000)), (3, part(8, 1000))].into();
        assert!(!unread.holds_back(4, 7, &limits) && !unread.is_full(&limits));
        assert_eq!((unread.bytes(|user| user == 7), unread.bytes(|_| true)), (140, 160));
        unread.parts.insert(5, part(7, 2000));
        assert!(unread.holds_back(4, 7, &limits) && !unread.holds_back(9, 8, &limits));
        assert!(unread.is_full(&limits));
        assert_eq!(unread.forget(3), BTreeSet::new(), "another user");
        assert_eq!(unread.forget(5), BTreeSet::from([4]));
        assert!(unread.waiting.is_empty() && !unread.holds_back(4, 7, &limits));
    }
}
