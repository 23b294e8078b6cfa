//! From taskstats to the members of a row, in the units of the field table.

use cpuledger_bpf::abi;
use cpuledger_model::boottime::Boottime;
use cpuledger_model::field::{DELAYS, Field, FieldSet, IO, USAGE};
use cpuledger_model::make;
use cpuledger_model::snapshot::{Scope, Snapshot};
use cpuledger_model::task::{Pid, State, Task, Tid};

use crate::source::records::scaled_cpu_time;

use super::census::{Census, Process};
use super::identity::{Tasks, Window};
use super::layout::Taskstats;

/// In every message of a task.
pub const TASK: FieldSet = FieldSet::of(&[
    Field::Tid,
    Field::Pid,
    Field::Ppid,
    Field::Uid,
    Field::Gid,
    Field::Comm,
    Field::Nice,
    Field::Policy,
    Field::Threads,
    Field::Runtime,
])
.union(USAGE);
/// Known where /proc told it, and while the machine has never been suspended.
pub const START: FieldSet = FieldSet::of(&[Field::StartTime]);
/// By the directory of a process.
pub const EFFECTIVE: FieldSet = FieldSet::of(&[Field::Euid, Field::Egid]);
/// Where the kernel tells the scheduler's figures.
pub const RUNQUEUE_WAIT: FieldSet = FieldSet::of(&[Field::RunqueueWait]);
/// Known only of the dead: zombies.
const STATE: FieldSet = FieldSet::of(&[Field::State]);
/// What a message about a process has, its dead threads included.
const MESSAGE_TOTALS: FieldSet = FieldSet::of(&[Field::Runtime, Field::RunqueueWait]).union(DELAYS);
/// What is told of single tasks only, and of a process while it has no other.
const OF_ONE_TASK: FieldSet = USAGE.union(IO);
/// What is told of a process with all its threads in a snapshot.
const TIMES: FieldSet = FieldSet::of(&[Field::User, Field::System]);

/// What this kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abilities {
    /// The scheduler's runtime and waiting: not where delay accounting is off in a kernel before 5.14.
    pub has_runtime: bool,
    /// Delay accounting is on.
    pub has_delays: bool,
    /// Block I/O is counted.
    pub has_io: bool,
}

impl Abilities {
    /// The fields of a task.
    pub fn fields(self) -> FieldSet {
        [(self.has_runtime, RUNQUEUE_WAIT), (self.has_delays, DELAYS), (self.has_io, IO)]
            .into_iter()
            .filter(|(can, _)| *can)
            .fold(TASK.union(START), |fields, (_, more)| fields.union(more))
    }

    /// What is known of each row of a snapshot of the kernel.
    pub fn fields_of_cut(scope: Scope) -> FieldSet {
        let fields = TASK.without(USAGE).union(TIMES).union(START);
        if scope.has_tasks() { fields } else { fields.union(EFFECTIVE) }
    }

    /// CPU time: by the scheduler's clock, and in ticks where the kernel does not tell that.
    pub fn cpu_ns(self, figures: &Taskstats) -> u64 {
        if self.has_runtime {
            figures.runtime_ns
        } else {
            figures.user_us.saturating_add(figures.system_us).saturating_mul(1_000)
        }
    }
}

/// Which number is asked for, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Query {
    /// The sums of a process, which comes next.
    Totals(i32),
    /// The leader of that process.
    Leader(Process),
    /// Another thread of it.
    Thread(i32),
}

/// Makes rows of answers that come in the order of their queries: each process its totals, its leader, its threads.
pub struct Rows<'a> {
    pub(super) abilities: Abilities,
    pub(super) known: &'a mut Tasks,
    /// To read starts from.
    pub(super) census: &'a mut Census,
    pub(super) has_tasks: bool,
    /// Kernel threads have the names that /proc shows: whole ones, and of workers with what they work on.
    pub(super) names_in_full: bool,
    pub(super) totals: Option<Taskstats>,
    /// The process whose threads follow.
    pub(super) process: Option<Process>,
    pub(super) into: &'a mut Snapshot,
}

