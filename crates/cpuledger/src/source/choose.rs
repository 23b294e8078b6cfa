//! What a listing asks of which source: the one place of these rules.

use crate::error::Error;
use crate::field::FieldSet;
use crate::machine::{self, links};
use crate::snapshot::{Request, Scope};
use crate::source::{self, Source, SourceKind, procfs::Procfs, records, walk};
use crate::support::facts;
use crate::task::Pid;

/// Loading the walk, whatever the machine holds; a task then takes 0.2 µs, which does not count. 30 ms since it is verified
/// without searching all types of the kernel.
///
/// The other two were measured on 2 CPUs, Linux 6.18, whole processes: `ps -e` with 3,000 processes took 40 ms with the
/// walk and 80 ms with procfs, `ps -eL` 40 ms and 150 ms; with 3,000 threads in one process 40 ms and 5 ms, 50 ms and 70 ms.
const LOADING_US: u64 = 30_000;
/// One process or thread, read from its files.
const FILES_US: u64 = 25;
/// Finding one entry of /proc, for each task of the machine: the kernel skips threads one by one, in 1.1 ns each.
const ENTRIES_TIMES_TASKS_A_US: u64 = 900;

/// The source for one listing: where `wanted` is none, procfs if it can give all fields and is sooner done than the walk
/// is loaded and hides nobody, else the walk, and procfs where the walk is refused.
///
/// # Errors
/// When the wanted source cannot be used here, or none can.
pub fn open_for_listing(wanted: Option<SourceKind>, request: &Request) -> Result<Box<dyn Source>, Error> {
    match wanted {
        Some(SourceKind::Walk) => return Ok(Box::new(walk::Walk::open_for(request.fields)?)),
        Some(kind) => return source::open(kind),
        None => {}
    }
    let gives_all = |source: &Procfs| {
        let gives_fields = request.fields.without(source.fields()) == FieldSet::EMPTY;
        gives_fields && facts::procfs_shows_every_process() == Some(true)
    };
    match Procfs::open() {
        Ok(procfs) if population(request.scope).procfs_us() < LOADING_US && gives_all(&procfs) => {
            Ok(Box::new(procfs))
        }
        _ => match walk::Walk::open_for(request.fields) {
            Ok(walk) => Ok(Box::new(walk)),
            // Messages of netlink lack most of what a listing shows, and need /proc as well.
            Err(_) => source::open(SourceKind::Procfs),
        },
    }
}

/// How much there is to read for a listing from procfs.
#[derive(Debug, Clone, Copy)]
struct Population {
    /// Processes and threads that have to be read.
    visited: u64,
    /// Entries of /proc that have to be found.
    entries: u64,
    /// Tasks of the machine.
    tasks: u64,
}

impl Population {
    fn procfs_us(self) -> u64 {
        let finding = self.entries.saturating_mul(self.tasks) / ENTRIES_TIMES_TASKS_A_US;
        self.visited.saturating_mul(FILES_US).saturating_add(finding)
    }
}

/// By the number of links of directories, which the kernel keeps: nothing is visited to know how much there is to visit.
fn population(scope: Scope) -> Population {
    // Where it cannot be told, the files are no better source.
    let tasks = machine::tasks().map_or(u64::MAX, u64::from);
    match scope {
        Scope::Process(pid) => Population { visited: links(&format!("/proc/{pid}/task")), entries: 0, tasks },
        Scope::Leaders | Scope::Processes => {
            let processes = links("/proc");
            Population { visited: processes, entries: processes, tasks }
        }
        Scope::Tasks => {
            let processes = links("/proc");
            Population { visited: processes.saturating_add(tasks), entries: processes, tasks }
        }
    }
}

/// The least a source has to visit for these fields: threads where they are shown, totals where a field needs them.
pub fn scope_of_listing(shows_threads: bool, only_process: Option<Pid>, fields: FieldSet) -> Scope {
    match only_process {
        Some(pid) => Scope::Process(pid),
        None if shows_threads => Scope::Tasks,
        None if fields.without(records::TOTALS) == fields => Scope::Leaders,
        None => Scope::Processes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    #[test]
    fn procfs_is_for_little_to_read() {
        let is_sooner =
            |visited, entries, tasks| Population { visited, entries, tasks }.procfs_us() < LOADING_US;
        assert!(is_sooner(100, 100, 150) && is_sooner(1_000, 1_000, 3_000) && is_sooner(100, 100, 100_000));
        assert!(!is_sooner(2_000, 2_000, 2_000) && !is_sooner(100_000, 0, 100_000));
        assert!(!is_sooner(1_000, 1_000, 100_000) && !is_sooner(1, 1, u64::MAX));
    }

    #[test]
    fn a_listing_visits_no_more_than_it_shows() {
        let identity = FieldSet::of(&[Field::Pid, Field::Comm]);
        let time = FieldSet::of(&[Field::Pid, Field::User]);
        assert_eq!(scope_of_listing(false, None, identity), Scope::Leaders);
        assert_eq!(scope_of_listing(false, None, time), Scope::Processes);
        assert_eq!(scope_of_listing(true, None, identity), Scope::Tasks);
        assert_eq!(scope_of_listing(true, Some(Pid(1)), identity), Scope::Process(Pid(1)));
    }
}
