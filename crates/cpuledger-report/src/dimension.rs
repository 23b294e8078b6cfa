//! What the rows of a report are of.

pub use cpuledger_model::Dimension;
use cpuledger_proc::escape::escaped;
use cpuledger_proc::task::units::unit_or_slice;

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

impl Name {
    /// A text of one line that no other name has, whatever bytes it is made of.
    pub fn id(&self) -> String {
        let told =
            |comm: &Option<Vec<u8>>| comm.as_ref().map_or("?".into(), |comm| format!("={}", escaped(comm)));
        match self {
            Name::Unknown => "?".to_owned(),
            Name::Without => "none".to_owned(),
            Name::Text(text) => format!("={}", escaped(text)),
            Name::User(uid) => format!("user {uid}"),
            Name::Cgroup(number) => format!("cgroup {number}"),
            Name::Process { pid, start_time_ns, comm } => format!("{pid} {start_time_ns} {}", told(comm)),
            // A name has no newline that is not escaped.
            Name::Path(path) => path.iter().map(told).collect::<Vec<_>>().join("\n"),
        }
    }

    /// The unit or the slice of a cgroup whose path it is; any other name as it is.
    #[must_use]
    pub fn unit(self) -> Name {
        match self {
            Name::Text(path) if path.starts_with(b"/") => Name::Text(unit_or_slice(&path).to_vec()),
            other => other,
        }
    }
}
