//! The one table of fields: what each is called, its unit, which source gives it, its type and its column in frames.
//! The members of `Task` and `Counters`, JSON keys, CSV columns, `-o` names, columns of frames, documentation and help derive from it.
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
//! | | the model: `crates/cpuledger-model/src/` | | |
//! | 6 | `field_table.rs` | Its row: `#[cumulative]` for a counter, its name, a free number for its column in frames, which never changes, the member and its type (a time or a size has its unit at the end of its name), unit, group, help. The order is that of JSON and CSV. The group is the bit that makes the kernel half read it: see `enum cpuledger_read_group` in `abi.h`. | compiler, tests of the model; the group: `bracket_root` |
//! | | library: `crates/cpuledger/src/` | | |
//! | 7 | `source/records.rs` | A counter: `set_activity`, `add_by_tid`. A gauge: `set_identity`, or `process_row`. | compiler; of `process_row`, `bracket_root` |
//! | 8 | `source/records.rs` | A counter: `WALK_TOTALS` or, if every message of taskstats has it too, `USAGE` of `field.rs` of the model. | `bracket_root` |
//! | 9 | `source/records.rs` | Only if no walk reads it: add it where `DELAYS` stands in `lacking` and, for a counter, in `nothing_used`. If you forget that, the walk says that it knows the field, and shows 0. | a counter: `bracket_root`; a gauge: nothing |
//! | 10 | `source/procfs/`: `needs.rs`, `row.rs` | `needs.rs`: the set of the file that has it. `row.rs`: from the parsed file into the row. A new set goes into `available` of `reader.rs`. A new file goes into `Files`, `add_files` and `fuzz/src/proc_text.rs`, with a parser in `crates/cpuledger-proc/src/task/`. If no file that we read has it: the exception in the test of `needs.rs`. | tests of the library, `bracket_root` |
//! | 11 | `source/netlink/`: `layout.rs`, `rows.rs` | Its place in each version; the member of the row; the set: `TASK`, or one of `Abilities`; `MESSAGE_TOTALS` or `OF_ONE_TASK`. | `bracket_root`, if /proc has it; else nothing |
//! | | tests | | |
//! | 12 | `bracket/oracle.rs` | What /proc calls it, or why it does not say (`Unsaid`). | compiler |
//! | 13 | `bracket_root.rs` | If /proc does not say it: `NOT_COMPARED`. A counter that is no sum over the threads of a process: an arm of `is_summed`. | `bracket_root` |
//! | 14 | `crates/cpuledger-cli/src/recorded/machine.rs` | Its value: in `task`; a counter also in `usage`. | compiler |
//! | | documents | | |
//! | 15 | `docs/json.md` | Its row: `cargo test -p cpuledger-view --lib` prints it, paste it. | test |
//! | 16 | `docs/json.md`, `CHANGELOG.md` | Which sources leave it null; what is new. | nothing |
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

