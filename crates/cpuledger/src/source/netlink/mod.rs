//! Source `netlink`: generic netlink TASKSTATS, for root on machines without BPF.
//!
//! Two things come from it. A *query* of a number is answered with one `struct taskstats`: of a task, or the sums of a process,
//! its dead threads included. It lists no task: processes are the numbers of /proc, and threads those of /proc/PID/task,
//! which is only listed where the directory has links for more than one. 64 queries go out in one send(2), and their answers come
//! in with one recvmmsg(2). A *listener* gets the last figures of every task that dies, wherever it was born.
//!
//! CPU time is `cpu_run_virtual_total`: the scheduler's runtime in nanoseconds, the same figure as a walk has, behind by at
//! most a tick while the task runs. `cpu_run_real_total` and, in microseconds, `ac_utime` + `ac_stime` count whole ticks
//! (4 ms) for the task that is running when one comes, unless the kernel accounts for each entry: too coarse for short
//! lives. They only divide the runtime into user and system time, by the kernel's own rule. A kernel before 5.14 without
//! delay accounting leaves the runtime out; then ticks are all there is. This is tried, on ourselves, at the opening.
//!
//! What it cannot do:
//!
//! - There is no cut: tasks are asked one after another, each figure is of another instant. A kernel with the patches of
//!   `kernel/series` has one: there a snapshot is a write and a read of `/proc/taskstats`, and the runtimes of processes are of its
//!   instant. With the first of the patches alone, threads are of another snapshot shortly before. With all of them threads and processes
//!   are of one, and the kernel keeps account of the dead: then what follows on time and parents does not hold (`accounts`).
//! - A task reports its death while it runs, before it releases its memory. What it used since the last tick (4 ms) and what it
//!   uses after the report are not in its row. If the parent waits for the process, /proc shows them with the figures of its
//!   children (`reaped`). For a process that is not waited for, and for a thread of a process that goes on, they are lost.
//! - The parent is the one at the exit. Of a thread that dies, its process is known from version 12 on (Linux 5.19) or from
//!   an earlier snapshot; else its time goes to the parent of its process.
//! - State, terminal, memory and cgroup are in no message.
//! - It works in the initial PID and user namespaces only. In another network namespace than the initial one queries are
//!   answered, but reports of exits go elsewhere: whether they come is tried with a thread that dies.
//!
//! # How it works
//!
//! - **Snapshots** (`cut.rs`, `accounts.rs`). Where the kernel has `/proc/taskstats`, all comes with a write and a read. Intervals take one snapshot of
//!   threads, and processes are the sums of their threads and of what the kernel says of dead ones. Tasks run on while the kernel writes records,
//!   so a snapshot that took more than twice as long as usual is taken again: we had lost the CPU in it.
//! - **What ran** (`books.rs`). A snapshot has a cookie, with which the next one has only what ran since. The figures of all others are those of the last
//!   time, so they are not visited. The sum of what was used has to fit the time there was; else the snapshot is taken again, with the same cookie.
//! - **By version.** Each version of `struct taskstats` has one size. Version 15 added members in the middle, which moved the others, and 16 moved
//!   them back. Other versions and sizes are refused (`layout.rs`, fixtures of each version in `tests/taskstats`).
//! - **Identity.** A message says how long a task has lived, not since when, so its start lies between two readings of the clock. Messages about a
//!   tid are of one task while these windows overlap (`identity.rs`), so rows and reports of exits have the same start. It is that of /proc,
//!   in ticks, if it lies in the window. Otherwise it is estimated from the age, and from suspensions that were seen.
//! - **Before the snapshot or after it.** Reports are read just before a snapshot begins: a task that has reported by then died before it.
//! - **A socket for each CPU.** Each CPU numbers its reports. When a socket was full, the gap in the numbers is what was lost. A task that moves to
//!   another CPU while it reports brings a number of that one, so a jump counts once the next number has come.
//! - **The rest of a life** (`reaped.rs`). A report has the runtime of the last tick, and the task runs on. For children that a process has waited
//!   for, /proc shows what they used in all. What exceeds the reports is added to its exited children, as a fold without exits. Both sides
//!   are sums over whole lives, and what was reported and not waited for is owed. If reports were missed, all parents are asked. A task that
//!   vanished without a report counts with its last row.
//! - **Tried, not assumed.** When it opens, the source queries itself, and lets a thread of its own die to see whether reports come. In another
//!   network namespace they do not, though registering works.

