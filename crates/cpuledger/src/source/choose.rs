//! What a listing asks of which source: the one place of these rules.

use cpuledger_bpf::Walker;

use crate::error::Error;
use crate::facts;
use crate::field::FieldSet;
use crate::machine::{self, links};
use crate::snapshot::{Request, Scope};
use crate::source::{Source, SourceKind, open::open, procfs::Procfs, records, walk};
use crate::task::Pid;

/// Loading the walk, whatever the machine holds; a task then takes 0.2 µs, which does not count. These and the next were measured
/// on 2 CPUs, Linux 6.18, whole processes of 1 to 3,000 tasks.
const LOADING_US: u64 = 22_000;
/// Loading the slim one, without what few listings show.
const LOADING_SLIM_US: u64 = 10_000;
/// `stat` of one process or thread.
const STAT_US: u64 = 10;
/// Another file of it.
const FILE_US: u64 = 12;
/// Finding one entry of /proc, for each task of the machine: the kernel skips threads one by one, in 1.1 ns each.
const ENTRIES_TIMES_TASKS_A_US: u64 = 900;

/// The source for one listing: `wanted`, if there is one. Otherwise it is procfs, if that gives all fields, takes less
/// time than loading the walk, and hides no process. Else it is the walk, or procfs if the walk is refused.
///
/// # Errors
/// When the wanted source cannot be used here, or none can.
pub fn open_for_listing(wanted: Option<SourceKind>, request: &Request) -> Result<Box<dyn Source>, Error> {
    match wanted {
        Some(SourceKind::Walk) => return Ok(Box::new(walk::Walk::open_whole(request.fields, None)?)),
        Some(kind) => return open(kind),
        None => {}
    }
    let gives_all = |source: &Procfs| {
        let gives_fields = request.fields.without(source.fields()) == FieldSet::EMPTY;
        gives_fields && facts::procfs_shows_every_process() == Some(true)
    };
    let procfs = match Procfs::open() {
        Ok(procfs) if Reading::of(request, &procfs).is_sooner() && gives_all(&procfs) => {
            return Ok(Box::new(procfs));
        }
        procfs => procfs.ok(),
    };
    match walk::Walk::open_whole(request.fields, procfs) {
        Ok(walk) => Ok(Box::new(walk)),
        // Messages of netlink lack most of what a listing shows, and need /proc as well.
        Err(_) => open(SourceKind::Procfs),
    }
}

/// How much there is to read for a listing from procfs.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Processes and threads that have to be read.
    visited: u64,
    /// Files of each of them, beside `stat`.
    files: u64,
    /// Entries of /proc that have to be found.
    entries: u64,
    /// Tasks of the machine.
    tasks: u64,
    /// Whether the walk to be loaded instead is the slim one.
    is_slim: bool,
}

impl Reading {
    /// By the number of links of directories, which the kernel keeps: nothing is visited to know how much there is to visit.
    fn of(request: &Request, procfs: &Procfs) -> Reading {
        // Where it cannot be told, the files are no better source.
        let tasks = machine::tasks().map_or(u64::MAX, u64::from);
        let (visited, entries) = match request.scope {
            Scope::Process(pid) => (links(&format!("/proc/{pid}/task")), 0),
            Scope::Leaders | Scope::Processes => {
                let processes = links("/proc");
                (processes, processes)
            }
            Scope::Tasks => {
                let processes = links("/proc");
                (processes.saturating_add(tasks), processes)
            }
        };
        let files = procfs.files_beside_stat(request);
        let groups = records::groups(request.fields);
        Reading { visited, files, entries, tasks, is_slim: Walker::is_slim_for(groups) }
    }

    /// Whether it takes less than to load the walk.
    fn is_sooner(self) -> bool {
        let finding = self.entries.saturating_mul(self.tasks) / ENTRIES_TIMES_TASKS_A_US;
        let reading = self.visited.saturating_mul(STAT_US + self.files * FILE_US);
        reading.saturating_add(finding) < if self.is_slim { LOADING_SLIM_US } else { LOADING_US }
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
        let slim = |visited, files, entries, tasks| {
            Reading { visited, files, entries, tasks, is_slim: true }.is_sooner()
        };
        // ps -e, ps -eLf
        assert!(slim(900, 0, 900, 900) && slim(400, 1, 80, 320) && slim(100, 0, 100, 50_000));
        assert!(!slim(1_100, 0, 1_100, 1_100) && !slim(500, 1, 80, 420) && !slim(100, 0, 100, 100_000));
        assert!(!slim(100_000, 0, 0, 100_000) && !slim(1, 0, 1, u64::MAX));
        // ps aux
        let whole = |processes| Reading {
            visited: processes,
            files: 1,
            entries: processes,
            tasks: processes,
            is_slim: false,
        };
        assert!(whole(900).is_sooner() && !whole(1_100).is_sooner());
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
