//! Names of users and groups through the name service, each asked for once.

use std::collections::hash_map::Entry;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use nix::unistd::{Gid, Group, Uid, User};

/// Maximum number of names that are kept from one listing to the next; beyond it all are asked for again.
const MOST_NAMES: usize = 65_536;

/// Listings after which a number without a name is asked for again: a user may have been added.
const RETRY_AFTER_LISTINGS: u64 = 64;

/// What the name service said of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Name(String),
    /// There is none.
    None,
    /// It could not be asked.
    Failed,
}

/// Names by number.
#[derive(Debug, Clone)]
pub struct Names {
    ask: fn(u32) -> Answer,
    known: FxHashMap<u32, String>,
    /// Numbers without a name, each with the listing after which it is asked for again.
    nameless: Vec<(u32, u64)>,
    listing: u64,
    last: Option<u32>,
}

impl Names {
    /// Those of users.
    pub fn of_users() -> Names {
        Names::asking(user_name)
    }

    /// Those of groups.
    pub fn of_groups() -> Names {
        Names::asking(group_name)
    }

    fn asking(ask: fn(u32) -> Answer) -> Names {
        Names { ask, known: FxHashMap::default(), nameless: Vec::new(), listing: 0, last: None }
    }

    /// A further listing begins: what could not be asked for is tried again, and what there was none of after a while.
    pub fn begin(&mut self) {
        self.listing += 1;
        self.last = None;
        let (known, listing) = (&mut self.known, self.listing);
        self.nameless.retain(|(number, until)| {
            let stays = *until >= listing;
            if !stays {
                known.remove(number);
            }
            stays
        });
        if self.known.len() > MOST_NAMES {
            self.known.clear();
            self.nameless.clear();
        }
    }

    /// Asks for a name that is not known yet.
    pub fn learn(&mut self, number: u32) {
        if self.last != Some(number) {
            self.last = Some(number);
            if let Entry::Vacant(place) = self.known.entry(number) {
                let (name, retried_after) = match (self.ask)(number) {
                    Answer::Name(name) => (name, None),
                    Answer::None => (String::new(), Some(RETRY_AFTER_LISTINGS)),
                    Answer::Failed => (String::new(), Some(0)),
                };
                place.insert(name);
                self.nameless.extend(retried_after.map(|listings| (number, self.listing + listings)));
            }
        }
    }

    /// The raw name; empty where there is none or it was not asked for.
    pub fn name(&self, number: u32) -> &[u8] {
        self.known.get(&number).map_or(b"", |name| name.as_bytes())
    }
}

fn user_name(uid: u32) -> Answer {
    answer(User::from_uid(Uid::from_raw(uid)).map(|user| user.map(|user| user.name)))
}

fn group_name(gid: u32) -> Answer {
    answer(Group::from_gid(Gid::from_raw(gid)).map(|group| group.map(|group| group.name)))
}

fn answer(asked: nix::Result<Option<String>>) -> Answer {
    match asked {
        Ok(Some(name)) => Answer::Name(name),
        Ok(None) => Answer::None,
        Err(_) => Answer::Failed,
    }
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
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        /// What the name service says, and how often it was asked.
        static SERVICE: RefCell<(Answer, u32)> = const { RefCell::new((Answer::Failed, 0)) };
    }

    fn say(answer: Answer) {
        SERVICE.with_borrow_mut(|(said, _)| *said = answer);
    }

    /// Learns a number in a listing of its own; returns its name, and how often anything was asked so far.
    fn learn(names: &mut Names) -> (String, u32) {
        names.begin();
        names.learn(7);
        names.learn(7);
        (String::from_utf8_lossy(names.name(7)).into_owned(), SERVICE.with_borrow(|(_, asked)| *asked))
    }

    fn names() -> Names {
        Names::asking(|_| {
            SERVICE.with_borrow_mut(|(said, asked)| {
                *asked += 1;
                said.clone()
            })
        })
    }

    #[test]
    fn a_name_that_could_not_be_asked_for_is_asked_for_in_the_next_listing() {
        let mut names = names();
        assert_eq!((learn(&mut names), learn(&mut names)), ((String::new(), 1), (String::new(), 2)));
        say(Answer::Name("ann".to_owned()));
        assert_eq!((learn(&mut names), learn(&mut names)), (("ann".to_owned(), 3), ("ann".to_owned(), 3)));
    }

    #[test]
    fn a_user_who_is_added_has_a_name_after_a_while() {
        let mut names = names();
        say(Answer::None);
        assert_eq!(learn(&mut names), (String::new(), 1));
        say(Answer::Name("ben".to_owned()));
        for _ in 0..RETRY_AFTER_LISTINGS {
            assert_eq!(learn(&mut names), (String::new(), 1));
        }
        assert_eq!(learn(&mut names), ("ben".to_owned(), 2));
    }

    #[test]
    fn no_more_names_are_kept_than_there_is_room_for() {
        let mut names = names();
        (0..=MOST_NAMES as u32).for_each(|number| names.learn(number));
        names.begin();
        assert!(names.known.is_empty() && names.nameless.is_empty());
    }

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
