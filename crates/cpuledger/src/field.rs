//! The one table of fields: what each is called, its unit, which source gives it, and how it is read from a [`Task`].
//! JSON keys, CSV columns, `-o` names, documentation and help derive from it.
//!
//! HACKING.md says where a new field goes: "Add a column".

use crate::task::Task;

pub use crate::field_set::FieldSet;

/// A value on its way into an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Not known to this source or kernel: `-` in text, `null` in JSON.
    Absent,
    /// A count, identifier, time in nanoseconds or size in bytes.
    Unsigned(u64),
    /// A number that may be negative.
    Signed(i64),
    /// One letter.
    Letter(u8),
    /// Text of the machine's users: any bytes, to be escaped.
    Bytes(&'a [u8]),
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// An identifier, a code or text.
    None,
    /// Events.
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
}

/// Which part of a record of the kernel half has the field: what a walk has to read for it. Each group but the first is a bit of
/// `enum cpuledger_read_group` in abi.h, which has a table of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Numbers, name, CPU time, and what is of the process: read with every task.
    Basic,
    /// Start, state, scheduling and user of a task.
    Detail,
    /// Its groups, and users that are neither real nor effective.
    Credentials,
    /// Its faults, switches, waiting and I/O.
    Activity,
    /// Process group, session and terminal.
    Session,
    /// The number in the PID namespace of the task.
    Namespace,
    /// Virtual and locked memory.
    Memory,
    /// RSS and its per-CPU parts.
    Resident,
    /// Cgroup identifiers.
    Cgroup,
    /// Names of kernel threads beyond comm.
    Name,
}

/// One row of the table.
#[derive(Debug)]
pub struct FieldInfo {
    /// Which field.
    pub field: Field,
    /// Its name in JSON, CSV and `-o`: snake_case, unit last.
    pub key: &'static str,
    /// What its number counts.
    pub unit: Unit,
    /// What a walk has to read for it.
    pub group: Group,
    /// Whether it only grows for one [`crate::task::TaskId`].
    pub cumulative: bool,
    /// One sentence for help and documentation.
    pub help: &'static str,
    value: fn(&Task) -> Value<'_>,
}

macro_rules! fields {
    ($($(#[$cumulative:ident])? $name:ident $key:literal $unit:ident $group:ident $help:literal $value:expr;)*) => {
        /// Every field a source may give.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Field {
            $(#[doc = $help] $name,)*
        }

        /// `FIELDS.len()` where a constant is needed.
        const FIELDS_COUNT: u32 = [$($key),*].len() as u32;

        /// Every field, in the order of output.
        pub static FIELDS: &[FieldInfo] = &[
            $(FieldInfo {
                field: Field::$name,
                key: $key,
                unit: Unit::$unit,
                group: Group::$group,
                cumulative: fields!(@cumulative $($cumulative)?),
                help: $help,
                value: $value,
            },)*
        ];
    };
    (@cumulative cumulative) => { true };
    (@cumulative) => { false };
}

use Value::{Bytes, Letter};

fn unsigned(number: impl Into<u64>) -> Value<'static> {
    Value::Unsigned(number.into())
}

fn signed(number: i32) -> Value<'static> {
    Value::Signed(number.into())
}

