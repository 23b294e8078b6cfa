//! The books of a source of snapshots: from one cut to the next, which task used what.

use cpuledger_client::balance;
use cpuledger_model::boottime::Boottime;
use cpuledger_model::counters::Counters;
use cpuledger_model::exit::{Birth, Exits};
use cpuledger_model::field::Field;
use cpuledger_model::interval::{Interval, Row, TaskCounts, Usage};
use cpuledger_model::make;
use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::task::{Pid, Task, TaskId};
use rustc_hash::FxHashMap;

use crate::attribution::{Attribution, Increment, Parts};

use super::baseline::{Baseline, Last, Life};
use super::deaths::Deaths;
use super::numbers::{Listed, Numbers, process_id};

/// What a cut needs to know besides the snapshot and the exits.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CutFacts {
    /// CPUs online.
    pub online_cpus: u32,
    /// Whether the source saw every death since the last cut.
    pub sees_exits: bool,
}

impl CutFacts {
    /// Of a cut with so many CPUs; whether the source sees exits.
    pub const fn new(online_cpus: u32, sees_exits: bool) -> CutFacts {
        CutFacts { online_cpus, sees_exits }
    }
}

/// What a listed task used in the interval.
enum Used {
    Alive(u64),
    Dead(u64),
    /// Its record says that it is dead, and the list that it is not.
    Unclear,
}

/// What each task had used at the last cut. Memory is reused from cut to cut.
#[derive(Debug, Default)]
pub struct Books {
    by_task: bool,
    /// Number of the cut, from 1.
    cut: u32,
    /// The first cut. What a task that is older had used by then is not known unless a snapshot listed it.
    first_cut: Boottime,
    /// By how much the source may tell a start too early.
    start_slack_ns: u64,
    /// CLOCK_MONOTONIC at the last cut.
    last_cut_ns: u64,
    baselines: FxHashMap<TaskId, Baseline>,
    /// The counters of the tasks at the last cut and at this one, where the books are kept by task.
    task_counters: [Vec<Counters>; 2],
    /// Those of the last cut, by pid, and of this one.
    processes: Vec<Last>,
    next_processes: Vec<Last>,
    /// The counters of each at the last cut and at this one, and what they grew by.
    process_counters: [Vec<Counters>; 2],
    growth: Vec<Counters>,
    /// Of each process of this cut: what its listed tasks used, whether one of them is alive, and its share of all time.
    own_ns: Vec<u64>,
    alive: Vec<bool>,
    shares: Vec<Parts>,
    increments: Vec<Increment>,
    accounts: FxHashMap<TaskId, Parts>,
    births: Vec<Birth>,
    deaths: Deaths,
    numbers: Numbers,
    attribution: Attribution,
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
    pub fn close(
        &mut self,
        cut: &CutFacts,
        snapshot: &Snapshot,
        exits: &mut Exits,
        into: &mut Interval,
    ) -> bool {
        self.cut += 1;
        if self.cut == 1 {
            self.first_cut = snapshot.begin;
            self.start_slack_ns = snapshot.source.start_rounding_ns();
            self.last_cut_ns = snapshot.begin_ns;
        }
        into.renew(make!(Interval {
            source: snapshot.source,
            start_ns: self.last_cut_ns,
            end_ns: snapshot.begin_ns,
            online_cpus: cut.online_cpus,
            capacity_ns: snapshot.begin_ns.saturating_sub(self.last_cut_ns) * u64::from(cut.online_cpus),
            read_begin_ns: snapshot.begin_ns,
            read_begin: snapshot.begin,
            read_end_ns: snapshot.end_ns,
            exited: cut.sees_exits.then(Vec::new),
            // Those before the first cut are of no interval.
            missed_exits: if self.cut > 1 { exits.missed } else { 0 },
        }));
        into.from_procfs.extend(&snapshot.from_procfs);
        exits.missed = 0;
        self.own_ns.clear();
        self.own_ns.resize(snapshot.processes.len(), 0);
        self.alive.clear();
        self.alive.resize(snapshot.processes.len(), false);
        self.births.clear();
        self.births.append(&mut exits.births);
        self.deaths.take(snapshot.begin, exits);
        self.numbers.open_interval(self.deaths.due.iter().map(|death| death.exit.process));
        self.add_told_parents(snapshot);
        let is_exact = snapshot.source.is_booked_by_task();
        if is_exact {
            self.close_exactly(snapshot, into);
        } else if self.by_task {
            self.close_tasks(snapshot, into);
        }
        self.grow_processes(is_exact, snapshot);
        self.list_processes(snapshot);
        self.attribute(snapshot);
        self.tell_dead(snapshot, into);
        self.close_processes(is_exact && cut.sees_exits, snapshot, into);
        self.attribution.forget(snapshot.begin_ns);
        balance::check(into);
        self.cut > 1
    }