mod accounts;
mod books;
mod census;
mod cut;
mod identity;
pub mod layout;
mod listener;
pub mod message;
mod open;
mod reaped;
mod rows;
mod socket;

use cpuledger_client::clock;
use cpuledger_model::boottime::Boottime;
use cpuledger_model::exit::{Death, Exit, Exits, Fold};
use cpuledger_model::field::FieldSet;
use cpuledger_model::make;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::{Pid, TaskId, Tid};

use crate::error::Error;
use crate::machine::{self, spawn_scoped};
use crate::source::Source;
use crate::source::io_access::IoAccess;

use census::{Census, Process};
use cut::{Cut, Cuts};
use identity::{Tasks, Window};
use layout::Taskstats;
use listener::{Listener, Report};
use message::Body;
use reaped::Reaped;
use rows::{Abilities, Query, Rows};
use socket::{BATCH, Failure, Received, Socket};

pub use books::AccountBooks;
pub use cut::may_have_snapshots;
pub use listener::WAITING_BYTES;

/// Deaths in a long interval after which parents are asked before its end.
const MOST_UNSETTLED: usize = 1 << 14;

/// A process at a snapshot.
struct Living {
    pid: i32,
    ppid: i32,
    start: Boottime,
    runtime_ns: u64,
}

/// By how much an estimated start may be off, on a busy machine.
const START_SLACK_NS: u64 = 200_000_000;

/// The sockets, and what is remembered of the tasks.
pub struct Netlink {
    socket: Socket,
    /// Where the kernel has snapshots.
    cuts: Option<Cuts>,
    is_for_listing: bool,
    census: Census,
    abilities: Abilities,
    /// Whether the kernel keeps account of the dead, so that no report of a death is needed.
    has_accounts: bool,
    /// Which layout the kernel sends.
    version: u16,
    known: Tasks,
    listener: Option<Listener>,
    /// Exits that were read for a snapshot and not yet asked for.
    pending: Vec<Death>,
    /// Likewise what parents know of the dead beyond their reports.
    folds: Vec<Fold>,
    reaped: Reaped,
    /// Every process at the last snapshot.
    living: Vec<Living>,
    /// Reports that had been missed when parents were last asked.
    missed: u64,
    queries: Vec<Query>,
}

impl Netlink {
    /// Opens it and asks for ourselves.
    ///
    /// # Errors
    /// Without privilege, in another namespace than the initial ones, in a kernel without taskstats, or with such that are not
    /// known here.
    pub fn open() -> Result<Netlink, Error> {
        open::check_namespaces()?;
        let mut socket = Socket::open().map_err(open::refused)?;
        let (figures, abilities) = open::probe(&mut socket).map_err(open::refused)?;
        let cuts = Cuts::open();
        let tells_dead = figures.exact.is_some_and(|exact| exact.dead.is_some());
        Ok(Netlink {
            socket,
            has_accounts: tells_dead && cuts.is_some(),
            cuts,
            is_for_listing: false,
            census: Census::open()?,
            abilities,
            version: figures.version,
            known: Tasks::default(),
            listener: None,
            pending: Vec::new(),
            folds: Vec::new(),
            reaped: Reaped::default(),
            living: Vec::new(),
            missed: 0,
            queries: Vec::new(),
        })
    }

    /// The version of `struct taskstats` that this kernel sends.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Whether the kernel keeps account of delays (`kernel.task_delayacct`).
    pub fn has_delays(&self) -> bool {
        self.abilities.has_delays
    }

    /// Whether the kernel has snapshots, so that all figures are of one instant.
    pub fn has_cut(&self) -> bool {
        self.cuts.is_some()
    }