fields! {
    Tid "tid" None Basic "Id of the task." |t| signed(t.tid.0);
    Pid "pid" None Basic "Id of its process: the tid of the leader." |t| signed(t.pid.0);
    Ppid "ppid" None Basic "Pid of the parent." |t| signed(t.ppid.0);
    Pgid "pgid" None Session "Process group." |t| signed(t.pgid);
    Sid "sid" None Session "POSIX session." |t| signed(t.sid);
    TtyDevice "tty_device" None Session "Device number of the controlling terminal; 0: none." |t| unsigned(t.tty_device);
    TtyPgid "tty_pgid" None Session "Foreground process group of the terminal; -1: none." |t| signed(t.tty_pgid);
    StartTime "start_time_ns" Nanoseconds Detail "CLOCK_BOOTTIME at the start." |t| unsigned(t.start_time_ns.ns());
    Uid "uid" None Detail "Real user." |t| unsigned(t.uid);
    Euid "euid" None Detail "Effective user." |t| unsigned(t.euid);
    Suid "suid" None Credentials "Saved user." |t| unsigned(t.suid);
    Fsuid "fsuid" None Credentials "File-system user." |t| unsigned(t.fsuid);
    Gid "gid" None Credentials "Real group." |t| unsigned(t.gid);
    Egid "egid" None Credentials "Effective group." |t| unsigned(t.egid);
    Sgid "sgid" None Credentials "Saved group." |t| unsigned(t.sgid);
    Fsgid "fsgid" None Credentials "File-system group." |t| unsigned(t.fsgid);
    Comm "comm" None Name "Name of the task." |t| Bytes(t.comm.as_bytes());
    State "state" None Detail "State letter as in /proc/PID/stat." |t| Letter(t.state.0);
    Flags "flags" None Detail "PF_* flags of the kernel." |t| unsigned(t.flags);
    ExitSignal "exit_signal" None Detail "Signal to the parent at exit." |t| signed(t.exit_signal);
    Nice "nice" None Detail "Nice value." |t| signed(t.nice);
    Priority "priority" None Detail "Priority as in /proc/PID/stat: 20 + nice, below 0 real-time." |t| signed(t.priority);
    RtPriority "rt_priority" None Detail "Real-time priority; 0: none." |t| unsigned(t.rt_priority);
    Policy "policy" None Detail "Scheduling policy, SCHED_*." |t| unsigned(t.policy);
    Processor "processor" None Detail "CPU it ran on last." |t| unsigned(t.processor);
    Threads "threads" Count Basic "Threads of the process." |t| unsigned(t.threads);
    NamespaceTid "namespace_tid" None Namespace "Its id in its own PID namespace." |t| signed(t.namespace_tid);
    #[cumulative] Runtime "runtime_ns" Nanoseconds Basic "CPU time by the scheduler's clock." |t| unsigned(t.runtime_ns);
    #[cumulative] User "user_ns" Nanoseconds Basic "CPU time in user mode, by the kernel's scaling rule." |t| unsigned(t.user_ns);
    #[cumulative] System "system_ns" Nanoseconds Basic "CPU time in the kernel, by the same rule." |t| unsigned(t.system_ns);
    #[cumulative] ChildrenUser "children_user_ns" Nanoseconds Basic "User time of children that it has waited for." |t| unsigned(t.children_user_ns);
    #[cumulative] ChildrenSystem "children_system_ns" Nanoseconds Basic "System time of children that it has waited for." |t| unsigned(t.children_system_ns);
    #[cumulative] RunqueueWait "runqueue_wait_ns" Nanoseconds Activity "Time spent waiting for a CPU; for a process, of its live threads, with `ledger` of all." |t| unsigned(t.runqueue_wait_ns);
    #[cumulative] BlockIoDelay "block_io_delay_ns" Nanoseconds Activity "Time waiting for block I/O, where delay accounting is on." |t| unsigned(t.block_io_delay_ns);
    #[cumulative] SwapInDelay "swap_in_delay_ns" Nanoseconds Activity "Time waiting for swap-in, where delay accounting is on." |t| unsigned(t.swap_in_delay_ns);
    Vsize "vsize_bytes" Bytes Memory "Virtual memory." |t| unsigned(t.vsize_bytes);
    Rss "rss_bytes" Bytes Resident "Resident memory." |t| unsigned(t.rss_bytes);
    Shared "shared_bytes" Bytes Resident "Resident file and shared memory." |t| unsigned(t.shared_bytes);
    Swap "swap_bytes" Bytes Resident "Swapped-out anonymous memory." |t| unsigned(t.swap_bytes);
    Locked "locked_bytes" Bytes Memory "Memory locked by mlock(2)." |t| unsigned(t.locked_bytes);
    #[cumulative] MinorFaults "minor_faults" Count Activity "Page faults without I/O." |t| unsigned(t.minor_faults);
    #[cumulative] MajorFaults "major_faults" Count Activity "Page faults with I/O." |t| unsigned(t.major_faults);
    #[cumulative] ChildrenMinorFaults "children_minor_faults" Count Basic "Minor faults of children that it has waited for." |t| unsigned(t.children_minor_faults);
    #[cumulative] ChildrenMajorFaults "children_major_faults" Count Basic "Major faults of children that it has waited for." |t| unsigned(t.children_major_faults);
    #[cumulative] VoluntarySwitches "voluntary_switches" Count Activity "Context switches because it waited." |t| unsigned(t.voluntary_switches);
    #[cumulative] InvoluntarySwitches "involuntary_switches" Count Activity "Context switches because it was preempted." |t| unsigned(t.involuntary_switches);
    #[cumulative] ReadBytes "read_bytes" Bytes Activity "Bytes read from block devices; for a process, includes children it has waited for." |t| unsigned(t.read_bytes);
    #[cumulative] WriteBytes "write_bytes" Bytes Activity "Bytes written to block devices; for a process, includes children it has waited for." |t| unsigned(t.write_bytes);
    #[cumulative] CancelledWriteBytes "cancelled_write_bytes" Bytes Activity "Written bytes whose pages were dropped before they reached the device." |t| unsigned(t.cancelled_write_bytes);
    CgroupId "cgroup_id" None Cgroup "Cgroup in the unified hierarchy: inode number of its directory." |t| unsigned(t.cgroup_id);
    CgroupV1CpuId "cgroup_v1_cpu_id" None Cgroup "Cgroup in the hierarchy of the cpu controller." |t| unsigned(t.cgroup_v1_cpu_id);
}

