//! What tasks did off the CPU that did not run in an interval. It is what they did when they ran last. Of those that have not run since the
//! ledger was attached it is what a walk said then. There is one record of each, and the list of the blocked is made of it.

use cpuledger_model::boottime::Boottime;
use cpuledger_model::buffer::{Trim, empty};
use cpuledger_model::counters::Counters;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::{Blocked, Interval, Row};
use cpuledger_model::make;
use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::states::OffState;
use cpuledger_model::states::{OffTasks, off_state};
use cpuledger_model::task::{Task, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::blocked::{ByUser, blocked_as_listed, key, longest};

/// The state of a living task that has not run since.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Resting {
    process: TaskId,
    state: OffState,
    /// The slot that told it; `None`: a walk did, or slots have other numbers since.
    slot: Option<u32>,
    /// The CPU time that the walk told of it.
    runtime_ns: Option<u64>,
    /// What is told of it by name. `None`: it is not blocked, or that was forgotten.
    blocked: Option<Box<Blocked>>,
}

/// A task that waited for a CPU in all of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Starved {
    pub(super) process: TaskId,
    pub(super) task: TaskId,
    /// See [`Resting::slot`].
    pub(super) slot: Option<u32>,
    runtime_ns: Option<u64>,
}

impl Starved {
    /// Whether its row of now says that it has run since a walk found it: then the kernel has hidden its switches.
    pub(super) fn has_run(&self, row: &Task) -> bool {
        row.known.contains(Field::Runtime) && self.runtime_ns.is_some_and(|then_ns| row.runtime_ns > then_ns)
    }
}

/// When those were alive that did not run in an interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleTime {
    pub(super) length_ns: u64,
    /// The cut.
    pub(super) end: Boottime,
}

impl IdleTime {
    /// For how long one was alive in it. What is listed after the cut may be younger.
    fn of(&self, row: &Task) -> u64 {
        if is_dead(row) { 0 } else { self.end.since_ns(row.start_time_ns).min(self.length_ns) }
    }
}

/// Whether a row is of a task that has died.
pub(super) fn is_dead(row: &Task) -> bool {
    row.known.contains(Field::State) && matches!(row.state.0, b'Z' | b'X')
}

/// The process of a task, where both are listed.
fn process_in(all: &Snapshot, task: &Task) -> Option<TaskId> {
    let place = all.processes.binary_search_by_key(&task.pid, |row| row.pid).ok()?;
    Some(all.processes[place].id())
}

/// A task that rests, as a walk has listed it.
fn resting_as_listed(row: &Task, process: TaskId, state: OffState) -> Resting {
    let runtime_ns = row.known.contains(Field::Runtime).then_some(row.runtime_ns);
    Resting { process, state, slot: None, runtime_ns, blocked: None }
}

/// Whether a row is of a task that has a CPU, or waits for one.
pub(super) fn is_runnable(row: &Task) -> bool {
    row.known.contains(Field::State) && row.state.0 == b'R'
}

/// Hides cumulative figures of these rows, but for those that the books have. What was read after the cut may be ahead of what the books
/// will say. It may also fall when threads of a process end.
pub(super) fn hide_counters(rows: &mut [Row], shown: &FxHashMap<TaskId, FieldSet>) {
    if shown.is_empty() {
        return;
    }
    for Row { task, .. } in rows {
        if let Some(known) = shown.get(&task.id()) {
            task.known = task.known.without(Counters::FIELDS.without(*known));
        }
    }
}

/// Tasks that do something else than sleeping, and have not run since: by task, and how many of each process. The others sleep.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RestingTasks {
    by_task: FxHashMap<TaskId, Resting>,
    /// An exec may give the task of a slot another tid.
    by_slot: FxHashMap<u32, TaskId>,
    by_process: FxHashMap<TaskId, OffTasks>,
    /// Those of them that wait for a CPU.
    waiting: FxHashSet<TaskId>,
    /// Those of them that are blocked, as far as they are told by name.
    blocked: ByUser,
}

