//! What a slot tells: which task it is of, its process, what that used and did, its end, and a row where nothing else tells one.

use cpuledger_bpf::abi;
use cpuledger_bpf::ledger::{Off, TaskTime};
use cpuledger_model::boottime::Boottime;
use cpuledger_model::exit::Exit;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::interval::{Owner, Renumbered};
use cpuledger_model::make;
use cpuledger_model::states::States;
use cpuledger_model::task::{Comm, Pid, Task, TaskId, Tid};

use crate::attribution::Increment;
use crate::source::records::of_dead;

/// The order in which tasks are listed and looked for.
pub(super) fn order(time: &TaskTime) -> (i32, bool, i32) {
    let slot = &time.slot;
    (slot.pid, slot.tid != slot.pid, slot.tid)
}

/// Whether a task has died, or goes on under another tid. A slot that has only collected the time of a process ends too.
pub(super) fn has_ended(time: &TaskTime) -> bool {
    const ENDS: u32 = abi::CPULEDGER_SLOT_EXITED | abi::CPULEDGER_SLOT_RENUMBERED;
    time.is_last && u32::from(time.slot.flags) & ENDS != 0
}

/// Whether all threads of its process had begun to exit by its last switch.
pub(super) fn is_last_of_process(time: &TaskTime) -> bool {
    time.is_last && u32::from(time.slot.flags) & abi::CPULEDGER_SLOT_PROCESS_DEAD != 0
}

pub(super) fn has_died(time: &TaskTime) -> bool {
    time.is_last && u32::from(time.slot.flags) & abi::CPULEDGER_SLOT_EXITED != 0
}

pub(super) fn task_of(slot: &abi::cpuledger_slot) -> TaskId {
    TaskId::new(slot.tid, slot.start_time_ns)
}

/// Its accounting parent, as its slot has it; tid 0: it has none.
pub(super) fn parent_of(slot: &abi::cpuledger_slot) -> TaskId {
    TaskId::new(slot.parent_pid, slot.parent_start_time_ns)
}

pub(super) fn process_of(slot: &abi::cpuledger_slot) -> TaskId {
    TaskId::new(slot.pid, slot.process_start_time_ns)
}

/// What a task used. `process_is_dead`: no thread of its process is left.
pub(super) fn increment(time: &TaskTime, process_is_dead: bool) -> Increment {
    let slot = &time.slot;
    let is_collector = u32::from(slot.flags) & abi::CPULEDGER_SLOT_COLLECTS != 0;
    Increment {
        process: process_of(slot),
        parent: Some(parent_of(slot)),
        cpu_ns: time.wall_ns,
        folded_threads_ns: time.folded_threads_ns,
        folded_children_ns: time.folded_children_ns,
        comm: Some((Comm::from_c_bytes(&slot.comm), slot.tid != slot.pid || is_collector)),
        has_died: has_died(time),
        process_is_dead,
    }
}

pub(super) fn exit(time: &TaskTime) -> Exit {
    let slot = &time.slot;
    let (cgroup_id, cgroup_v1_cpu_id) = of_dead(time.cgroup[0], time.cgroup[1]);
    make!(Exit {
        task: task_of(slot),
        process: process_of(slot),
        ppid: Pid(slot.ppid_or_next_free.cast_signed()),
        comm: Comm::from_c_bytes(&slot.comm),
        uid: slot.uid,
        euid: Some(slot.euid),
        exit_code: Some(slot.exit_code.into()),
        runtime_ns: slot.last.cpu_time.runtime_ns,
        lifetime_ns: slot.lifetime_ns,
        cgroup_id,
        cgroup_v1_cpu_id,
    })
}

/// One that goes on under another tid.
pub(super) fn renumbered(time: &TaskTime) -> Renumbered {
    let slot = &time.slot;
    let owner = make!(Owner { process: process_of(slot), uid: slot.uid, euid: slot.euid });
    make!(Renumbered { task: task_of(slot), owner: Some(owner) })
}

/// What a task did that has run in the interval.
pub(super) fn states_of(time: &TaskTime, cut_ns: u64) -> Option<States> {
    let Off { time: [waits_ns, sleep_ns, not_io_ns, io_wait_ns, stopped_ns, unseen_ns], begin_ns, .. } =
        time.off?;
    let end_ns = if time.is_last { time.slot.end_ns_or_batch } else { cut_ns };
    Some(make!(States {
        elapsed_ns: end_ns.saturating_sub(begin_ns),
        runqueue_wait_ns: waits_ns,
        blocked_ns: not_io_ns + io_wait_ns,
        io_wait_ns,
        sleep_ns,
        stopped_ns,
        unseen_ns,
    }))
}

/// Whether a task had no time on a CPU that the hooks were shown, though it may have had some. For one that the walk does not see either,
/// "0" would be untrue.
pub(super) fn is_lost(time: &TaskTime, states: Option<States>) -> bool {
    time.wall_ns == 0 && states.is_some_and(|states| states.unseen_ns > 0)
}

/// When a task was born, CLOCK_MONOTONIC, where it is told what it did; 0: it is not. Its start is of another clock, which goes on while the
/// machine is suspended: for how long it was so by then, nothing tells.
pub(super) fn born_ns(time: &TaskTime) -> u64 {
    time.off.map_or(0, |off| off.first_ns)
}

/// What a slot tells of a task that could not be looked at.
pub(super) fn row_of_slot(slot: &abi::cpuledger_slot) -> Task {
    make!(Task {
        known: FieldSet::of(&[
            Field::Tid,
            Field::Pid,
            Field::StartTime,
            Field::Uid,
            Field::Euid,
            Field::Comm,
        ]),
        tid: Tid(slot.tid),
        pid: Pid(slot.pid),
        start_time_ns: Boottime::from_ns(slot.start_time_ns),
        uid: slot.uid,
        euid: slot.euid,
        comm: Comm::from_c_bytes(&slot.comm),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::difference::lives::{Lives, Seen};
    use crate::life::Stretch;
    use cpuledger_model::counters::Counters;

    /// It is born at 1,000 ns, and the machine is suspended for 4,000 ns in its first interval, which begins at 900 ns.
    #[test]
    fn a_suspension_is_no_part_of_a_life() {
        let slot = abi::cpuledger_slot { tid: 7, pid: 7, start_time_ns: 1000, ..Default::default() };
        let off =
            Off { time: [0, 490, 0, 0, 0, 0], at_cut: None, since_ns: None, begin_ns: 1000, first_ns: 1000 };
        let time = TaskTime {
            cgroup: [0; 2],
            number: 3,
            wall_ns: 10,
            folded_threads_ns: 0,
            folded_children_ns: 0,
            is_last: true,
            is_running: false,
            off: Some(off),
            slot: abi::cpuledger_slot { end_ns_or_batch: 1500, ..slot },
        };
        let states = states_of(&time, 2000).expect("they are told");
        let stretch = Stretch {
            states,
            begin_ns: off.begin_ns,
            end_ns: 1500,
            rests: cpuledger_model::states::OffState::Unseen,
        };
        let seen = Seen {
            number: 3,
            task: task_of(&slot),
            process: process_of(&slot),
            first_runtime_ns: 0,
            first: None,
            wall_ns: 10,
            is_running: false,
            stretch: Some(stretch),
            born_ns: born_ns(&time).max(800),
        };
        let (_, lived) = Lives::new(Boottime::from_ns(800)).end(&seen, &Counters::ZERO);
        let lived = lived.expect("all of it is known");
        assert_eq!((lived.states.elapsed_ns, lived.states.unseen_ns, lived.imbalance_ns()), (500, 0, 0));
    }
}
