//! The one table of fields: what each is called, its unit, which source gives it, and how it is read from a [`Task`].
//! JSON keys, CSV columns, `-o` names, documentation and help derive from it.
//!
//! [To add a field](#to-add-a-field) has the places, in the order of work.
//!
//! # To add a field
//!
//! Decide first:
//!
//! - **Counter or gauge.** A *counter* only grows for one task, and an interval holds its growth. A process's sum over its living threads may fall
//!   when one of them ends; intervals show 0 then (`counters.rs`). All else is a *gauge*, as it is at the end.
//! - **Where it is known**: the kernel half (walk and ledger), /proc, taskstats. Skip a row whose sentence does not apply to it.
//! - **Whether a counter is worth its price.** It adds a cache line to every slot of the ledger, and so takes default slots away (row 2). A gauge costs
//!   only the walk.
//!
//! The table is in the order in which it compiles. *Asked by* says what fails if the place is forgotten: the compiler (of C or Rust), a test, or
//! nothing. Tests without a path are in `crates/cpuledger/tests/`, and those with `_root` need root.
//!
//! | | where | what | asked by |
//! |---|---|---|---|
//! | | kernel half: `crates/cpuledger-bpf/bpf/` | | |
//! | 1 | `kernel.h` | The member of the kernel's struct. | compiler |
//! | 2 | `abi.h` | A counter: a member of `cpuledger_activity`. A gauge: of `cpuledger_task_rest` or, if threads share it, of `cpuledger_process`. Then the sizes at the end of the file, also those of structs that contain it. | compiler (sizes) |
//! | | `cpuledger_slot` | It holds the counters of a dead task and is full. One more adds a cache line to every slot: pad with `u64 reserved[…]`. Then look at the 16 MiB of `ledger/mod.rs` (`locked_bytes` has the formula, its test the number of CPUs) and `doctor_root`, the 64 MiB of `MOST_GROWN_SLOTS` (`source/ledger/options.rs`), and `ledger/cut.rs`, *Memory*. Fewer default slots are named in a test of `limits.rs`. | compiler; 16 MiB: `cargo test -p cpuledger-bpf --lib`; else nothing |
//! | 3 | `counters.bpf.h` | A counter: `read_activity`. | `bracket_root` |
//! | 4 | `read_task.bpf.h` | A counter: `read_dead_threads` sets what dead threads had, or 0 where the kernel keeps no sum; `add_thread` adds a thread. A gauge: `read_rest`, or `read_process`. | `bracket_root` |
//! | 5 | `compat.bpf.h`, `kernel_lacks` of `read_task.bpf.h`, `enum cpuledger_lack` | Where kernels name it otherwise, or may not have it: read it only if `bpf_core_field_exists`. Its bit goes into `lacking` of `source/records.rs`, too. | `make vm`: the program does not load, or `bracket_root` |
//! | | library: `crates/cpuledger/src/` | | |
//! | 6 | `task.rs` | The member of `Task`; the name of a time or a size ends in its unit. | compiler |
//! | 7 | `field.rs` | Its row: key, unit, group, help, and `#[cumulative]` for a counter. The order is that of JSON and CSV. The group is the bit that makes the kernel half read it: see `enum cpuledger_read_group` in `abi.h`. | tests of the library; the group: `bracket_root` |
//! | 8 | `counters.rs` | A counter: one line. | tests of the library |
//! | | `crates/cpuledger-model/src/column.rs` | Its column, of the same name, with the next free id: a gauge below `fields`, a counter below `counters`. An id never changes. | tests of the library |
//! | 9 | `source/records.rs` | A counter: `set_activity`, `add_by_tid`. A gauge: `set_identity`, or `process_row`. | compiler; of `process_row`, `bracket_root` |
//! | 10 | `source/records.rs` | A counter: `WALK_TOTALS` or, if every message of taskstats has it too, `USAGE` of `field.rs`. | `bracket_root` |
//! | 11 | `source/records.rs` | Only if no walk reads it: add it where `DELAYS` stands in `lacking` and, for a counter, in `nothing_used`. If you forget that, the walk says that it knows the field, and shows 0. | a counter: `bracket_root`; a gauge: nothing |
//! | 12 | `source/procfs/`: `needs.rs`, `row.rs` | `needs.rs`: the set of the file that has it. `row.rs`: from the parsed file into the row. A new set goes into `available` of `reader.rs`. A new file goes into `Files`, `add_files` and `fuzz/src/proc_text.rs`, with a parser in `crates/cpuledger-proc/src/task/`. If no file that we read has it: the exception in the test of `needs.rs`. | tests of the library, `bracket_root` |
//! | 13 | `source/netlink/`: `layout.rs`, `rows.rs` | Its place in each version; the member of the row; the set: `TASK`, or one of `Abilities`; `MESSAGE_TOTALS` or `OF_ONE_TASK`. | `bracket_root`, if /proc has it; else nothing |
//! | | tests | | |
//! | 14 | `bracket/oracle.rs` | What /proc calls it, or why it does not say (`Unsaid`). | compiler |
//! | 15 | `bracket_root.rs` | If /proc does not say it: `NOT_COMPARED`. A counter that is no sum over the threads of a process: an arm of `is_summed`. | `bracket_root` |
//! | 16 | `crates/cpuledger-cli/src/recorded/machine.rs` | Its value: in `task`; a counter also in `usage`. | compiler |
//! | | documents | | |
//! | 17 | `docs/json.md` | Its row: `cargo test -p cpuledger-view --lib` prints it, paste it. | test |
//! | 18 | `docs/json.md`, `CHANGELOG.md` | Which sources leave it null; what is new. | nothing |
//!
//! Then run:
//!
//! ```text
//! cargo test -p cpuledger --lib                                   what the tests of the library ask for
//! cargo test -p cpuledger-bpf --lib                               a ledger stays below its size
//! cargo test -p cpuledger-view --lib                              the row for docs/json.md
//! CPULEDGER_UPDATE_PAGES=1 cargo test -p cpuledger-cli --lib pages    the manual lists it
//! make record                                                     the recorded outputs have it
//! INSTA_UPDATE=always cargo test -p cpuledger-cli --lib view      the frames of the screen have it
//! cargo test -p cpuledger-cli --lib registry                      it can be had everywhere
//! cargo test -p cpuledger --test bracket_root                     as root: walk, /proc and taskstats agree
//! cargo test -p cpuledger-bpf --test verifier_root                as root: what it costs the verifier
//! ```
//!
//! What follows from several fields is a field of its own, too.

