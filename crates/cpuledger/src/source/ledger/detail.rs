//! The figures of the tasks that ran, read at the cut: by one call where a program can look a task up by its number, else
//! by a walk. And, once, the parents of all processes.

use std::io;

use cpuledger_bpf::{Inspector, Wanted, abi};
use cpuledger_model::boottime::Boottime;
use cpuledger_model::field::FieldSet;
use cpuledger_model::make;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::{Comm, Pid, Task, TaskId, Tid};
use rustix::io::Errno;

use crate::error::Error;
use crate::machine;
use crate::source::Source;
use crate::source::io_access::IoAccess;
use crate::source::records::{Decoder, groups, lacking, sort_rows};
use crate::source::walk::Walk;

/// Tasks looked at at once for which there is room from the start.
const FIRST_ROOM: u32 = 1024;

/// How detail is read.
pub(super) enum Detail {
    /// Only of the wanted tasks.
    Inspector(Box<Inspector>),
    /// Of all.
    Walk(Box<Walk>),
}

/// The means of choice.
pub(super) fn load_inspector() -> Result<Inspector, cpuledger_bpf::Error> {
    Inspector::load(FIRST_ROOM, machine::processes().unwrap_or(0))
}

/// Processes, each with its parent and its name.
pub(super) type Parents = Vec<(TaskId, TaskId, Comm)>;

impl Detail {
    /// By what was loaded, or by a walk where the kernel refused it. For want of descriptors or memory it is an error, which says what
    /// to do: a walk instead would silently cost each interval what the machine holds.
    pub(super) fn open(inspector: Result<Inspector, cpuledger_bpf::Error>) -> Result<Detail, Error> {
        match inspector {
            Ok(inspector) => Ok(Detail::Inspector(Box::new(inspector))),
            Err(cpuledger_bpf::Error::Refused { source, .. }) if !is_shortage(&source) => {
                Ok(Detail::Walk(Box::new(Walk::open()?)))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn is_walk(&self) -> bool {
        matches!(self, Detail::Walk(_))
    }

    /// All processes with their parents and names.
    pub(super) fn parents(&mut self) -> Result<Parents, Error> {
        match self {
            Detail::Inspector(inspector) => Ok(inspector.parents()?.iter().map(process_and_parent).collect()),
            Detail::Walk(walk) => {
                let mut rows = Snapshot::default();
                walk.snapshot(&Request::new(Scope::Leaders, FieldSet::ALL), &mut rows)?;
                let find = |pid: Pid| {
                    let index = rows.processes.binary_search_by_key(&pid, |row| row.pid);
                    index.map_or(TaskId { tid: Tid(pid.0), start_time_ns: Boottime::default() }, |index| {
                        rows.processes[index].id()
                    })
                };
                Ok(rows.processes.iter().map(|row| (row.id(), find(row.ppid), row.comm)).collect())
            }
        }
    }

    /// The tasks that wait for a CPU now, where the kernel tells them.
    pub(super) fn waiting(&mut self) -> &[abi::cpuledger_waiting] {
        match self {
            // Without it they are told by what they did before.
            Detail::Inspector(inspector) => inspector.waiting().unwrap_or_default(),
            Detail::Walk(_) => &[],
        }
    }

    /// Rows of these processes and tasks, as far as they still exist; of a walk also those of others.
    pub(super) fn read(
        &mut self,
        wanted: &[Wanted],
        fields: FieldSet,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        // A walk clears it once more, so that the rows of a storm give their memory back before others are filled.
        into.clear();
        let request = Request::new(Scope::Tasks, fields);
        match self {
            Detail::Walk(walk) => {
                walk.snapshot(&request, into)?;
                into.tasks.sort_unstable_by_key(Task::place_key);
                Ok(())
            }
            Detail::Inspector(_) if wanted.is_empty() => Ok(()),
            Detail::Inspector(inspector) => {
                let io = IoAccess::of_caller();
                for part in parts(wanted, inspector.room()) {
                    let read = inspector.inspect(part, groups(fields))?;
                    let request = make!(Request { fields: fields.without(lacking(read.lacks)), ..request });
                    if into.end_ns == 0 {
                        into.source = SourceKind::Ledger;
                        into.begin_ns = read.begin_ns;
                        into.begin = Boottime::from_ns(read.begin_boottime_ns);
                    }
                    into.end_ns = read.end_ns;
                    Decoder::new(read, &request, io).append(&[], into);
                }
                sort_rows(into);
                Ok(())
            }
        }
    }
}

/// What is looked at by one call each: as much as there is room for, which stays in the caches from one call to the next. Room for all of a
/// storm would be mapped page by page, and its programs loaded anew. A process is not divided: one with more threads gets more room.
fn parts(wanted: &[Wanted], room: usize) -> impl Iterator<Item = &[Wanted]> {
    let mut rest = wanted;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let opens = |wanted: &Wanted| wanted.opens_process;
        let end = if rest.len() <= room {
            rest.len()
        } else {
            // The place after the last whole process or, if there is none, after the first.
            let last = rest[..=room].iter().rposition(opens).filter(|&place| place > 0);
            let first = || rest[1..].iter().position(opens).map(|place| place + 1);
            last.or_else(first).unwrap_or(rest.len())
        };
        let part;
        (part, rest) = rest.split_at(end);
        Some(part)
    })
}

/// Whether the kernel would not refuse the same at another time.
fn is_shortage(answer: &io::Error) -> bool {
    matches!(Errno::from_io_error(answer), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

fn process_and_parent(record: &abi::cpuledger_parent) -> (TaskId, TaskId, Comm) {
    let process = TaskId::new(record.pid, record.start_time_ns);
    let parent = TaskId::new(record.parent_pid, record.parent_start_time_ns);
    (process, parent, Comm::from_c_bytes(&record.comm))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of the parts of processes with these numbers of tasks.
    fn lengths(processes: &[usize], room: usize) -> Vec<usize> {
        let task = |index: usize| Wanted { tid: 1, opens_process: index == 0 };
        let wanted: Vec<Wanted> = processes.iter().flat_map(|tasks| (0..*tasks).map(task)).collect();
        let parts: Vec<&[Wanted]> = parts(&wanted, room).collect();
        assert!(parts.iter().all(|part| part[0].opens_process), "no thread is without its process");
        assert_eq!(parts.concat(), wanted, "none is left out");
        parts.iter().map(|part| part.len()).collect()
    }

    #[test]
    fn a_storm_is_looked_at_in_parts_of_whole_processes() {
        assert_eq!(lengths(&[], 4), [0; 0]);
        assert_eq!(lengths(&[1; 4], 4), [4]);
        assert_eq!(lengths(&[1; 9], 4), [4, 4, 1]);
        assert_eq!(lengths(&[3, 3, 1, 2], 4), [3, 4, 2]);
        assert_eq!(lengths(&[9, 1, 6, 2], 4), [9, 1, 6, 2]);
        assert_eq!(lengths(&[1, 9], 4), [1, 9]);
    }

    #[test]
    fn only_a_kernel_that_cannot_is_walked_root() {
        let refused = |errno: Errno| {
            let source = io::Error::from(errno);
            Detail::open(Err(cpuledger_bpf::Error::Refused {
                what: "it".to_owned(),
                source,
                log: Vec::new(),
            }))
        };
        assert!(refused(Errno::INVAL).expect("a walk; it needs root").is_walk());
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            assert!(refused(errno).is_err(), "{errno}");
        }
        let sentence = refused(Errno::MFILE).err().expect("an error").to_string();
        assert!(sentence.contains("raise the limit of open files"), "{sentence}");
    }
}