impl<'a> Rows<'a> {
    /// Into a snapshot that is empty.
    pub fn new(
        abilities: Abilities,
        known: &'a mut Tasks,
        census: &'a mut Census,
        scope: Scope,
        into: &'a mut Snapshot,
    ) -> Rows<'a> {
        let has_tasks = scope.has_tasks();
        Rows { abilities, known, census, has_tasks, names_in_full: false, totals: None, process: None, into }
    }

    /// Takes a process of a cut: figures of its leader, and the runtime of all its threads, dead ones included.
    pub fn add_process(&mut self, process: Process, figures: Taskstats, window: Window) {
        self.process = Some(process);
        let mut row = self.row_of(process.pid, process, &figures, window, true);
        if process.threads > 1 {
            of_several(&mut row);
        }
        self.into.processes.push(row);
    }

    /// Takes a thread of that process, which may be its leader.
    pub fn add_thread(&mut self, figures: Taskstats, window: Window) {
        let Some(process) = self.process else { return };
        let tid = figures.tid.cast_signed();
        let mut row = self.row(tid, process, &figures, window);
        if tid != process.pid {
            row.known = row.known.without(EFFECTIVE); // the leader's
        }
        self.into.tasks.push(row);
    }

    /// Takes an answer; `None` where there is no such task any more.
    pub fn add(&mut self, query: Query, answer: Option<Taskstats>, window: Window) {
        match (query, answer) {
            (Query::Totals(_), answer) => {
                self.process = None;
                self.totals = answer;
            }
            (Query::Leader(process), Some(figures)) => self.add_leader(process, &figures, window),
            (Query::Thread(_), Some(figures)) => {
                if self.process.is_some_and(|process| is_of(&figures, process.pid)) {
                    self.add_thread(figures, window);
                }
            }
            (Query::Leader(_), None) => self.process = None,
            (Query::Thread(_), None) => {}
        }
    }

    fn add_leader(&mut self, process: Process, figures: &Taskstats, window: Window) {
        let totals = self.totals.take();
        if !is_of(figures, process.pid) {
            self.process = None;
            return;
        }
        self.process = Some(process);
        let leader = self.row(process.pid, process, figures, window);
        if self.has_tasks {
            self.into.tasks.push(leader);
        }
        let mut row = leader;
        if process.threads > 1 {
            row.known = row.known.without(OF_ONE_TASK);
        }
        match totals {
            // Sums leave out a zombie that never had another thread.
            Some(sums) => {
                row.runtime_ns = row.runtime_ns.max(self.abilities.cpu_ns(&sums));
                row.runqueue_wait_ns = row.runqueue_wait_ns.max(sums.run_queue.total_ns);
                row.block_io_delay_ns = row.block_io_delay_ns.max(sums.block_io.total_ns);
                row.swap_in_delay_ns = row.swap_in_delay_ns.max(sums.swap_in.total_ns);
            }
            None => row.known = row.known.without(MESSAGE_TOTALS).without(OF_ONE_TASK),
        }
        self.into.processes.push(row);
    }

    fn row(&mut self, tid: i32, process: Process, figures: &Taskstats, window: Window) -> Task {
        self.row_of(tid, process, figures, window, false)
    }

    /// `is_sum`: the figures are of all threads of a process.
    fn row_of(
        &mut self,
        tid: i32,
        process: Process,
        figures: &Taskstats,
        window: Window,
        is_sum: bool,
    ) -> Task {
        let runtime_ns = self.abilities.cpu_ns(figures);
        let was_suspended = !self.known.suspensions.are_none();
        // The kernel says it, or a file of /proc does.
        let exact = figures.exact.map(|exact| exact.start_in_ticks());
        let tell = || exact.or_else(|| self.census.start(process.pid, tid));
        let known = self.known.find(tid, figures.elapsed_us, window, tell);
        let told = if self.names_in_full && is_cut_off(figures) { self.census.comm(tid) } else { None };
        let shown = if is_sum { &mut known.shown_of_process } else { &mut known.shown };
        *shown = times(runtime_ns, figures, *shown);
        let times = *shown;
        let row = task_of(self.abilities, tid, process, figures, (known.start, known.is_dead), times);
        let fields = if was_suspended && !known.is_told { row.known.without(START) } else { row.known };
        make!(Task { known: fields, comm: told.unwrap_or(figures.comm), ..row })
    }
}

