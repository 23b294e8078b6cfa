//! Which deaths end a process.

use cpuledger_bpf::ledger::TaskTime;
use cpuledger_model::task::TaskId;
use rustc_hash::FxHashSet;

use crate::attribution::Increment;

use super::slot::{increment, is_last_of_process, process_of};

/// The processes of an interval of which a task had its last switch when all were about to exit, while another has yet to have its own. They
/// live until then: that task has a row and its time, and is its process's.
#[derive(Debug, Default)]
pub(super) struct Ends {
    outlived: FxHashSet<TaskId>,
}

impl Ends {
    /// Of these tasks.
    pub(super) fn of(tasks: &[TaskTime]) -> Ends {
        let ending: FxHashSet<TaskId> =
            tasks.iter().filter(|time| is_last_of_process(time)).map(|time| process_of(&time.slot)).collect();
        if ending.is_empty() {
            return Ends::default();
        }
        let living = tasks.iter().filter(|time| !time.is_last && time.total_ns() > 0);
        let outlived = living.map(|time| process_of(&time.slot)).filter(|process| ending.contains(process));
        Ends { outlived: outlived.collect() }
    }

    /// Whether no thread of its process is left.
    pub(super) fn ends_process(&self, time: &TaskTime) -> bool {
        is_last_of_process(time) && !self.outlived.contains(&process_of(&time.slot))
    }

    /// What a task used.
    pub(super) fn increment(&self, time: &TaskTime) -> Increment {
        increment(time, self.ends_process(time))
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_bpf::abi;
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::attribution::{Attribution, Parts};

    fn time(tid: i32, wall_ns: u64, is_last: bool) -> TaskTime {
        let flags = (abi::CPULEDGER_SLOT_EXITED | abi::CPULEDGER_SLOT_PROCESS_DEAD) as u16;
        TaskTime {
            cgroup: [0; 2],
            number: tid.cast_unsigned(),
            wall_ns,
            folded_threads_ns: 0,
            folded_children_ns: 0,
            is_last,
            is_running: false,
            off: None,
            slot: abi::cpuledger_slot {
                tid,
                pid: 7,
                parent_pid: 1,
                flags: if is_last { flags } else { 0 },
                ..Default::default()
            },
        }
    }

    fn settle(attribution: &mut Attribution, now_ns: u64, tasks: &[TaskTime]) -> Vec<(i32, Parts)> {
        let ends = Ends::of(tasks);
        let mut parts = FxHashMap::default();
        attribution.settle(now_ns, tasks.iter().map(|time| ends.increment(time)), &mut parts);
        let mut parts: Vec<_> = parts.into_iter().map(|(process, parts)| (process.tid.0, parts)).collect();
        parts.sort_unstable_by_key(|(pid, _)| *pid);
        parts
    }

    /// All threads exit at once, and the cut comes before the last switch of one of them.
    #[test]
    fn a_process_lives_until_its_last_task_has_ended() {
        let mut attribution = Attribution::default();
        let told = settle(&mut attribution, 100, &[time(7, 3, true), time(8, 4, true), time(9, 12, false)]);
        let own = Parts { self_ns: 12, exited_threads_ns: 7, ..Parts::default() };
        assert_eq!(told, [(7, own)]);
        let told = settle(&mut attribution, 200, &[time(9, 5, true)]);
        assert_eq!(told, [(1, Parts { exited_children_ns: 5, ..Parts::default() })]);
    }

    #[test]
    fn a_process_whose_tasks_have_all_ended_is_dead() {
        let told = settle(&mut Attribution::default(), 100, &[time(7, 3, true), time(8, 4, true)]);
        assert_eq!(told, [(1, Parts { exited_children_ns: 7, ..Parts::default() })]);
    }
}
