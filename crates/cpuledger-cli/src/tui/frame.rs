//! What one refresh shows: an interval, and what was read around it. The state and the view know nothing else of the
//! machine, so a recording can feed them as well.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use cpuledger::Boottime;
use cpuledger::TICK_NS;
use cpuledger::host_statistics::{CpuShare, HostStatistics};
use cpuledger::interval::{Exited, Interval, Row, Usage};
use cpuledger::{Field, Pid, Snapshot, States, Task, TaskId};
use cpuledger_model::make;
use cpuledger_names::names::Names;
use rustc_hash::FxHashMap;

use super::travel::Cell;
use cpuledger_names::named::Named;
use cpuledger_view::shares::apportion;

/// A refresh.
#[derive(Debug)]
pub struct Frame {
    /// The interval. Its rows are what ran or, from a source of snapshots, all.
    pub interval: Interval,
    /// What did not run, if the source gives only what did; empty if that is not wanted.
    pub asleep: Asleep,
    /// What was read around it.
    pub around: Around,
    /// Names of users.
    pub users: Names,
    /// Sums that have been made.
    pub sums: Sums,
}

/// What was read around an interval.
#[derive(Debug, Default, Clone)]
pub struct Around {
    /// What the machine tells of itself at the end.
    pub statistics: HostStatistics,
    /// What each CPU did.
    pub cpus: Vec<CpuShare>,
    /// Tasks forked in the interval.
    pub born: Option<u64>,
    /// What cgroups are called.
    pub named: Named,
    /// The local time of day at the end, `12:00:01`.
    pub time_of_day: String,
    /// The end, CLOCK_REALTIME.
    pub end_realtime_ns: u64,
    /// Time since the boot.
    pub uptime: Boottime,
    /// Identifier of the boot.
    pub boot_id: Option<String>,
    /// Processes that the first picture had no time to read.
    pub unread: usize,
}

/// What processes of many threads did that did not run: each is summed up once, however often it is compared.
#[derive(Debug, Default)]
pub struct Sums(RefCell<FxHashMap<Pid, Option<States>>>);

/// Tasks and processes that did not run in the interval.
#[derive(Debug, Default, Clone)]
pub struct Asleep {
    /// As a walk saw them, some time ago.
    pub walked: Arc<Snapshot>,
    /// Those of the walk that have run or died since, by index: processes and tasks.
    pub gone: [Vec<bool>; 2],
    /// Processes and tasks that have run since and sleep now, as they were when they last ran.
    pub late: [Vec<Task>; 2],
    /// The number of the walk: with another number, another order is to be made.
    pub walk: u64,
}

/// Processes or tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Processes.
    Process,
    /// Tasks.
    Task,
}

/// Where a row of a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowRef {
    /// Of which kind.
    pub kind: Kind,
    /// In which list.
    pub list: List,
    /// At which place.
    pub index: u32,
}

/// The lists of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// That of the interval.
    Awake,
    /// [`Asleep::walked`].
    Walked,
    /// [`Asleep::late`].
    Late,
}

/// The rows of a list, sorted by pid.
#[derive(Clone, Copy)]
enum Rows<'a> {
    Awake(&'a [Row]),
    Asleep(&'a [Task]),
}

impl<'a> Rows<'a> {
    fn len(self) -> usize {
        match self {
            Rows::Awake(rows) => rows.len(),
            Rows::Asleep(tasks) => tasks.len(),
        }
    }

    fn task(self, index: usize) -> &'a Task {
        match self {
            Rows::Awake(rows) => &rows[index].task,
            Rows::Asleep(tasks) => &tasks[index],
        }
    }

    /// The place of the first of a process.
    fn first_of(self, pid: Pid) -> usize {
        match self {
            Rows::Awake(rows) => rows.partition_point(|row| row.task.pid < pid),
            Rows::Asleep(tasks) => tasks.partition_point(|task| task.pid < pid),
        }
    }
}

impl Frame {
    /// An interval without what did not run.
    pub fn of(interval: Interval, around: Around, users: Names) -> Frame {
        Frame { interval, asleep: Asleep::default(), around, users, sums: Sums::default() }
    }

    /// Whether a row of the walk is listed no more.
    fn is_gone(&self, kind: Kind, list: List, index: usize) -> bool {
        list == List::Walked && self.asleep.gone[kind as usize].get(index).is_some_and(|gone| *gone)
    }

