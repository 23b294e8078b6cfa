//! `--filter` of `top` and `ps`: what is looked up for the rows, and which of them match.

use cpuledger::Task;
use cpuledger::interval::Row;
use cpuledger_names::lookups::Lookups;
use cpuledger_names::named::Named;
use cpuledger_names::row::Surroundings;
use cpuledger_program::exit::Failure;
use cpuledger_view::query::{Query, Subject};

/// The filter of the option.
///
/// # Errors
/// A sentence about the first thing that is wrong with it.
pub fn parse(text: &str) -> Result<Query, Failure> {
    Query::parse(text).map_err(|error| Failure::Usage(format!("--filter: {error}")))
}

/// What a filter looks at beside the fields of a row; files of tasks only where they may be read.
pub fn lookups(query: &Query, reads_files: bool) -> Lookups {
    let arguments = if query.needs_arguments() && reads_files { Lookups::CMDLINE } else { Lookups::NONE };
    Lookups::USERS.union(Lookups::MEMORY).union(arguments)
}

/// Arguments as they are shown; `None`: they are not known, or there are none.
pub fn text_of(arguments: &[u8]) -> Option<Vec<u8>> {
    let end = arguments.iter().rposition(|&byte| byte != 0)? + 1;
    Some(arguments[..end].iter().map(|&byte| if byte == 0 { b' ' } else { byte }).collect())
}

/// What rows are asked with.
#[derive(Clone, Copy)]
pub struct Filter<'a> {
    /// What must hold.
    pub query: &'a Query,
    /// What was looked up.
    pub around: &'a Surroundings,
    /// What cgroups are called.
    pub named: &'a Named,
}

impl Filter<'_> {
    /// Whether the row matches; `length_ns` is the length of its interval.
    pub fn matches(&self, row: &Row, length_ns: u64) -> bool {
        let arguments = if self.query.needs_arguments() { self.arguments(&row.task) } else { None };
        self.query.matches(&Subject {
            row,
            length_ns,
            users: &self.around.users,
            memory_total_bytes: self.around.machine.memory_total_bytes,
            arguments: arguments.as_deref(),
            named: Some(self.named),
        })
    }

    fn arguments(&self, task: &Task) -> Option<Vec<u8>> {
        self.around.details.cmdline(task).and_then(text_of)
    }
}