    /// Whether the kernel keeps account of the dead, so that intervals are whole without any report of a death.
    pub fn has_accounts(&self) -> bool {
        self.has_accounts
    }

    /// Why its intervals visit all tasks, as the end of a sentence; `None`: the kernel says which tasks ran.
    pub fn visits_all_because(&self) -> Option<&'static str> {
        let Some(cuts) = &self.cuts else {
            return Some("the kernel has no snapshots (patch 3 of kernel/series)");
        };
        if !self.has_accounts {
            return Some("the kernel keeps no account of the dead (patch 5 of kernel/series)");
        }
        if !cuts.has_cookies {
            return Some("this kernel has snapshots without cookies");
        }
        self.listener
            .is_none()
            .then_some("exits are not reported here, so the dead are found by a look at all tasks")
    }

    /// For a listing: kernel threads have the names that /proc shows, at the cost of a file for each long one.
    #[must_use]
    pub fn for_listing(self) -> Netlink {
        Netlink { is_for_listing: true, ..self }
    }

    /// What is known of each row of a listing that takes the kernel's snapshot; nothing where there is none.
    pub fn fields_of_cut(&self, scope: Scope) -> FieldSet {
        let is_one = matches!(scope, Scope::Process(_));
        if self.has_cut() && !is_one { Abilities::fields_of_cut(scope) } else { FieldSet::EMPTY }
    }

    /// Starts to listen for exits, with this room for reports that wait to be read.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn listen(&mut self, waiting_bytes: usize) -> Result<(), Error> {
        self.listener = Some(Listener::register(waiting_bytes).map_err(open::refused)?);
        // Elsewhere the kernel registers us too, and sends the reports to the socket that has our port there.
        if !self.hears_a_death()? {
            self.listener = None;
            return Err(open::no_reports());
        }
        // With accounts, no parent has to be asked.
        if self.has_accounts {
            return Ok(());
        }
        let pids = self.census.processes()?;
        let now = clock::boottime();
        let census = &mut self.census;
        self.reaped = Reaped::begin(now, pids.iter().filter_map(|&pid| Some((pid, census.said(pid)?))));
        self.census.reuse(pids);
        Ok(())
    }

    /// Whether the report of a thread that has just died is there: it is sent before the thread can be joined. Where more die than
    /// there is room for, it may be among those that were lost; so may it only where reports arrive.
    fn hears_a_death(&mut self) -> Result<bool, Error> {
        let tid = std::thread::scope(|scope| {
            spawn_scoped(scope, rustix::thread::gettid).map(|thread| thread.join())
        });
        let Ok(tid) = tid.map_err(|source| Error::Netlink { source })? else { return Ok(false) };
        self.read_reports()?;
        let tid = tid.as_raw_nonzero().get();
        let is_there = self.pending.iter().any(|death| death.exit.task.tid.0 == tid);
        Ok(is_there || self.listener.as_ref().is_some_and(|listener| listener.missed() > 0))
    }

    /// Reads the reports that wait.
    fn read_reports(&mut self) -> Result<(), Error> {
        let Netlink { listener: Some(listener), known, census, pending, reaped, abilities, .. } = self else {
            return Ok(());
        };
        let asks_parents = abilities.has_runtime && !self.has_accounts;
        known.suspensions.note(machine::monotonic_ns(), machine::suspended_ns());
        let read = listener.read(|report| {
            let exit = exit_of(&report, *abilities, known, census);
            if asks_parents && report.figures.is_last_of_process() == Some(true) {
                let told_ns = report.process.map_or(exit.runtime_ns, |process| process.runtime_ns);
                reaped.died(exit.process.tid.0, exit.ppid.0, told_ns);
            }
            pending.push(make!(Death { exit, at: report.read }));
        });
        read.map_err(open::failed)
    }

    /// Asks the parents of the dead for what these had not reported.
    fn settle(&mut self) -> Result<(), Error> {
        if self.listener.is_some() && !self.has_accounts {
            self.find_untold();
            self.reaped.ask(|pid| self.census.said(pid));
            self.read_reports()?;
            self.reaped.settle(clock::boottime(), &mut self.folds);
        }
        Ok(())
    }

    /// If reports were missed: finds the tasks of the last snapshot that died without a report. A parent will know of the whole
    /// life of such a task, and its own rows have already shown the beginning. Other processes are asked for which children they
    /// have waited.
    fn find_untold(&mut self) {
        let missed = self.listener.as_ref().map_or(0, Listener::missed);
        if std::mem::replace(&mut self.missed, missed) == missed {
            return;
        }
        let Netlink { living, census, reaped, .. } = self;
        let dead = reaped.dead();
        living.retain(|process| {
            let said = census.said(process.pid).filter(|said| {
                said.zombie.is_none() && said.start.distance_ns(process.start) < START_SLACK_NS
            });
            match said {
                Some(said) => reaped.heard(process.pid, said),
                None if dead.contains(&process.pid) => {}
                None => reaped.died(process.pid, process.ppid, process.runtime_ns),
            }
            said.is_some()
        });
    }

    /// Makes rows of a query of each task.
    fn ask_each(&mut self, scope: Scope, into: &mut Snapshot) -> Result<(), Error> {
        self.plan(scope)?;
        let Netlink { socket, census, known, queries, abilities, .. } = self;
        known.suspensions.note(into.begin_ns, machine::suspended_ns());
        let mut rows = Rows::new(*abilities, known, census, scope, into);
        for batch in queries.chunks(BATCH) {
            ask(socket, batch, &mut rows).map_err(open::failed)?;
        }
        into.end_ns = machine::monotonic_ns();
        Ok(())
    }

    /// Makes rows of a snapshot of the kernel. Where it keeps accounts, all is of one. Elsewhere threads are of another one before, so that they
    /// never have more than their process.
    fn take_cut(&mut self, scope: Scope, into: &mut Snapshot) -> Result<(), Error> {
        let Netlink { cuts: Some(cuts), census, known, abilities, .. } = self else { return Ok(()) };
        let threads = if scope.has_tasks() { cuts.take(true).map_err(open::failed)? } else { Cut::default() };
        let processes = match self.has_accounts && scope.has_tasks() {
            true => processes_of(&threads),
            false => cuts.take(false).map_err(open::failed)?,
        };
        let at_ns = processes.at_ns;
        let suspended_ns = machine::suspended_ns();
        (into.begin_ns, into.end_ns) = (at_ns, at_ns);
        into.begin = Boottime::from_ns(at_ns + suspended_ns);
        known.suspensions.note(at_ns, suspended_ns);
        let first_ns = if scope.has_tasks() { threads.at_ns } else { at_ns };
        let window = Window { first_ns, last_ns: machine::monotonic_ns() };
        let mut rows = Rows::new(*abilities, known, census, scope, into);
        rows.names_in_full = self.is_for_listing;
        let mut threads = threads.records.into_iter().peekable();
        for figures in processes.records {
            let pid = figures.tid.cast_signed();
            let process = rows.census.process(pid).unwrap_or(Process::gone(pid, figures.uid, figures.gid));
            rows.add_process(process, figures, window);
            while let Some(thread) = threads.next_if(|thread| thread.pid <= Some(figures.tid)) {
                if thread.pid == Some(figures.tid) {
                    rows.add_thread(thread, window);
                }
            }
        }
        Ok(())
    }

    /// The tasks that are to be asked, in the order of rows.
    fn plan(&mut self, scope: Scope) -> Result<(), Error> {
        self.queries.clear();
        let mut pids = match scope {
            Scope::Process(pid) => vec![pid.0],
            Scope::Leaders | Scope::Processes | Scope::Tasks => self.census.processes()?,
        };
        pids.sort_unstable();
        pids.dedup();
        for &pid in &pids {
            let Some(process) = self.census.process(pid) else { continue };
            if scope != Scope::Leaders {
                self.queries.push(Query::Totals(pid));
            }
            self.queries.push(Query::Leader(process));
            if scope.has_tasks() && process.threads > 1 {
                let tids = self.census.threads(pid)?;
                self.queries.extend(tids.iter().filter(|&&tid| tid != pid).map(|&tid| Query::Thread(tid)));
            }
        }
        self.census.reuse(pids);
        Ok(())
    }
}

