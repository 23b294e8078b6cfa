//! A process whose group is looked for.

/// What rules look at.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its pid.
    pub pid: i64,
    /// Its name.
    pub comm: &'a str,
    /// Its arguments; `None`: they could not be read, as it has ended.
    pub argv: Option<&'a [String]>,
    /// Paths of its cgroups, likewise.
    pub cgroups: Option<&'a [String]>,
    /// The name of its effective user.
    pub user: &'a str,
    /// When it began, CLOCK_REALTIME in nanoseconds.
    pub start_realtime_ns: u64,
}

impl Candidate<'_> {
    /// The first argument; without one, or if it is not known, the name.
    pub fn program(&self) -> &str {
        self.argv.and_then(<[String]>::first).map_or(self.comm, String::as_str)
    }
}
