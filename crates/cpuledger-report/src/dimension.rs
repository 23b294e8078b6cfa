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
    /// The container of the cgroup.
    Container,
    /// The pod of that, with its namespace.
    Pod,
    /// The image of that.
    Image,
    /// The process.
    Process,
    /// The names of the process and of those above it, up to the first that is known.
    Ancestor,
}

impl Dimension {
    /// Those that the cgroup of a row tells.
    pub(crate) const OF_CGROUP: [Dimension; 5] =
        [Dimension::Cgroup, Dimension::Unit, Dimension::Container, Dimension::Pod, Dimension::Image];

    /// Its place among these.
    pub(crate) fn place_of_cgroup(self) -> Option<usize> {
        Dimension::OF_CGROUP.iter().position(|own| *own == self)
    }

    /// Whether the names of a cgroup are needed for it, and not its path alone.
    pub(crate) fn needs_names(self) -> bool {
        matches!(self, Dimension::Container | Dimension::Pod | Dimension::Image)
    }
}

/// What a row is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// No interval told it.
    Unknown,
    /// It has none: it is in no container, or in none of a pod.
    Without,
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