impl Source for Netlink {
    fn kind(&self) -> SourceKind {
        SourceKind::Netlink
    }

    fn fields(&self) -> FieldSet {
        self.abilities.fields().union(rows::EFFECTIVE)
    }

    fn snapshot(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        into.clear();
        into.source = SourceKind::Netlink;
        self.known.begin_snapshot();
        // A task that has reported by now died before the snapshot, and one that reports later did not: no clock is needed.
        self.read_reports()?;
        self.settle()?;
        into.begin_ns = machine::monotonic_ns();
        into.begin = clock::boottime();
        if self.cuts.is_some() && !matches!(request.scope, Scope::Process(_)) {
            self.take_cut(request.scope, into)?;
        } else {
            self.ask_each(request.scope, into)?;
        }
        IoAccess::of_caller().hold_back(&mut into.processes, &mut into.tasks);
        self.living.clear();
        if self.listener.is_some() {
            // A zombie has reported, or was found before.
            let rows = into.processes.iter().filter(|row| row.state.0 != b'Z');
            self.living.extend(rows.map(|row| Living {
                pid: row.pid.0,
                ppid: row.ppid.0,
                start: row.start_time_ns,
                runtime_ns: row.runtime_ns,
            }));
        }
        Ok(())
    }

    fn sees_exits(&self) -> bool {
        self.listener.is_some()
    }

