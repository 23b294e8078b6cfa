//! Names of users and groups through the name service, each asked for once.

use std::path::PathBuf;

use rustc_hash::FxHashMap;

use nix::unistd::{Gid, Group, Uid, User};

/// Names by number.
#[derive(Debug, Clone)]
pub struct Names {
    ask: fn(u32) -> Option<String>,
    known: FxHashMap<u32, String>,
    last: Option<u32>,
}

impl Names {
    /// Those of users.
    pub fn of_users() -> Names {
        Names { ask: user_name, known: FxHashMap::default(), last: None }
    }

    /// Those of groups.
    pub fn of_groups() -> Names {
        Names { ask: group_name, known: FxHashMap::default(), last: None }
    }

    /// Asks for a name that is not known yet.
    pub fn learn(&mut self, number: u32) {
        if self.last != Some(number) {
            self.last = Some(number);
            self.known.entry(number).or_insert_with(|| (self.ask)(number).unwrap_or_default());
        }
    }

    /// The raw name; empty where there is none or it was not asked for.
    pub fn name(&self, number: u32) -> &[u8] {
        self.known.get(&number).map_or(b"", |name| name.as_bytes())
    }
}

fn user_name(uid: u32) -> Option<String> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name)
}

fn group_name(gid: u32) -> Option<String> {
    Group::from_gid(Gid::from_raw(gid)).ok().flatten().map(|group| group.name)
}

/// The number of a user, given by name or number.
pub fn uid_of(user: &str) -> Option<u32> {
    let named = User::from_name(user).ok().flatten().map(|user| user.uid.as_raw());
    named.or_else(|| user.parse().ok())
}

/// The number of a group, given by name or number.
pub fn gid_of(group: &str) -> Option<u32> {
    let named = Group::from_name(group).ok().flatten().map(|group| group.gid.as_raw());
    named.or_else(|| group.parse().ok())
}

/// The home directory of a user, by the user database.
pub fn home_of(uid: u32) -> Option<PathBuf> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_have_names_and_numbers() {
        let mut users = Names::of_users();
        users.learn(0);
        users.learn(4_000_000_001);
        assert_eq!(users.name(0), b"root");
        assert_eq!(users.name(4_000_000_001), b"");
        assert_eq!((uid_of("root"), uid_of("12345"), uid_of("no such user")), (Some(0), Some(12345), None));
        assert_eq!((gid_of("root"), gid_of("no such group")), (Some(0), None));
    }
}