impl Trim for RestingTasks {
    fn trim(&mut self) {
        // A tree has no room to spare.
        let RestingTasks { by_task, by_slot, by_process, waiting, blocked: _ } = self;
        by_task.trim();
        by_slot.trim();
        by_process.trim();
        waiting.trim();
    }
}

impl RestingTasks {
    /// Slots have other numbers from now on. The tasks are the same.
    pub(super) fn hand_over(&mut self) {
        self.by_slot.clear();
        self.by_task.values_mut().for_each(|resting| resting.slot = None);
    }

    /// No switch was seen for some time: forgets all.
    pub(super) fn clear(&mut self) {
        *self = RestingTasks::default();
    }

    /// Forgets the names of those that are blocked: of some nothing has told that they died.
    pub(super) fn forget_blocked(&mut self) {
        self.blocked.clear();
        self.by_task.values_mut().for_each(|resting| resting.blocked = None);
    }

    /// Forgets those of processes that do not live.
    pub(super) fn keep_living(&mut self, mut lives: impl FnMut(TaskId) -> bool) {
        self.keep(|_, resting| lives(resting.process));
    }

    fn keep(&mut self, mut is_kept: impl FnMut(TaskId, &Resting) -> bool) {
        let dead = self.by_task.iter().filter(|(task, resting)| !is_kept(**task, resting));
        let dead: Vec<TaskId> = dead.map(|(task, _)| *task).collect();
        for task in dead {
            self.remove(task);
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_task.len()
    }

    /// A task has run in an interval, so it does not rest in that. Returns what it did until then; `None`: it slept, or had a CPU, or was not
    /// known.
    pub(super) fn wake(&mut self, slot: u32, task: TaskId) -> Option<OffState> {
        if self.by_task.is_empty() {
            return None;
        }
        let mut rested = None;
        if let Some(former) = self.by_slot.remove(&slot)
            && self.by_task.get(&former).is_some_and(|resting| resting.slot == Some(slot))
        {
            rested = self.remove(former);
        }
        rested.or(self.remove(task))
    }

    fn remove(&mut self, task: TaskId) -> Option<OffState> {
        let Resting { process, state, slot, blocked, .. } = self.by_task.remove(&task)?;
        if state == OffState::Waits {
            self.waiting.remove(&task);
        }
        if let Some(blocked) = blocked {
            self.blocked.remove(&key(&blocked));
        }
        if let Some(slot) = slot
            && self.by_slot.get(&slot) == Some(&task)
        {
            self.by_slot.remove(&slot);
        }
        if let Some(counts) = self.by_process.get_mut(&process) {
            let count = counts.count_mut(state);
            *count = count.saturating_sub(1);
            if *counts == OffTasks::default() {
                self.by_process.remove(&process);
            }
        }
        Some(state)
    }

    /// The task of this slot, of this process, does this at the cut, after it has run.
    pub(super) fn rest(&mut self, slot: u32, task: TaskId, process: TaskId, state: OffState) {
        let slot = Some(slot);
        self.insert(task, Resting { process, state, slot, runtime_ns: None, blocked: None });
    }

    /// Likewise, one that waits for a CPU since it was woken, be there a slot of it or not. Returns what it did before; `None`: it slept, or
    /// was not known.
    pub(super) fn wait(&mut self, slot: Option<u32>, task: TaskId, process: TaskId) -> Option<OffState> {
        let known = self.by_task.get(&task).map(|resting| resting.state);
        if known != Some(OffState::Waits) {
            let state = OffState::Waits;
            self.insert(task, Resting { process, state, slot, runtime_ns: None, blocked: None });
        }
        known
    }

    /// Likewise, one that is blocked.
    pub(super) fn block(&mut self, slot: u32, blocked: Blocked, state: OffState) {
        self.rest(slot, blocked.task, blocked.process, state);
        self.name(blocked);
    }

    /// One that is blocked is told by name from now on.
    fn name(&mut self, blocked: Blocked) {
        if let Some(resting) = self.by_task.get_mut(&blocked.task).filter(|resting| resting.blocked.is_none())
        {
            self.blocked.insert(key(&blocked));
            resting.blocked = Some(Box::new(blocked));
        }
    }

    fn insert(&mut self, task: TaskId, resting: Resting) {
        if !self.by_task.is_empty() {
            // After an exec two tasks may have the same identity.
            self.remove(task);
        }
        if resting.state == OffState::Sleeps {
            return;
        }
        if let Some(slot) = resting.slot {
            self.by_slot.insert(slot, task);
        }
        if resting.state == OffState::Waits {
            self.waiting.insert(task);
        }
        *self.by_process.entry(resting.process).or_default().count_mut(resting.state) += 1;
        self.by_task.insert(task, resting);
    }

    /// Adds what is blocked, stopped or waits for a CPU of all tasks, as these are listed in the interval that began at `start_ns`, and forgets
    /// those that are not listed: they have died. What has run before is known by more.
    pub(super) fn find(&mut self, all: &Snapshot, start_ns: u64) {
        // No switch of those that the kernel hides is seen.
        let is_hidden = |task: TaskId| all.from_procfs.binary_search(&task.tid).is_ok();
        if !self.by_task.is_empty() {
            let listed: FxHashSet<TaskId> = all.tasks.iter().map(Task::id).collect();
            self.keep(|task, _| listed.contains(&task) || is_hidden(task));
        }
        for row in all.tasks.iter().filter(|row| row.known.contains(Field::State)) {
            // One that has a CPU is seen to leave it, or has it at the cut: it does not rest for long.
            let waits = Some(OffState::Waits).filter(|_| is_runnable(row));
            let rests = waits.or_else(|| off_state(row.state).filter(|state| *state != OffState::Sleeps));
            let Some(state) = rests.filter(|_| !is_hidden(row.id())) else { continue };
            let Some(process) = process_in(all, row) else { continue };
            let known = self.by_task.get(&row.id()).map(|resting| resting.state);
            if known.is_none() {
                self.insert(row.id(), resting_as_listed(row, process, state));
            }
            if matches!(known.unwrap_or(state), OffState::Blocked | OffState::Io) {
                self.name(blocked_as_listed(row, process, start_ns));
            }
        }
    }

    /// Adds those of all tasks that wait for a CPU: they have been woken since they slept.
    pub(super) fn find_waiting(&mut self, all: &Snapshot) {
        for row in all.tasks.iter().filter(|row| is_runnable(row)) {
            if self.by_task.contains_key(&row.id()) || all.from_procfs.binary_search(&row.tid).is_ok() {
                continue;
            }
            if let Some(process) = process_in(all, row) {
                self.insert(row.id(), resting_as_listed(row, process, OffState::Waits));
            }
        }
    }

    /// Tells of those that were blocked in all of an interval. To be called when those that ran in it are awake, and before those are added
    /// that are blocked since.
    pub(super) fn tell_blocked(&self, into: &mut Interval) {
        let end_ns = into.end_ns;
        let longest = longest(&self.blocked).into_iter();
        let longest = longest.filter_map(|(.., task)| self.by_task.get(&task)?.blocked.as_deref());
        let told = longest.map(|blocked| {
            make!(Blocked {
                blocked_for_ns: end_ns.saturating_sub(blocked.since_ns.unwrap_or(blocked.blocked_for_ns)),
                ..*blocked
            })
        });
        into.blocked.get_or_insert_default().extend(told);
        into.blocked_tasks = self.blocked.len() as u64;
    }

    /// Lists the tasks that waited for a CPU in all of an interval, sorted by process and tid, the leader first. To be called when those that
    /// ran in it are awake. There are at most as many as are runnable.
    pub(super) fn list_starved(&self, into: &mut Vec<Starved>) {
        empty(into);
        into.extend(self.waiting.iter().filter_map(|&task| {
            let Resting { process, slot, runtime_ns, .. } = *self.by_task.get(&task)?;
            Some(Starved { process, task, slot, runtime_ns })
        }));
        into.sort_unstable_by_key(|starved| (starved.process, starved.process != starved.task, starved.task));
    }

    /// Nothing is known of a task any more.
    pub(super) fn forget(&mut self, task: TaskId) {
        self.remove(task);
    }

    /// One that waits is not listed any more until it has run: it is not found, so it has run since, or its death was not told.
    pub(super) fn unlist_starved(&mut self, task: TaskId) {
        self.waiting.remove(&task);
    }

    pub(super) fn blocked_of(&self, process: TaskId) -> u64 {
        self.by_process.get(&process).map_or(0, |tasks| tasks.blocked + tasks.io_waiting)
    }

    /// What the tasks of a process, or a task, do that have not run in an interval, by its row, and for how long they were alive in it;
    /// `None`: that does not tell it. `has_run`: whether it is known to have run before, since the ledger was attached.
    pub(super) fn of_idle(
        &self,
        row: &Task,
        time: &IdleTime,
        is_process: bool,
        has_run: bool,
    ) -> Option<(OffTasks, u64)> {
        let alive_ns = time.of(row);
        if is_process && row.threads > 1 {
            // A leader that has died is none of its threads.
            let alive_ns = if alive_ns == 0 { time.length_ns } else { alive_ns };
            return Some((self.tasks_of(row.id(), row.threads.into()), alive_ns));
        }
        let mut state = None;
        if alive_ns > 0 {
            let by_row = || Some(row.state).filter(|_| row.known.contains(Field::State)).and_then(off_state);
            state = Some(match self.by_task.get(&row.id()) {
                Some(resting) => resting.state,
                // Its row is younger than the cut: it may run by now, or have gone to do something else.
                None if has_run => OffState::Sleeps,
                None => by_row()?,
            });
        }
        Some((OffTasks::one(state), alive_ns))
    }

    /// What `tasks` tasks of a process do that have not run in an interval: those of which nothing else is known sleep.
    pub(super) fn tasks_of(&self, process: TaskId, tasks: u64) -> OffTasks {
        let mut told = OffTasks::default();
        let OffTasks { waiting, blocked, io_waiting, stopped, unseen, .. } =
            self.by_process.get(&process).copied().unwrap_or_default();
        let mut left = tasks;
        let mut take = |count: u64| {
            let taken = count.min(left);
            left -= taken;
            taken
        };
        told.waiting = take(waiting);
        told.blocked = take(blocked);
        told.io_waiting = take(io_waiting);
        told.stopped = take(stopped);
        told.unseen = take(unseen);
        told.sleeping = left;
        told
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::make;
    use cpuledger_model::states::OffState;

    use super::{IdleTime, RestingTasks};
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::field::{Field, FieldSet};
    use cpuledger_model::interval::{Blocked, Interval};
    use cpuledger_model::snapshot::Snapshot;
    use cpuledger_model::states::States;
    use cpuledger_model::task::{Comm, Pid, State, Task, TaskId, Tid};

    fn id(tid: i32) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(1) }
    }