    /// Tells of those that have died, where the source sees exits.
    fn tell_dead(&mut self, snapshot: &Snapshot, into: &mut Interval) {
        into.unidentified_exits = Some(self.deaths.folds.iter().map(|fold| fold.exits).sum());
        // Those before the first cut are of no interval.
        if let Some(exited) = into.exited.as_mut().filter(|_| self.cut > 1) {
            let listed = Listed { processes: &snapshot.processes, alive: &self.alive };
            self.deaths.report(&mut self.attribution, |process| listed.living(process).is_some(), exited);
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
    }

    /// Adds what each listed task used to its process.
    fn close_tasks(&mut self, snapshot: &Snapshot, into: &mut Interval) {
        let is_exact = snapshot.source.is_booked_by_task();
        let mut process = 0;
        let mut listed = TaskCounts::default();
        for (index, row) in snapshot.tasks.iter().enumerate() {
            listed.add(row);
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
            self.own_ns[process] += used_ns;
            if self.by_task {
                let usage = make!(Usage { cpu_ns: used_ns, self_ns: used_ns, growth });
                into.tasks.push(Row::new(*row, usage));
            }
        }
        into.listed_tasks = Some(listed).filter(|listed| !self.by_task && listed.total > 0);
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
        // A task that no cut has seen has never been counted: all it used is new. Only for one that is older than the
        // books that is unknown (it was being forked at the first cut), and an interval must not show the work of days.
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
            self.own_ns[process] += used_ns;
            if let Some(Row { usage, .. }) = into.tasks.get_mut(index) {
                usage.cpu_ns = used_ns;
                usage.self_ns = used_ns;
                usage.growth = Counters::default(); // of two tasks
            }
        }
    }

    /// What the counters of each process grew by. Where the source tells no runtimes, that is all that is known of its time.
    fn grow_processes(&mut self, is_exact: bool, snapshot: &Snapshot) {
        let [last, now] = &mut self.process_counters;
        now.clear();
        self.growth.clear();
        let mut before = 0;
        for ((row, own_ns), alive) in snapshot.processes.iter().zip(&mut self.own_ns).zip(&mut self.alive) {
            while self.processes.get(before).is_some_and(|last| last.id.tid.0 < row.pid.0) {
                before += 1;
            }
            let counters = Counters::of(row);
            let known = self.processes.get(before).is_some_and(|last| last.id == process_id(row));
            let is_watched =
                self.cut > 1 && row.start_time_ns.with_slack_ns(self.start_slack_ns) >= self.first_cut;
            let fresh = if is_watched { Counters::ZERO } else { Counters::default() };
            let growth = counters.since(if known { &last[before] } else { &fresh });
            if !is_exact {
                *alive = true; // its state says little, and no death is told that could be its own
                let is_known = growth.known.contains(Field::User) && growth.known.contains(Field::System);
                *own_ns = if is_known { growth.user_ns + growth.system_ns } else { 0 };
            }
            self.growth.push(growth);
            now.push(counters);
        }
        std::mem::swap(last, now);
    }

