//! Text of /proc/PID/{status,stat,statm} of many tasks: rendered from one walk, or copied from the files.

use std::ops::{ControlFlow, Range};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use cpuledger_bpf::{Reads, StatusRecords, StatusWalker, abi};
use cpuledger_client::namespace::check_namespace;
use cpuledger_model::source_kind::SourceKind;
use cpuledger_proc::task::status::pid_of;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::error::Error;
use crate::machine::{self, links};
use crate::source::choose::{files_are_better, naming};
use crate::source::kernel_text::{Dialect, Form, KernelText, Whole, Written};
use crate::source::procfs::file::{Attempt, Buffers, Name, PROC, open_root};
use crate::source::unseen::{Leader, Unseen};

/// Loading this walk, and one file of each form, as CPU time of whole processes of 500 to 3,000 tasks on 2 CPUs, Linux 6.18.
const LOADING_US: u64 = 22_000;

/// Which texts are wanted.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Wanted<'a> {
    /// Of which file.
    pub form: Form,
    /// A text a process, or one for each of its tasks.
    pub whole: Whole,
    /// Of these processes in this order; `None`: of all, by pid.
    pub pids: Option<&'a [i32]>,
    /// Whether each text begins with the number of its task and a blank, as `statm` does not tell it.
    pub is_numbered: bool,
}

impl Wanted<'_> {
    /// What the walk has to visit for it.
    fn scope(&self) -> u32 {
        match (self.whole, self.form) {
            (Whole::Task, _) => abi::CPULEDGER_WALK_TASKS,
            (Whole::Process, Form::Stat) => abi::CPULEDGER_WALK_PROCESSES,
            (Whole::Process, _) => abi::CPULEDGER_WALK_LEADERS,
        }
    }

    /// What one file takes, as measured with 500 to 3,000 threads on 2 CPUs, Linux 6.18.
    fn file_us(&self) -> u64 {
        match self.form {
            Form::Status => 14,
            Form::Stat => 9,
            Form::Statm => 7,
        }
    }

    /// Files that the kernel would have to write for it.
    fn files(&self) -> u64 {
        match (self.pids, self.whole) {
            (None, Whole::Process) => links("/proc"),
            (None, Whole::Task) => machine::tasks().map_or(u64::MAX, u64::from),
            (Some(pids), Whole::Process) => pids.len() as u64,
            (Some(pids), Whole::Task) => {
                let threads = pids.iter().map(|pid| links(&format!("/proc/{pid}/task")));
                threads.fold(0, u64::saturating_add)
            }
        }
    }
}

/// Called when the buffer has grown: it may empty the buffer, or end the listing.
pub type Grown<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> ControlFlow<()>;

/// Where the texts come from.
pub struct StatusTexts {
    walk: Option<StatusWalk>,
    files: Files,
}

/// The loaded walk, and what this kernel prints.
pub struct StatusWalk {
    walker: StatusWalker,
    dialect: Dialect,
    /// The tasks that are hidden from programs.
    unseen: Unseen,
}

impl StatusWalk {
    /// Loads the walk into the kernel.
    ///
    /// # Errors
    /// Without privilege or BTF, on kernels before 6.7, outside the initial PID namespace, and where the kernel cannot give
    /// all that the text shows.
    pub fn open() -> Result<StatusWalk, Error> {
        check_namespace(SourceKind::Walk)?;
        let dialect = Dialect::of_this_kernel()?;
        let tasks = machine::tasks().unwrap_or(0);
        let mut walker = StatusWalker::load(tasks, links("/proc").try_into().unwrap_or(tasks))?;
        let mut unseen = Unseen::new(None);
        if take_census(&mut walker, &mut unseen)? & abi::CPULEDGER_LACKS_RSS_SUM != 0 {
            let reason = "it cannot sum the parts of RSS that each CPU has; use the source procfs".to_owned();
            return Err(Error::unusable(SourceKind::Walk, reason));
        }
        Ok(StatusWalk { walker, dialect, unseen })
    }

    /// The processes that walks lack now.
    fn unseen(&mut self) -> Result<Vec<i32>, Error> {
        if !self.unseen.take_fresh() {
            take_census(&mut self.walker, &mut self.unseen)?;
            self.unseen.take_fresh();
        }
        Ok(self.unseen.pids().iter().map(|pid| pid.0).collect())
    }

    /// Walks, over all tasks or all processes, and hands out what renders their texts, with the records.
    ///
    /// # Errors
    /// When the kernel refuses the call or the memory.
    pub fn snapshot(
        &mut self,
        form: Form,
        whole: Whole,
    ) -> Result<(StatusRecords<'_>, KernelText<'_>), Error> {
        let scope = Wanted { form, whole, pids: None, is_numbered: false }.scope();
        let reads = Reads { status: form == Form::Status, stat: form == Form::Stat };
        let records = self.walker.walk(scope, reads)?;
        Ok((records, KernelText::new(&self.dialect, records)))
    }