/// The rows, for a macro that makes something of each, behind what else it is given: `#[cumulative]` for a counter, the field, the number and the name of
/// its column in frames, the member of [`Task`] and its type, unit, group, and one sentence. A number never changes, and no number comes twice.
///
/// [`Task`]: crate::task::Task
macro_rules! field_table {
    ($with:ident! $($before:tt)*) => {
        $with! {
            $($before)*
            Tid 1 TID tid: Tid, None Basic "Id of the task.";
            Pid 2 PID pid: Pid, None Basic "Id of its process: the tid of the leader.";
            Ppid 3 PPID ppid: Pid, None Basic "Pid of the parent.";
            Pgid 4 PGID pgid: i32, None Session "Process group.";
            Sid 5 SID sid: i32, None Session "POSIX session.";
            TtyDevice 6 TTY_DEVICE tty_device: u32, None Session "Device number of the controlling terminal; 0: none.";
            TtyPgid 7 TTY_PGID tty_pgid: i32, None Session "Foreground process group of the terminal; -1: none.";
            StartTime 8 START_TIME_NS start_time_ns: Boottime, Nanoseconds Detail "CLOCK_BOOTTIME at the start.";
            Uid 9 UID uid: u32, None Detail "Real user.";
            Euid 10 EUID euid: u32, None Detail "Effective user.";
            Suid 11 SUID suid: u32, None Credentials "Saved user.";
            Fsuid 12 FSUID fsuid: u32, None Credentials "File-system user.";
            Gid 13 GID gid: u32, None Credentials "Real group.";
            Egid 14 EGID egid: u32, None Credentials "Effective group.";
            Sgid 15 SGID sgid: u32, None Credentials "Saved group.";
            Fsgid 16 FSGID fsgid: u32, None Credentials "File-system group.";
            Comm 17 COMM comm: Comm, None Name "Name of the task.";
            State 18 STATE state: State, None Detail "State letter as in /proc/PID/stat.";
            Flags 19 FLAGS flags: u32, None Detail "PF_* flags of the kernel.";
            ExitSignal 20 EXIT_SIGNAL exit_signal: i32, None Detail "Signal to the parent at exit.";
            Nice 21 NICE nice: i32, None Detail "Nice value.";
            Priority 22 PRIORITY priority: i32, None Detail "Priority as in /proc/PID/stat: 20 + nice, below 0 real-time.";
            RtPriority 23 RT_PRIORITY rt_priority: u32, None Detail "Real-time priority; 0: none.";
            Policy 24 POLICY policy: u32, None Detail "Scheduling policy, SCHED_*.";
            Processor 25 PROCESSOR processor: u32, None Detail "CPU it ran on last.";
            Threads 26 THREADS threads: u32, Count Basic "Threads of the process.";
            NamespaceTid 27 NAMESPACE_TID namespace_tid: i32, None Namespace "Its id in its own PID namespace.";
            #[cumulative] Runtime 41 RUNTIME_NS runtime_ns: u64, Nanoseconds Basic "CPU time by the scheduler's clock.";
            #[cumulative] User 42 USER_NS user_ns: u64, Nanoseconds Basic "CPU time in user mode, by the kernel's scaling rule.";
            #[cumulative] System 43 SYSTEM_NS system_ns: u64, Nanoseconds Basic "CPU time in the kernel, by the same rule.";
            #[cumulative] ChildrenUser 44 CHILDREN_USER_NS children_user_ns: u64, Nanoseconds Basic "User time of children that it has waited for.";
            #[cumulative] ChildrenSystem 45 CHILDREN_SYSTEM_NS children_system_ns: u64, Nanoseconds Basic "System time of children that it has waited for.";
            #[cumulative] RunqueueWait 46 RUNQUEUE_WAIT_NS runqueue_wait_ns: u64, Nanoseconds Activity "Time spent waiting for a CPU; for a process, of its live threads, with `ledger` of all.";
            #[cumulative] BlockIoDelay 47 BLOCK_IO_DELAY_NS block_io_delay_ns: u64, Nanoseconds Activity "Time waiting for block I/O, where delay accounting is on.";
            #[cumulative] SwapInDelay 48 SWAP_IN_DELAY_NS swap_in_delay_ns: u64, Nanoseconds Activity "Time waiting for swap-in, where delay accounting is on.";
            Vsize 28 VSIZE_BYTES vsize_bytes: u64, Bytes Memory "Virtual memory.";
            Rss 29 RSS_BYTES rss_bytes: u64, Bytes Resident "Resident memory.";
            Shared 30 SHARED_BYTES shared_bytes: u64, Bytes Resident "Resident file and shared memory.";
            Swap 31 SWAP_BYTES swap_bytes: u64, Bytes Resident "Swapped-out anonymous memory.";
            Locked 32 LOCKED_BYTES locked_bytes: u64, Bytes Memory "Memory locked by mlock(2).";
            #[cumulative] MinorFaults 49 MINOR_FAULTS minor_faults: u64, Count Activity "Page faults without I/O.";
            #[cumulative] MajorFaults 50 MAJOR_FAULTS major_faults: u64, Count Activity "Page faults with I/O.";
            #[cumulative] ChildrenMinorFaults 51 CHILDREN_MINOR_FAULTS children_minor_faults: u64, Count Basic "Minor faults of children that it has waited for.";
            #[cumulative] ChildrenMajorFaults 52 CHILDREN_MAJOR_FAULTS children_major_faults: u64, Count Basic "Major faults of children that it has waited for.";
            #[cumulative] VoluntarySwitches 53 VOLUNTARY_SWITCHES voluntary_switches: u64, Count Activity "Context switches because it waited.";
            #[cumulative] InvoluntarySwitches 54 INVOLUNTARY_SWITCHES involuntary_switches: u64, Count Activity "Context switches because it was preempted.";
            #[cumulative] ReadBytes 55 READ_BYTES read_bytes: u64, Bytes Activity "Bytes read from block devices; for a process, includes children it has waited for.";
            #[cumulative] WriteBytes 56 WRITE_BYTES write_bytes: u64, Bytes Activity "Bytes written to block devices; for a process, includes children it has waited for.";
            #[cumulative] CancelledWriteBytes 57 CANCELLED_WRITE_BYTES cancelled_write_bytes: u64, Bytes Activity "Written bytes whose pages were dropped before they reached the device.";
            CgroupId 33 CGROUP_ID cgroup_id: u64, None Cgroup "Cgroup in the unified hierarchy: inode number of its directory.";
            CgroupV1CpuId 34 CGROUP_V1_CPU_ID cgroup_v1_cpu_id: u64, None Cgroup "Cgroup in the hierarchy of the cpu controller.";
        }
    };
}

/// The rows of gauges and those of counters, each with its number, the name of its column, field, member, type and sentence.
macro_rules! gauges_and_counters {
    ($with:ident [$($gauges:tt)*] [$($counters:tt)*]) => {
        $with! { gauges { $($gauges)* } counters { $($counters)* } }
    };
    (
        $with:ident [$($gauges:tt)*] [$($counters:tt)*]
        #[cumulative] $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $help:literal;
        $($rest:tt)*
    ) => {
        $crate::field_table::gauges_and_counters! {
            $with [$($gauges)*] [$($counters)* $id $column $field $member: $type, $help;] $($rest)*
        }
    };
    (
        $with:ident [$($gauges:tt)*] [$($counters:tt)*]
        $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $help:literal;
        $($rest:tt)*
    ) => {
        $crate::field_table::gauges_and_counters! {
            $with [$($gauges)* $id $column $field $member: $type, $help;] [$($counters)*] $($rest)*
        }
    };
}

pub(crate) use {field_table, gauges_and_counters};