    fn row(tid: i32, pid: i32, state: u8) -> Task {
        make!(Task {
            known: FieldSet::ALL,
            tid: Tid(tid),
            pid: Pid(pid),
            state: State(state),
            start_time_ns: Boottime::from_ns(1),
        })
    }

    /// What threads of a process did in 100 ns that have not run, but for sleeping: blocked and stopped.
    fn held(resting: &RestingTasks, process: i32, threads: u64) -> (u64, u64) {
        let states = resting.tasks_of(id(process), threads).rest_for(100);
        assert_eq!((states.elapsed_ns, states.off_ns()), (100 * threads, 100 * threads));
        (states.blocked_ns, states.stopped_ns)
    }

    fn told(resting: &RestingTasks) -> Vec<(i32, Option<bool>)> {
        let mut interval = make!(Interval { end_ns: 1000 });
        resting.tell_blocked(&mut interval);
        let mut told: Vec<(i32, Option<bool>)> =
            interval.blocked.iter().flatten().map(|row| (row.task.tid.0, row.for_io)).collect();
        told.sort_unstable();
        told
    }

    #[test]
    fn what_a_walk_has_found_is_in_the_list_and_in_the_states_of_its_process() {
        let mut resting = RestingTasks::default();
        let tasks =
            vec![row(7, 7, b'S'), row(8, 7, b'D'), row(9, 7, b't'), row(10, 7, b'R'), row(11, 7, b'D')];
        let listed = |tasks: Vec<Task>| {
            make!(Snapshot { processes: vec![row(7, 7, b'S')], tasks, from_procfs: vec![Tid(11)] })
        };
        resting.find(&listed(tasks.clone()), 600);
        assert_eq!((told(&resting), held(&resting, 7, 5)), (vec![(8, None)], (100, 100)));
        let mut starved = Vec::new();
        resting.list_starved(&mut starved);
        assert_eq!(starved.iter().map(|starved| starved.task.tid.0).collect::<Vec<_>>(), [10]);
        let later = |runtime_ns| make!(Task { runtime_ns, ..row(10, 7, b'R') });
        assert!(!starved[0].has_run(&later(0)) && starved[0].has_run(&later(1)));
        // Slots ran low: it lists them anew, and what is not listed has died.
        resting.forget_blocked();
        assert_eq!(told(&resting), []);
        resting.find(&listed(tasks[..2].to_vec()), 700);
        assert_eq!((told(&resting), held(&resting, 7, 2)), (vec![(8, None)], (100, 0)));
        resting.wake(3, id(8));
        assert_eq!((told(&resting), held(&resting, 7, 2), resting.len()), (vec![], (0, 0), 0));
    }

