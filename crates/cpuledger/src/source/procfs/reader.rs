//! One process after another: which files, in which order, and what becomes of those that vanish.

use std::os::fd::{AsFd, BorrowedFd};

use cpuledger_model::field::{Field, FieldSet, IO};
use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::task::Task;
use cpuledger_proc::task::cgroup::Hierarchy;
use cpuledger_proc::task::io::parse_io;
use cpuledger_proc::task::schedstat::parse_schedstat;
use cpuledger_proc::task::stat::parse_stat;
use cpuledger_proc::task::statm::parse_statm;
use cpuledger_proc::task::status::{is_numbered_as, parse_status};
use nix::time::ClockId;
use rustc_hash::FxHashSet;
use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use crate::error::Error;

use super::cgroup::Cgroups;
use super::file::{Attempt, Buffers, Name, PROC, open_place};
use super::needs::{self, Files, Needs};
use super::row::{self, Units};

/// Where the files of a task are, relative to an open directory.
#[derive(Clone, Copy)]
struct Place<'a> {
    directory: BorrowedFd<'a>,
    name: Name,
    /// Of its process.
    pid: i32,
}

impl Place<'_> {
    fn file(&self, file: &[u8]) -> Name {
        self.name.then(file)
    }

    /// An error that is not about the task.
    fn failed(&self, file: &[u8], errno: Errno) -> Error {
        let path = format!("{PROC}/{}/{}", self.pid, file.escape_ascii());
        Error::Procfs { path, source: errno.into() }
    }
}

/// Buffers and facts that stay from one snapshot to the next.
pub struct Reader {
    pub(super) buffers: Buffers,
    tids: Vec<i32>,
    unified: Option<Cgroups>,
    v1_cpu: Option<Cgroups>,
    units: Units,
    /// Whether pids of this procfs are those of our system calls.
    has_clocks: bool,
}

impl Reader {
    /// Finds out what this kernel and this procfs can say.
    ///
    /// # Errors
    /// When not even that can be read.
    pub fn probe(root: BorrowedFd<'_>) -> Result<(Reader, FieldSet), Error> {
        let mut reader = Reader {
            buffers: Buffers::new(),
            tids: Vec::new(),
            unified: None,
            v1_cpu: None,
            units: Units::of_this_machine(),
            has_clocks: false,
        };
        let myself = readlinkat(root, c"self", Vec::new()).ok();
        // The procfs of another PID namespace may not know us, but it has an init.
        let name = Name::EMPTY.then(if myself.is_some() { b"self/" } else { b"1/" });
        let place = Place { directory: root, name, pid: 1 };
        if let Some(mounts) = reader.read(place, b"mountinfo")? {
            let mounts = mounts.to_vec();
            reader.unified = Cgroups::find(Hierarchy::Unified, &mounts);
            reader.v1_cpu = Cgroups::find(Hierarchy::Cpu, &mounts);
        }
        let status = reader.read(place, b"status")?;
        reader.has_clocks = status.is_some_and(|status| is_numbered_as(status, std::process::id()));
        let available = reader.available(place)?;
        Ok((reader, available))
    }

    fn available(&mut self, place: Place<'_>) -> Result<FieldSet, Error> {
        let says_namespace = self
            .read(place, b"status")?
            .and_then(parse_status)
            .is_some_and(|status| status.namespace_tid.is_some());
        let keeps_account = self
            .read(place, b"schedstat")?
            .and_then(parse_schedstat)
            .is_some_and(|schedstat| schedstat.timeslices > 0);
        let has_io = !matches!(self.attempt(place, b"io")?, Attempt::Gone);
        let mut available = needs::STAT
            .union(needs::CREDENTIALS)
            .union(needs::SWITCHES)
            .union(needs::RESIDENT)
            .union(needs::SWAP_AND_LOCKED);
        for (can, fields) in [
            (says_namespace, needs::NAMESPACE_TID),
            (keeps_account, needs::RUNQUEUE_WAIT),
            (keeps_account || self.has_clocks, needs::RUNTIME),
            (has_io, IO),
            (self.unified.is_some(), FieldSet::of(&[Field::CgroupId])),
            (self.v1_cpu.is_some(), FieldSet::of(&[Field::CgroupV1CpuId])),
        ] {
            if can {
                available = available.union(fields);
            }
        }
        Ok(available)
    }

