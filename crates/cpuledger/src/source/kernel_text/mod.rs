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
use cpuledger_model::kinds;

mod bytes;
mod dialect;
mod parts;
mod stat;
mod status;

use bytes::Head;
pub use parts::Dialect;
use parts::{Nothing, Parts, Section, Write};

kinds! {
    /// Which file the text is that of.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Form of 1 {
        /// /proc/PID/status: a line a fact.
        #[default]
        Status ["status"],
        /// /proc/PID/stat: one line.
        Stat ["stat"],
        /// /proc/PID/statm: one line of sizes in pages.
        Statm ["statm"],
    }
}

/// No text has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the texts are status, stat and statm, not `{0}`")]
pub struct UnknownForm(pub String);

impl Form {
    /// The name of the file.
    pub fn name(self) -> &'static str {
        self.texts()[0]
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
            Section::Umask => [task.umask.into(), 0, 0, 0, 0],
            Section::State => [
                pair(task.process_index, task.numa_group.cast_unsigned()),
                pair(task.state, task.exit_state),
                0,
                0,
                0,
            ],
            Section::Identity => [credentials, pair(task.max_fds, task.tracer_pid.cast_unsigned()), 0, 0, 0],
            Section::Process => [process, 0, 0, 0, 0],
            Section::Memory => [process, u64::from(task.memory_index), 0, 0, 0],
            Section::Signals => [credentials, task.pending_signals, task.blocked_signals, 0, 0],
            // Many users have the same.
            Section::Capabilities => {
                let of = of.credentials;
                [of.inheritable, of.permitted, of.effective, of.bounding, of.ambient]
            }
            Section::Security => [task.atomic_flags, pair(task.seccomp_mode, task.seccomp_filters), 0, 0, 0],
            Section::Placement => [u64::from(task.placement_index), 0, 0, 0, 0],
        }))
    }
}

/// Lines one after another that are of one section, and their text of the last task.
struct Run {
    lines: Vec<(Head, Write)>,
    section: Section,
    key: Option<Key>,
    text: Vec<u8>,
}

/// The renderer of one snapshot.
pub struct KernelText<'a> {
    dialect: &'a Dialect,
    records: StatusRecords<'a>,
    runs: Vec<Run>,
    nothing: Nothing,
}

impl<'a> KernelText<'a> {
    /// For these records.
    pub fn new(dialect: &'a Dialect, records: StatusRecords<'a>) -> KernelText<'a> {
        let mut runs: Vec<Run> = Vec::new();
        for (head, section, write) in &dialect.lines {
            let line = (*head, *write);
            match runs.last_mut() {
                Some(run) if run.section == *section => run.lines.push(line),
                _ => runs.push(Run { lines: vec![line], section: *section, key: None, text: Vec::new() }),
            }
        }
        KernelText { dialect, records, runs, nothing: Nothing::default() }
    }

    /// Appends the text of the task of that index among the records.
    pub fn write(&mut self, task: usize, form: Form, whole: Whole, out: &mut Vec<u8>) -> Written {
        let KernelText { dialect, records, runs, nothing } = self;
        let Some(of) = Parts::of(dialect, records, task, form == Form::Status, nothing) else {
            return Written::AskKernel;
        };
        let is_process = whole == Whole::Process;
        match form {
            Form::Status => runs.iter_mut().for_each(|run| run.write(&of, out)),
            Form::Stat if is_process && of.process.process.totals_known == 0 => return Written::AskKernel,
            Form::Stat => stat::write_stat(&of, is_process, out),
            Form::Statm => stat::write_statm(&of, out),
        }
        Written::Done
    }
}

impl Run {
    fn write(&mut self, of: &Parts<'_>, out: &mut Vec<u8>) {
        let is_shown = match self.section {
            Section::Umask => of.task.marks & abi::CPULEDGER_STATUS_HAS_UMASK != 0,
            Section::Memory => of.has_memory,
            _ => true,
        };
        if !is_shown {
            return;
        }
        let Run { lines, section, key, text } = self;
        let write_lines = |out: &mut Vec<u8>| {
            for (head, write) in lines.iter() {
                head.write(out);
                write(of, out);
                out.push(b'\n');
            }
        };
        let Some(now) = Key::of(*section, of) else { return write_lines(out) };
        if *key != Some(now) {
            text.clear();
            write_lines(text);
            *key = Some(now);
        }
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests;
