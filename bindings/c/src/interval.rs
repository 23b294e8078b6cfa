//! The structs of an interval, and of a task that died in it.

use std::ffi::{c_char, c_int};
use std::ptr;

use cpuledger_model::boottime::Boottime;
use cpuledger_model::framing::Circumstances;
use cpuledger_model::interval::{Exited, Interval};
use cpuledger_model::source_kind::SourceKind;

use crate::fill::{known, name, states};
use crate::row::cpuledger_states;
use crate::sized::Sized_;

/// `flags` of an interval: it is from a recording; `source` says where its numbers came from.
pub const CPULEDGER_INTERVAL_REPLAYED: u32 = 1;
/// `flags` of an interval: there are no books of it, because the service was not there, or nothing was recorded.
pub const CPULEDGER_INTERVAL_GAP: u32 = 2;
/// `flags` of an interval: the source sees what dies, so `exited` is a count.
pub const CPULEDGER_INTERVAL_SEES_EXITS: u32 = 4;

/// The books of one interval, without its rows: `capacity_ns = attributed_ns + idle_ns + unattributed_ns`, to the nanosecond, where the last two are
/// known.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_interval {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// Where the numbers come from: "ledger", "service" and so on. It is never freed.
    pub source: *const c_char,
    /// CPULEDGER_INTERVAL_…
    pub flags: u32,
    /// CPUs that were online at the end.
    pub online_cpus: u32,
    /// The earlier cut, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The later cut, CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// The later cut, CLOCK_REALTIME, in nanoseconds since 1970.
    pub end_realtime_ns: u64,
    /// The later cut, CLOCK_BOOTTIME, the clock of `start_time_ns` of rows.
    pub end_boottime_ns: u64,
    /// Online CPUs × length.
    pub capacity_ns: u64,
    /// The sum of `cpu_ns` over the processes.
    pub attributed_ns: u64,
    /// Time of the idle tasks. Unknown where the source has no exact cut.
    pub idle_ns: u64,
    /// What could not be attributed: the sum of the next four. Unknown where the source has no exact cut.
    pub unattributed_ns: u64,
    /// Of processes that found no slot.
    pub no_slot_ns: u64,
    /// Of the dead whose task was forgotten meanwhile.
    pub forgotten_task_ns: u64,
    /// Of CPUs that were online before a hook had seen what ran there.
    pub uncovered_cpu_ns: u64,
    /// Of all CPUs, while there were no books.
    pub not_attached_ns: u64,
    /// Rows of processes, for `cpuledger_process`.
    pub processes: u64,
    /// Rows of tasks, for `cpuledger_task`. 0 where the books are not kept by task.
    pub tasks: u64,
    /// Tasks that died, for `cpuledger_death`.
    pub exited: u64,
    /// Tasks that died and whose identity was lost. Their time is with their process or its heir.
    pub unidentified_exits: u64,
    /// Tasks that died and were not told of: their time is lost.
    pub missed_exits: u64,
    /// Tasks that were blocked all the time. Unknown where the source does not tell it.
    pub blocked_tasks: u64,
    /// Switches that the kernel has not shown.
    pub missed_switches: u64,
    /// CPU time of processes that the kernel hides. It is in the rows of others and in `idle_ns`.
    pub hidden_cpu_ns: u64,
    /// For how long the machine was suspended in the interval.
    pub suspended_ns: u64,
    /// Zero.
    pub reserved: [u64; 8],
}

// SAFETY: it begins with its size, and of numbers and pointers zeros are values.
unsafe impl Sized_ for cpuledger_interval {
    const LEAST_BYTES: usize = 256;
    const NAME: &'static str = "cpuledger_interval";
}

/// A task that died in an interval. Its time is in the rows, too: with its process, or with the heir of that.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_exited {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// CPU time in the interval.
    pub cpu_ns: u64,
    /// CPU time of its life.
    pub runtime_ns: u64,
    /// How long it lived.
    pub lifetime_ns: u64,
    /// CLOCK_BOOTTIME at its start. With the tid it says which task it was.
    pub start_time_ns: u64,
    /// The same of its process.
    pub process_start_time_ns: u64,
    /// The same of its heir.
    pub heir_start_time_ns: u64,
    /// The cgroup in which it died, in the unified hierarchy.
    pub cgroup_id: u64,
    /// What it did in the interval while it was on no CPU.
    pub states: cpuledger_states,
    /// Its tid.
    pub tid: i32,
    /// The pid of its process.
    pub pid: i32,
    /// The pid of its parent when it died; 0: not known.
    pub ppid: i32,
    /// The pid of the heir of its process, which gets its time if its process died; 0: not known.
    pub heir_pid: i32,
    /// Its real user.
    pub uid: u32,
    /// Its effective user; UINT32_MAX: not known.
    pub euid: u32,
    /// As wait(2) returns it; INT32_MIN: not known.
    pub exit_code: i32,
    /// Whether no thread of its process is left: 0 or 1; -1: not known.
    pub ends_process: i32,
    /// Its name, any bytes up to a NUL: escape it before it reaches a terminal.
    pub comm: [c_char; 64],
    /// Zero.
    pub reserved: [u64; 8],
}