    fn watch_exits(&mut self) -> Result<(), Error> {
        if self.listener.is_some() { Ok(()) } else { self.listen(WAITING_BYTES) }
    }

    fn exits(&mut self, into: &mut Exits) -> Result<(), Error> {
        self.read_reports()?;
        if self.reaped.unsettled() > MOST_UNSETTLED {
            self.settle()?;
        }
        into.exits.append(&mut self.pending);
        into.folds.append(&mut self.folds);
        into.missed += self.listener.as_mut().map_or(0, Listener::take_missed);
        Ok(())
    }
}

/// The processes of a snapshot of threads.
fn processes_of(threads: &Cut) -> Cut {
    let families = threads.records.chunk_by(|one, other| one.pid == other.pid);
    let processes = families.filter_map(|family| Some(accounts::of_threads(family.first()?.pid?, family)));
    Cut::new(threads.at_ns, processes.collect())
}

/// Asks a batch of queries and makes rows of the answers.
fn ask(socket: &mut Socket, batch: &[Query], rows: &mut Rows<'_>) -> Result<(), Failure> {
    let mut answers = [None; BATCH];
    let (window, is_overrun) = ask_at_once(socket, batch, &mut answers)?;
    let mut windows = [window; BATCH];
    if is_overrun {
        // The socket has room for one.
        for (index, query) in batch.iter().enumerate() {
            if answers[index].is_none() {
                (windows[index], _) = ask_at_once(socket, &[*query], &mut answers[index..=index])?;
            }
        }
    }
    for ((query, answer), window) in batch.iter().zip(answers).zip(windows) {
        rows.add(*query, answer, window);
    }
    Ok(())
}

