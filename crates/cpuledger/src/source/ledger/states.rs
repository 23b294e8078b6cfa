//! What tasks did off the CPU: of those that ran from the kernel half, of the others by what they did when they ran last.

use cpuledger_bpf::ledger::{Off, OffState, TaskTime};
use rustc_hash::FxHashMap;

use crate::field::Field;
use crate::states::States;
use crate::task::{Task, TaskId};

/// The state of a living task that has not run since.
#[derive(Debug, Clone, Copy)]
struct Resting {
    process: TaskId,
    state: OffState,
}

/// Tasks that do something else than sleeping, and have not run since: by slot, and how many of each process. The others sleep.
#[derive(Debug, Default)]
pub(super) struct RestingTasks {
    by_slot: FxHashMap<u32, Resting>,
    by_process: FxHashMap<TaskId, FxHashMap<OffState, u32>>,
}

impl RestingTasks {
    /// Forgets all: slots have other numbers from now on.
    pub(super) fn clear(&mut self) {
        self.by_slot.clear();
        self.by_process.clear();
    }

    /// The task of this slot has run in an interval. Not to be called before [`RestingTasks::add_to`] was for that interval.
    pub(super) fn wake(&mut self, slot: u32) {
        let Some(Resting { process, state }) = self.by_slot.remove(&slot) else { return };
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
    pub(super) fn rest(&mut self, slot: u32, process: TaskId, state: OffState) {
        if state != OffState::Sleeps {
            self.by_slot.insert(slot, Resting { process, state });
            *self.by_process.entry(process).or_default().entry(state).or_default() += 1;
        }
    }

    /// What a process or a task did that has not run in an interval of this length, by its row; `None`: that does not tell it.
    pub(super) fn of_idle(&self, row: &Task, length_ns: u64, is_process: bool) -> Option<States> {
        if is_process && row.threads > 1 {
            let mut states = States::default();
            self.add_to(&mut states, row.id(), row.threads.into(), length_ns);
            return Some(states);
        }
        // It is what it was all the time, as it has not run.
        let state = Some(row.state).filter(|_| row.known.contains(Field::State))?;
        States::of_one(state, length_ns)
    }

    /// Adds what `tasks` tasks of a process did that have not run in an interval of this length.
    pub(super) fn add_to(&self, states: &mut States, process: TaskId, mut tasks: u64, length_ns: u64) {
        for (state, count) in self.by_process.get(&process).into_iter().flatten() {
            let count = u64::from(*count).min(tasks);
            tasks -= count;
            add(states, *state, count * length_ns);
        }
        add(states, OffState::Sleeps, tasks * length_ns);
    }
}

/// Adds time in one state.
fn add(states: &mut States, state: OffState, ns: u64) {
    states.elapsed_ns += ns;
    match state {
        OffState::Waits => states.runqueue_wait_ns += ns,
        OffState::Sleeps => states.sleep_ns += ns,
        OffState::Blocked => states.blocked_ns += ns,
        OffState::Io => {
            states.blocked_ns += ns;
            states.io_wait_ns += ns;
        }
        OffState::Stopped => states.stopped_ns += ns,
        OffState::Unseen => states.unseen_ns += ns,
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

    use super::RestingTasks;
    use crate::clock::Boottime;
    use crate::states::States;
    use crate::task::{TaskId, Tid};

    #[test]
    fn tasks_that_do_not_run_are_counted_by_what_they_do() {
        let process = TaskId { tid: Tid(7), start_time_ns: Boottime::from_ns(1) };
        let mut resting = RestingTasks::default();
        for (slot, state) in
            [(2, OffState::Io), (3, OffState::Stopped), (4, OffState::Sleeps), (5, OffState::Io)]
        {
            resting.rest(slot, process, state);
        }
        resting.wake(5);
        resting.wake(4);
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
        resting.wake(2);
        resting.wake(3);
        assert!(resting.by_process.is_empty() && resting.by_slot.is_empty());
    }
}
