//! What lies between two snapshots: who used how much CPU time, the dead included. Pure algebra, no kernel.
//!
//! [`Books`] keep what each task had used at the last cut. [`Books::close`] takes the next snapshot and the exits since,
//! and gives every nanosecond to exactly one process:
//!
//! - what a living task used is *self* of its process;
//! - what a dead thread used goes to *exited threads* of its process while that lives;
//! - what a dead process used goes to *exited children* of its first living ancestor. A walk does not know the parent
//!   at fork, so this is the parent at exit; where that died too, its parent at its exit, and so on. Where a link is
//!   missing, it is init.
//!
//! A cut is the instant at which a snapshot was begun. A death after it belongs to the next interval, so that a task
//! which dies between the walk and the reading of the exits is counted once. What a dying task still uses after it
//! left the task list surfaces with its exit.

mod counters;
mod deaths;

use rustc_hash::FxHashMap;

pub use counters::Counters;
use deaths::Deaths;
pub use deaths::{EXITS_LIMIT, bound_exits};

use crate::clock::Boottime;
use crate::field::Field;
use crate::lineage::{Household, Lineage};
use crate::snapshot::Snapshot;
use crate::source::procfs::START_TICK_NS;
use crate::source::{Exit, Exits, SourceKind};
use crate::task::{Pid, Task, TaskId};

/// The circumstances of a cut that are not those of a task.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// CPUs online.
    pub online_cpus: u32,
    /// Whether the source saw every death since the last cut.
    pub sees_exits: bool,
}

/// What one process or task used in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// The sum of the three parts.
    pub cpu_ns: u64,
    /// Of its living tasks; where the source sees no exits, of all its threads.
    pub self_ns: u64,
    /// Of its threads that died; `None` where the source sees no exits, for a task, and where `is_unseen`.
    pub exited_threads_ns: Option<u64>,
    /// Of the dead processes it inherits from; `None` where the source sees no exits, and for a task.
    pub exited_children_ns: Option<u64>,
    /// Time on a CPU in which it did not execute: the hypervisor or an interrupt did. `None` where the source does not know it.
    pub stolen_ns: Option<u64>,
    /// The process that would inherit its time: the parent at fork or, if that is dead, whoever inherited from that one.
    /// `None` where the source does not know it.
    pub accounting_parent: Option<Pid>,
    /// What its other cumulative figures grew by. User and system time are told apart by ticks, so they are not exact.
    pub growth: Counters,
    /// Whether the kernel keeps it from the source: then `cpu_ns` and `self_ns` are not known, and 0 in sums.
    pub is_unseen: bool,
}

impl Usage {
    /// [`Usage::cpu_ns`] where it is known.
    pub fn known_cpu_ns(&self) -> Option<u64> {
        (!self.is_unseen).then_some(self.cpu_ns)
    }

    /// [`Usage::self_ns`] where it is known.
    pub fn known_self_ns(&self) -> Option<u64> {
        (!self.is_unseen).then_some(self.self_ns)
    }
}

/// A task that died in an interval: detail of what the usages already hold.
#[derive(Debug, Clone, Copy)]
pub struct Exited {
    /// Its final figures.
    pub exit: Exit,
    /// CPU time of its last interval.
    pub cpu_ns: u64,
    /// As [`Usage::accounting_parent`] of its process.
    pub accounting_parent: Option<Pid>,
}

/// Time that could not be attributed, by reason, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unattributed {
    /// Of processes that found no slot.
    pub no_slot_ns: u64,
    /// Of the dead, folded into a slot whose task was forgotten meanwhile.
    pub forgotten_task_ns: u64,
    /// Of CPUs that were online, and nobody had seen yet what ran there, or they were being taken down.
    pub uncovered_cpu_ns: u64,
    /// Of all CPUs, while no ledger was attached.
    pub not_attached_ns: u64,
}

impl Unattributed {
    /// Key in JSON, words in text, and amount of each reason.
    pub fn reasons(&self) -> [(&'static str, &'static str, u64); 4] {
        [
            ("no_slot_ns", "no slot", self.no_slot_ns),
            ("forgotten_task_ns", "forgotten task", self.forgotten_task_ns),
            ("uncovered_cpu_ns", "uncovered CPU", self.uncovered_cpu_ns),
            ("not_attached_ns", "not attached", self.not_attached_ns),
        ]
    }