impl Field {
    /// Its row of the table.
    pub fn info(self) -> &'static FieldInfo {
        &FIELDS[self as usize]
    }

    /// The field of that key.
    pub fn by_key(key: &str) -> Option<Field> {
        FIELDS.iter().find(|info| info.key == key).map(|info| info.field)
    }

    /// Its value, [`Value::Absent`] where the source did not know it.
    pub fn value(self, task: &Task) -> Value<'_> {
        if task.known.contains(self) { (self.info().value)(task) } else { Value::Absent }
    }
}

impl FieldSet {
    /// Every field of the table.
    pub const ALL: FieldSet = FieldSet::from_bits((1 << FIELDS_COUNT) - 1);

    /// The set of these fields.
    pub const fn of(fields: &[Field]) -> FieldSet {
        let mut bits = 0;
        let mut index = 0;
        while index < fields.len() {
            bits |= 1 << fields[index] as u8;
            index += 1;
        }
        FieldSet::from_bits(bits)
    }

    /// The fields of a group.
    pub fn of_group(group: Group) -> FieldSet {
        let fields = FIELDS.iter().filter(|info| info.group == group);
        fields.fold(FieldSet::EMPTY, |all, info| all.union(FieldSet::of(&[info.field])))
    }

    /// Whether the field is in it.
    pub const fn contains(self, field: Field) -> bool {
        self.bits() & (1 << field as u8) != 0
    }

    /// Whether one of the fields belongs to the group.
    pub fn needs(self, group: Group) -> bool {
        FIELDS.iter().any(|info| info.group == group && self.contains(info.field))
    }

    /// Its fields in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = Field> {
        FIELDS.iter().map(|info| info.field).filter(move |&field| self.contains(field))
    }
}

/// What is only known where the kernel counts block I/O by task.
pub(crate) const IO: FieldSet =
    FieldSet::of(&[Field::ReadBytes, Field::WriteBytes, Field::CancelledWriteBytes]);

/// What a task waited for, where the kernel counts delays.
pub(crate) const DELAYS: FieldSet = FieldSet::of(&[Field::BlockIoDelay, Field::SwapInDelay]);

/// What the kernel counts of every task, and both the walk and each message of taskstats tell. A counter that only the walk tells, or
/// netlink where the kernel is so configured, does not belong here.
pub(crate) const USAGE: FieldSet = FieldSet::of(&[
    Field::User,
    Field::System,
    Field::MinorFaults,
    Field::MajorFaults,
    Field::VoluntarySwitches,
    Field::InvoluntarySwitches,
]);

const _: () = assert!(FIELDS_COUNT < 64, "FieldSet holds 64 fields");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_index_and_keys_are_unique() {
        assert_eq!(FIELDS.len(), FIELDS_COUNT as usize);
        for (index, info) in FIELDS.iter().enumerate() {
            assert_eq!(info.field as usize, index, "{}", info.key);
            assert_eq!(Field::by_key(info.key), Some(info.field));
        }
        assert_eq!(FieldSet::ALL.iter().count(), FIELDS.len());
    }

    #[test]
    fn the_unit_is_last_in_the_key() {
        for info in FIELDS {
            assert_eq!(info.unit == Unit::Nanoseconds, info.key.ends_with("_ns"), "{}", info.key);
            assert_eq!(info.unit == Unit::Bytes, info.key.ends_with("_bytes"), "{}", info.key);
        }
    }

    #[test]
    fn an_unknown_field_is_absent_not_zero() {
        let task = Task { known: FieldSet::of(&[Field::Tid]), ..Task::default() };
        assert_eq!(Field::Tid.value(&task), Value::Signed(0));
        assert_eq!(Field::Runtime.value(&task), Value::Absent);
    }
}