    #[test]
    fn who_rests_does_so_when_slots_get_other_numbers() {
        let mut resting = RestingTasks::default();
        let blocked = |tid| {
            make!(Blocked {
                task: id(tid),
                process: id(7),
                comm: Comm::new(b"hung"),
                euid: None,
                since_ns: Some(5),
                blocked_for_ns: 0,
                for_io: Some(true),
            })
        };
        resting.block(3, blocked(8), OffState::Io);
        resting.rest(4, id(9), id(7), OffState::Stopped);
        resting.hand_over();
        assert_eq!((told(&resting), held(&resting, 7, 3)), (vec![(8, Some(true))], (100, 100)));
        // The slot of one is that of another now.
        resting.wake(3, id(70));
        assert_eq!(held(&resting, 7, 3), (100, 100));
        resting.wake(4, id(8));
        assert_eq!((told(&resting), held(&resting, 7, 3)), (vec![], (0, 100)));
        resting.keep_living(|process| process != id(7));
        assert!(resting.by_process.is_empty() && resting.len() == 0);
    }

    #[test]
    fn who_waits_for_a_cpu_is_listed_until_it_runs() {
        let mut resting = RestingTasks::default();
        let listed = |resting: &RestingTasks| {
            let mut starved = Vec::new();
            resting.list_starved(&mut starved);
            starved.iter().map(|starved| (starved.task.tid.0, starved.slot)).collect::<Vec<_>>()
        };
        for (slot, tid, pid) in [(3, 9, 7), (4, 12, 12), (5, 7, 7), (6, 2, 7)] {
            resting.rest(slot, id(tid), id(pid), OffState::Waits);
        }
        resting.rest(8, id(5), id(5), OffState::Stopped);
        assert_eq!(listed(&resting), [(7, Some(5)), (2, Some(6)), (9, Some(3)), (12, Some(4))]);
        resting.wake(5, id(7));
        resting.unlist_starved(id(12));
        resting.hand_over();
        assert_eq!(listed(&resting), [(2, None), (9, None)]);
        resting.rest(1, id(2), id(7), OffState::Blocked);
        assert_eq!(listed(&resting), [(9, None)]);
    }

