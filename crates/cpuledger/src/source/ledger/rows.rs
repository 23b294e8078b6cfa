//! From the booked times of tasks to rows of processes and tasks with what each used.

mod booked;
mod find;
pub(super) mod idle;
mod waiting;

use cpuledger_bpf::Wanted as WantedTask;
use cpuledger_bpf::ledger::{Interval as Closed, Newborn, TaskTime, wire_root};
use cpuledger_client::clock::suspended_ns;
use cpuledger_model::boottime::Boottime;
use cpuledger_model::buffer::{Trim, empty, release};
use cpuledger_model::counters::Counters;
use cpuledger_model::disk::DiskTotals;
use cpuledger_model::field::{Field, FieldSet, GUARDED};
use cpuledger_model::interval::{Blocked, Division, Exited, Interval, Row, Unattributed, Usage};
use cpuledger_model::make;
use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::states::{OffState, OffTasks, States};
use cpuledger_model::task::{Comm, Pid, Task, TaskId, Tid};
use cpuledger_model::waits::WaitTotals;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::attribution::difference::lives::{Lives, Seen};
use crate::attribution::{Attribution, Parts};
use crate::life::Stretch;
use crate::source::io_access::IoAccess;
use crate::source::procfs::{Procfs, is_start};
use crate::source::records::counters_of;

use super::accounts::{Account, Accounts, Of, OffCpu, TaskDivision, sum_of};
use super::detail::Detail;
use super::disk_names::DiskNames;
use super::ends::Ends;
use super::hidden::Hidden;
use super::resting::{IdleTime, RestingTasks, Starved, is_runnable};
use super::slot::{
    born_ns, exit, has_died, has_ended, is_lost, order, parent_of, process_of, renumbered, row_of_slot,
    states_of, task_of,
};
use super::wire_names::WireNames;
use crate::source::interface::Wanted;
use find::{find_process_along, find_row_along, is_there};
use waiting::{LateTasks, with_wait};

/// What is remembered from interval to interval, for another process: as it is written, a [`RowBuilder::memory`]. The last two are times.
pub(super) type RowMemory = (Attribution, Lives, RestingTasks, u64, u64);

/// Everything that is remembered from interval to interval. Memory is reused.
pub(super) struct RowBuilder {
    pub(super) detail: Detail,
    attribution: Attribution,
    pub(super) lives: Lives,
    pub(super) resting: RestingTasks,
    /// What each task that ran did off the CPU when the interval began; `None`: that is not known.
    off_at_start: Vec<Option<OffTasks>>,
    /// The slots whose tasks had a CPU at the last cut.
    running: FxHashSet<u32>,
    parts: FxHashMap<TaskId, Parts>,
    accounts: Accounts,
    ends: Ends,
    /// Living tasks among those of the interval: index, sorted by process and tid, the leader first.
    living: Vec<usize>,
    /// Those that ended, in the order of their ends, which are beside them: there may be very many, far apart.
    ended: Vec<(u64, usize)>,
    /// Those that did not run because they waited for a CPU, all the time or since they were woken.
    starved: Vec<Starved>,
    /// The latter of them.
    late: LateTasks,
    /// What accounts tell of a task of which they have booked nothing.
    booked_nothing: Counters,
    /// What is looked at, as [`order`] has it.
    looked_at: Vec<(i32, bool, i32)>,
    wanted: Vec<WantedTask>,
    rows: Snapshot,
    /// For what the kernel keeps from programs.
    procfs: Option<Procfs>,
    /// What the kernel keeps from the hooks.
    hidden: Hidden,
    io: IoAccess,
    disk_names: DiskNames,
    wire_names: WireNames,
    /// When the ledger was attached, CLOCK_MONOTONIC.
    attached_ns: u64,
    /// How long the machine was suspended, when the last interval was closed.
    suspended_ns: u64,
}

