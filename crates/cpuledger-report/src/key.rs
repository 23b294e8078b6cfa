//! What rows are put together by, as long as they are added up.

use serde::{Deserialize, Serialize};

use crate::amounts::Amounts;
use crate::deaths::Id;
use crate::dimension::{Dimension, Name};
use crate::names::{Comm, Names, Renumbered};

/// What a row is put with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Key {
    Unknown,
    /// It has none.
    Without,
    Command(Comm),
    User(u64),
    Cgroup(u64),
    /// A cgroup by its path, where that was recorded: numbers are of one boot. Or a unit.
    Text(Comm),
    /// With its name, which an exec changes.
    Process(Id, Comm),
}

impl Key {
    /// Its name; unknown, where it has none.
    pub(crate) fn comm(self) -> Comm {
        match self {
            Key::Command(comm) | Key::Text(comm) | Key::Process(_, comm) => comm,
            _ => Comm::UNKNOWN,
        }
    }

    /// Whether rows may be put with it by this dimension.
    pub(crate) fn is_by(self, dimension: Dimension) -> bool {
        match (self, dimension) {
            (Key::Unknown, _) => true,
            (Key::Command(_), _) => dimension == Dimension::Command,
            (Key::User(_), _) => dimension == Dimension::User,
            (Key::Process(..), _) => matches!(dimension, Dimension::Process | Dimension::Ancestor),
            (Key::Without | Key::Cgroup(_) | Key::Text(_), _) => dimension.place_of_cgroup().is_some(),
        }
    }

    pub(crate) fn renumbered(self, comms: &Renumbered) -> Key {
        match self {
            Key::Command(comm) => Key::Command(comms.of(comm)),
            Key::Text(text) => Key::Text(comms.of(text)),
            Key::Process(id, comm) => Key::Process(id, comms.of(comm)),
            other => other,
        }
    }
}

/// A process of the frame that is read, dead or alive.
pub(crate) struct Subject {
    pub(crate) id: Id,
    pub(crate) comm: Comm,
    pub(crate) euid: Option<u64>,
    /// By [`Dimension::OF_CGROUP`].
    pub(crate) of_cgroup: [Key; Dimension::OF_CGROUP.len()],
    pub(crate) amounts: Amounts,
}

impl Subject {
    pub(crate) fn key(&self, dimension: Dimension) -> Key {
        match dimension {
            Dimension::Command if self.comm == Comm::UNKNOWN => Key::Unknown,
            Dimension::Command => Key::Command(self.comm),
            Dimension::User => self.euid.map_or(Key::Unknown, Key::User),
            Dimension::Process | Dimension::Ancestor => Key::Process(self.id, self.comm),
            of_cgroup => of_cgroup.place_of_cgroup().map_or(Key::Unknown, |place| self.of_cgroup[place]),
        }
    }
}

/// The name of a key.
pub(crate) fn name_of(names: &Names, key: Key) -> Name {
    match key {
        Key::Unknown => Name::Unknown,
        Key::Without => Name::Without,
        Key::Command(comm) => names.text(comm).map_or(Name::Unknown, Name::Text),
        Key::User(uid) => Name::User(uid),
        Key::Cgroup(id) => Name::Cgroup(id),
        Key::Text(text) => names.text(text).map_or(Name::Unknown, Name::Text),
        Key::Process((pid, start_time_ns), comm) => {
            Name::Process { pid, start_time_ns, comm: names.text(comm) }
        }
    }
}
