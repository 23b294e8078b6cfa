//! Source `procfs`: the files of /proc, for machines and users without BPF.
//!
//! # Order, and what is read
//!
//! One `stat` a process is three system calls: openat, read and close. A thread costs three more, only if tasks are wanted. `status`, `statm`, `io`, `schedstat` and `cgroup`
//! are read only for fields that no file already read has. If there are several, the directory of the process stays open meanwhile, so that all
//! files are of one process, whatever becomes of the pid.
//!
//! - **Runtime** of a process is in no file, as `schedstat` is the leader's. But clock_gettime(2) shows every user the CPU clock of every process,
//!   dead threads included, in nanoseconds. It takes pids of the caller's namespace, so it is not used with a foreign procfs.
//! - **Youngest first.** The list of pids is read at once, and used from its end: the youngest are the likeliest to die before their turn.
//! - **Complete or not at all.** A task that vanishes between two files is left out, and so is one that hidepid hides. A file that may not be
//!   read leaves its fields unknown.
//! - **Support.** `doctor` tries each source. The attempt decides; facts (BTF, capabilities, namespaces, mounts) only explain it.
//! - **Choice.** `source/choose.rs` decides for listings, intervals and status texts. If ledger and walk are usable, `auto` takes the ledger for
//!   `top`, unless it would cost over 5 % of each CPU more than the walk. The estimate uses the switches and forks of the last 20 ms, the number of tasks, and measured constants (`source/cost.rs`).

mod cgroup;
pub(crate) mod file;
mod needs;
mod reader;
mod row;

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use cpuledger_client::clock::{self, monotonic_ns};
use cpuledger_model::boottime::{Boottime, TICK_NS};
use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::{Pid, Task};
use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::source::Source;

use file::{PROC, open_root};
use needs::Needs;
use reader::Reader;
pub(crate) use reader::cpu_clock_ns;

/// Whether what a source told is the start of a task that began then: files of /proc tell it in ticks.
pub(crate) fn is_start(told: Boottime, start: Boottime) -> bool {
    let is_tick = told.ns().is_multiple_of(TICK_NS);
    told == start || is_tick && told < start && start.since_ns(told) < TICK_NS
}

/// The files of /proc.
pub struct Procfs {
    root: OwnedFd,
    reader: Reader,
    /// What this kernel can say.
    available: FieldSet,
    /// Reused from one snapshot to the next.
    pids: Vec<i32>,
}

impl Procfs {
    /// Opens /proc.
    ///
    /// # Errors
    /// When it is not mounted.
    pub fn open() -> Result<Procfs, Error> {
        Procfs::open_at(Path::new(PROC))
    }

    /// Opens a procfs that is mounted elsewhere, such as that of the host in a container.
    ///
    /// # Errors
    /// When there is none.
    pub fn open_at(path: &Path) -> Result<Procfs, Error> {
        let root = open_root(path)?;
        let (reader, available) = Reader::probe(root.as_fd())?;
        Ok(Procfs { root, reader, available, pids: Vec::new() })
    }

    /// How many files of each process or, where tasks are wanted, of each task are read for this request beside `stat`.
    pub(super) fn files_beside_stat(&self, request: &Request) -> u64 {
        let needs = Needs::of(request, self.available);
        let files = if needs.has_tasks { needs.task } else { needs.process };
        files.count()
    }

    /// One process with its totals, and none of its threads; `None` where it is gone or hidden.
    ///
    /// # Errors
    /// Only those that are not about the process.
    pub fn process(&mut self, pid: Pid, fields: FieldSet) -> Result<Option<Task>, Error> {
        let mut found = Snapshot::default();
        self.add_process(pid, &Request::new(Scope::Processes, fields), &mut found)?;
        Ok(found.processes.pop())
    }

    /// The pid of every process that can be seen.
    pub(super) fn processes(&mut self) -> Result<Vec<i32>, Error> {
        self.reader.buffers.list_processes(self.root.as_fd(), &mut self.pids)?;
        Ok(self.pids.clone())
    }