    /// The sum of the reasons.
    pub fn total_ns(&self) -> u64 {
        self.reasons().iter().map(|(_, _, ns)| ns).sum()
    }
}

/// What an interval begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Begin {
    /// A cut.
    #[default]
    Cut,
    /// The machine: it is that of [`Interval::since_boot`].
    Boot,
}

/// The books of one interval.
#[derive(Debug, Default)]
pub struct Interval {
    /// Where the numbers come from.
    pub source: SourceKind,
    /// What it begins with.
    pub begin: Begin,
    /// The earlier cut, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The later cut.
    pub end_ns: u64,
    /// CPUs online at the later cut; with the ledger, when its books were closed, right after.
    pub online_cpus: u32,
    /// Online CPUs × length; with the ledger, of a CPU that comes or goes only the time in which it was online.
    pub capacity_ns: u64,
    /// The sum of `cpu_ns` over the processes.
    pub attributed_ns: u64,
    /// Time of the idle tasks; `None` where the source has no exact cut.
    pub idle_ns: Option<u64>,
    /// What could not be attributed; `None` likewise.
    pub unattributed_ns: Option<u64>,
    /// Why.
    pub unattributed_by: Unattributed,
    /// One for each process of the snapshot.
    pub processes: Vec<Usage>,
    /// One for each task of the snapshot where the books are kept by task; else empty.
    pub tasks: Vec<Usage>,
    /// Tasks that died; `None` where the source sees no exits.
    pub exited: Option<Vec<Exited>>,
    /// Tasks that died, whose time is with the parent of their process, but whose identity was lost to a full list.
    pub unidentified_exits: u64,
    /// Tasks that died and were not told of: their time since the last cut is lost, unless their parent knows of it.
    pub missed_exits: u64,
    /// Switches that the kernel has not shown: the time of the task that left is with the one that came.
    pub missed_switches: u64,
}

impl Interval {
    /// What each process of a snapshot has used since it began, as an interval that began with the machine: for who wants to see something
    /// before an interval is over. Time that no living process has is not in it.
    pub fn since_boot(snapshot: &Snapshot, online_cpus: u32) -> Interval {
        let whole = |row: &Task| Usage {
            cpu_ns: row.runtime_ns,
            self_ns: row.runtime_ns,
            growth: Counters::of(row),
            ..Usage::default()
        };
        let processes: Vec<Usage> = snapshot.processes.iter().map(whole).collect();
        Interval {
            source: snapshot.source,
            begin: Begin::Boot,
            start_ns: 0,
            end_ns: snapshot.begin_ns,
            online_cpus,
            capacity_ns: snapshot.begin_ns * u64::from(online_cpus),
            attributed_ns: processes.iter().map(|usage| usage.cpu_ns).sum(),
            processes,
            ..Interval::default()
        }
    }

    /// Whether it is that of [`Interval::since_boot`].
    pub fn is_since_boot(&self) -> bool {
        self.begin == Begin::Boot
    }

    /// The row of a snapshot with its cumulative figures replaced by their growth in the interval.
    pub fn row(&self, usage: &Usage, task: &Task) -> Task {
        let mut row = *task;
        usage.growth.store_into(&mut row);
        row
    }

    /// Its length.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Capacity less all that was booked: 0. `None` where the source has no exact cut.
    pub fn imbalance_ns(&self) -> Option<i64> {
        let booked = self.attributed_ns + self.idle_ns? + self.unattributed_ns?;
        Some(self.capacity_ns.wrapping_sub(booked) as i64)
    }

    pub(crate) fn clear(&mut self) {
        self.begin = Begin::Cut;
        self.unattributed_by = Unattributed::default();
        self.missed_switches = 0;
        self.missed_exits = 0;
        self.processes.clear();
        self.tasks.clear();
        self.unidentified_exits = 0;
        self.attributed_ns = 0;
    }
}

/// Where a task of the books stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Listed as living.
    Alive,
    /// Listed as dead, and its record has not come.
    Dead,
    /// Its record has come. A zombie stays listed, and is not to be counted again.
    Settled,
}

/// What a task had used at the last cut.
#[derive(Debug, Clone, Copy)]
struct Baseline {
    runtime_ns: u64,
    pid: Pid,
    /// The number of the cut that saw it last; 0: none.
    seen: u32,
    /// Where its counters at that cut are, where the books are kept by task.
    counters: u32,
    life: Life,
}

