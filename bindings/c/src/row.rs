//! The structs of rows. `tests/header.rs` makes this file of the table of fields: change that, or `tests/generated/mod.rs`.

use std::ffi::c_char;

use crate::sized::Sized_;

/// The bit of `tid` in `known`.
pub const CPULEDGER_FIELD_TID: u32 = 0;
/// The bit of `pid` in `known`.
pub const CPULEDGER_FIELD_PID: u32 = 1;
/// The bit of `ppid` in `known`.
pub const CPULEDGER_FIELD_PPID: u32 = 2;
/// The bit of `pgid` in `known`.
pub const CPULEDGER_FIELD_PGID: u32 = 3;
/// The bit of `sid` in `known`.
pub const CPULEDGER_FIELD_SID: u32 = 4;
/// The bit of `tty_device` in `known`.
pub const CPULEDGER_FIELD_TTY_DEVICE: u32 = 5;
/// The bit of `tty_pgid` in `known`.
pub const CPULEDGER_FIELD_TTY_PGID: u32 = 6;
/// The bit of `start_time_ns` in `known`.
pub const CPULEDGER_FIELD_START_TIME_NS: u32 = 7;
/// The bit of `uid` in `known`.
pub const CPULEDGER_FIELD_UID: u32 = 8;
/// The bit of `euid` in `known`.
pub const CPULEDGER_FIELD_EUID: u32 = 9;
/// The bit of `suid` in `known`.
pub const CPULEDGER_FIELD_SUID: u32 = 10;
/// The bit of `fsuid` in `known`.
pub const CPULEDGER_FIELD_FSUID: u32 = 11;
/// The bit of `gid` in `known`.
pub const CPULEDGER_FIELD_GID: u32 = 12;
/// The bit of `egid` in `known`.
pub const CPULEDGER_FIELD_EGID: u32 = 13;
/// The bit of `sgid` in `known`.
pub const CPULEDGER_FIELD_SGID: u32 = 14;
/// The bit of `fsgid` in `known`.
pub const CPULEDGER_FIELD_FSGID: u32 = 15;
/// The bit of `comm` in `known`.
pub const CPULEDGER_FIELD_COMM: u32 = 16;
/// The bit of `state` in `known`.
pub const CPULEDGER_FIELD_STATE: u32 = 17;
/// The bit of `flags` in `known`.
pub const CPULEDGER_FIELD_FLAGS: u32 = 18;
/// The bit of `exit_signal` in `known`.
pub const CPULEDGER_FIELD_EXIT_SIGNAL: u32 = 19;
/// The bit of `nice` in `known`.
pub const CPULEDGER_FIELD_NICE: u32 = 20;
/// The bit of `priority` in `known`.
pub const CPULEDGER_FIELD_PRIORITY: u32 = 21;
/// The bit of `rt_priority` in `known`.
pub const CPULEDGER_FIELD_RT_PRIORITY: u32 = 22;
/// The bit of `policy` in `known`.
pub const CPULEDGER_FIELD_POLICY: u32 = 23;
/// The bit of `processor` in `known`.
pub const CPULEDGER_FIELD_PROCESSOR: u32 = 24;
/// The bit of `threads` in `known`.
pub const CPULEDGER_FIELD_THREADS: u32 = 25;
/// The bit of `namespace_tid` in `known`.
pub const CPULEDGER_FIELD_NAMESPACE_TID: u32 = 26;
/// The bit of `vsize_bytes` in `known`.
pub const CPULEDGER_FIELD_VSIZE_BYTES: u32 = 27;
/// The bit of `rss_bytes` in `known`.
pub const CPULEDGER_FIELD_RSS_BYTES: u32 = 28;
/// The bit of `shared_bytes` in `known`.
pub const CPULEDGER_FIELD_SHARED_BYTES: u32 = 29;
/// The bit of `swap_bytes` in `known`.
pub const CPULEDGER_FIELD_SWAP_BYTES: u32 = 30;
/// The bit of `locked_bytes` in `known`.
pub const CPULEDGER_FIELD_LOCKED_BYTES: u32 = 31;
/// The bit of `cgroup_id` in `known`.
pub const CPULEDGER_FIELD_CGROUP_ID: u32 = 32;
/// The bit of `cgroup_v1_cpu_id` in `known`.
pub const CPULEDGER_FIELD_CGROUP_V1_CPU_ID: u32 = 33;
/// The bit of `runtime_ns` in `known`.
pub const CPULEDGER_FIELD_RUNTIME_NS: u32 = 40;
/// The bit of `user_ns` in `known`.
pub const CPULEDGER_FIELD_USER_NS: u32 = 41;
/// The bit of `system_ns` in `known`.
pub const CPULEDGER_FIELD_SYSTEM_NS: u32 = 42;
/// The bit of `children_user_ns` in `known`.
pub const CPULEDGER_FIELD_CHILDREN_USER_NS: u32 = 43;
/// The bit of `children_system_ns` in `known`.
pub const CPULEDGER_FIELD_CHILDREN_SYSTEM_NS: u32 = 44;
/// The bit of `runqueue_wait_ns` in `known`.
pub const CPULEDGER_FIELD_RUNQUEUE_WAIT_NS: u32 = 45;
/// The bit of `block_io_delay_ns` in `known`.
pub const CPULEDGER_FIELD_BLOCK_IO_DELAY_NS: u32 = 46;
/// The bit of `swap_in_delay_ns` in `known`.
pub const CPULEDGER_FIELD_SWAP_IN_DELAY_NS: u32 = 47;
/// The bit of `minor_faults` in `known`.
pub const CPULEDGER_FIELD_MINOR_FAULTS: u32 = 48;
/// The bit of `major_faults` in `known`.
pub const CPULEDGER_FIELD_MAJOR_FAULTS: u32 = 49;
/// The bit of `children_minor_faults` in `known`.
pub const CPULEDGER_FIELD_CHILDREN_MINOR_FAULTS: u32 = 50;
/// The bit of `children_major_faults` in `known`.
pub const CPULEDGER_FIELD_CHILDREN_MAJOR_FAULTS: u32 = 51;
/// The bit of `voluntary_switches` in `known`.
pub const CPULEDGER_FIELD_VOLUNTARY_SWITCHES: u32 = 52;
/// The bit of `involuntary_switches` in `known`.
pub const CPULEDGER_FIELD_INVOLUNTARY_SWITCHES: u32 = 53;
/// The bit of `read_bytes` in `known`.
pub const CPULEDGER_FIELD_READ_BYTES: u32 = 54;
/// The bit of `write_bytes` in `known`.
pub const CPULEDGER_FIELD_WRITE_BYTES: u32 = 55;
/// The bit of `cancelled_write_bytes` in `known`.
pub const CPULEDGER_FIELD_CANCELLED_WRITE_BYTES: u32 = 56;

