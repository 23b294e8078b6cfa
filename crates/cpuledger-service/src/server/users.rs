//! What each user takes of the service.

use std::collections::HashMap;

use super::limits::Limits;

/// What one user, or all of them, take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Taken {
    connections: usize,
    pending_bytes: usize,
}

/// What each user takes, and all together. It remembers only users that are connected.
#[derive(Debug, Default)]
pub(super) struct Users {
    all: Taken,
    each: HashMap<u32, Taken>,
}

impl Users {
    /// Counts a connection, if the limits allow it.
    pub(super) fn connect(&mut self, user: u32, limits: &Limits) -> bool {
        let of_user = self.each.get(&user).copied().unwrap_or_default();
        let is_allowed =
            self.all.connections < limits.connections && of_user.connections < limits.connections_of_user;
        if is_allowed {
            self.all.connections += 1;
            self.each.entry(user).or_default().connections += 1;
        }
        is_allowed
    }

    /// Counts that a connection has ended, which had `pending` bytes.
    pub(super) fn disconnect(&mut self, user: u32, pending: usize) {
        self.pend(user, pending, 0);
        self.all.connections = self.all.connections.saturating_sub(1);
        if let Some(of_user) = self.each.get_mut(&user) {
            of_user.connections = of_user.connections.saturating_sub(1);
            if of_user.connections == 0 {
                self.each.remove(&user);
            }
        }
    }

    /// Counts that the pending bytes of a connection have become `now`.
    pub(super) fn pend(&mut self, user: u32, before: usize, now: usize) {
        let of_user = self.each.entry(user).or_default();
        for taken in [&mut self.all, of_user] {
            taken.pending_bytes = taken.pending_bytes.saturating_sub(before) + now;
        }
    }

    /// Whether this user, or all together, have more pending bytes than the limits allow.
    pub(super) fn has_too_many_bytes(&self, user: u32, limits: &Limits) -> bool {
        let of_user = self.each.get(&user).copied().unwrap_or_default();
        self.all.pending_bytes > limits.pending_bytes || of_user.pending_bytes > limits.pending_bytes_of_user
    }

    pub(super) fn connections(&self) -> usize {
        self.all.connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_and_all_together_are_limited() {
        let limits = Limits {
            connections: 5,
            connections_of_user: 3,
            pending_bytes: 100,
            pending_bytes_of_user: 60,
            ..Limits::default()
        };
        let mut users = Users::default();
        let connected: Vec<bool> =
            [1, 1, 1, 1, 2, 2, 2].map(|user| users.connect(user, &limits)).into_iter().collect();
        assert_eq!(connected, [true, true, true, false, true, true, false]);
        users.pend(1, 0, 60);
        assert!(!users.has_too_many_bytes(1, &limits));
        users.pend(1, 60, 61);
        assert!(users.has_too_many_bytes(1, &limits) && !users.has_too_many_bytes(2, &limits));
        users.pend(2, 0, 40);
        assert!(users.has_too_many_bytes(2, &limits));
        users.disconnect(1, 61);
        assert!(!users.has_too_many_bytes(1, &limits) && users.connect(1, &limits));
        (0..3).for_each(|_| users.disconnect(1, 0));
        users.disconnect(2, 40);
        users.disconnect(2, 0);
        assert_eq!((users.connections(), users.each.len(), users.all), (0, 0, Taken::default()));
    }
}