// SAFETY: it begins with its size, and of numbers zeros are values.
unsafe impl Sized_ for cpuledger_exited {
    const LEAST_BYTES: usize = 288;
    const NAME: &'static str = "cpuledger_exited";
}

const _: () = assert!(size_of::<cpuledger_interval>() == cpuledger_interval::LEAST_BYTES);
const _: () = assert!(size_of::<cpuledger_exited>() == cpuledger_exited::LEAST_BYTES);

impl cpuledger_interval {
    /// That of an interval.
    pub(crate) fn of(interval: &Interval, of: &Circumstances<'_>) -> cpuledger_interval {
        let by = &interval.unattributed_by;
        let is_gap = by.not_attached_ns == interval.capacity_ns && interval.processes.is_empty();
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        cpuledger_interval {
            size: 0,
            source: source(interval.source),
            flags: flag(interval.is_replayed, CPULEDGER_INTERVAL_REPLAYED)
                | flag(is_gap, CPULEDGER_INTERVAL_GAP)
                | flag(interval.exited.is_some(), CPULEDGER_INTERVAL_SEES_EXITS),
            online_cpus: interval.online_cpus,
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            end_realtime_ns: known(of.end_realtime_ns),
            end_boottime_ns: known(of.end.map(Boottime::ns)),
            capacity_ns: interval.capacity_ns,
            attributed_ns: interval.attributed_ns,
            idle_ns: known(interval.idle_ns),
            unattributed_ns: known(interval.unattributed_ns),
            no_slot_ns: by.no_slot_ns,
            forgotten_task_ns: by.forgotten_task_ns,
            uncovered_cpu_ns: by.uncovered_cpu_ns,
            not_attached_ns: by.not_attached_ns,
            processes: interval.processes.len() as u64,
            tasks: interval.tasks.len() as u64,
            exited: interval.exited.as_ref().map_or(0, |exited| exited.len() as u64),
            unidentified_exits: known(interval.unidentified_exits),
            missed_exits: interval.missed_exits,
            blocked_tasks: known(interval.blocked.as_ref().map(|_| interval.blocked_tasks)),
            missed_switches: known(interval.missed_switches),
            hidden_cpu_ns: known(interval.hidden_cpu_ns),
            suspended_ns: known(of.suspended_ns),
            reserved: [0; 8],
        }
    }
}

impl cpuledger_exited {
    /// That of a death.
    pub(crate) fn of(exited: &Exited) -> cpuledger_exited {
        let exit = &exited.exit;
        let start_ns = |start: Boottime| start.ns();
        cpuledger_exited {
            size: 0,
            cpu_ns: exited.cpu_ns,
            runtime_ns: exit.runtime_ns,
            lifetime_ns: exit.lifetime_ns,
            start_time_ns: start_ns(exit.task.start_time_ns),
            process_start_time_ns: start_ns(exit.process.start_time_ns),
            heir_start_time_ns: known(exited.accounting_start.map(start_ns)),
            cgroup_id: known(exit.cgroup_id),
            states: states(exited.states.as_ref()),
            tid: exit.task.tid.0,
            pid: exit.process.tid.0,
            ppid: exit.ppid.0,
            heir_pid: exited.accounting_parent.map_or(0, |pid| pid.0),
            uid: exit.uid,
            euid: exit.euid.unwrap_or(u32::MAX),
            exit_code: exit.exit_code.unwrap_or(c_int::MIN),
            ends_process: exited.ends_process.map_or(-1, i32::from),
            comm: name(&exit.comm),
            reserved: [0; 8],
        }
    }
}

/// The name of a source as C has it.
fn source(kind: SourceKind) -> *const c_char {
    let name = match kind {
        SourceKind::Service => c"service",
        SourceKind::Ledger => c"ledger",
        SourceKind::Walk => c"walk",
        SourceKind::Netlink => c"netlink",
        SourceKind::Procfs => c"procfs",
    };
    ptr::from_ref(name).cast()
}