/// `row_flags`: the kernel keeps the process from the source, so its CPU time is not known.
pub const CPULEDGER_ROW_UNSEEN: u32 = 1;
/// `row_flags`: this is no process. It has the time of all that the service does not show this user.
pub const CPULEDGER_ROW_REMAINDER: u32 = 2;

/// What a process or task did while it was on no CPU, in nanoseconds. With the time on a CPU the parts add up to `elapsed_ns`. All are
/// CPULEDGER_UNKNOWN where the source does not know it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_states {
    /// The time it was alive in the interval.
    pub elapsed_ns: u64,
    /// It was runnable, and waited for a CPU.
    pub runqueue_wait_ns: u64,
    /// It waited without being interruptible, for I/O or anything else.
    pub blocked_ns: u64,
    /// The part of `blocked_ns` in which it waited for I/O.
    pub io_wait_ns: u64,
    /// It slept until a signal or an event.
    pub sleep_ns: u64,
    /// A signal, a tracer or a freezer had stopped it.
    pub stopped_ns: u64,
    /// What it did is not known.
    pub unseen_ns: u64,
    /// Zero.
    pub reserved: u64,
}

/// What the cumulative figures of a process or task grew by in an interval. A member is meaningful where `known` has its bit.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_counters {
    /// Bits of the fields that are known: CPULEDGER_KNOWS.
    pub known: [u64; 2],
    /// CPU time by the scheduler's clock.
    pub runtime_ns: u64,
    /// CPU time in user mode, by the kernel's scaling rule.
    pub user_ns: u64,
    /// CPU time in the kernel, by the same rule.
    pub system_ns: u64,
    /// User time of children that it has waited for.
    pub children_user_ns: u64,
    /// System time of children that it has waited for.
    pub children_system_ns: u64,
    /// Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all.
    pub runqueue_wait_ns: u64,
    /// Time waiting for block I/O, where delay accounting is on.
    pub block_io_delay_ns: u64,
    /// Time waiting for swap-in, where delay accounting is on.
    pub swap_in_delay_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Minor faults of children that it has waited for.
    pub children_minor_faults: u64,
    /// Major faults of children that it has waited for.
    pub children_major_faults: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because it was preempted.
    pub involuntary_switches: u64,
    /// Bytes read from block devices; for a process, includes children it has waited for.
    pub read_bytes: u64,
    /// Bytes written to block devices; for a process, includes children it has waited for.
    pub write_bytes: u64,
    /// Written bytes whose pages were dropped before they reached the device.
    pub cancelled_write_bytes: u64,
    /// Zero.
    pub reserved: [u64; 12],
}