/// What a listed task used in the interval.
enum Used {
    Alive(u64),
    Dead(u64),
    /// Its record says that it is dead, and the list that it is not.
    Unclear,
}

/// CPU time of one process while an interval is closed.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    own_ns: u64,
    exited_threads_ns: u64,
    exited_children_ns: u64,
}

/// What each task had used at the last cut. Memory is reused from cut to cut.
#[derive(Debug, Default)]
pub struct Books {
    by_task: bool,
    /// Number of the cut, from 1.
    cut: u32,
    /// The first cut: what started before may have used anything unseen.
    first_cut: Boottime,
    /// By how much the source may tell a start too early.
    start_slack_ns: u64,
    /// CLOCK_MONOTONIC at the last cut.
    last_cut_ns: u64,
    baselines: FxHashMap<TaskId, Baseline>,
    /// The counters of the tasks at the last cut and at this one, where the books are kept by task.
    task_counters: [Vec<Counters>; 2],
    /// Each process and its parent at the last cut, by pid, and the counters of each.
    processes: Vec<(TaskId, Pid)>,
    process_counters: [Vec<Counters>; 2],
    accounts: Vec<Account>,
    alive: Vec<bool>,
    deaths: Deaths,
    lineage: Lineage,
}

impl Books {
    /// New books; `by_task`: [`Interval::tasks`] is wanted too.
    pub fn new(by_task: bool) -> Books {
        Books { by_task, ..Books::default() }
    }

    /// Cuts: closes the interval that ends with this snapshot into `into` and opens the next; takes the exits.
    /// The first cut has no interval before it and returns `false`.
    ///
    /// The snapshot needs its tasks where the source tells runtimes and where the books are kept by task; its rows are
    /// sorted by pid.
    pub fn close(&mut self, cut: &Cut, snapshot: &Snapshot, exits: &mut Exits, into: &mut Interval) -> bool {
        self.cut += 1;
        if self.cut == 1 {
            self.first_cut = snapshot.begin;
            self.start_slack_ns = start_slack_ns(snapshot.source);
            self.last_cut_ns = snapshot.begin_ns;
        }
        into.clear();
        self.accounts.clear();
        self.accounts.resize(snapshot.processes.len(), Account::default());
        self.alive.clear();
        self.alive.resize(snapshot.processes.len(), false);
        // Those before the first cut are of no interval.
        into.missed_exits = if self.cut > 1 { exits.missed } else { 0 };
        exits.missed = 0;
        self.deaths.take(snapshot.begin, exits, &mut self.lineage);
        let is_exact = snapshot.source.tells_runtimes();
        if is_exact {
            self.close_exactly(snapshot, into);
        } else if self.by_task {
            self.close_tasks(snapshot, into);
        }
        self.close_processes(is_exact, cut.sees_exits, snapshot, into);
        self.lineage.open_interval();
        self.state(cut, snapshot, into);
        self.cut > 1
    }

    /// What is to be said of the interval itself.
    fn state(&mut self, cut: &Cut, snapshot: &Snapshot, into: &mut Interval) {
        into.source = snapshot.source;
        into.start_ns = self.last_cut_ns;
        into.end_ns = snapshot.begin_ns;
        into.online_cpus = cut.online_cpus;
        into.capacity_ns = into.length_ns() * u64::from(cut.online_cpus);
        into.unidentified_exits = self.deaths.folds.iter().map(|fold| fold.exits).sum();
        if cut.sees_exits {
            self.deaths.report(into.exited.get_or_insert_default());
        } else {
            into.exited = None;
        }
        self.last_cut_ns = snapshot.begin_ns;
    }

    /// Every task and every death by its exact runtime.
    fn close_exactly(&mut self, snapshot: &Snapshot, into: &mut Interval) {
        self.deaths.settle(self.first_cut, self.start_slack_ns, &mut self.baselines);
        if self.cut == 1 {
            self.deaths.forget();
        }
        self.close_tasks(snapshot, into);
        if self.deaths.have_exchanges() {
            self.settle_exchanges(snapshot, into);
        }
        self.deaths.settle_folds(self.cut, &self.processes, &self.baselines);
        self.inherit(snapshot);
    }