use crate::boottime::Boottime;
use crate::task::{Comm, Pid, State, Task, Tid};

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
    ($($(#[$cumulative:ident])? $name:ident $key:literal $unit:ident $group:ident $help:literal $member:ident;)*) => {
        /// Every field a source may give.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Field {
            $(#[doc = $help] $name,)*
        }

        impl Field {
            /// Every field, in the order of output.
            pub const ALL: &[Field] = &[$(Field::$name),*];
        }

        /// `FIELDS.len()` where a constant is needed.
        const FIELDS_COUNT: u32 = Field::ALL.len() as u32;

        /// Every field, in the order of output.
        pub static FIELDS: &[FieldInfo] = &[
            $(FieldInfo {
                field: Field::$name,
                key: $key,
                unit: Unit::$unit,
                group: Group::$group,
                cumulative: fields!(@cumulative $($cumulative)?),
                help: $help,
                value: |task| task.$member.value(),
            },)*
        ];
    };
    (@cumulative cumulative) => { true };
    (@cumulative) => { false };
}

/// The rows, for a macro that makes something of each: `#[cumulative]` for what only grows, name, key, unit, group, help, and the member of
/// [`Task`].
macro_rules! field_table {
    ($with:ident) => {
        $with! {
            Tid "tid" None Basic "Id of the task." tid;
            Pid "pid" None Basic "Id of its process: the tid of the leader." pid;
            Ppid "ppid" None Basic "Pid of the parent." ppid;
            Pgid "pgid" None Session "Process group." pgid;
            Sid "sid" None Session "POSIX session." sid;
            TtyDevice "tty_device" None Session "Device number of the controlling terminal; 0: none." tty_device;
            TtyPgid "tty_pgid" None Session "Foreground process group of the terminal; -1: none." tty_pgid;
            StartTime "start_time_ns" Nanoseconds Detail "CLOCK_BOOTTIME at the start." start_time_ns;
            Uid "uid" None Detail "Real user." uid;
            Euid "euid" None Detail "Effective user." euid;
            Suid "suid" None Credentials "Saved user." suid;
            Fsuid "fsuid" None Credentials "File-system user." fsuid;
            Gid "gid" None Credentials "Real group." gid;
            Egid "egid" None Credentials "Effective group." egid;
            Sgid "sgid" None Credentials "Saved group." sgid;
            Fsgid "fsgid" None Credentials "File-system group." fsgid;
            Comm "comm" None Name "Name of the task." comm;
            State "state" None Detail "State letter as in /proc/PID/stat." state;
            Flags "flags" None Detail "PF_* flags of the kernel." flags;
            ExitSignal "exit_signal" None Detail "Signal to the parent at exit." exit_signal;
            Nice "nice" None Detail "Nice value." nice;
            Priority "priority" None Detail "Priority as in /proc/PID/stat: 20 + nice, below 0 real-time." priority;
            RtPriority "rt_priority" None Detail "Real-time priority; 0: none." rt_priority;
            Policy "policy" None Detail "Scheduling policy, SCHED_*." policy;
            Processor "processor" None Detail "CPU it ran on last." processor;
            Threads "threads" Count Basic "Threads of the process." threads;
            NamespaceTid "namespace_tid" None Namespace "Its id in its own PID namespace." namespace_tid;
            #[cumulative] Runtime "runtime_ns" Nanoseconds Basic "CPU time by the scheduler's clock." runtime_ns;
            #[cumulative] User "user_ns" Nanoseconds Basic "CPU time in user mode, by the kernel's scaling rule." user_ns;
            #[cumulative] System "system_ns" Nanoseconds Basic "CPU time in the kernel, by the same rule." system_ns;
            #[cumulative] ChildrenUser "children_user_ns" Nanoseconds Basic "User time of children that it has waited for." children_user_ns;
            #[cumulative] ChildrenSystem "children_system_ns" Nanoseconds Basic "System time of children that it has waited for." children_system_ns;
            #[cumulative] RunqueueWait "runqueue_wait_ns" Nanoseconds Activity "Time spent waiting for a CPU; for a process, of its live threads, with `ledger` of all." runqueue_wait_ns;
            #[cumulative] BlockIoDelay "block_io_delay_ns" Nanoseconds Activity "Time waiting for block I/O, where delay accounting is on." block_io_delay_ns;
            #[cumulative] SwapInDelay "swap_in_delay_ns" Nanoseconds Activity "Time waiting for swap-in, where delay accounting is on." swap_in_delay_ns;
            Vsize "vsize_bytes" Bytes Memory "Virtual memory." vsize_bytes;
            Rss "rss_bytes" Bytes Resident "Resident memory." rss_bytes;
            Shared "shared_bytes" Bytes Resident "Resident file and shared memory." shared_bytes;
            Swap "swap_bytes" Bytes Resident "Swapped-out anonymous memory." swap_bytes;
            Locked "locked_bytes" Bytes Memory "Memory locked by mlock(2)." locked_bytes;
            #[cumulative] MinorFaults "minor_faults" Count Activity "Page faults without I/O." minor_faults;
            #[cumulative] MajorFaults "major_faults" Count Activity "Page faults with I/O." major_faults;
            #[cumulative] ChildrenMinorFaults "children_minor_faults" Count Basic "Minor faults of children that it has waited for." children_minor_faults;
            #[cumulative] ChildrenMajorFaults "children_major_faults" Count Basic "Major faults of children that it has waited for." children_major_faults;
            #[cumulative] VoluntarySwitches "voluntary_switches" Count Activity "Context switches because it waited." voluntary_switches;
            #[cumulative] InvoluntarySwitches "involuntary_switches" Count Activity "Context switches because it was preempted." involuntary_switches;
            #[cumulative] ReadBytes "read_bytes" Bytes Activity "Bytes read from block devices; for a process, includes children it has waited for." read_bytes;
            #[cumulative] WriteBytes "write_bytes" Bytes Activity "Bytes written to block devices; for a process, includes children it has waited for." write_bytes;
            #[cumulative] CancelledWriteBytes "cancelled_write_bytes" Bytes Activity "Written bytes whose pages were dropped before they reached the device." cancelled_write_bytes;
            CgroupId "cgroup_id" None Cgroup "Cgroup in the unified hierarchy: inode number of its directory." cgroup_id;
            CgroupV1CpuId "cgroup_v1_cpu_id" None Cgroup "Cgroup in the hierarchy of the cpu controller." cgroup_v1_cpu_id;
        }
    };
}
pub(crate) use field_table;

field_table!(fields);

/// The type of a member of [`Task`].
trait Member {
    fn value(&self) -> Value<'_>;
}

macro_rules! members {
    ($($type:ty: |$member:ident| $value:expr;)*) => {
        $(impl Member for $type {
            fn value(&self) -> Value<'_> {
                let $member = self;
                $value
            }
        })*
    };
}

members! {
    i32: |number| Value::Signed((*number).into());
    Tid: |tid| Value::Signed(tid.0.into());
    Pid: |pid| Value::Signed(pid.0.into());
    u32: |number| Value::Unsigned((*number).into());
    u64: |number| Value::Unsigned(*number);
    Boottime: |instant| Value::Unsigned(instant.ns());
    State: |state| Value::Letter(state.0);
    Comm: |comm| Value::Bytes(comm.as_bytes());
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

impl Task {
    /// Whether this is no process, but the row of all that its reader is not shown. Its pid says so, as a process may have any name.
    pub fn is_remainder(&self) -> bool {
        self.known.contains(Field::Pid) && self.pid == Pid::REMAINDER
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
pub const IO: FieldSet = FieldSet::of(&[Field::ReadBytes, Field::WriteBytes, Field::CancelledWriteBytes]);

/// What a task waited for, where the kernel counts delays.
pub const DELAYS: FieldSet = FieldSet::of(&[Field::BlockIoDelay, Field::SwapInDelay]);

/// What the kernel counts of every task, and both the walk and each message of taskstats tell. A counter that only the walk tells, or
/// netlink where the kernel is so configured, does not belong here.
pub const USAGE: FieldSet = FieldSet::of(&[
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
