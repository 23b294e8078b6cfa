//! Text as /proc/PID/{status,stat,statm} have it, for programs that parse it: from one snapshot, appended to one buffer.
//!
//! What tasks share is rendered once: the lines of a process, its memory, its credentials and the places where tasks may
//! run are kept as text until a task has others. Numbers are appended as digits; no line passes through format machinery.
//!
//! `status.bpf.c` is a walk with records of its own: all that /proc/PID/{stat,statm,status} show. What tasks share is recorded once and referenced
//! by index: a process, its memory, its credentials, and the places where tasks may run. Credentials are kept by RCU, so one address is one
//! set of them throughout a walk. Memory is not. If the task no longer has it after it was read, the text comes from the kernel's file.
//!
//! `source/kernel_text` learns from /proc/self/status which lines this kernel prints. It keeps the text of each section until a task has another,
//! so that for sleeping threads only a few numbers are rendered. On older kernels (before 6.7) the files are read.

use std::fmt;
use std::str::FromStr;

use cpuledger_bpf::{StatusRecords, abi};

mod bytes;
mod dialect;
mod parts;
mod stat;
mod status;

use bytes::Head;
pub use dialect::Dialect;
use dialect::{Line, Section};
use parts::Parts;

/// Which file the text is that of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// /proc/PID/status: a line a fact.
    #[default]
    Status,
    /// /proc/PID/stat: one line.
    Stat,
    /// /proc/PID/statm: one line of sizes in pages.
    Statm,
}

/// No text has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the texts are status, stat and statm, not `{0}`")]
pub struct UnknownForm(pub String);

impl Form {
    /// All of them.
    pub const ALL: [Form; 3] = [Form::Status, Form::Stat, Form::Statm];

    /// The name of the file.
    pub fn name(self) -> &'static str {
        match self {
            Form::Status => "status",
            Form::Stat => "stat",
            Form::Statm => "statm",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(name: &str) -> Result<Form, UnknownForm> {
        Form::ALL.into_iter().find(|form| form.name() == name).ok_or_else(|| UnknownForm(name.to_owned()))
    }
}

/// Whose figures a text shows, where a process has several tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Whole {
    /// As /proc/PID: the leader, and in `stat` the sums of all threads.
    #[default]
    Process,
    /// As /proc/PID/task/TID.
    Task,
}

/// What became of a task that was to be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Written {
    /// Its text is in the buffer.
    Done,
    /// The records cannot hold all that is so of it, or it changed while it was read: only the kernel's own file can tell.
    AskKernel,
}

/// What a section shows: as long as this is the same, so is its text. Indices stand for the records they point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Key([u64; 5]);

impl Key {
    /// None for the section that is each task's own.
    fn of(section: Section, of: &Parts<'_>) -> Option<Key> {
        let task = of.task;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let process = u64::from(task.process_index);
        let credentials = pair(task.process_index, task.credentials_index);
        Some(Key(match section {
            Section::Own => return None,
            Section::State => [
                pair(task.process_index, task.marks),
                pair(task.state, task.exit_state),
                pair(task.umask, task.numa_group.cast_unsigned()),
                0,
                0,
            ],
            Section::Identity => [credentials, pair(task.max_fds, task.tracer_pid.cast_unsigned()), 0, 0, 0],
            Section::Process => [process, 0, 0, 0, 0],
            Section::Memory => [process, u64::from(task.memory_index), 0, 0, 0],
            Section::Signals => [credentials, task.pending_signals, task.blocked_signals, 0, 0],
            // Many users have the same.
            Section::Capabilities => of
                .credentials
                .map_or([0; 5], |of| [of.inheritable, of.permitted, of.effective, of.bounding, of.ambient]),
            Section::Security => [task.atomic_flags, pair(task.seccomp_mode, task.seccomp_filters), 0, 0, 0],
            Section::Placement => [u64::from(task.placement_index), 0, 0, 0, 0],
        }))
    }
}

/// Lines one after another that are of one section, and their text of the last task.
struct Run {
    lines: Vec<(Head, Line)>,
    section: Section,
    key: Option<Key>,
    text: Vec<u8>,
}

/// The renderer of one snapshot.
pub struct KernelText<'a> {
    dialect: &'a Dialect,
    records: StatusRecords<'a>,
    runs: Vec<Run>,
}

impl<'a> KernelText<'a> {
    /// For these records.
    pub fn new(dialect: &'a Dialect, records: StatusRecords<'a>) -> KernelText<'a> {
        let mut runs: Vec<Run> = Vec::new();
        for (head, line, section) in &dialect.lines {
            let line = (*head, *line);
            match runs.last_mut() {
                Some(run) if run.section == *section => run.lines.push(line),
                _ => runs.push(Run { lines: vec![line], section: *section, key: None, text: Vec::new() }),
            }
        }
        KernelText { dialect, records, runs }
    }

    /// Appends the text of the task of that index among the records.
    pub fn write(&mut self, task: usize, form: Form, whole: Whole, out: &mut Vec<u8>) -> Written {
        let Some(parts) = parts(&self.records, task, form) else { return Written::AskKernel };
        let is_process = whole == Whole::Process;
        match form {
            Form::Status => self.write_status(&parts, out),
            Form::Stat if is_process && parts.process.process.totals_known == 0 => return Written::AskKernel,
            Form::Stat => stat::write_stat(self.dialect, &parts, is_process, out),
            Form::Statm => stat::write_statm(self.dialect, &parts, out),
        }
        Written::Done
    }

    fn write_status(&mut self, of: &Parts<'a>, out: &mut Vec<u8>) {
        let dialect = self.dialect;
        for run in &mut self.runs {
            if run.section == Section::Memory && of.memory.is_none() {
                continue;
            }
            let lines = &run.lines;
            let write_lines = |out: &mut Vec<u8>| status::write_lines(dialect, run.section, lines, of, out);
            let key = Key::of(run.section, of);
            if key.is_none() {
                write_lines(out);
                continue;
            }
            if run.key != key {
                run.text.clear();
                write_lines(&mut run.text);
                run.key = key;
            }
            out.extend_from_slice(&run.text);
        }
    }
}

/// What the records hold of a task, if that is all.
fn parts<'a>(records: &StatusRecords<'a>, index: usize, form: Form) -> Option<Parts<'a>> {
    let task = records.tasks.get(index)?;
    let process = records.processes.get(task.process_index as usize)?;
    let (credentials, placement) = match form {
        Form::Status => (
            Some(records.credentials.get(task.credentials_index as usize)?),
            Some(records.placements.get(task.placement_index as usize)?),
        ),
        Form::Stat | Form::Statm => (None, None),
    };
    let memory = match task.memory_index {
        abi::CPULEDGER_STATUS_NONE => None,
        index => Some(records.memories.get(index as usize)?),
    };
    let marks = task.marks
        | process.marks
        | credentials.map_or(0, |credentials| credentials.marks)
        | memory.map_or(0, |memory| memory.marks);
    let is_whole = marks & abi::CPULEDGER_STATUS_BEYOND == 0 && process.process.pid == task.pid;
    is_whole.then_some(Parts { task, process, memory, credentials, placement })
}

#[cfg(test)]
mod tests;