/// Returns when the kernel answered, and whether some of the answers found no room.
fn ask_at_once(
    socket: &mut Socket,
    batch: &[Query],
    answers: &mut [Option<Taskstats>],
) -> Result<(Window, bool), Failure> {
    let first_ns = machine::monotonic_ns();
    let first = socket.query(batch.iter().map(|query| match *query {
        Query::Totals(pid) => (message::ATTR_TGID, pid),
        Query::Leader(process) => (message::ATTR_PID, process.pid),
        Query::Thread(tid) => (message::ATTR_PID, tid),
    }))?;
    let window = Window { first_ns, last_ns: machine::monotonic_ns() };
    let mut outcome = Ok(());
    let (mut answered, mut is_overrun) = (0, false);
    // Each has its answer by now, unless there was no room for it: one receive more would find nothing.
    while answered < batch.len() {
        let received = socket.receive(|message| {
            let index = message.sequence.wrapping_sub(first) as usize;
            let Some(place) = answers.get_mut(index) else { return };
            answered += 1;
            let Body::Figures(figures) = message.body else { return }; // no such task
            match figures.task.or(figures.process).map(layout::decode) {
                Some(Ok(figures)) => *place = Some(figures),
                Some(Err(unknown)) => outcome = Err(Failure::Unknown(unknown)),
                None => {}
            }
        })?;
        match received {
            Received::Some(_) => {}
            Received::Overrun => is_overrun = true,
            Received::Nothing => break,
        }
    }
    outcome.map(|()| (window, is_overrun))
}

/// What a report says, with the identities by which the rows of snapshots go.
fn exit_of(report: &Report, abilities: Abilities, known: &mut Tasks, census: &mut Census) -> Exit {
    let figures = &report.figures;
    let tid = figures.tid.cast_signed();
    let window = Window { first_ns: report.after_ns, last_ns: report.read_ns }.of_report();
    let pid = figures.pid.map(u32::cast_signed);
    let exact = figures.exact.map(|exact| exact.start_in_ticks());
    let process = pid.zip(figures.leader_elapsed_us).map(|(pid, elapsed_us)| {
        let exact = exact.filter(|_| pid == tid);
        known.id(pid, elapsed_us, window, || exact.or_else(|| census.start(pid, pid)))
    });
    // Its file is there until it is waited for: a snapshot may list it until then, under this identity.
    let tell = || exact.or_else(|| census.start(pid.unwrap_or(tid), tid));
    let task = known.find(tid, figures.elapsed_us, window, tell);
    task.is_dead = true;
    let id = TaskId { tid: Tid(tid), start_time_ns: task.start };
    make!(Exit {
        task: id,
        process: process.unwrap_or(id),
        ppid: Pid(figures.ppid.cast_signed()),
        comm: figures.comm,
        uid: figures.uid,
        euid: None, // in no message, and it may have changed since it was last seen
        exit_code: Some(figures.exit_code.cast_signed()),
        runtime_ns: abilities.cpu_ns(figures),
        lifetime_ns: figures.elapsed_us.saturating_mul(1_000),
        cgroup_id: None,
        cgroup_v1_cpu_id: None, // in no message
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_socket_costs_time_and_no_rows_root() {
        let mut netlink = Netlink::open().expect("as root, in the initial namespaces");
        netlink.socket.set_receive_bytes(1);
        let mut answers = [None; BATCH];
        let myself = Query::Totals(std::process::id().cast_signed());
        let (_, is_overrun) =
            ask_at_once(&mut netlink.socket, &[myself; BATCH], &mut answers).expect("answers");
        assert!(is_overrun && answers.iter().any(Option::is_none), "there is no room for all of them");
        let mut snapshot = Snapshot::default();
        let request = Request::new(Scope::Tasks, FieldSet::ALL);
        netlink.snapshot(&request, &mut snapshot).expect("a snapshot");
        let mut census = Census::open().expect("procfs");
        // Those that lived before and live now have lived in between.
        let is_old = |pid: i32| snapshot.processes.iter().any(|row| row.pid.0 == pid);
        let missing: Vec<i32> = census
            .processes()
            .expect("procfs")
            .into_iter()
            .filter(|&pid| pid <= std::process::id().cast_signed() && !is_old(pid))
            .filter(|&pid| started_before(pid, &snapshot))
            .collect();
        assert!(missing.is_empty(), "{missing:?} of {}", snapshot.processes.len());
    }

    /// Whether a process is older than a snapshot, by its directory.
    fn started_before(pid: i32, snapshot: &Snapshot) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default();
        let ticks: Option<u64> = fields.split(' ').nth(19).and_then(|ticks| ticks.parse().ok());
        ticks.is_some_and(|ticks| (ticks + 1) * 10_000_000 < snapshot.begin.ns())
    }
}
