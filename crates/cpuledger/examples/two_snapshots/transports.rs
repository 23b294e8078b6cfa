//! The ways on which snapshots of all tasks come, and what tasks used between two of them.

use std::fmt;
use std::str::FromStr;

use cpuledger::intervals::Wanted;
use cpuledger::source::netlink::may_have_snapshots;
use cpuledger::{Comm, Error, Interval, Intervals, Pid, SourceKind, TaskId};
use cpuledger_model::make;

/// How long to wait for the next snapshot where nobody takes one: without end, for this program.
const LONGEST_NS: u64 = 1 << 60;

/// How snapshots come from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Files: /proc/taskstats where the kernel has it, else those of each task.
    File,
    /// Taskstats by netlink, and a report of each exit.
    Netlink,
    /// One pass over the task list inside the kernel, and a record of each exit.
    Walk,
    /// A record of each context switch: what a task used is known without its total.
    Ledger,
}

impl Transport {
    /// All of them.
    pub const ALL: [Transport; 4] = [Transport::File, Transport::Netlink, Transport::Walk, Transport::Ledger];

    /// The source of this library that uses it.
    pub fn source(self) -> SourceKind {
        match self {
            // Its snapshots are a write to this file and a read of it.
            Transport::File if may_have_snapshots() => SourceKind::Netlink,
            Transport::File => SourceKind::Procfs,
            Transport::Netlink => SourceKind::Netlink,
            Transport::Walk => SourceKind::Walk,
            Transport::Ledger => SourceKind::Ledger,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Transport::File => "file",
            Transport::Netlink => "netlink",
            Transport::Walk => "walk",
            Transport::Ledger => "ledger",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(name: &str) -> Result<Transport, String> {
        let found = Transport::ALL.into_iter().find(|transport| transport.name() == name);
        found.ok_or_else(|| format!("unknown transport `{name}`; use `file`, `netlink`, `walk` or `ledger`"))
    }
}

/// Snapshots, one after another.
pub struct Snapshots {
    intervals: Intervals,
}

impl Snapshots {
    /// Opens the transport, and takes the first snapshot.
    ///
    /// # Errors
    /// When the transport cannot be used here, or by this user.
    pub fn open(transport: Transport) -> Result<Snapshots, Error> {
        let wanted = make!(Wanted { source: Some(transport.source()), length_ns: LONGEST_NS, by_task: true });
        Ok(Snapshots { intervals: Intervals::open(wanted)? })
    }

    /// Takes a snapshot now. What lies between it and the one before is an interval.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn take(&mut self) -> Result<&Interval, Error> {
        self.intervals.waker().wake();
        self.intervals.close()?;
        Ok(&self.intervals.interval)
    }
}

/// What a task used between two snapshots.
#[derive(Debug, Clone, Copy)]
pub struct Used {
    /// Which task: its tid, and its start, as tids are given again.
    pub task: TaskId,
    /// Its process.
    pub pid: Pid,
    /// Its name.
    pub comm: Comm,
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// Of that, time in which it had a CPU and did not execute, in nanoseconds; `None` where the transport does not tell it of the task.
    pub stolen_ns: Option<u64>,
    /// Whether it died before the second snapshot.
    pub is_dead: bool,
}

/// The difference by task: of all that used CPU time, those that died after the others.
pub fn difference(interval: &Interval) -> Vec<Used> {
    let living = interval.tasks.iter().map(|row| Used {
        task: row.task.id(),
        pid: row.task.pid,
        comm: row.task.comm,
        cpu_ns: row.usage.self_ns,
        stolen_ns: row.usage.stolen_ns,
        is_dead: false,
    });
    let dead = interval.exited.iter().flatten().map(|exited| Used {
        task: exited.exit.task,
        pid: Pid(exited.exit.process.tid.0),
        comm: exited.exit.comm,
        cpu_ns: exited.cpu_ns,
        stolen_ns: None,
        is_dead: true,
    });
    living.chain(dead).filter(|used| used.cpu_ns > 0).collect()
}