    /// What the running kernel prints.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}

/// Finds the tasks that are hidden from programs. Returns what the kernel lacks.
fn take_census(walker: &mut StatusWalker, unseen: &mut Unseen) -> Result<u32, Error> {
    unseen.take_census(&mut |leaders| {
        let records = walker.walk(abi::CPULEDGER_WALK_LEADERS, Reads { status: false, stat: false })?;
        leaders.extend(records.processes.iter().map(|process| Leader::of(&process.process)));
        Ok(records.lacks)
    })
}

impl StatusTexts {
    /// The wanted source; where `kind` is none, the files if there are few to read, else the walk, or the files where the
    /// walk is refused.
    ///
    /// # Errors
    /// When the wanted source cannot be used here, or none can.
    pub fn open(kind: Option<SourceKind>, wanted: &Wanted<'_>) -> Result<StatusTexts, Error> {
        let files = Files::open()?;
        let reading_us = || wanted.files().saturating_mul(wanted.file_us());
        let walk = match kind {
            Some(SourceKind::Walk) => Some(StatusWalk::open().map_err(naming(SourceKind::Walk))?),
            Some(SourceKind::Procfs) => None,
            Some(source_kind @ (SourceKind::Service | SourceKind::Ledger | SourceKind::Netlink)) => {
                let reason = "it has no text of files; use `walk` or `procfs`".to_owned();
                return Err(Error::unusable(source_kind, reason));
            }
            None if files_are_better(reading_us(), LOADING_US) => None,
            None => StatusWalk::open().ok(),
        };
        Ok(StatusTexts { walk, files })
    }

    /// Which source it is.
    pub fn kind(&self) -> SourceKind {
        if self.walk.is_some() { SourceKind::Walk } else { SourceKind::Procfs }
    }

    /// Appends the wanted texts to `out` and returns the processes that are not there. Texts of `status` have an empty
    /// line between them.
    ///
    /// # Errors
    /// When the kernel refuses the walk, or has no descriptors or memory for files.
    pub fn write(
        &mut self,
        wanted: &Wanted<'_>,
        out: &mut Vec<u8>,
        grown: Grown<'_>,
    ) -> Result<Vec<i32>, Error> {
        let mut page = Page { wanted: *wanted, out, grown, is_first: true, is_stopped: false };
        match &mut self.walk {
            Some(walk) => write_walk(walk, &mut self.files, &mut page),
            None => write_files(&mut self.files, &mut page),
        }
    }
}

/// The texts on their way out.
struct Page<'a> {
    wanted: Wanted<'a>,
    out: &'a mut Vec<u8>,
    grown: Grown<'a>,
    is_first: bool,
    is_stopped: bool,
}

impl Page<'_> {
    /// Appends what `write` writes of that task, if it says that there is something. Answers whether there was.
    fn add(
        &mut self,
        tid: i32,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let begin = self.out.len();
        if self.wanted.form == Form::Status && !self.is_first {
            self.out.push(b'\n');
        }
        if self.wanted.is_numbered {
            self.out.extend_from_slice(itoa::Buffer::new().format(tid).as_bytes());
            self.out.push(b' ');
        }
        if !write(self.out)? {
            self.out.truncate(begin);
            return Ok(false);
        }
        self.is_first = false;
        self.is_stopped = (self.grown)(self.out).is_break();
        Ok(true)
    }
}

/// A process among the records: its pid, and where its tasks are; nowhere, if it was not shown to the walk.
type Place = (i32, Range<usize>);

/// By pid. A leader that is no longer one, by an exec of another thread, has no place.
fn places(records: &StatusRecords<'_>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::with_capacity(records.processes.len());
    for (index, process) in records.processes.iter().enumerate() {
        let (pid, begin) = (process.process.pid, process.process.task_index as usize);
        let next = records.processes.get(index + 1);
        let end = next.map_or(records.tasks.len(), |next| next.process.task_index as usize);
        let is_leader = |task: &abi::cpuledger_status_task| task.tid == pid && task.pid == pid;
        if begin < end && records.tasks.get(begin).is_some_and(is_leader) {
            places.push((pid, begin..end));
        }
    }
    places.sort_by_key(|(pid, _)| *pid);
    places.dedup_by_key(|(pid, _)| *pid);
    places
}

