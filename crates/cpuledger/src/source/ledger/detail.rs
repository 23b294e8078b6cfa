//! The figures of the tasks that ran, read at the cut: by one call where a program can look a task up by its number, else
//! by a walk. And, once, the parents of all processes.

use std::io;

use cpuledger_bpf::{Inspector, Wanted, abi};
use rustix::io::Errno;

use crate::clock::Boottime;
use crate::error::Error;
use crate::field::FieldSet;
use crate::machine;
use crate::snapshot::{Request, Scope, Snapshot};
use crate::source::io_access::IoAccess;
use crate::source::records::{Decoder, groups, lacking};
use crate::source::walk::Walk;
use crate::source::{Source, SourceKind};
use crate::task::{Comm, Pid, TaskId, Tid};

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
                walk.snapshot(&Request { scope: Scope::Leaders, fields: FieldSet::ALL }, &mut rows)?;
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
        let request = Request { scope: Scope::Tasks, fields };
        match self {
            Detail::Walk(walk) => {
                walk.snapshot(&request, into)?;
                into.tasks.sort_unstable_by_key(|row| (row.pid, !row.is_leader(), row.tid));
                Ok(())
            }
            Detail::Inspector(_) if wanted.is_empty() => Ok(()),
            Detail::Inspector(inspector) => {
                let read = inspector.inspect(wanted, groups(fields))?;
                let request = Request { fields: fields.without(lacking(read.lacks)), ..request };
                into.source = SourceKind::Ledger;
                into.begin_ns = read.begin_ns;
                into.begin = Boottime::from_ns(read.begin_boottime_ns);
                into.end_ns = read.end_ns;
                Decoder::new(read, &request, IoAccess::of_caller()).decode(&mut Vec::new(), into);
                Ok(())
            }
        }
    }
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
