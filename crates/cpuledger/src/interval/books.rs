//! The books of a source of snapshots: from one cut to the next, who used what.

use rustc_hash::FxHashMap;

use crate::clock::{Boottime, TICK_NS};
use crate::field::Field;
use crate::lineage::{Household, Lineage};
use crate::snapshot::Snapshot;
use crate::source::{Exits, SourceKind};
use crate::task::{Pid, Task, TaskId};

use super::baseline::{Baseline, Life};
use super::counters::Counters;
use super::deaths::Deaths;
use super::{Interval, Usage};

/// The circumstances of a cut that are not those of a task.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// CPUs online.
    pub online_cpus: u32,
    /// Whether the source saw every death since the last cut.
    pub sees_exits: bool,
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
        SourceKind::Netlink | SourceKind::Procfs => TICK_NS,
    }
}

/// A zombie, or what is on its way out.
fn is_dead(row: &Task) -> bool {
    matches!(row.state.0, b'Z' | b'X')
}