impl RowBuilder {
    pub(super) fn new(
        mut detail: Detail,
        before: Boottime,
        attached: Boottime,
    ) -> Result<RowBuilder, crate::Error> {
        let mut attribution = Attribution::default();
        // What is younger has been seen by the fork hook, which knows better: its parent may be dead by now. For what is older, the listed
        // parent is the accounting parent, as the ledger tells one of every process: so `add`, not `add_listed`.
        let (hidden, parents) = Hidden::beside(&mut detail)?;
        for (process, parent, comm) in parents {
            if process.start_time_ns < before {
                attribution.add(process, parent);
                attribution.name(process, comm, false);
            }
        }
        let attached_ns = attached.ns().saturating_sub(suspended_ns());
        let memory =
            (attribution, Lives::new(attached), RestingTasks::default(), attached_ns, suspended_ns());
        Ok(RowBuilder::resume(detail, memory, hidden))
    }

    /// One that goes on with what another has remembered.
    pub(super) fn resume(detail: Detail, memory: RowMemory, hidden: Hidden) -> RowBuilder {
        let (attribution, lives, resting, attached_ns, suspended_ns) = memory;
        RowBuilder {
            detail,
            attribution,
            lives,
            resting,
            off_at_start: Vec::new(),
            running: FxHashSet::default(),
            parts: FxHashMap::default(),
            accounts: Accounts::default(),
            ends: Ends::default(),
            living: Vec::new(),
            ended: Vec::new(),
            starved: Vec::new(),
            late: LateTasks::default(),
            booked_nothing: Counters::default(),
            looked_at: Vec::new(),
            wanted: Vec::new(),
            rows: Snapshot::default(),
            procfs: None,
            hidden,
            io: IoAccess::of_caller(),
            disk_names: DiskNames::default(),
            wire_names: WireNames::default(),
            attached_ns,
            suspended_ns,
        }
    }