    #[test]
    fn one_that_an_exec_has_given_another_tid_is_known_by_its_slot() {
        let mut resting = RestingTasks::default();
        resting.rest(3, id(8), id(7), OffState::Stopped);
        resting.wake(3, id(7));
        assert_eq!((held(&resting, 7, 1), resting.len()), ((0, 0), 0));
        // Two tasks of the same identity: the one that came last counts.
        resting.rest(3, id(7), id(7), OffState::Stopped);
        resting.rest(4, id(7), id(7), OffState::Blocked);
        resting.wake(3, id(70));
        assert_eq!(held(&resting, 7, 2), (100, 0));
    }

    #[test]
    fn tasks_that_do_not_run_are_counted_by_what_they_do() {
        let process = TaskId { tid: Tid(7), start_time_ns: Boottime::from_ns(1) };
        let mut resting = RestingTasks::default();
        for (slot, state) in
            [(2_u32, OffState::Io), (3, OffState::Stopped), (4, OffState::Sleeps), (5, OffState::Io)]
        {
            let task = TaskId { tid: Tid(slot.cast_signed()), ..process };
            resting.rest(slot, task, process, state);
        }
        let wake = |resting: &mut RestingTasks, slot| resting.wake(slot, process);
        wake(&mut resting, 5);
        wake(&mut resting, 4);
        let states = resting.tasks_of(process, 10).rest_for(100);
        let expected = make!(States {
            elapsed_ns: 1000,
            blocked_ns: 100,
            io_wait_ns: 100,
            stopped_ns: 100,
            sleep_ns: 800,
        });
        assert_eq!((states, states.off_ns()), (expected, 1000));
        wake(&mut resting, 2);
        wake(&mut resting, 3);
        assert!(resting.by_process.is_empty() && resting.by_slot.is_empty() && resting.by_task.is_empty());
    }