    /// Adds what each listed task used to its process.
    fn close_tasks(&mut self, snapshot: &Snapshot, into: &mut Interval) {
        let is_exact = snapshot.source.tells_runtimes();
        let mut process = 0;
        for (index, row) in snapshot.tasks.iter().enumerate() {
            while snapshot.processes.get(process).is_some_and(|candidate| candidate.pid < row.pid) {
                process += 1;
            }
            if snapshot.processes.get(process).is_none_or(|found| found.pid != row.pid) {
                debug_assert!(false, "tasks and processes are sorted by pid, and each task has its process");
                continue;
            }
            let (used, growth) = self.use_of(row, cpu_ns(row, is_exact), is_exact);
            let used_ns = match used {
                Used::Alive(used_ns) => {
                    self.alive[process] = true;
                    used_ns
                }
                Used::Dead(used_ns) => used_ns,
                Used::Unclear => {
                    self.deaths.unclear_rows.push((index, process));
                    0
                }
            };
            self.accounts[process].own_ns += used_ns;
            if self.by_task {
                into.tasks.push(Usage { cpu_ns: used_ns, self_ns: used_ns, growth, ..Usage::default() });
            }
        }
        let [last, now] = &mut self.task_counters;
        std::mem::swap(last, now);
        now.clear();
        // A task that left the list without a record may still be on its way out: its baseline is needed once more.
        let cut = self.cut;
        self.baselines
            .retain(|_, known| known.seen == cut || (known.seen + 1 == cut && known.life != Life::Settled));
    }

    /// What one listed task used since the last cut, and what its counters grew by; brings its baseline up to date.
    fn use_of(&mut self, row: &Task, now_ns: u64, is_exact: bool) -> (Used, Counters) {
        let cut = self.cut;
        // A task that no cut has seen has never been counted: all it used is new. Only of one that is older than the
        // books nobody knows (it was being forked at the first cut), and an interval shall not show the work of days.
        let is_watched = cut > 1 && row.start_time_ns.with_slack_ns(self.start_slack_ns) >= self.first_cut;
        let known = self.baselines.entry(row.id()).or_insert(Baseline {
            runtime_ns: if is_watched { 0 } else { now_ns },
            pid: row.pid,
            seen: 0,
            counters: u32::MAX,
            life: Life::Alive,
        });
        let mut growth = Counters::default();
        if self.by_task {
            let [last, now] = &mut self.task_counters;
            let counters = Counters::of(row);
            let before = last.get(known.counters as usize).filter(|_| known.seen + 1 == cut);
            let fresh = if is_watched && known.seen == 0 { Counters::ZERO } else { Counters::default() };
            growth = counters.since(before.unwrap_or(&fresh));
            known.counters = now.len() as u32;
            now.push(counters);
        }
        known.seen = cut;
        let is_dead = is_exact && is_dead(row);
        match (known.life, is_dead) {
            (Life::Settled, true) => return (Used::Dead(0), growth),
            (Life::Settled | Life::Dead, false) => return (Used::Unclear, growth),
            (Life::Alive | Life::Dead, _) => {}
        }
        let before_ns = known.runtime_ns;
        known.runtime_ns = before_ns.max(now_ns);
        let used_ns = known.runtime_ns - before_ns;
        if !is_dead {
            return (Used::Alive(used_ns), growth);
        }
        let died_now = std::mem::replace(&mut known.life, Life::Dead) == Life::Alive;
        if died_now && self.deaths.may_hide(row.ppid) {
            self.deaths.hide(row.ppid, before_ns);
            return (Used::Dead(0), growth);
        }
        (Used::Dead(used_ns), growth)
    }

    /// Execs by threads that were not leaders.
    fn settle_exchanges(&mut self, snapshot: &Snapshot, into: &mut Interval) {
        self.deaths.gather_vanished(self.cut, &self.baselines);
        self.deaths.settle_second_deaths(&mut self.baselines);
        while let Some((index, process)) = self.deaths.unclear_rows.pop() {
            let row = &snapshot.tasks[index];
            let Some(used_ns) = self.deaths.settle_unclear(row, snapshot.begin, &mut self.baselines) else {
                continue;
            };
            self.alive[process] = true;
            self.accounts[process].own_ns += used_ns;
            if let Some(usage) = into.tasks.get_mut(index) {
                usage.cpu_ns = used_ns;
                usage.self_ns = used_ns;
                usage.growth = Counters::default(); // of two tasks
            }
        }
    }