    fn rows(&self, kind: Kind, list: List) -> Rows<'_> {
        match (kind, list) {
            (_, List::Awake) => Rows::Awake(self.awake(kind)),
            (Kind::Process, List::Walked) => Rows::Asleep(&self.asleep.walked.processes),
            (Kind::Task, List::Walked) => Rows::Asleep(&self.asleep.walked.tasks),
            (_, List::Late) => Rows::Asleep(&self.asleep.late[kind as usize]),
        }
    }

    fn awake(&self, kind: Kind) -> &[Row] {
        match kind {
            Kind::Process => &self.interval.processes,
            Kind::Task => &self.interval.tasks,
        }
    }

    /// How many rows a list has.
    pub fn count(&self, kind: Kind, list: List) -> usize {
        self.rows(kind, list).len()
    }

    /// The row as it was at the end of the interval.
    pub fn whole(&self, at: RowRef) -> &Task {
        self.rows(at.kind, at.list).task(at.index as usize)
    }

    /// The row with what it used.
    pub fn row(&self, at: RowRef) -> Cow<'_, Row> {
        match at.list {
            List::Awake => Cow::Borrowed(&self.awake(at.kind)[at.index as usize]),
            List::Walked | List::Late => Cow::Owned(Row::new(*self.whole(at), self.usage(at))),
        }
    }

    /// What it used, if it is one of the interval.
    fn used(&self, at: RowRef) -> Option<&Usage> {
        (at.list == List::Awake).then(|| &self.awake(at.kind)[at.index as usize].usage)
    }

    /// What it used.
    pub fn usage(&self, at: RowRef) -> Usage {
        if let Some(used) = self.used(at) {
            return *used;
        }
        let row = self.whole(at);
        // The walk keeps them in order.
        let is_unseen = self.asleep.walked.from_procfs.binary_search(&row.tid).is_ok();
        let states = if is_unseen { None } else { self.states_of_idle(at) };
        let usage = if self.interval.source.is_of_ledger() {
            Usage::of_idle_in_ledger(row.known, is_unseen)
        } else {
            Usage::of_idle(row.known, self.interval.exited.is_some(), is_unseen)
        };
        make!(Usage { states, ..usage })
    }

    /// Whether the source tells what tasks did while they were on no CPU.
    pub fn has_states(&self) -> bool {
        self.interval.source.is_of_ledger()
            && self.interval.processes.iter().any(|row| row.usage.states.is_some())
    }

    /// What one did that did not run: all the time the same, which its row tells, or those of its threads.
    fn states_of_idle(&self, at: RowRef) -> Option<States> {
        if !self.has_states() {
            return None;
        }
        let length_ns = self.interval.length_ns();
        let of_one = |row: &Task| {
            let state = Some(row.state).filter(|_| row.known.contains(Field::State));
            state.and_then(|state| States::of_one(state, length_ns))
        };
        let row = self.whole(at);
        if at.kind == Kind::Task || row.threads <= 1 {
            return of_one(row);
        }
        let sum = || {
            let mut all = States::default();
            for thread in self.threads(row.pid) {
                all.add(&of_one(self.whole(thread))?);
            }
            (all.elapsed_ns > 0).then_some(all)
        };
        *self.sums.0.borrow_mut().entry(row.pid).or_insert_with(sum)
    }

    /// The threads of a process.
    pub fn threads(&self, pid: Pid) -> impl Iterator<Item = RowRef> + '_ {
        [List::Awake, List::Late, List::Walked].into_iter().flat_map(move |list| {
            let rows = self.rows(Kind::Task, list);
            let first = rows.first_of(pid);
            let of_process = (first..rows.len()).take_while(move |&index| rows.task(index).pid == pid);
            let there = of_process.filter(move |&index| !self.is_gone(Kind::Task, list, index));
            there.map(move |index| RowRef { kind: Kind::Task, list, index: index as u32 })
        })
    }

    /// How long all tasks together waited for a CPU, and were blocked. These are the tasks of processes that ran in the interval, and those
    /// that were blocked all the time. `None`: the source does not tell it.
    pub fn held_ns(&self) -> Option<[u64; 2]> {
        if !self.has_states() {
            return None;
        }
        let living = self.interval.processes.iter().filter_map(|row| row.usage.states);
        // The dead threads of a process that lives are in its states.
        let lives = |process: TaskId| self.find(Kind::Process, process).is_some();
        let dead = self.exited().iter().filter(|exited| !lives(exited.exit.process));
        let states = living.chain(dead.filter_map(|exited| exited.states));
        let sums = states.fold([0, 0], |[waited, blocked], states| {
            [waited + states.runqueue_wait_ns, blocked + states.blocked_ns]
        });
        Some([sums[0], sums[1] + self.interval.blocked_without_row * self.interval.length_ns()])
    }

    /// The attributed time in user mode, in the kernel, and while something else ran. Where the source does not divide it, the ticks of the
    /// processes do.
    pub fn modes_ns(&self) -> [u64; 3] {
        let interval = &self.interval;
        let (mut sum, mut ticks, mut divided_ns) = ([0; 3], [0; 2], 0);
        for row in &interval.processes {
            for part in row.usage.divided().into_iter().flatten() {
                let parts = [part.user_ns, part.system_ns, part.stolen_ns];
                sum.iter_mut().zip(parts).for_each(|(sum, ns)| *sum += ns);
                divided_ns += parts.iter().sum::<u64>();
            }
            ticks[0] += row.usage.growth.user_ns;
            ticks[1] += row.usage.growth.system_ns;
        }
        let rest_ns = interval.attributed_ns.saturating_sub(divided_ns);
        let [user, system] = apportion(ticks, rest_ns).unwrap_or([rest_ns, 0]);
        [sum[0] + user, sum[1] + system, sum[2]]
    }

    /// What the time line shows of it.
    pub fn cell(&self) -> Cell {
        let interval = &self.interval;
        let capacity_ns = interval.capacity_ns.max(1);
        if interval.unattributed_by.not_attached_ns >= capacity_ns {
            return Cell::Gap;
        }
        let share = |ns: u64| (u128::from(ns) * 1000 / u128::from(capacity_ns)).min(1000) as u32;
        let [user_ns, ..] = self.modes_ns();
        Cell::Used { share: share(interval.attributed_ns), user: Some(share(user_ns)) }
    }

    /// Whether it had a CPU, or waited for one.
    pub fn ran_or_waited(&self, at: RowRef) -> bool {
        self.used(at).is_some_and(Usage::ran_or_waited)
    }

    /// The CPU time that it used.
    pub fn cpu_ns(&self, at: RowRef) -> u64 {
        self.used(at).map_or(0, |usage| usage.cpu_ns)
    }

    /// All rows of a kind, each once.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = RowRef> + '_ {
        [List::Awake, List::Walked, List::Late].into_iter().flat_map(move |list| {
            let rows = (0..self.count(kind, list)).filter(move |&index| !self.is_gone(kind, list, index));
            rows.map(move |index| RowRef { kind, list, index: index as u32 })
        })
    }

    /// Where a process is.
    pub fn process(&self, pid: Pid) -> Option<RowRef> {
        [List::Awake, List::Late, List::Walked].into_iter().find_map(|list| {
            let rows = self.rows(Kind::Process, list);
            let index = rows.first_of(pid);
            let is_there = index < rows.len() && rows.task(index).pid == pid;
            is_there.then_some(RowRef { kind: Kind::Process, list, index: index as u32 })
        })
    }

    /// Where a row is; `None`: it is gone. Its start may come from another source, which tells it in ticks.
    pub fn find(&self, kind: Kind, id: TaskId) -> Option<RowRef> {
        let is_same = |at: &RowRef| {
            let row = self.whole(*at);
            row.tid == id.tid && row.start_time_ns.ticks(TICK_NS) == id.start_time_ns.ticks(TICK_NS)
        };
        match kind {
            Kind::Process => self.process(Pid(id.tid.0)).filter(is_same),
            Kind::Task => self.all(kind).find(is_same),
        }
    }

    /// The process of a thread that died, if that lives: its column `X` has the time of the thread.
    pub fn process_of_dead_thread(&self, exited: &Exited) -> Option<Pid> {
        let exit = &exited.exit;
        let own = Pid(exit.process.tid.0);
        let lives = || self.process(own).is_some_and(|at| self.whole(at).id() == exit.process);
        (exit.task != exit.process && lives()).then_some(own)
    }

    /// What died.
    pub fn exited(&self) -> &[Exited] {
        self.interval.exited.as_deref().unwrap_or_default()
    }

    /// 100 % of one CPU.
    pub fn cpu_length_ns(&self) -> u64 {
        self.interval.length_ns()
    }
}