    #[test]
    fn a_task_that_did_not_run_did_what_it_does_at_the_cut() {
        let task = TaskId { tid: Tid(7), start_time_ns: Boottime::from_ns(100) };
        let time = IdleTime { length_ns: 1000, end: Boottime::from_ns(5000) };
        let mut resting = RestingTasks::default();
        let row = |state, start| {
            make!(Task {
                known: FieldSet::of(&[Field::State]),
                tid: task.tid,
                state: State(state),
                start_time_ns: Boottime::from_ns(start),
                threads: 1,
            })
        };
        let told = |resting: &RestingTasks, row: &Task, has_run| {
            let (tasks, alive_ns) = resting.of_idle(row, &time, true, has_run).expect("it is known");
            tasks.rest_for(alive_ns)
        };
        let asleep = make!(States { elapsed_ns: 1000, sleep_ns: 1000 });
        let blocked = make!(States { elapsed_ns: 1000, blocked_ns: 1000 });
        // What it does after the cut says nothing of one that has run before.
        assert_eq!(told(&resting, &row(b'D', 100), true), asleep);
        assert_eq!(told(&resting, &row(b'R', 100), false), asleep);
        assert_eq!(told(&resting, &row(b'D', 100), false), blocked);
        resting.rest(2, task, task, OffState::Blocked);
        assert_eq!(told(&resting, &row(b'R', 100), true), blocked);
        // Dead, born after the cut, and born before it.
        assert_eq!(told(&resting, &row(b'Z', 100), true), States::default());
        assert_eq!(told(&resting, &row(b'S', 5001), true), States::default());
        assert_eq!(told(&resting, &row(b'S', 4900), false).elapsed_ns, 100);
    }
}

#[cfg(test)]
mod tests_of_blocked {
    use super::*;
    use cpuledger_model::interval::MOST_BLOCKED;
    use cpuledger_model::task::Tid;
    use cpuledger_model::task::{Comm, Pid, State};