/// A row of these figures. `life`: when it started, and whether it has reported its death. `times`: user and system time.
pub fn task_of(
    abilities: Abilities,
    tid: i32,
    process: Process,
    figures: &Taskstats,
    (start, is_dead): (Boottime, bool),
    (user_ns, system_ns): (u64, u64),
) -> Task {
    let mut fields = abilities.fields().union(EFFECTIVE);
    if is_dead {
        fields = fields.union(STATE);
    }
    if !figures.has_counted_delays() {
        fields = fields.without(DELAYS);
    }
    make!(Task {
        known: fields,
        tid: Tid(tid),
        pid: Pid(process.pid),
        ppid: Pid(figures.ppid.cast_signed()),
        start_time_ns: start,
        uid: figures.uid,
        gid: figures.gid,
        euid: process.euid,
        egid: process.egid,
        state: State(if is_dead { b'Z' } else { 0 }),
        nice: figures.nice.into(),
        policy: figures.policy.into(),
        threads: process.threads,
        runtime_ns: abilities.cpu_ns(figures),
        user_ns,
        system_ns,
        runqueue_wait_ns: figures.run_queue.total_ns,
        block_io_delay_ns: figures.block_io.total_ns,
        swap_in_delay_ns: figures.swap_in.total_ns,
        minor_faults: figures.minor_faults,
        major_faults: figures.major_faults,
        voluntary_switches: figures.voluntary_switches,
        involuntary_switches: figures.involuntary_switches,
        read_bytes: figures.read_bytes,
        write_bytes: figures.write_bytes,
        cancelled_write_bytes: figures.cancelled_write_bytes,
        comm: figures.comm,
    })
}

/// The row of a process whose figures are sums of its threads, dead ones included: what is of one task only is not known.
pub fn of_several(row: &mut Task) {
    let unknown = OF_ONE_TASK.without(TIMES).union(RUNQUEUE_WAIT).union(DELAYS);
    row.known = row.known.without(unknown);
}

/// Whether /proc may show a longer name than taskstats: of a kernel thread, which is a child of process 2.
fn is_cut_off(figures: &Taskstats) -> bool {
    const LONGEST: usize = 15;
    let name = figures.comm.as_bytes();
    figures.ppid == 2 && (name.len() == LONGEST || name.starts_with(b"kworker/"))
}

/// Whether a task is of that process; before version 12 nothing tells, and the directory of /proc has to do.
fn is_of(figures: &Taskstats, pid: i32) -> bool {
    figures.pid.is_none_or(|found| found.cast_signed() == pid)
}

/// User and system time by the kernel's rule: the runtime in the proportion of the ticks, never less than shown before.
pub fn times(runtime_ns: u64, figures: &Taskstats, shown: (u64, u64)) -> (u64, u64) {
    let in_us = || (figures.user_us.saturating_mul(1_000), figures.system_us.saturating_mul(1_000));
    let (tick_user_ns, tick_system_ns) =
        figures.exact.map_or_else(in_us, |exact| (exact.used.user_ns, exact.used.system_ns));
    scaled_cpu_time(&abi::cpuledger_cpu_time {
        runtime_ns,
        tick_user_ns,
        tick_system_ns,
        shown_user_ns: shown.0,
        shown_system_ns: shown.1,
    })
}