    /// Forgets what holds for one snapshot only.
    pub fn begin(&mut self) {
        self.unified.iter_mut().chain(&mut self.v1_cpu).for_each(Cgroups::begin);
    }

    /// Adds a process, and its tasks where they are wanted; nothing of it if it vanishes or is hidden.
    ///
    /// # Errors
    /// Only those that are not about the process.
    pub fn read_process(
        &mut self,
        root: BorrowedFd<'_>,
        pid: i32,
        needs: &Needs,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        let held;
        let mut place = Place { directory: root, name: Name::EMPTY.then_number(pid), pid };
        if needs.has_several_files() {
            let attempt = open_place(root, &place.name).map_err(|errno| place.failed(b"", errno))?;
            let Attempt::Done(directory) = attempt else { return Ok(()) };
            held = directory;
            place = Place { directory: held.as_fd(), name: Name::EMPTY, pid };
        } else {
            place.name = place.name.then(b"/");
        }
        // Before `stat`: if that can still be read, the pid was not given to another process meanwhile.
        let runtime_ns = if needs.clock && self.has_clocks { cpu_clock_ns(pid) } else { None };
        let Some(mut process) = self.read_row(place, needs.process, true)? else { return Ok(()) };
        if let Some(runtime_ns) = runtime_ns {
            row::add_runtime(&mut process, runtime_ns);
        }
        if row::has_lost_its_leader(&process) {
            process.known = process.known.without(needs::MEMORY);
        }
        if needs.has_tasks {
            let first = into.tasks.len();
            self.read_tasks(place, &process, &|_| true, needs, into)?;
            let tasks = &into.tasks[first..];
            let leader = tasks.iter().find(|task| task.is_leader());
            if leader.is_none_or(|leader| leader.start_time_ns != process.start_time_ns) {
                into.tasks.truncate(first);
                return Ok(());
            }
            if tasks.iter().all(|task| task.known.contains(Field::RunqueueWait)) {
                row::add_runqueue_wait(&mut process, tasks.iter().map(|task| task.runqueue_wait_ns).sum());
            }
        }
        into.processes.push(process);
        Ok(())
    }

    /// Adds those tasks of a process whose tids are not in that set.
    ///
    /// # Errors
    /// Only those that are not about the process.
    pub fn read_tasks_but(
        &mut self,
        root: BorrowedFd<'_>,
        pid: i32,
        seen: &FxHashSet<i32>,
        needs: &Needs,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        let attempt = open_place(root, &Name::EMPTY.then_number(pid));
        let place = Place { directory: root, name: Name::EMPTY, pid };
        let Attempt::Done(held) = attempt.map_err(|errno| place.failed(b"", errno))? else { return Ok(()) };
        let place = Place { directory: held.as_fd(), ..place };
        let Some(process) = self.read_row(place, needs.process, true)? else { return Ok(()) };
        self.read_tasks(place, &process, &|tid| !seen.contains(&tid), needs, into)
    }

    /// Adds those tasks of a process that are wanted and can be read.
    fn read_tasks(
        &mut self,
        place: Place<'_>,
        process: &Task,
        is_wanted: &dyn Fn(i32) -> bool,
        needs: &Needs,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        if process.threads == 1 {
            if !is_wanted(place.pid) {
                return Ok(());
            }
            let name = place.file(b"task/").then_number(place.pid).then(b"/");
            return self.read_task(Place { name, ..place }, process, needs, into);
        }
        let failed = |errno| place.failed(b"task", errno);
        let name = place.file(b"task");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(place.directory, name.as_c_str(), flags, Mode::empty());
        let Attempt::Done(directory) = Attempt::from_result(opened).map_err(failed)? else { return Ok(()) };
        let mut tids = std::mem::take(&mut self.tids);
        let listed = self.buffers.list(directory.as_fd(), &mut tids).map_err(failed)?;
        if listed == Attempt::Done(()) {
            for &tid in tids.iter().filter(|tid| is_wanted(**tid)) {
                let name = Name::EMPTY.then_number(tid).then(b"/");
                let place = Place { directory: directory.as_fd(), name, pid: place.pid };
                self.read_task(place, process, needs, into)?;
            }
        }
        self.tids = tids;
        Ok(())
    }

