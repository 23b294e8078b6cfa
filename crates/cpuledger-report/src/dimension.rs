//! What rows are put together by.

/// What rows are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// The name of the process.
    Command,
    /// The effective user.
    User,
    /// The cgroup.
    Cgroup,
    /// The unit of systemd, or the cgroup where no unit was recorded: its path says it.
    Unit,
    /// The process.
    Process,
    /// The names of the process and of those above it, up to the first that is known.
    Ancestor,
}

/// What a row is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// No interval told it.
    Unknown,
    /// A command, or whatever has a text.
    Text(Vec<u8>),
    /// A user.
    User(u64),
    /// A cgroup, by its number.
    Cgroup(u64),
    /// A process.
    Process {
        /// Its pid.
        pid: i64,
        /// Its start, CLOCK_BOOTTIME.
        start_time_ns: u64,
        /// Its name.
        comm: Option<Vec<u8>>,
    },
    /// The names from the topmost ancestor down; `None`: not known.
    Path(Vec<Option<Vec<u8>>>),
}
