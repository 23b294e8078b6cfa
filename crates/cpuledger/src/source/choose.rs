//! What a listing asks of which source: the one place of these rules.

use std::fs;

use crate::error::Error;
use crate::field::FieldSet;
use crate::snapshot::Scope;
use crate::source::{self, Source, SourceKind, procfs::Procfs, walk};
use crate::task::Pid;

/// Tasks from which the walk is faster than procfs.
///
/// Measured on 2 CPUs, Linux 6.18: loading the walk takes 40 ms, whatever the machine holds, and 0.1 µs a task then;
/// procfs takes about 15 µs a task or process. They meet at some 2,700.
pub const WALK_FROM_TASKS: u32 = 3000;

/// The source for one listing of these fields: where `wanted` is none, procfs on a small machine if it can give them
/// all, else the walk, and procfs where the walk is refused.
///
/// # Errors
/// When the wanted source cannot be used here, or none can.
pub fn open_for_listing(wanted: Option<SourceKind>, fields: FieldSet) -> Result<Box<dyn Source>, Error> {
    if let Some(kind) = wanted {
        return source::open(kind);
    }
    let procfs = Procfs::open();
    let gives_all = |source: &Procfs| fields.without(source.fields()) == FieldSet::EMPTY;
    match procfs {
        Ok(procfs) if tasks_of_machine() < WALK_FROM_TASKS && gives_all(&procfs) => Ok(Box::new(procfs)),
        _ => Ok(source::open_best()?.0),
    }
}

/// The least a source has to visit for these fields: threads where they are shown, totals where a field needs them.
pub fn scope_of_listing(shows_threads: bool, only_process: Option<Pid>, fields: FieldSet) -> Scope {
    match only_process {
        Some(pid) => Scope::Process(pid),
        None if shows_threads => Scope::Tasks,
        None if fields.without(walk::TOTALS) == fields => Scope::Leaders,
        None => Scope::Processes,
    }
}

/// Tasks about now, by /proc/loadavg.
fn tasks_of_machine() -> u32 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    parse_tasks(&text).unwrap_or(u32::MAX)
}

fn parse_tasks(loadavg: &str) -> Option<u32> {
    loadavg.split(['/', ' ']).nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    #[test]
    fn tasks_are_read_from_loadavg() {
        assert_eq!(parse_tasks("0.00 0.01 0.05 1/4321 99\n"), Some(4321));
        assert_eq!(parse_tasks(""), None);
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
