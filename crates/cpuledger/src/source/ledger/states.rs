//! What tasks did off the CPU: of those that ran from the kernel half, of the others by what they did when they ran last.

use cpuledger_bpf::ledger::{Off, OffState, TaskTime};
use rustc_hash::FxHashMap;

use super::blocked::BlockedTasks;
use crate::clock::Boottime;
use crate::field::Field;
use crate::states::{States, off_state};
use crate::task::{Task, TaskId};

/// The state of a living task that has not run since.
#[derive(Debug, Clone, Copy)]
struct Resting {
    task: TaskId,
    process: TaskId,
    state: OffState,
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
        match row.state.0 {
            b'Z' | b'X' if row.known.contains(Field::State) => 0,
            _ => self.end.since_ns(row.start_time_ns).min(self.length_ns),
        }
    }
}

/// Tasks that do something else than sleeping, and have not run since: by slot, and how many of each process. The others sleep.
#[derive(Debug, Default)]
pub(super) struct RestingTasks {
    by_slot: FxHashMap<u32, Resting>,
    by_task: FxHashMap<TaskId, OffState>,
    by_process: FxHashMap<TaskId, FxHashMap<OffState, u32>>,
    /// Those that are blocked, by name: these stay known where slots get other numbers.
    pub(super) blocked: BlockedTasks,
}

impl RestingTasks {
    /// Forgets what is kept by slot: slots have other numbers from now on.
    pub(super) fn clear(&mut self) {
        self.by_slot.clear();
        self.by_task.clear();
        self.by_process.clear();
    }

    /// A task has run in an interval. Not to be called before [`RestingTasks::add_to`] was for that interval.
    pub(super) fn wake(&mut self, slot: u32, task: TaskId) {
        self.blocked.wake(task);
        let Some(Resting { task, process, state }) = self.by_slot.remove(&slot) else { return };
        self.by_task.remove(&task);
        // An exec may have changed its tid.
        self.blocked.wake(task);
        let Some(counts) = self.by_process.get_mut(&process) else { return };
        if let Some(count) = counts.get_mut(&state) {
            *count -= 1;
            counts.retain(|_, count| *count > 0);
        }
        if counts.is_empty() {
            self.by_process.remove(&process);
        }
    }

    /// The task of this slot does this at the cut.
    pub(super) fn rest(&mut self, slot: u32, task: TaskId, process: TaskId, state: OffState) {
        if state != OffState::Sleeps {
            self.by_slot.insert(slot, Resting { task, process, state });
            self.by_task.insert(task, state);
            *self.by_process.entry(process).or_default().entry(state).or_default() += 1;
        }
    }

    /// What a process or a task did that has not run in an interval, by its row; `None`: that does not tell it. `has_run`: whether it is
    /// known to have run before, since the ledger was attached.
    pub(super) fn of_idle(
        &self,
        row: &Task,
        time: &IdleTime,
        is_process: bool,
        has_run: bool,
    ) -> Option<States> {
        let mut states = States::default();
        let alive_ns = time.of(row);
        if is_process && row.threads > 1 {
            // A leader that has died is none of its threads.
            let alive_ns = if alive_ns == 0 { time.length_ns } else { alive_ns };
            self.add_to(&mut states, row.id(), row.threads.into(), alive_ns);
        } else if alive_ns > 0 {
            let by_row = || Some(row.state).filter(|_| row.known.contains(Field::State)).and_then(off_state);
            let state = match self.by_task.get(&row.id()) {
                Some(state) => *state,
                // Its row is younger than the cut: it may run by now, or have gone to do something else.
                None if has_run => OffState::Sleeps,
                None => by_row()?,
            };
            states.add_time(state, alive_ns);
        }
        Some(states)
    }

    /// Adds what `tasks` tasks of a process did that have not run in an interval of this length.
    pub(super) fn add_to(&self, states: &mut States, process: TaskId, mut tasks: u64, length_ns: u64) {
        for (state, count) in self.by_process.get(&process).into_iter().flatten() {
            let count = u64::from(*count).min(tasks);
            tasks -= count;
            states.add_time(*state, count * length_ns);
        }
        states.add_time(OffState::Sleeps, tasks * length_ns);
    }
}

/// What a task did that has run in the interval.
pub(super) fn states_of(time: &TaskTime, cut_ns: u64) -> Option<States> {
    let Off { time: off, begin_ns, .. } = time.off?;
    let end_ns = if time.is_last { time.slot.end_ns_or_batch } else { cut_ns };
    Some(States {
        elapsed_ns: end_ns.saturating_sub(begin_ns),
        runqueue_wait_ns: off.waits_ns,
        blocked_ns: off.blocked_ns + off.io_ns,
        io_wait_ns: off.io_ns,
        sleep_ns: off.sleeps_ns,
        stopped_ns: off.stopped_ns,
        unseen_ns: off.unseen_ns,
    })
}

#[cfg(test)]
mod tests {
    use cpuledger_bpf::ledger::OffState;

    use super::{IdleTime, RestingTasks};
    use crate::clock::Boottime;
    use crate::field::{Field, FieldSet};
    use crate::states::States;
    use crate::task::{State, Task, TaskId, Tid};

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
        let mut states = States::default();
        resting.add_to(&mut states, process, 10, 100);
        let expected = States {
            elapsed_ns: 1000,
            blocked_ns: 100,
            io_wait_ns: 100,
            stopped_ns: 100,
            sleep_ns: 800,
            ..States::default()
        };
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
        let row = |state, start| Task {
            known: FieldSet::of(&[Field::State]),
            tid: task.tid,
            state: State(state),
            start_time_ns: Boottime::from_ns(start),
            threads: 1,
            ..Task::default()
        };
        let told = |resting: &RestingTasks, row: &Task, has_run| {
            resting.of_idle(row, &time, true, has_run).expect("it is known")
        };
        let asleep = States { elapsed_ns: 1000, sleep_ns: 1000, ..States::default() };
        let blocked = States { elapsed_ns: 1000, blocked_ns: 1000, ..States::default() };
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
