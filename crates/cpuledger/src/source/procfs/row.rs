//! From parsed files to the members of a row, in the units of the field table.

use cpuledger_model::boottime::Boottime;
use cpuledger_model::field::{Field, FieldSet, IO};
use cpuledger_model::make;
use cpuledger_model::task::{Comm, Pid, State, Task, Tid};
use cpuledger_proc::task::io::Io;
use cpuledger_proc::task::schedstat::Schedstat;
use cpuledger_proc::task::stat::Stat;
use cpuledger_proc::task::statm::Statm;
use cpuledger_proc::task::status::Status;

use super::needs;

/// What the numbers of /proc are counted in.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Units {
    /// USER_HZ.
    pub ticks_per_second: u64,
    /// Of a page.
    pub page_bytes: u64,
}

impl Units {
    /// Of this machine.
    pub fn of_this_machine() -> Units {
        Units {
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    fn nanoseconds(self, ticks: u64) -> u64 {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

/// The row that `stat` alone makes; `None` for what is left of a task that has been reaped while it was read.
pub fn from_stat(pid: i32, stat: &Stat<'_>, units: Units) -> Option<Task> {
    if stat.threads == 0 {
        return None; // the kernel found no signal_struct: parent, session and totals are missing
    }
    Some(make!(Task {
        known: needs::STAT,
        tid: Tid(stat.tid),
        pid: Pid(pid),
        ppid: Pid(stat.ppid),
        pgid: stat.pgid,
        sid: stat.sid,
        tty_device: stat.tty_device,
        tty_pgid: stat.tty_pgid,
        start_time_ns: Boottime::from_ns(units.nanoseconds(stat.start_ticks)),
        comm: Comm::new(stat.comm),
        state: State(stat.state),
        flags: stat.flags,
        exit_signal: stat.exit_signal,
        nice: stat.nice,
        priority: stat.priority,
        rt_priority: stat.rt_priority,
        policy: stat.policy,
        processor: stat.processor,
        threads: stat.threads,
        user_ns: units.nanoseconds(stat.user_ticks),
        system_ns: units.nanoseconds(stat.system_ticks),
        children_user_ns: units.nanoseconds(stat.children_user_ticks),
        children_system_ns: units.nanoseconds(stat.children_system_ticks),
        vsize_bytes: stat.vsize_bytes,
        minor_faults: stat.minor_faults,
        major_faults: stat.major_faults,
        children_minor_faults: stat.children_minor_faults,
        children_major_faults: stat.children_major_faults,
    }))
}

/// Adds `status`. Switches in it are those of one task: of a process they are known only as long as it has no other.
pub fn add_status(row: &mut Task, status: &Status, is_process: bool) {
    [row.uid, row.euid, row.suid, row.fsuid] = status.uids;
    [row.gid, row.egid, row.sgid, row.fsgid] = status.gids;
    let mut known = needs::CREDENTIALS.union(needs::RESIDENT).union(needs::SWAP_AND_LOCKED);
    if let Some(tid) = status.namespace_tid {
        row.namespace_tid = tid;
        known = known.union(needs::NAMESPACE_TID);
    }
    // No lines: no memory of its own, so none that is resident.
    let memory = status.memory.unwrap_or_default();
    row.rss_bytes = memory.rss_bytes;
    row.shared_bytes = memory.shared_bytes;
    row.swap_bytes = memory.swap_bytes;
    row.locked_bytes = memory.locked_bytes;
    if !is_process || row.threads == 1 {
        row.voluntary_switches = status.voluntary_switches;
        row.involuntary_switches = status.involuntary_switches;
        known = known.union(needs::SWITCHES);
    }
    row.known = row.known.union(known);
}

/// Adds `statm`.
pub fn add_statm(row: &mut Task, statm: Statm, units: Units) {
    row.rss_bytes = statm.resident_pages.saturating_mul(units.page_bytes);
    row.shared_bytes = statm.shared_pages.saturating_mul(units.page_bytes);
    row.known = row.known.union(needs::RESIDENT);
}

/// Adds `io`.
pub fn add_io(row: &mut Task, io: Io) {
    row.read_bytes = io.read_bytes;
    row.write_bytes = io.write_bytes;
    row.cancelled_write_bytes = io.cancelled_write_bytes;
    row.known = row.known.union(IO);
}

/// Adds `schedstat`: of a task all of it, of a process with one thread the waiting; its runtime may lack dead threads.
pub fn add_schedstat(row: &mut Task, schedstat: Schedstat, is_process: bool) {
    add_runqueue_wait(row, schedstat.wait_ns);
    if !is_process {
        add_runtime(row, schedstat.runtime_ns);
    }
}

/// Adds the time it was runnable without a CPU.
pub fn add_runqueue_wait(row: &mut Task, wait_ns: u64) {
    row.runqueue_wait_ns = wait_ns;
    row.known = row.known.union(needs::RUNQUEUE_WAIT);
}

/// Adds the identifiers of its cgroups that are known.
pub fn add_cgroups(row: &mut Task, unified: Option<u64>, v1_cpu: Option<u64>) {
    for (id, member, field) in [
        (unified, &mut row.cgroup_id, Field::CgroupId),
        (v1_cpu, &mut row.cgroup_v1_cpu_id, Field::CgroupV1CpuId),
    ] {
        if let Some(id) = id {
            *member = id;
            row.known = row.known.union(FieldSet::of(&[field]));
        }
    }
}

/// Adds the CPU time by the scheduler's clock.
pub fn add_runtime(row: &mut Task, runtime_ns: u64) {
    row.runtime_ns = runtime_ns;
    row.known = row.known.union(needs::RUNTIME);
}

/// A leader that has exited before its threads: it has no memory any more, they still have.
pub fn has_lost_its_leader(process: &Task) -> bool {
    process.threads > 1 && matches!(process.state.0, b'Z' | b'X')
}

/// The memory of a thread is that of its process.
pub fn share_memory(task: &mut Task, process: &Task) {
    task.vsize_bytes = process.vsize_bytes;
    task.rss_bytes = process.rss_bytes;
    task.shared_bytes = process.shared_bytes;
    task.swap_bytes = process.swap_bytes;
    task.locked_bytes = process.locked_bytes;
    let of_process = needs::MEMORY.without(FieldSet::ALL.without(process.known));
    task.known = task.known.without(needs::MEMORY).union(of_process);
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::field::Value;

    const UNITS: Units = Units { ticks_per_second: 100, page_bytes: 4096 };
    const STATUS: Status = Status {
        uids: [1, 2, 3, 4],
        gids: [5, 6, 7, 8],
        namespace_tid: None,
        memory: None,
        voluntary_switches: 9,
        involuntary_switches: 10,
    };

    fn row(threads: u32) -> Task {
        make!(Task { threads })
    }

    #[test]
    fn ticks_become_nanoseconds_and_never_overflow() {
        assert_eq!(UNITS.nanoseconds(123), 1_230_000_000);
        assert_eq!(UNITS.nanoseconds(u64::MAX), u64::MAX);
        assert_eq!(Units { ticks_per_second: 1024, ..UNITS }.nanoseconds(1024), 1_000_000_000);
    }

    #[test]
    fn switches_of_a_leader_are_not_those_of_its_process() {
        for (threads, is_process, expected) in
            [(1, true, Value::Unsigned(9)), (2, true, Value::Absent), (2, false, Value::Unsigned(9))]
        {
            let mut row = row(threads);
            add_status(&mut row, &STATUS, is_process);
            assert_eq!(Field::VoluntarySwitches.value(&row), expected, "{threads} {is_process}");
            assert_eq!(Field::Fsgid.value(&row), Value::Unsigned(8));
        }
    }

    #[test]
    fn runtime_of_a_process_is_not_that_of_its_leader() {
        let schedstat = Schedstat { runtime_ns: 1, wait_ns: 2, timeslices: 3 };
        let mut process = row(1);
        add_schedstat(&mut process, schedstat, true);
        assert_eq!(Field::RunqueueWait.value(&process), Value::Unsigned(2));
        assert_eq!(Field::Runtime.value(&process), Value::Absent);
        let mut task = row(1);
        add_schedstat(&mut task, schedstat, false);
        assert_eq!(Field::Runtime.value(&task), Value::Unsigned(1));
    }

    #[test]
    fn threads_have_the_memory_of_their_process_or_none_that_is_known() {
        let mut process = make!(Task { vsize_bytes: 7, known: needs::STAT, ..row(2) });
        add_statm(&mut process, Statm { resident_pages: 2, shared_pages: 1 }, UNITS);
        let mut task = make!(Task { known: needs::STAT });
        share_memory(&mut task, &process);
        assert_eq!(Field::Rss.value(&task), Value::Unsigned(8192));
        assert_eq!(Field::Vsize.value(&task), Value::Unsigned(7));
        assert_eq!(Field::Swap.value(&task), Value::Absent);
        process.known = process.known.without(needs::MEMORY);
        share_memory(&mut task, &process);
        assert_eq!(Field::Rss.value(&task), Value::Absent);
    }
}