/// A process or a task: which it is, and what it used in an interval. Of the fields at its end, as of those in `growth`, a member is
/// meaningful where `known` has its bit; other members that are not known are CPULEDGER_UNKNOWN.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct cpuledger_row {
    /// CPULEDGER_INIT sets it.
    pub size: usize,
    /// Bits of the fields below that are known: CPULEDGER_KNOWS.
    pub known: [u64; 2],
    /// CPU time in the interval: the sum of the next three. Unknown in a listing.
    pub cpu_ns: u64,
    /// Of its living tasks.
    pub self_ns: u64,
    /// Of its threads that died in the interval.
    pub exited_threads_ns: u64,
    /// Of the dead processes that it inherits from.
    pub exited_children_ns: u64,
    /// The part in which it had a CPU and did not execute: the hypervisor or an interrupt did.
    pub stolen_ns: u64,
    /// The same of the dead processes that it inherits from, a part of `exited_children_ns`.
    pub exited_children_stolen_ns: u64,
    /// User time in `self_ns`.
    pub self_user_ns: u64,
    /// User time in `exited_threads_ns`.
    pub exited_threads_user_ns: u64,
    /// Stolen time in `exited_threads_ns`, a part of `stolen_ns`.
    pub exited_threads_stolen_ns: u64,
    /// User time in `exited_children_ns`.
    pub exited_children_user_ns: u64,
    /// What it did off the CPU.
    pub states: cpuledger_states,
    /// What its cumulative figures grew by in the interval.
    pub growth: cpuledger_counters,
    /// CPULEDGER_ROW_…
    pub row_flags: u32,
    /// The pid of its heir, which would get its time if it died now; 0: not known.
    pub heir_pid: i32,
    /// CLOCK_BOOTTIME at the start.
    pub start_time_ns: u64,
    /// Virtual memory.
    pub vsize_bytes: u64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Resident file and shared memory.
    pub shared_bytes: u64,
    /// Swapped-out anonymous memory.
    pub swap_bytes: u64,
    /// Memory locked by mlock(2).
    pub locked_bytes: u64,
    /// Cgroup in the unified hierarchy: inode number of its directory.
    pub cgroup_id: u64,
    /// Cgroup in the hierarchy of the cpu controller.
    pub cgroup_v1_cpu_id: u64,
    /// CPU time by the scheduler's clock.
    pub runtime_ns: u64,
    /// CPU time in user mode, by the kernel's scaling rule.
    pub user_ns: u64,
    /// CPU time in the kernel, by the same rule.
    pub system_ns: u64,
    /// User time of children that it has waited for.
    pub children_user_ns: u64,
    /// System time of children that it has waited for.
    pub children_system_ns: u64,
    /// Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all.
    pub runqueue_wait_ns: u64,
    /// Time waiting for block I/O, where delay accounting is on.
    pub block_io_delay_ns: u64,
    /// Time waiting for swap-in, where delay accounting is on.
    pub swap_in_delay_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Minor faults of children that it has waited for.
    pub children_minor_faults: u64,
    /// Major faults of children that it has waited for.
    pub children_major_faults: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because it was preempted.
    pub involuntary_switches: u64,
    /// Bytes read from block devices; for a process, includes children it has waited for.
    pub read_bytes: u64,
    /// Bytes written to block devices; for a process, includes children it has waited for.
    pub write_bytes: u64,
    /// Written bytes whose pages were dropped before they reached the device.
    pub cancelled_write_bytes: u64,
    /// Id of the task.
    pub tid: i32,
    /// Id of its process: the tid of the leader.
    pub pid: i32,
    /// Pid of the parent.
    pub ppid: i32,
    /// Process group.
    pub pgid: i32,
    /// POSIX session.
    pub sid: i32,
    /// Device number of the controlling terminal; 0: none.
    pub tty_device: u32,
    /// Foreground process group of the terminal; -1: none.
    pub tty_pgid: i32,
    /// Real user.
    pub uid: u32,
    /// Effective user.
    pub euid: u32,
    /// Saved user.
    pub suid: u32,
    /// File-system user.
    pub fsuid: u32,
    /// Real group.
    pub gid: u32,
    /// Effective group.
    pub egid: u32,
    /// Saved group.
    pub sgid: u32,
    /// File-system group.
    pub fsgid: u32,
    /// PF_* flags of the kernel.
    pub flags: u32,
    /// Signal to the parent at exit.
    pub exit_signal: i32,
    /// Nice value.
    pub nice: i32,
    /// Priority as in /proc/PID/stat: 20 + nice, below 0 real-time.
    pub priority: i32,
    /// Real-time priority; 0: none.
    pub rt_priority: u32,
    /// Scheduling policy, SCHED_*.
    pub policy: u32,
    /// CPU it ran on last.
    pub processor: u32,
    /// Threads of the process.
    pub threads: u32,
    /// Its id in its own PID namespace.
    pub namespace_tid: i32,
    /// Name of the task.
    pub comm: [c_char; 64],
    /// State letter as in /proc/PID/stat.
    pub state: c_char,
    /// Zero.
    pub reserved_bytes: [c_char; 7],
    /// Zero.
    pub reserved: [u64; 16],
}

// SAFETY: it begins with its size, and of numbers zeros are values.
unsafe impl Sized_ for cpuledger_row {
    const LEAST_BYTES: usize = 920;
    const NAME: &'static str = "cpuledger_row";
}

const _: () = assert!(size_of::<cpuledger_row>() == cpuledger_row::LEAST_BYTES);