    /// Tells the engine the parents that births and deaths tell, in that order: the first that is told stays.
    fn add_told_parents(&mut self, snapshot: &Snapshot) {
        let Books { attribution, numbers, processes, .. } = self;
        let listed = Listed { processes: &snapshot.processes, alive: &[] };
        let last_resort = listed.last_resort_id();
        for birth in &self.births {
            attribution.add(birth.process, birth.parent);
        }
        for death in &self.deaths.due {
            let parent = numbers.find(death.exit.ppid, death.at, listed, processes).or(last_resort);
            if let Some(parent) = parent {
                attribution.add_listed(death.exit.process, parent);
            }
        }
    }

    /// Tells the engine which processes came and went since the last cut.
    fn list_processes(&mut self, snapshot: &Snapshot) {
        let Books { attribution, numbers, processes, next_processes, .. } = self;
        let listed = Listed { processes: &snapshot.processes, alive: &self.alive };
        let last_resort = listed.last_resort_id();
        next_processes.clear();
        let mut vanished = processes.iter().peekable();
        for (row, is_alive) in snapshot.processes.iter().zip(&self.alive) {
            let id = process_id(row);
            while let Some(gone) = vanished.next_if(|last| last.id < id) {
                attribution.end(gone.id, snapshot.begin_ns);
            }
            let known = vanished.next_if(|last| last.id == id);
            let has_known_heir = match known {
                Some(known) => known.has_known_heir,
                None => {
                    let parent = numbers.find(row.ppid, snapshot.begin, listed, processes).or(last_resort);
                    attribution.add_listed(id, parent.filter(|_| row.ppid.0 > 0).unwrap_or(id));
                    if *is_alive {
                        attribution.revive(id);
                    }
                    attribution.known_heir(id).is_some()
                }
            };
            if !is_alive {
                attribution.end(id, snapshot.begin_ns);
            }
            next_processes.push(Last { id, ppid: row.ppid, has_known_heir });
        }
        vanished.for_each(|gone| attribution.end(gone.id, snapshot.begin_ns));
        // A birth may have been told of a process whose death has lost its identity, and that no list has shown.
        if self.deaths.folds.iter().any(|fold| fold.exits > 0) {
            attribution.keep_living(snapshot.begin_ns, |process| listed.place(process).is_some());
        }
    }

    /// Gives every nanosecond to a listed process.
    fn attribute(&mut self, snapshot: &Snapshot) {
        let listed = Listed { processes: &snapshot.processes, alive: &self.alive };
        let Books { increments, processes, numbers, .. } = self;
        increments.clear();
        for (row, own_ns) in snapshot.processes.iter().zip(&self.own_ns).filter(|(_, own_ns)| **own_ns > 0) {
            increments.push(Increment { cpu_ns: *own_ns, ..Increment::of(process_id(row)) });
        }
        increments.extend(self.deaths.due.iter().map(|death| Increment {
            cpu_ns: death.used_ns,
            has_died: true,
            process_is_dead: listed.living(death.exit.process).is_none(),
            ..Increment::of(death.exit.process)
        }));
        for fold in &self.deaths.folds {
            // Without a known parent, the last resort takes it.
            let parent = numbers.find(fold.ppid, snapshot.begin, listed, processes).unwrap_or_default();
            increments.push(Increment { folded_children_ns: fold.runtime_ns, ..Increment::of(parent) });
        }
        self.attribution.settle(snapshot.begin_ns, &*increments, &mut self.accounts);
        self.shares.clear();
        self.shares.resize(snapshot.processes.len(), Parts::default());
        for (process, parts) in &self.accounts {
            if let Some(index) = listed.place(*process) {
                self.shares[index].add(parts);
            } else if let Some(index) = listed.last_resort() {
                self.shares[index].exited_children_ns += parts.total_ns();
            }
        }
    }