    /// Appends one process, with its tasks where the scope has some; nothing where it is gone or hidden.
    ///
    /// # Errors
    /// Only those that are not about the process.
    pub(super) fn add_process(
        &mut self,
        pid: Pid,
        request: &Request,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        let (processes, tasks) = (into.processes.len(), into.tasks.len());
        if pid.0 > 0 {
            self.reader.begin();
            let needs = Needs::of(request, self.available);
            self.reader.read_process(self.root.as_fd(), pid.0, &needs, into)?;
        }
        // /proc/TID answers for every thread; a thread sends no signal when it exits.
        if into.processes[processes..].iter().any(|row| row.exit_signal < 0) {
            into.processes.truncate(processes);
            into.tasks.truncate(tasks);
        }
        Ok(())
    }

    /// Appends the tasks of a process whose tids are not among those.
    ///
    /// # Errors
    /// Only those that are not about the process.
    pub(super) fn add_tasks_but(
        &mut self,
        pid: Pid,
        seen: &FxHashSet<i32>,
        fields: FieldSet,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        let needs = Needs::of(&Request::new(Scope::Tasks, fields), self.available);
        self.reader.begin();
        self.reader.read_tasks_but(self.root.as_fd(), pid.0, seen, &needs, into)
    }
}

impl Source for Procfs {
    fn kind(&self) -> SourceKind {
        SourceKind::Procfs
    }

    fn fields(&self) -> FieldSet {
        self.available
    }

    fn snapshot(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        self.snapshot_until(u64::MAX, request, into).map(drop)
    }
}

impl Procfs {
    /// As [`Source::snapshot`], but what is not read by then, CLOCK_MONOTONIC, is left out: the oldest processes. Returns how many those are.
    ///
    /// # Errors
    /// When nothing can be read.
    pub fn snapshot_until(
        &mut self,
        deadline_ns: u64,
        request: &Request,
        into: &mut Snapshot,
    ) -> Result<usize, Error> {
        let Procfs { root, reader, available, pids } = self;
        into.clear();
        into.source = SourceKind::Procfs;
        into.begin_ns = monotonic_ns();
        into.begin = clock::boottime();
        let needs = Needs::of(request, *available);
        match request.scope {
            Scope::Process(pid) => {
                pids.clear();
                pids.extend(Some(pid.0).filter(|&pid| pid > 0));
            }
            Scope::Leaders | Scope::Processes | Scope::Tasks => {
                reader.buffers.list_processes(root.as_fd(), pids)?
            }
        }
        reader.begin();
        // The youngest first: they are the likeliest to die before their turn.
        let mut left_out = pids.len();
        for &pid in pids.iter().rev() {
            // The clock is read without a system call.
            if monotonic_ns() > deadline_ns {
                break;
            }
            left_out -= 1;
            let first = into.tasks.len();
            reader.read_process(root.as_fd(), pid, &needs, into)?;
            into.tasks[first..].reverse();
        }
        into.processes.reverse();
        into.tasks.reverse();
        // /proc/TID answers for every thread, though it lists processes only; a thread sends no signal when it exits.
        if matches!(request.scope, Scope::Process(_)) && into.processes.iter().any(|row| row.exit_signal < 0)
        {
            into.clear();
        }
        if !into.processes.is_sorted_by_key(|row| row.pid) {
            into.processes.sort_by_key(|row| row.pid);
            into.tasks.sort_by_key(|row| (row.pid, !row.is_leader()));
        }
        into.end_ns = monotonic_ns();
        Ok(left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_procfs_is_refused_with_the_remedy() {
        for path in ["/sys", "/nowhere", "/etc/passwd"] {
            let error = Procfs::open_at(Path::new(path)).err().expect("no procfs");
            let sentence = error.to_string();
            assert!(sentence.starts_with(&format!("cannot read {path}: ")), "{sentence}");
            assert!(sentence.ends_with("; mount procfs on /proc"), "{sentence}");
        }
    }
}
