//! Which sources there are.

use std::fmt;
use std::str::FromStr;

use crate::clock::TICK_NS;

/// Names of the sources, as options and output spell them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SourceKind {
    /// Every switch of every CPU, booked in the kernel.
    Ledger,
    /// One pass over the kernel's task list.
    Walk,
    /// Taskstats over generic netlink.
    Netlink,
    /// Files of /proc.
    #[default]
    Procfs,
}

impl SourceKind {
    /// Every source, best first.
    pub const ALL: [SourceKind; 4] =
        [SourceKind::Ledger, SourceKind::Walk, SourceKind::Netlink, SourceKind::Procfs];
    /// Those that can tell what is at one instant, best first; the ledger tells what was between two.
    pub const OF_SNAPSHOTS: [SourceKind; 3] = [SourceKind::Walk, SourceKind::Netlink, SourceKind::Procfs];

    /// Whether it tells the runtime of each task, and of each that died: then intervals are kept by task.
    pub(crate) fn tells_runtimes(self) -> bool {
        matches!(self, SourceKind::Walk | SourceKind::Netlink)
    }

    /// By how much it may tell a start too early: in a file it is rounded down to a tick.
    pub(crate) fn start_rounding_ns(self) -> u64 {
        match self {
            SourceKind::Ledger | SourceKind::Walk => 0,
            SourceKind::Netlink | SourceKind::Procfs => TICK_NS,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Ledger => "ledger",
            SourceKind::Walk => "walk",
            SourceKind::Netlink => "netlink",
            SourceKind::Procfs => "procfs",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for SourceKind {
    type Err = String;

    fn from_str(name: &str) -> Result<SourceKind, String> {
        SourceKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            format!("there is no source `{name}`; there are `ledger`, `walk`, `netlink`, `procfs` and `auto`")
        })
    }
}