    /// Makes the usage of each process of its share and its growth.
    fn close_processes(&mut self, knows_exits: bool, snapshot: &Snapshot, into: &mut Interval) {
        std::mem::swap(&mut self.processes, &mut self.next_processes);
        for (((row, parts), growth), last) in
            snapshot.processes.iter().zip(&self.shares).zip(&self.growth).zip(&self.processes)
        {
            debug_assert!(row.pid.0 == last.id.tid.0, "one row a process");
            let known = |part_ns: u64| knows_exits.then_some(part_ns);
            let heir = if last.has_known_heir { self.attribution.known_heir(last.id) } else { None };
            into.attributed_ns += parts.total_ns();
            let usage = make!(Usage {
                cpu_ns: parts.total_ns(),
                self_ns: parts.self_ns,
                exited_threads_ns: known(parts.exited_threads_ns),
                exited_children_ns: known(parts.exited_children_ns),
                accounting_parent: heir.map(|heir| Pid(heir.tid.0)),
                growth: *growth,
            });
            into.processes.push(Row::new(*row, usage));
        }
    }
}

/// Where there is no exact runtime, the sum of the two parts that the kernel rounds to ticks.
fn cpu_ns(row: &Task, is_exact: bool) -> u64 {
    let has_runtime = is_exact && row.known.contains(Field::Runtime);
    if has_runtime { row.runtime_ns } else { row.user_ns + row.system_ns }
}

/// A zombie, or what is on its way out.
fn is_dead(row: &Task) -> bool {
    matches!(row.state.0, b'Z' | b'X')
}

#[cfg(test)]
mod tests {
    use super::{Books, CutFacts};
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::exit::{Birth, Exits, Fold};
    use cpuledger_model::field::FieldSet;
    use cpuledger_model::interval::Interval;
    use cpuledger_model::make;
    use cpuledger_model::snapshot::Snapshot;
    use cpuledger_model::source_kind::SourceKind;
    use cpuledger_model::task::{Pid, State, Task, TaskId, Tid};

    const NS_PER_S: u64 = 1_000_000_000;

    /// A cut at that second, which lists one process.
    fn snapshot_at(second: u64, listed: TaskId) -> Snapshot {
        let row = make!(Task {
            known: FieldSet::ALL,
            tid: listed.tid,
            pid: Pid(listed.tid.0),
            start_time_ns: listed.start_time_ns,
            state: State(b'S'),
        });
        let mut snapshot = make!(Snapshot { source: SourceKind::Walk });
        snapshot.begin_ns = second * NS_PER_S;
        snapshot.end_ns = snapshot.begin_ns;
        snapshot.begin = Boottime::from_ns(snapshot.begin_ns);
        (snapshot.processes, snapshot.tasks) = (vec![row], vec![row]);
        snapshot
    }

    /// Processes that are born in each interval, and whose deaths lose their identity.
    fn remembered_after(seconds: u64, exits_lost: u64) -> usize {
        let parent = TaskId { tid: Tid(1), start_time_ns: Boottime::from_ns(1) };
        let (mut books, mut exits, mut interval) = (Books::new(false), Exits::default(), Interval::default());
        for second in 1..=seconds {
            let child = TaskId {
                tid: Tid(1_000 + second as i32),
                start_time_ns: Boottime::from_ns(second * NS_PER_S - 1),
            };
            exits.births.push(make!(Birth { process: child, parent }));
            exits.folds.push(make!(Fold { ppid: Pid(1), exits: exits_lost, runtime_ns: 5 }));
            let cut = CutFacts { online_cpus: 1, sees_exits: true };
            books.close(&cut, &snapshot_at(second, parent), &mut exits, &mut interval);
            exits.folds.clear();
        }
        assert_eq!(interval.attributed_ns, 5, "their time is not lost");
        books.attribution.len()
    }

    #[test]
    fn a_birth_whose_death_lost_its_identity_is_forgotten() {
        // A tombstone stays for 30 s.
        assert!(remembered_after(1_000, 1) <= 40, "{}", remembered_after(1_000, 1));
        // It can fail: without a lost exit each may still come to be listed.
        assert!(remembered_after(1_000, 0) > 900);
    }
}