    /// Gives what the dead used to the living.
    fn inherit(&mut self, snapshot: &Snapshot) {
        let household =
            Household { processes: &snapshot.processes, alive: &self.alive, before: &self.processes };
        for (index, row) in snapshot.processes.iter().enumerate() {
            if !self.alive[index] && self.accounts[index].own_ns > 0 {
                let used_ns = std::mem::take(&mut self.accounts[index].own_ns);
                // With no one alive it stays in the books of the dead.
                let heir = self.lineage.heir(&household, row.ppid, snapshot.begin).unwrap_or(index);
                self.accounts[heir].exited_children_ns += used_ns;
            }
        }
        for death in &self.deaths.due {
            if let Some(index) = household.living(death.exit.process) {
                self.accounts[index].exited_threads_ns += death.used_ns;
            } else if let Some(heir) = self.lineage.heir_of(&household, &death.exit, death.at) {
                self.accounts[heir].exited_children_ns += death.used_ns;
            }
        }
        for fold in &self.deaths.folds {
            if let Some(heir) = self.lineage.heir(&household, fold.ppid, snapshot.begin) {
                self.accounts[heir].exited_children_ns += fold.runtime_ns;
            }
        }
    }

    /// Makes the usage of each process of its account and its counters, and brings those up to date.
    fn close_processes(
        &mut self,
        is_exact: bool,
        sees_exits: bool,
        snapshot: &Snapshot,
        into: &mut Interval,
    ) {
        let [last, now] = &mut self.process_counters;
        now.clear();
        let mut before = 0;
        for (row, account) in snapshot.processes.iter().zip(&self.accounts) {
            while self.processes.get(before).is_some_and(|(id, _)| id.tid.0 < row.pid.0) {
                before += 1;
            }
            let counters = Counters::of(row);
            let known = self.processes.get(before).is_some_and(|(id, _)| *id == process_id(row));
            let is_watched =
                self.cut > 1 && row.start_time_ns.with_slack_ns(self.start_slack_ns) >= self.first_cut;
            let fresh = if is_watched { Counters::ZERO } else { Counters::default() };
            let growth = counters.since(if known { &last[before] } else { &fresh });
            let parts = |part_ns: u64| (is_exact && sees_exits).then_some(part_ns);
            let mut usage = Usage {
                self_ns: account.own_ns,
                exited_threads_ns: parts(account.exited_threads_ns),
                exited_children_ns: parts(account.exited_children_ns),
                growth,
                ..Usage::default()
            };
            if !is_exact && growth.known.contains(Field::User) && growth.known.contains(Field::System) {
                usage.self_ns = growth.user_ns + growth.system_ns;
            } else if !is_exact {
                usage.self_ns = 0;
            }
            usage.cpu_ns = usage.self_ns + account.exited_threads_ns + account.exited_children_ns;
            into.attributed_ns += usage.cpu_ns;
            into.processes.push(usage);
            now.push(counters);
        }
        std::mem::swap(last, now);
        self.processes.clear();
        self.processes.extend(snapshot.processes.iter().map(|row| (process_id(row), row.ppid)));
    }
}

/// Identity of a process: that of its leader.
fn process_id(row: &Task) -> TaskId {
    TaskId { tid: crate::task::Tid(row.pid.0), start_time_ns: row.start_time_ns }
}

/// Where there is no exact runtime, the sum of the two parts that the kernel rounds to ticks.
fn cpu_ns(row: &Task, is_exact: bool) -> u64 {
    let has_runtime = is_exact && row.known.contains(Field::Runtime);
    if has_runtime { row.runtime_ns } else { row.user_ns + row.system_ns }
}

/// By how much a source may tell a start too early: in a file it is rounded down to a tick.
fn start_slack_ns(source: SourceKind) -> u64 {
    match source {
        SourceKind::Ledger | SourceKind::Walk => 0,
        SourceKind::Netlink | SourceKind::Procfs => START_TICK_NS,
    }
}

/// A zombie, or what is on its way out.
fn is_dead(row: &Task) -> bool {
    matches!(row.state.0, b'Z' | b'X')
}
