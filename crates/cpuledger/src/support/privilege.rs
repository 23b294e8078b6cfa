//! Which capabilities each source needs, to open it and from then on: one table, from which `doctor` and `top`, which gives up
//! all others, take it, and `docs/privileges.md` too.

use rustix::thread::CapabilitySet;
use serde::Serialize;

use cpuledger_model::source_kind::SourceKind;

/// One capability and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Need {
    /// Which.
    #[serde(skip)]
    pub capability: CapabilitySet,
    /// Its name, as in capabilities(7).
    pub name: &'static str,
    /// Whether the source cannot be used without it; else it sees less.
    pub is_needed: bool,
    /// Whether it is needed after the source was opened.
    pub is_kept: bool,
    /// What for.
    pub purpose: &'static str,
}

/// What a caller other than root does not get, whatever capabilities the binary has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// Of what.
    pub what: &'static str,
    /// How much there is.
    pub limit: &'static str,
    /// The users that are not limited.
    pub unlimited: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// For root and CAP_SYS_ADMIN.
const ADMINISTRATORS: &str = "root, and CAP_SYS_ADMIN";

/// The limits of all other users.
pub const LIMITS: &[Limit] = &[
    Limit {
        what: "ledgers at a time",
        limit: "one for each user; a second is refused with exit code 3, and `auto` takes the walk",
        unlimited: ADMINISTRATORS,
        reason: "each makes every switch of the machine more expensive",
    },
    Limit {
        what: "slots of a ledger",
        limit: "the default size, also where it grows; more for `--slots` is refused with exit code 2",
        unlimited: ADMINISTRATORS,
        reason: "they lock memory of the kernel",
    },
    Limit {
        what: "`read_bytes`, `write_bytes`, `cancelled_write_bytes`",
        limit: "where /proc/PID/io may be read: of the user's own processes that may be traced; else unknown",
        unlimited: "CAP_SYS_PTRACE",
        reason: "the kernel guards them: they tell how long a password is",
    },
];

/// What this source needs.
pub fn needs(kind: SourceKind) -> &'static [Need] {
    match kind {
        SourceKind::Service => &[],
        SourceKind::Ledger => LEDGER,
        SourceKind::Walk => WALK,
        SourceKind::Netlink => NETLINK,
        SourceKind::Procfs => PROCFS,
    }
}

/// What of its needs lasts.
pub fn kept(kind: SourceKind) -> CapabilitySet {
    let lasting = needs(kind).iter().filter(|need| need.is_kept);
    lasting.fold(CapabilitySet::empty(), |set, need| set | need.capability)
}

const LEDGER: &[Need] = &[
    Need {
        capability: CapabilitySet::BPF,
        name: "CAP_BPF",
        is_needed: true,
        is_kept: true,
        purpose: "to load the hooks; later to attach a larger ledger when slots run low, and for larger buffers",
    },
    Need {
        capability: CapabilitySet::PERFMON,
        name: "CAP_PERFMON",
        is_needed: true,
        is_kept: true,
        purpose: "hooks that read tasks; later those of a larger ledger",
    },
    Need {
        capability: CapabilitySet::NET_ADMIN,
        name: "CAP_NET_ADMIN",
        is_needed: false,
        is_kept: true,
        purpose: "what cgroups send and receive on the wire, in the account of the network",
    },
];

const WALK: &[Need] = &[
    Need {
        capability: CapabilitySet::BPF,
        name: "CAP_BPF",
        is_needed: true,
        is_kept: true,
        purpose: "to load the walk; later for larger buffers when there are more tasks",
    },
    Need {
        capability: CapabilitySet::PERFMON,
        name: "CAP_PERFMON",
        is_needed: true,
        is_kept: true,
        purpose: "programs that read tasks; later the same for larger buffers",
    },
];

const NETLINK: &[Need] = &[Need {
    capability: CapabilitySet::NET_ADMIN,
    name: "CAP_NET_ADMIN",
    is_needed: true,
    is_kept: true,
    purpose: "the kernel asks for it at each query",
}];

const PROCFS: &[Need] = &[
    Need {
        capability: CapabilitySet::SYS_PTRACE,
        name: "CAP_SYS_PTRACE",
        is_needed: false,
        is_kept: true,
        purpose: "block I/O of others' processes, and processes that hidepid hides",
    },
    Need {
        capability: CapabilitySet::DAC_READ_SEARCH,
        name: "CAP_DAC_READ_SEARCH",
        is_needed: false,
        is_kept: true,
        purpose: "block I/O of others' processes: only their owner may open the file",
    },
];
