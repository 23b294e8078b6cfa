//! What can be looked up about a task besides its fields.

/// What a column needs to have been looked up besides the fields of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lookups(u32);

impl Lookups {
    /// Nothing.
    pub const NONE: Lookups = Lookups(0);
    /// Names of users.
    pub const USERS: Lookups = Lookups(1);
    /// Names of groups.
    pub const GROUPS: Lookups = Lookups(1 << 1);
    /// Names of terminals.
    pub const TERMINALS: Lookups = Lookups(1 << 2);
    /// When the machine was booted, and the time zone.
    pub const CALENDAR: Lookups = Lookups(1 << 3);
    /// How much memory there is.
    pub const MEMORY: Lookups = Lookups(1 << 4);
    /// Arguments of a process.
    pub const CMDLINE: Lookups = Lookups(1 << 5);
    /// Path of the program of a process.
    pub const EXE: Lookups = Lookups(1 << 6);
    /// Cgroups of a process.
    pub const CGROUP: Lookups = Lookups(1 << 7);
    /// Where a task waits in the kernel.
    pub const WCHAN: Lookups = Lookups(1 << 8);
    /// Signals, supplementary groups and sizes of memory: `status`.
    pub const STATUS: Lookups = Lookups(1 << 9);
    /// Names of supplementary groups.
    pub const SUPPLEMENTARY: Lookups = Lookups(1 << 10);
    /// Addresses and the limit of resident memory: `stat`.
    pub const ADDRESSES: Lookups = Lookups(1 << 11);
    /// Bytes and calls of reading and writing: `io`.
    pub const IO: Lookups = Lookups(1 << 12);
    /// Shares of memory that is mapped several times: `smaps_rollup`.
    pub const SHARES: Lookups = Lookups(1 << 13);
    /// How likely the kernel kills it where memory is short: `oom_score`, `oom_score_adj`.
    pub const OOM: Lookups = Lookups(1 << 14);
    /// Autogroup of the scheduler: `autogroup`.
    pub const AUTOGROUP: Lookups = Lookups(1 << 15);
    /// The user who logged in: `loginuid`.
    pub const LOGIN: Lookups = Lookups(1 << 16);
    /// Namespaces: `ns`.
    pub const NAMESPACES: Lookups = Lookups(1 << 17);
    /// Open files: `fd`.
    pub const OPEN_FILES: Lookups = Lookups(1 << 18);
    /// Security label: `attr/current`.
    pub const LABEL: Lookups = Lookups(1 << 19);
    /// Environment: `environ`.
    pub const ENVIRONMENT: Lookups = Lookups(1 << 20);
    /// Which node of memory a CPU belongs to.
    pub const NODES: Lookups = Lookups(1 << 21);
    /// Whether systemd manages this machine's cgroups.
    pub const SYSTEMD: Lookups = Lookups(1 << 22);

    /// What systemd has written down of logins and machines.
    pub const REGISTERED: Lookups = Lookups(1 << 23);
    /// Names of containers, by the state of their runtimes.
    pub const CONTAINERS: Lookups = Lookups(1 << 24);

    /// Both together.
    pub const fn union(self, other: Lookups) -> Lookups {
        Lookups(self.0 | other.0)
    }

    /// Without those of `other`.
    pub const fn without(self, other: Lookups) -> Lookups {
        Lookups(self.0 & !other.0)
    }

    /// What both have.
    pub const fn intersection(self, other: Lookups) -> Lookups {
        Lookups(self.0 & other.0)
    }

    /// Whether something of `other` is in it.
    pub const fn wants(self, other: Lookups) -> bool {
        self.0 & other.0 != 0
    }
}