    /// What another one needs to go on: a [`RowMemory`], as it is written.
    pub(super) fn memory(&self) -> impl Serialize + '_ {
        (&self.attribution, &self.lives, &self.resting, self.attached_ns, self.suspended_ns)
    }

    pub(super) fn take(
        &mut self,
        closed: &Closed<'_>,
        wanted: &Wanted<'_>,
        into: &mut Interval,
    ) -> Result<(), crate::Error> {
        debug_assert_eq!(closed.imbalance_ns(), 0, "the kernel half balances by itself");
        into.renew(make!(Interval {
            source: SourceKind::Ledger,
            start_ns: closed.start_ns,
            end_ns: closed.end_ns,
            online_cpus: closed.online_cpus(),
            capacity_ns: closed.capacity_ns(),
            idle_ns: Some(closed.idle_ns()),
            unattributed_ns: Some(closed.unattributed_ns()),
            unattributed_by: make!(Unattributed {
                no_slot_ns: closed.no_slot_ns(),
                forgotten_task_ns: closed.stray_ns,
                uncovered_cpu_ns: closed.uncovered_ns(),
                not_attached_ns: 0,
            }),
            read_begin_ns: closed.end_ns,
            exited: Some(Vec::new()),
            blocked: Some(Vec::new()),
            hidden_cpu_ns: Some(self.hidden.used_ns()),
            off_fault_ns: closed.off_fault_ns,
            waits: closed.waits.map_or_else(WaitTotals::default, |waits| waits.totals),
            pairs: closed.waits.and_then(|waits| waits.pairs).cloned(),
            network: closed.booked.network(),
            // What a cgroup receives would tell what /proc/PID/io guards.
            wire: closed.booked.wire().filter(|_| self.io.is_unlimited()).cloned(),
            disk_totals: closed.booked.disks().map_or_else(DiskTotals::default, DiskTotals::of),
            disks: closed.booked.disks().cloned(),
        }));
        into.disks.iter_mut().for_each(|disks| self.disk_names.tell(disks));
        into.wire.iter_mut().for_each(|wire| self.wire_names.tell(wire, wire_root));
        self.suspended_ns = suspended_ns();
        self.attribute(closed);
        // What they did is in the accounts: from here on it counts which did not run.
        self.wake(closed);
        self.take_newborn(closed);
        self.late.take(closed, &mut self.resting, &mut self.lives);
        self.resting.list_starved(&mut self.starved);
        self.list_wanted(closed, wanted.pids);
        self.detail.read(&self.wanted, wanted.fields, &mut self.rows)?;
        let rows = &self.rows.processes;
        let mut from = 0;
        self.accounts.keep(|process| {
            find_process_along(rows, &mut from, process.tid.0).is_some_and(|row| row.id() == process)
        });
        // Where nothing is looked at, it is the cut.
        into.read_begin = self.rows.begin.max(Boottime::from_ns(closed.end_ns + self.suspended_ns));
        into.read_end_ns = self.rows.end_ns.max(closed.end_ns);
        self.end_tasks(closed, into);
        self.go_on_with_tasks(closed, into);
        self.add_starved(into);
        release(&mut self.rows.tasks);
        self.close_processes(closed, wanted, into);
        self.late.correct(into);
        self.tell_nothing(into);
        self.tell_rested(closed, into);
        self.remember_resting(closed);
        debug_assert_eq!(
            into.attributed_ns,
            closed.attributed_ns(),
            "each nanosecond is given to one process"
        );
        for time in closed.tasks.iter().filter(|time| self.ends.ends_process(time)) {
            self.lives.forget_process(process_of(&time.slot));
        }
        self.attribution.forget(closed.end_ns);
        self.lives.trim();
        self.resting.trim();
        Ok(())
    }

    /// Slots have other numbers from now on.
    pub(super) fn hand_over(&mut self) {
        self.resting.hand_over();
        self.running.clear();
        self.lives.hand_over();
    }

    /// The same, after a time in which no ledger was attached: until `attached`.
    pub(super) fn resume_after_gap(&mut self, attached: Boottime) {
        self.resting.clear();
        self.running.clear();
        self.lives.resume_after_gap(attached);
        self.attached_ns = attached.ns().saturating_sub(suspended_ns());
    }

    /// None of those that ran rests any more: remembers what each did until it ran.
    fn wake(&mut self, closed: &Closed<'_>) {
        empty(&mut self.off_at_start);
        for time in closed.tasks {
            let task = task_of(&time.slot);
            let rested = self.resting.wake(time.number, task);
            self.off_at_start.push(time.off.map(|off| {
                let was_off = off.begin_ns <= closed.start_ns && !self.running.contains(&time.number);
                let has_run = || self.lives.totals_of_task(task, Some(time.number)).is_some();
                let is_new = || off.time[OffState::Unseen as usize] > 0 && !has_run();
                let otherwise = || if is_new() { OffState::Unseen } else { OffState::Sleeps };
                OffTasks::one(was_off.then(|| rested.unwrap_or_else(otherwise)))
            }));
        }
    }

    /// Those that were forked and have not run wait for a CPU since.
    fn take_newborn(&mut self, closed: &Closed<'_>) {
        for Newborn { number, slot } in closed.newborn {
            let (task, process) = (task_of(slot), process_of(slot));
            if slot.parent_pid > 0 {
                self.attribution.add(process, parent_of(slot));
            }
            self.attribution.name(process, Comm::from_c_bytes(&slot.comm), task != process);
            self.resting.rest(*number, task, process, OffState::Waits);
        }
    }

    /// Gives every nanosecond to a living process.
    fn attribute(&mut self, closed: &Closed<'_>) {
        self.ends = Ends::of(closed.tasks);
        let increments = closed.tasks.iter().map(|time| self.ends.increment(time));
        self.attribution.settle(closed.end_ns, increments, &mut self.parts);
        self.booked_nothing = closed.booked.nothing();
        self.accounts.begin(self.parts.iter(), self.booked_nothing);
        empty(&mut self.living);
        self.living.extend((0..closed.tasks.len()).filter(|&index| !closed.tasks[index].is_last));
        self.living.sort_unstable_by_key(|&index| (order(&closed.tasks[index]), index));
    }

    /// The leader of each process with time, followed by its threads that ran. Likewise of those that waited for a CPU, and the processes that
    /// are wanted anyway.
    fn list_wanted(&mut self, closed: &Closed<'_>, pids: &[Pid]) {
        let RowBuilder { wanted, looked_at, starved, .. } = self;
        empty(looked_at);
        let key = |process: TaskId, task: TaskId| (process.tid.0, task.tid != process.tid, task.tid.0);
        looked_at.extend(self.accounts.all().iter().map(|account| key(account.process, account.process)));
        let living = self.living.iter().map(|&index| order(&closed.tasks[index]));
        looked_at.extend(living.filter(|(_, is_thread, _)| *is_thread));
        for Starved { process, task, .. } in starved {
            looked_at.extend([key(*process, *process), key(*process, *task)]);
        }
        // It consists of parts in their order.
        looked_at.sort();
        looked_at.dedup();
        empty(wanted);
        for family in looked_at.chunk_by(|one, next| one.0 == next.0).filter(|family| !family[0].1) {
            let tasks =
                family.iter().map(|&(_, is_thread, tid)| WantedTask { tid, opens_process: !is_thread });
            wanted.extend(tasks);
        }
        let others = pids.iter().filter(|pid| looked_at.binary_search(&(pid.0, false, pid.0)).is_err());
        wanted.extend(others.map(|pid| WantedTask { tid: pid.0, opens_process: true }));
    }

    /// Tasks that died, and those that go on under another tid.
    fn end_tasks(&mut self, closed: &Closed<'_>, into: &mut Interval) {
        // An exec by a thread ends two tids, and there may be several in an interval.
        empty(&mut self.ended);
        let ended = closed.tasks.iter().enumerate().filter(|(_, time)| has_ended(time));
        self.ended.extend(ended.map(|(index, time)| (time.slot.end_ns_or_batch, index)));
        self.ended.sort_unstable();
        let mut before_exec: FxHashMap<TaskId, (u64, Option<States>)> = FxHashMap::default();
        for place in 0..self.ended.len() {
            let (_, index) = self.ended[place];
            let time = &closed.tasks[index];
            let (seen, last) = (self.seen(time, closed), counters_of(&time.slot.last));
            let states = seen.stretch.map(|stretch| stretch.states);
            let settled = self.attribution.settled_heir(index);
            let heir = settled.unwrap_or_else(|| self.attribution.heir(seen.process));
            let ends_process = self.ends.ends_process(time);
            let booked = closed.booked.of_task(index);
            let growth = if has_died(time) {
                // What it used under its old tid has no other row, as its process has none.
                let (own_ns, own_states) = ends_process
                    .then(|| before_exec.remove(&seen.process))
                    .flatten()
                    .unwrap_or((0, Some(States::default())));
                let (growth, lived) = if ends_process {
                    self.lives.end_last(&seen, &last)
                } else {
                    self.lives.end(&seen, &last)
                };
                into.exited.get_or_insert_default().push(make!(Exited {
                    exit: exit(time),
                    cpu_ns: time.wall_ns + own_ns,
                    states: sum_of(states, own_states, States::add),
                    off_at_start: self.off_at_start[index],
                    lived,
                    accounting_parent: Some(Pid(heir.tid.0)),
                    accounting_start: Some(heir.start_time_ns),
                    ends_process: Some(ends_process),
                    booked: self.last_booked(&booked),
                }));
                growth
            } else {
                into.renumbered.push(renumbered(time));
                let before = before_exec.entry(seen.process).or_insert((0, Some(States::default())));
                *before = (before.0 + time.wall_ns, sum_of(before.1, states, States::add));
                self.lives.renumber(&seen, &last)
            };
            let (at_end, division) = (Some(OffTasks::default()), TaskDivision::of(&growth, time.wall_ns));
            let is_alive = settled.is_none() && self.accounts.has_process(seen.process);
            self.book(if is_alive { seen.process } else { heir }, &booked, into);
            if is_alive {
                // What it did under its old tid is the time of a thread that lives.
                let of = if has_died(time) { Of::DeadThreads } else { Of::Own };
                self.accounts.add_growth(seen.process, of, Some(&growth), division);
                let off_cpu = OffCpu { states, at_start: self.off_at_start[index], at_end };
                self.accounts.add_off_cpu(seen.process, &off_cpu);
            } else {
                let owed_ns = if ends_process { self.lives.take_owed(seen.process) } else { 0 };
                let ahead_ns = division.ahead_ns.map(|ahead_ns| ahead_ns + owed_ns);
                self.accounts.inherit(heir, TaskDivision { ahead_ns, ..division });
            }
        }
        self.add_folded(closed, into);
    }

    /// Of tasks whose time was folded, and which are in no list, nothing tells what they did.
    fn add_folded(&mut self, closed: &Closed<'_>, into: &mut Interval) {
        for (index, time) in closed.tasks.iter().enumerate() {
            let (process, is_in_no_list) = (process_of(&time.slot), time.is_last && !has_ended(time));
            if is_in_no_list {
                self.accounts.add_off_cpu(process, &OffCpu::default());
                let heir = self.attribution.settled_heir(index).unwrap_or(process);
                self.book(heir, &closed.booked.of_task(index), into);
            }
            let (has_threads, has_children) =
                (time.folded_threads_ns > 0 || is_in_no_list, time.folded_children_ns > 0);
            if !has_threads && !has_children {
                continue;
            }
            if let Some(heir) = self.attribution.settled_heir(index) {
                // All of that is the heir's.
                self.accounts.inherit(heir, TaskDivision::UNKNOWN);
                continue;
            }
            if has_threads {
                self.accounts.add_growth(process, Of::DeadThreads, None, TaskDivision::UNKNOWN);
            }
            if has_children {
                self.accounts.inherit(process, TaskDivision::UNKNOWN);
            }
        }
    }

    /// Tasks that live: their rows, and what they grew by.
    fn go_on_with_tasks(&mut self, closed: &Closed<'_>, into: &mut Interval) {
        let mut from = 0;
        for place in 0..self.living.len() {
            let index = self.living[place];
            let time = &closed.tasks[index];
            let seen = self.seen(time, closed);
            let row = find_row_along(&self.rows.tasks, &mut from, seen.task, seen.process)
                .copied()
                .filter(|_| !self.has_twin(closed, place));
            // One that has died since the cut has left its final figures.
            let now = match &row {
                Some(row) => Some(Counters::of(row)),
                None => closed.final_figures(time).map(|last| counters_of(&last)),
            };
            let growth = self.lives.go_on(&seen, now.as_ref());
            let division =
                growth.map_or(TaskDivision::UNKNOWN, |growth| TaskDivision::of(&growth, time.wall_ns));
            self.accounts.add_growth(seen.process, Of::Own, growth.as_ref(), division);
            let states = seen.stretch.map(|stretch| stretch.states);
            let off_cpu = OffCpu {
                states,
                at_start: self.off_at_start[index],
                at_end: time.off.map(|off| OffTasks::one(off.at_cut)),
            };
            let booked = closed.booked.of_task(index);
            self.book(seen.process, &booked, into);
            self.accounts.add_off_cpu(seen.process, &off_cpu);
            self.accounts.add_living(seen.process, index);
            if row.is_none() && is_lost(time, states) {
                continue;
            }
            let mut row = row.unwrap_or_else(|| row_of_slot(&time.slot));
            let held_back = self.held_back(&row);
            if let Some(growth) = &growth {
                growth.totals.store_into(&mut row);
            }
            row.known = row.known.without(held_back);
            let usage = make!(Usage {
                cpu_ns: time.wall_ns,
                self_ns: time.wall_ns,
                stolen_ns: growth.and_then(|growth| growth.stolen_ns),
                division: make!(Division { self_user_ns: division.user_ns }),
                states,
                off_at_start: off_cpu.at_start,
                off_at_end: off_cpu.at_end,
                growth: with_wait(
                    growth.map_or(booked, |growth| growth.counters.or(&booked)).without(held_back),
                    states,
                ),
            });
            into.tasks.push(Row::new(row, usage));
        }
    }

    fn seen(&self, time: &TaskTime, closed: &Closed<'_>) -> Seen {
        let slot = &time.slot;
        let states = states_of(time, closed.end_ns);
        Seen {
            number: time.number,
            task: task_of(slot),
            process: process_of(slot),
            first_runtime_ns: slot.first_runtime_ns,
            first: (!time.is_last).then(|| counters_of(&slot.last)),
            wall_ns: time.wall_ns,
            is_running: time.is_running,
            stretch: time.off.zip(states).map(|(off, states)| Stretch {
                states,
                begin_ns: off.begin_ns,
                end_ns: off.begin_ns + states.elapsed_ns,
                rests: off.at_cut.unwrap_or(OffState::Unseen),
            }),
            born_ns: born_ns(time).max(self.attached_ns),
        }
    }

    /// What of the figures that are kept of a task, or of a process, the caller may not see, by its row.
    fn held_back(&self, row: &Task) -> FieldSet {
        let may_see = self.io.is_unlimited() || row.known.intersects(GUARDED);
        if may_see { FieldSet::EMPTY } else { GUARDED }
    }

    /// Whether another living task has its (tid, start time): an exec has just given that to one, and the other, the
    /// former leader, has its last switch before it. The row of both is that of one.
    fn has_twin(&self, closed: &Closed<'_>, place: usize) -> bool {
        let order = |place: usize| self.living.get(place).map(|&index| order(&closed.tasks[index]));
        let own = order(place);
        order(place + 1) == own || (place > 0 && order(place - 1) == own)
    }

    /// The tasks of a process that did not run, `row` being its row: they are counted.
    fn others_of(&self, account: &Account, row: &Task) -> OffTasks {
        let others = row.threads.checked_sub(account.living).filter(|_| row.known.contains(Field::Threads));
        self.resting.tasks_of(account.process, others.unwrap_or(0).into())
    }

    /// Remembers what tasks do that may not run soon.
    fn remember_resting(&mut self, closed: &Closed<'_>) {
        self.running.clear();
        let mut from = 0;
        for time in self.living.iter().map(|&index| &closed.tasks[index]) {
            let Some(off) = time.off else { continue };
            let Some(state) = off.at_cut else {
                self.running.insert(time.number);
                continue;
            };
            let (task, process) = (task_of(&time.slot), process_of(&time.slot));
            // It has been woken since it left the CPU, and has none yet: how long it waits in this interval, the switch that brings it back tells.
            let row = find_row_along(&self.rows.tasks, &mut from, task, process);
            let is_awake = row.is_some_and(is_runnable);
            let state = if is_awake { OffState::Waits } else { state };
            if !matches!(state, OffState::Blocked | OffState::Io) {
                self.resting.rest(time.number, task, process, state);
                continue;
            }
            let blocked = make!(Blocked {
                task,
                process,
                comm: Comm::from_c_bytes(&time.slot.comm),
                euid: Some(time.slot.euid),
                since_ns: off.since_ns,
                blocked_for_ns: closed.end_ns,
                for_io: Some(state == OffState::Io),
            });
            self.resting.block(time.number, blocked, state);
        }
    }

    fn close_processes(&mut self, closed: &Closed<'_>, wanted: &Wanted<'_>, into: &mut Interval) {
        self.resting.tell_blocked(into);
        let mut from = 0;
        for place in 0..self.accounts.all().len() {
            let account = self.accounts.all()[place];
            let mut row = match self.row_of(account.process, &mut from) {
                Some(row) => row,
                None => match account.index.map(|index| &closed.tasks[index].slot) {
                    Some(slot) if slot.tid == slot.pid => row_of_slot(slot),
                    _ => self.row_of_procfs(account.process, wanted.fields),
                },
            };
            self.name(account.process, &mut row);
            let (told, held_back) = (Counters::of(&row), self.held_back(&row));
            let added = self.lives.add_to_process(account.process, &account.growth, &told);
            let (mut growth, mut total) = match added {
                Some(added) => added,
                // Its threads are many, and older than the ledger: /proc has their sum, for this once.
                None => {
                    let told = Counters::of(&self.row_of_procfs(account.process, wanted.fields));
                    self.lives.begin_process(account.process, &account.growth, &told)
                }
            };
            if account.is_partial {
                (growth.known, total.known) = (FieldSet::EMPTY, FieldSet::EMPTY);
            }
            total.without(held_back).store_into(&mut row);
            let Parts { self_ns, exited_threads_ns, exited_children_ns } = account.parts;
            let ahead_ns = account.ahead_ns();
            let [stolen_ns, children_stolen_ns] = self.lives.tell_stolen(
                account.process,
                ahead_ns.map(Option::unwrap_or_default),
                [self_ns + exited_threads_ns, exited_children_ns],
            );
            let heir = self.attribution.heir(account.process);
            let (others, mut off_cpu) = (self.others_of(&account, &row), account.off_cpu);
            off_cpu.add(&OffCpu::of_idle(others, closed.end_ns - closed.start_ns));
            into.attributed_ns += account.parts.total_ns();
            let usage = make!(Usage {
                cpu_ns: account.parts.total_ns(),
                self_ns,
                exited_threads_ns: Some(exited_threads_ns),
                exited_children_ns: Some(exited_children_ns),
                stolen_ns: ahead_ns[0].map(|_| stolen_ns),
                exited_children_stolen_ns: ahead_ns[1].map(|_| children_stolen_ns),
                division: account.division(stolen_ns),
                states: off_cpu.states,
                off_at_start: off_cpu.at_start,
                off_at_end: off_cpu.at_end,
                accounting_parent: (heir != account.process).then_some(Pid(heir.tid.0)),
                growth: with_wait(growth.or(&account.booked).without(held_back), off_cpu.states),
                is_unseen: false,
            });
            into.processes.push(Row::new(row, usage));
        }
        self.add_others(wanted, into);
        let rows = into.processes.iter().filter(|row| row.usage.states.is_some());
        let with_row: u64 = rows.map(|row| self.resting.blocked_of(row.task.id())).sum();
        into.blocked_without_row = into.blocked_tasks.saturating_sub(with_row);
    }

    /// Remembers the name of a row, or gives it the one that is remembered: a task that has died since the cut can no longer be asked.
    fn name(&mut self, process: TaskId, row: &mut Task) {
        if row.known.contains(Field::Comm) {
            self.attribution.name(process, row.comm, false);
        } else if let Some(comm) = self.attribution.name_of(process) {
            row.comm = comm;
            row.known = row.known.union(FieldSet::of(&[Field::Comm]));
        }
    }

    fn row_of(&self, process: TaskId, from: &mut usize) -> Option<Task> {
        let row = find_process_along(&self.rows.processes, from, process.tid.0)?;
        (row.start_time_ns == process.start_time_ns).then_some(*row)
    }

    /// A process by its files: one that is not shown to programs (some hosts keep their own from them), that died since the
    /// cut, or whose threads would have to be summed.
    fn row_of_procfs(&mut self, process: TaskId, fields: FieldSet) -> Task {
        let pid = Pid(process.tid.0);
        let bare = make!(Task {
            known: FieldSet::of(&[Field::Tid, Field::Pid]),
            tid: process.tid,
            pid,
            start_time_ns: process.start_time_ns,
        });
        match self.process_of_procfs(pid, fields) {
            // Whose pid it was may be gone.
            Some(row) if is_start(row.start_time_ns, process.start_time_ns) => {
                make!(Task { start_time_ns: process.start_time_ns, ..row })
            }
            _ => bare,
        }
    }

    /// A process by its files, of any start time.
    fn process_of_procfs(&mut self, pid: Pid, fields: FieldSet) -> Option<Task> {
        if self.procfs.is_none() {
            self.procfs = Procfs::open().ok();
        }
        self.procfs.as_mut()?.process(pid, fields).ok().flatten()
    }

    /// Takes those for dead that a walk does not list: of all leaders or, with its tasks, of all.
    pub(super) fn keep_living(&mut self, walked: &Snapshot) {
        let tasks = walked.tasks.iter().map(|row| (row.tid, row.start_time_ns));
        let listed: FxHashMap<Tid, Boottime> = tasks.collect();
        let is_it = |task: TaskId, start: &Boottime| is_start(*start, task.start_time_ns);
        let is_listed =
            |task: TaskId| listed.is_empty() || listed.get(&task.tid).is_some_and(|start| is_it(task, start));
        let mut known = FxHashMap::default();
        let mut lives =
            |process| *known.entry(process).or_insert_with(|| is_there(process, &walked.processes));
        self.attribution.keep_living(walked.end_ns, &mut lives);
        self.lives.keep_living(&mut lives, is_listed);
        self.resting.keep_living(&mut lives);
    }

    /// When those were alive that did not run in the interval that was closed last.
    pub(super) fn idle_time(&self, interval: &Interval) -> IdleTime {
        let end = Boottime::from_ns(interval.end_ns + self.suspended_ns);
        IdleTime { length_ns: interval.length_ns(), end }
    }

    /// How much is remembered that only a death ends.
    pub(super) fn remembered(&self) -> usize {
        self.attribution.lasting() + self.lives.len() + self.resting.len()
    }
}