    fn blocked(tid: i32, since_ns: u64) -> Blocked {
        let task = TaskId::new(tid, 1);
        make!(Blocked {
            task,
            process: task,
            comm: Comm::new(b"hung"),
            euid: Some(0),
            since_ns: Some(since_ns),
            blocked_for_ns: 0,
            for_io: Some(true),
        })
    }

    fn block(tasks: &mut RestingTasks, blocked: Blocked) {
        tasks.block(blocked.task.tid.0.cast_unsigned(), blocked, OffState::Io);
    }

    fn wake(tasks: &mut RestingTasks, tid: i32) {
        tasks.wake(tid.cast_unsigned(), blocked(tid, 0).task);
    }

    fn told(tasks: &RestingTasks, end_ns: u64) -> Vec<(i32, Option<u64>, u64)> {
        let mut interval = make!(Interval { end_ns });
        tasks.tell_blocked(&mut interval);
        let rows = interval.blocked.expect("the ledger knows them");
        assert!(interval.blocked_tasks >= rows.len() as u64);
        rows.iter().map(|row| (row.task.tid.0, row.since_ns, row.blocked_for_ns)).collect()
    }

    #[test]
    fn those_are_told_that_have_not_run_since_the_longest_first() {
        let mut tasks = RestingTasks::default();
        block(&mut tasks, blocked(7, 500));
        block(&mut tasks, blocked(8, 400));
        let row = |tid| {
            let start_time_ns = Boottime::from_ns(1);
            make!(Task {
                known: FieldSet::ALL,
                tid: Tid(tid),
                pid: Pid(tid),
                state: State(b'D'),
                start_time_ns
            })
        };
        let rows = Vec::from([7, 8, 9].map(row));
        tasks.find(&make!(Snapshot { processes: rows.clone(), tasks: rows }), 600);
        assert_eq!(told(&tasks, 1000), [(9, None, 400), (8, Some(400), 600), (7, Some(500), 500)]);
        wake(&mut tasks, 8);
        wake(&mut tasks, 8);
        assert_eq!(told(&tasks, 2000), [(9, None, 1400), (7, Some(500), 1500)]);
        wake(&mut tasks, 9);
        block(&mut tasks, blocked(7, 2500));
        assert_eq!(told(&tasks, 3000), [(7, Some(2500), 500)], "again");
        wake(&mut tasks, 7);
        assert!(tasks.by_task.is_empty() && tasks.blocked.is_empty());
    }

    #[test]
    fn the_list_is_bounded_and_the_count_is_not() {
        let mut tasks = RestingTasks::default();
        (1..2000).for_each(|tid| block(&mut tasks, blocked(tid, 5000 - tid.unsigned_abs() as u64)));
        let mut interval = make!(Interval { end_ns: 10_000 });
        tasks.tell_blocked(&mut interval);
        let rows = interval.blocked.as_ref().expect("the ledger knows them");
        assert_eq!((rows.len(), interval.blocked_tasks, rows[0].task.tid.0), (MOST_BLOCKED, 1999, 1999));
    }

    #[test]
    fn no_user_keeps_those_of_another_out() {
        let of_user = |euid, tid, since_ns| make!(Blocked { euid: Some(euid), ..blocked(tid, since_ns) });
        let mut tasks = RestingTasks::default();
        (0..2000).for_each(|tid| block(&mut tasks, of_user(1001, 10 + tid, 100)));
        block(&mut tasks, of_user(1000, 5000, 900));
        block(&mut tasks, of_user(1002, 5001, 50));
        let told = told(&tasks, 1000);
        assert_eq!(told.len(), MOST_BLOCKED + 2);
        assert_eq!((told[0], told[told.len() - 1]), ((5001, Some(50), 950), (5000, Some(900), 100)));
        wake(&mut tasks, 5000);
        wake(&mut tasks, 5001);
        assert_eq!((tasks.by_task.len(), tasks.blocked.len()), (2000, 2000));
    }
}
