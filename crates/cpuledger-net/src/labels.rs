//! Names as values of labels: UTF-8, of limited length, and no two names alike.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;
use std::time::Duration;

use cpuledger_proc::escape::escaped;
use cpuledger_report::Name;

use crate::users::{Asked, Users};

/// What has no series of its own.
pub const REST: &str = "other";
/// What no interval has named.
pub const UNKNOWN: &str = "unknown";
/// What is in no container, or in none of a pod.
pub const WITHOUT: &str = "none";

/// A label has at most this many bytes; a longer one ends with a number that is made of the whole.
const LONGEST: usize = 256;
/// Of these, the beginning has so many.
const BEGINNING: usize = 230;
/// How often one looks whether there is an answer.
const PAUSE: Duration = Duration::from_millis(5);

/// The value of a label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label(String);

impl Label {
    /// The same for another thing of that name.
    pub fn numbered(&self, number: u32) -> Label {
        Label(format!("{} #{number}", self.0))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The label of a name. `None`: it is that of a user, whose name is being asked for; it is there within seconds.
pub fn of(name: &Name, users: &Users) -> Option<Label> {
    let text = match name {
        Name::Unknown => UNKNOWN.to_owned(),
        Name::Without => WITHOUT.to_owned(),
        Name::Text(text) => own(escaped(text)),
        Name::User(uid) => user(*uid, users)?,
        Name::Cgroup(number) => format!("cgroup {number}"),
        Name::Process { pid, comm, .. } => {
            format!("{pid} {}", escaped(comm.as_deref().unwrap_or_default()))
        }
        Name::Path(names) => {
            let names = names.iter().map(|name| escaped(name.as_deref().unwrap_or(b"?")));
            names.collect::<Vec<_>>().join(" > ")
        }
    };
    Some(Label(shortened(text)))
}

/// A text as the value of a label; an empty one is none.
pub fn of_text(text: &[u8]) -> String {
    shortened(escaped(text))
}

/// Asks for what the label of a name will need.
pub fn ask_ahead(name: &Name, users: &Users) {
    if let Name::User(uid) = name {
        let _ = user(*uid, users);
    }
}

/// The label of a name; that of a user is waited for.
pub fn waited_for(name: &Name, users: &Users) -> Label {
    loop {
        match of(name, users) {
            Some(label) => return label,
            None => thread::sleep(PAUSE),
        }
    }
}

/// A name that is one of ours gets a backslash, which no other name begins with in that way. An empty label would be none.
fn own(text: String) -> String {
    match text.as_str() {
        REST | UNKNOWN | WITHOUT => format!("\\{text}"),
        "" => "\\empty".to_owned(),
        _ => text,
    }
}

fn shortened(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let end = (0..=BEGINNING).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}... {:016x}", &text[..end], hasher.finish())
}

fn user(uid: u64, users: &Users) -> Option<String> {
    match u32::try_from(uid).map_or(Asked::None, |uid| users.name(uid)) {
        Asked::Waits => None,
        Asked::None => Some(uid.to_string()),
        Asked::Name(name) => Some(own(escaped(name.as_bytes()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_pass_for_the_rest_or_for_another() {
        let users = Users::shared();
        let label = |bytes: &[u8]| waited_for(&Name::Text(bytes.to_vec()), &users).to_string();
        let names: [&[u8]; 10] =
            [b"", b"empty", b"other", b"\\other", b"unknown", b"none", b"\xff", b"\\xff", b"a\nb", b"a\\nb"];
        let mut labels: Vec<String> = names.iter().map(|name| label(name)).collect();
        labels.extend([REST, UNKNOWN, WITHOUT].map(str::to_owned));
        let count = labels.len();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), count, "{labels:?}");
    }

    #[test]
    fn long_names_are_short_labels_that_differ() {
        let users = Users::shared();
        let label =
            |last: u8| waited_for(&Name::Text([&[b'\xff'; 4000][..], &[last]].concat()), &users).to_string();
        assert!(label(b'a').len() <= LONGEST && label(b'a') != label(b'b'), "{}", label(b'a'));
        assert_eq!(label(b'a'), label(b'a'));
    }
}