/// The places that are wanted, in the order in which they are; of all, those that the walk has not seen too.
fn chosen(mut places: Vec<Place>, unseen: &[i32], pids: Option<&[i32]>) -> Vec<Place> {
    let Some(pids) = pids else {
        places.extend(unseen.iter().map(|&pid| (pid, 0..0)));
        places.sort_by_key(|(pid, tasks)| (*pid, tasks.is_empty()));
        places.dedup_by_key(|(pid, _)| *pid);
        return places;
    };
    let place = |pid: &i32| {
        let found = places.binary_search_by_key(pid, |(pid, _)| *pid);
        (*pid, found.map_or(0..0, |index| places[index].1.clone()))
    };
    pids.iter().map(place).collect()
}

fn write_walk(walk: &mut StatusWalk, files: &mut Files, page: &mut Page<'_>) -> Result<Vec<i32>, Error> {
    let Wanted { form, whole, pids, .. } = page.wanted;
    let unseen = if pids.is_none() { walk.unseen()? } else { Vec::new() };
    let (records, mut texts) = walk.snapshot(form, whole)?;
    let mut missing = Vec::new();
    for (pid, tasks) in chosen(places(&records), &unseen, pids) {
        let mut is_there = false;
        for (index, task) in tasks.clone().zip(&records.tasks[tasks]).filter(|(_, task)| task.pid == pid) {
            is_there |= page.add(task.tid, |out| match texts.write(index, form, whole, out) {
                Written::Done => Ok(true),
                Written::AskKernel => files.append(pid, task.tid, form, whole, out),
            })?;
            if page.is_stopped {
                return Ok(missing);
            }
        }
        if !is_there {
            // Younger than the walk, or not shown to it.
            is_there = write_process(files, page, pid)?;
        }
        if !is_there && pids.is_some() {
            missing.push(pid);
        }
    }
    Ok(missing)
}

fn write_files(files: &mut Files, page: &mut Page<'_>) -> Result<Vec<i32>, Error> {
    let pids = page.wanted.pids;
    let all = if pids.is_none() { files.list(&Name::EMPTY.then(b"."))? } else { Vec::new() };
    let mut missing = Vec::new();
    for &pid in pids.unwrap_or(&all) {
        let is_there = write_process(files, page, pid)?;
        if page.is_stopped {
            break;
        }
        if !is_there && pids.is_some() {
            missing.push(pid);
        }
    }
    Ok(missing)
}

/// Copies the texts of one process. Answers whether there were any.
fn write_process(files: &mut Files, page: &mut Page<'_>, pid: i32) -> Result<bool, Error> {
    let Wanted { form, whole, pids, .. } = page.wanted;
    // The files of a thread can be opened as if it were a process.
    let is_process = pids.is_none() || files.is_process(pid)?;
    let tids = match whole {
        _ if !is_process => Vec::new(),
        Whole::Process => vec![pid],
        Whole::Task => files.list(&Name::EMPTY.then_number(pid).then(b"/task"))?,
    };
    let mut is_there = false;
    for tid in tids {
        is_there |= page.add(tid, |out| files.append(pid, tid, form, whole, out))?;
        if page.is_stopped {
            break;
        }
    }
    Ok(is_there)
}

/// The kernel's own files.
struct Files {
    root: OwnedFd,
    buffers: Buffers,
}

impl Files {
    fn open() -> Result<Files, Error> {
        Ok(Files { root: open_root(Path::new(PROC))?, buffers: Buffers::new() })
    }

    /// Appends the file of a task. Answers whether it is there, and ours to read.
    fn append(
        &mut self,
        pid: i32,
        tid: i32,
        form: Form,
        whole: Whole,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let mut name = Name::EMPTY.then_number(pid);
        if whole == Whole::Task {
            name = name.then(b"/task/").then_number(tid);
        }
        let name = name.then(b"/").then(form.name().as_bytes());
        match self.buffers.read(self.root.as_fd(), &name).map_err(|errno| failed(form.name(), errno))? {
            Attempt::Done(text) => {
                out.extend_from_slice(text);
                Ok(!text.is_empty())
            }
            Attempt::Gone | Attempt::Denied => Ok(false),
        }
    }

    fn is_process(&mut self, pid: i32) -> Result<bool, Error> {
        let mut status = Vec::new();
        if !self.append(pid, pid, Form::Status, Whole::Process, &mut status)? {
            return Ok(false);
        }
        Ok(pid_of(&status) == Some(pid))
    }

    /// The numbers in a directory, in ascending order; none where it is gone.
    fn list(&mut self, name: &Name) -> Result<Vec<i32>, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut numbers = Vec::new();
        if let Ok(directory) = openat(&self.root, name.as_c_str(), flags, Mode::empty()) {
            self.buffers
                .list(directory.as_fd(), &mut numbers)
                .map_err(|errno| failed("a directory", errno))?;
        }
        Ok(numbers)
    }
}

fn failed(name: &str, errno: Errno) -> Error {
    Error::Procfs { path: name.to_owned(), source: errno.into() }
}
