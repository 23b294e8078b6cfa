//! Which sources there are.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::boottime::TICK_NS;
use crate::kinds;

// The best comes first. Of each its name, and what figures are said to come from.
kinds! {
    /// Names of the sources, as options and output spell them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum SourceKind of 2 {
        /// The ledger of `cpuledger serve`.
        Service ["service", "the service"],
        /// Every switch of every CPU, booked in the kernel.
        Ledger ["ledger", "the ledger"],
        /// One pass over the kernel's task list.
        Walk ["walk", "the walk"],
        /// Taskstats over generic netlink.
        Netlink ["netlink", "netlink"],
        /// Files of /proc.
        #[default]
        Procfs ["procfs", "/proc"],
    }
}

impl SourceKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.texts()[0]
    }

    /// What figures are said to come from.
    pub fn origin(self) -> &'static str {
        self.texts()[1]
    }

    /// Whether its intervals are those of a ledger: they know every switch, so that they balance, and tell the states of tasks.
    pub fn is_of_ledger(self) -> bool {
        match self {
            SourceKind::Service | SourceKind::Ledger => true,
            SourceKind::Walk | SourceKind::Netlink | SourceKind::Procfs => false,
        }
    }

    /// Whether intervals are made of its snapshots. The ledger has none; those of the service are for listings.
    pub fn has_snapshots(self) -> bool {
        match self {
            SourceKind::Service | SourceKind::Ledger => false,
            SourceKind::Walk | SourceKind::Netlink | SourceKind::Procfs => true,
        }
    }

    /// Whether books are kept of the exact runtime of each of its tasks, and of each that died. Then its snapshots need
    /// [`Scope::Tasks`](crate::Scope::Tasks).
    pub fn is_booked_by_task(self) -> bool {
        match self {
            SourceKind::Walk | SourceKind::Netlink => true,
            SourceKind::Service | SourceKind::Ledger | SourceKind::Procfs => false,
        }
    }

    /// By how much it may tell a start too early: in a file it is rounded down to a tick.
    pub fn start_rounding_ns(self) -> u64 {
        match self {
            SourceKind::Service | SourceKind::Ledger | SourceKind::Walk => 0,
            SourceKind::Netlink | SourceKind::Procfs => TICK_NS,
        }
    }
}

impl Serialize for SourceKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// No source has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no source `{0}`; there are `service`, `ledger`, `walk`, `netlink`, `procfs` and `auto`")]
pub struct UnknownSource(pub String);

impl FromStr for SourceKind {
    type Err = UnknownSource;

    fn from_str(name: &str) -> Result<SourceKind, UnknownSource> {
        let known = SourceKind::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownSource(name.to_owned()))
    }
}