    fn read_task(
        &mut self,
        place: Place<'_>,
        process: &Task,
        needs: &Needs,
        into: &mut Snapshot,
    ) -> Result<(), Error> {
        let is_orphaned = row::has_lost_its_leader(process);
        let files = if is_orphaned { needs.task.union(needs.memory) } else { needs.task };
        let Some(mut task) = self.read_row(place, files, false)? else { return Ok(()) };
        if !is_orphaned {
            row::share_memory(&mut task, process);
        } else if task.is_leader() {
            task.known = task.known.without(needs::MEMORY);
        }
        into.tasks.push(task);
        Ok(())
    }

    /// The row of a task or of a process; `None` where it is gone or hidden.
    fn read_row(&mut self, place: Place<'_>, files: Files, is_process: bool) -> Result<Option<Task>, Error> {
        let units = self.units;
        let Some(line) = self.read(place, b"stat")? else { return Ok(None) };
        let Some(mut row) = parse_stat(line).and_then(|stat| row::from_stat(place.pid, &stat, units)) else {
            return Ok(None);
        };
        if !files.any() {
            return Ok(Some(row));
        }
        let is_there = self.add_files(place, files, is_process, &mut row)?;
        Ok(is_there.then_some(row))
    }

    /// Adds what is in the other files; `false` if the task is gone.
    fn add_files(
        &mut self,
        place: Place<'_>,
        files: Files,
        is_process: bool,
        row: &mut Task,
    ) -> Result<bool, Error> {
        let units = self.units;
        let has_schedstat = files.schedstat && (!is_process || row.threads == 1);
        let is_there = (!files.status
            || self.add_file(place, b"status", parse_status, |status| {
                row::add_status(row, &status, is_process);
            })?)
            && (!files.statm
                || self.add_file(place, b"statm", parse_statm, |statm| {
                    row::add_statm(row, statm, units);
                })?)
            && (!has_schedstat
                || self.add_file(place, b"schedstat", parse_schedstat, |schedstat| {
                    row::add_schedstat(row, schedstat, is_process);
                })?)
            && (!files.io || self.add_file(place, b"io", parse_io, |io| row::add_io(row, io))?)
            && (!files.cgroup || self.add_cgroups(place, row)?);
        Ok(is_there)
    }

    /// Adds one file; `false` if the task is gone. What may not be read, or is not understood, stays unknown.
    fn add_file<T>(
        &mut self,
        place: Place<'_>,
        file: &[u8],
        parse: fn(&[u8]) -> Option<T>,
        add: impl FnOnce(T),
    ) -> Result<bool, Error> {
        match self.attempt(place, file)? {
            Attempt::Done(bytes) => parse(bytes).map(add),
            Attempt::Denied => None,
            Attempt::Gone => return Ok(false),
        };
        Ok(true)
    }

    fn add_cgroups(&mut self, place: Place<'_>, row: &mut Task) -> Result<bool, Error> {
        let (file, failed) = (b"cgroup", |errno| place.failed(b"cgroup", errno));
        let bytes = match self.buffers.read(place.directory, &place.file(file)).map_err(failed)? {
            Attempt::Done(bytes) => bytes,
            Attempt::Denied => return Ok(true),
            Attempt::Gone => return Ok(false),
        };
        let id = |cgroups: &mut Option<Cgroups>| cgroups.as_mut().and_then(|cgroups| cgroups.id(bytes));
        row::add_cgroups(row, id(&mut self.unified), id(&mut self.v1_cpu));
        Ok(true)
    }

    /// A file, where it is there and may be read.
    fn read(&mut self, place: Place<'_>, file: &[u8]) -> Result<Option<&[u8]>, Error> {
        Ok(match self.attempt(place, file)? {
            Attempt::Done(bytes) => Some(bytes),
            Attempt::Gone | Attempt::Denied => None,
        })
    }

    fn attempt(&mut self, place: Place<'_>, file: &[u8]) -> Result<Attempt<&[u8]>, Error> {
        self.buffers.read(place.directory, &place.file(file)).map_err(|errno| place.failed(file, errno))
    }
}

/// The CPU clock of a process: what clock_getcpuclockid(3) gives, without its call to see whether it exists.
pub(crate) fn cpu_clock_ns(pid: i32) -> Option<u64> {
    const CPUCLOCK_SCHED: i32 = 2;
    let now = ClockId::from_raw((!pid << 3) | CPUCLOCK_SCHED).now().ok()?;
    let seconds = u64::try_from(now.tv_sec()).ok()?;
    let nanoseconds = u64::try_from(now.tv_nsec()).ok()?;
    Some(seconds * 1_000_000_000 + nanoseconds)
}
