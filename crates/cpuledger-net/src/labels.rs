//! Names as values of labels: UTF-8, and no two names alike.

use std::collections::HashMap;

use cpuledger_proc::escape::escaped;
use cpuledger_report::{Dimension, Name};
use nix::unistd::{Uid, User};

/// What has no series of its own.
pub const REST: &str = "other";
/// What no interval has named.
pub const UNKNOWN: &str = "unknown";
/// What is in no container, or in none of a pod.
pub const WITHOUT: &str = "none";

/// How many are kept. There are no more names at once in one dimension.
const MOST: usize = 1 << 18;

/// Texts by names. Users are looked up once.
#[derive(Debug, Default)]
pub struct Labels(HashMap<(Dimension, Name), String>);

impl Labels {
    /// The text of a name.
    pub fn of(&mut self, dimension: Dimension, name: &Name) -> &str {
        self.0.entry((dimension, name.clone())).or_insert_with(|| text(name))
    }

    /// Forgets all if there are many.
    pub fn trim(&mut self) {
        if self.0.len() > MOST {
            self.0.clear();
        }
    }
}

fn text(name: &Name) -> String {
    match name {
        Name::Unknown => UNKNOWN.to_owned(),
        Name::Without => WITHOUT.to_owned(),
        Name::Text(text) => own(escaped(text)),
        Name::User(uid) => user(*uid),
        Name::Cgroup(number) => format!("cgroup {number}"),
        Name::Process { pid, comm, .. } => {
            format!("{pid} {}", escaped(comm.as_deref().unwrap_or_default()))
        }
        Name::Path(names) => {
            let names = names.iter().map(|name| escaped(name.as_deref().unwrap_or(b"?")));
            names.collect::<Vec<_>>().join(" > ")
        }
    }
}

/// A name that happens to be one of ours gets a backslash, which no other name begins with in that way.
fn own(text: String) -> String {
    match text.as_str() {
        REST | UNKNOWN | WITHOUT => format!("\\{text}"),
        _ => text,
    }
}

fn user(uid: u64) -> String {
    let number = u32::try_from(uid).ok();
    let found = number.and_then(|uid| User::from_uid(Uid::from_raw(uid)).ok().flatten());
    found.map_or_else(|| uid.to_string(), |user| own(escaped(user.name.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_pass_for_the_rest_or_for_another() {
        let label = |bytes: &[u8]| text(&Name::Text(bytes.to_vec()));
        let names: [&[u8]; 8] =
            [b"other", b"\\other", b"unknown", b"none", b"\xff", b"\\xff", b"a\nb", b"a\\nb"];
        let mut labels: Vec<String> = names.iter().map(|name| label(name)).collect();
        labels.extend([REST.to_owned(), text(&Name::Unknown), text(&Name::Without)]);
        let count = labels.len();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), count, "{labels:?}");
    }
}
