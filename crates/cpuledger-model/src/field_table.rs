//! The one table of fields: what each is called, its unit, its type, who may see it, and its column in frames.
//! The members of `Task` and `Counters`, JSON keys, CSV columns, `-o` names, columns of frames, documentation and help derive from it.
//!
//! # To add a field
//!
//! A *counter* never decreases during the life of a task, and an interval holds its growth. Everything else is a *gauge*, which an interval holds as
//! it is at the end.
//!
//! ## A counter that the kernel keeps for each task
//!
//! `scripts/check-new-counter` takes these steps in a copy of the tree. It adds the bytes that a task has read, page cache included.
//!
//! | where | what | if forgotten |
//! |---|---|---|
//! | `crates/cpuledger-bpf/bpf/kernel.h` | The member of the kernel's struct. | does not compile |
//! | `crates/cpuledger-bpf/bpf/abi.h` | A row of `CPULEDGER_ACTIVITY`. | does not compile |
//! | here | A row with `#[cumulative]` and the group `Activity`. Choose a column number N from 256 on such that N and N + 1, its growth, are free. | does not compile |
//! | `crates/cpuledger/src/source/procfs/needs.rs` | Its exception in the test, unless that source gives it, too. | the test fails |
//! | `crates/cpuledger/tests/bracket/oracle.rs` | Where /proc has it, or why it does not (`Unsaid`; then add it to `NOT_COMPARED` of `bracket_root.rs`). | the test does not compile |
//!
//! From these follow the programs that read, add up and keep it, who may see it, JSON, CSV, `-o`, filters, orders, recordings, exports, help and the
//! tables of the documents. Names end in the unit: `_ns`, `_bytes`. The place in the table is that in the output.
//!
//! A slot of the ledger is a multiple of 64 bytes, and its eight places for counters are taken. A ninth counter makes it 320 bytes, and the default ledger
//! exceeds 16 MiB on 512 CPUs: `cpuledger-bpf` does not compile. Then lower `CPULEDGER_DEFAULT_SLOTS` of `abi.h` to 28,672 slots, and update
//! docs/accuracy.md.
//!
//! Two sources need extra work; until it is done, they leave the field null, and docs/json.md says so.
//!
//! - /proc: the member of the file in `crates/cpuledger-proc/src/task/`, `source/procfs/row.rs`, and the set of the file in `needs.rs`. The set of
//!   /proc/PID/io is `IO` of `field.rs`.
//! - taskstats: the place in `source/netlink/layout.rs`, the member and its set in `rows.rs`, and `tests/netlink_messages.rs`. Sizes there are whole KiB,
//!   so `bracket_root` has to leave them out of its comparison.
//!
//! ## A gauge
//!
//! | where | what | if forgotten |
//! |---|---|---|
//! | `kernel.h` | The member of the kernel's struct. | does not compile |
//! | `abi.h` | A member of `cpuledger_task_rest` or, if threads share it, of `cpuledger_process`; and the size at the end of the file. | does not compile |
//! | `read_task.bpf.h` | `read_rest` or `read_process`. Where kernels name it otherwise, `compat.bpf.h` has both names. | `bracket_root` |
//! | here | Its row. The group is what makes a walk read it: `enum cpuledger_read_group` in `abi.h`. | does not compile |
//! | `crates/cpuledger/src/source/records.rs` | `set_identity` or `process_row`. | `bracket_root` |
//! | `bracket/oracle.rs` | As above. | the test does not compile |
//!
//! ## Then
//!
//! ```text
//! CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-model -p cpuledger-view -p cpuledger-export     the tables of the documents
//! CPULEDGER_UPDATE_PAGES=1 cargo test -p cpuledger-cli --lib pages                               the manual lists it
//! make record                                                                                    the recorded outputs have it
//! INSTA_UPDATE=always cargo test -p cpuledger-cli --lib view                                     the frames of the screen have it
//! cargo test -p cpuledger --test bracket_root                                                    as root: walk, /proc and taskstats agree
//! cargo test -p cpuledger-bpf --test verifier_root                                               as root: what it costs the verifier
//! ```

/// Calls a macro with its other arguments first, then every field of a task. A row is: `#[cumulative]` for a counter, the [`Field`], the number and the
/// name of its column in frames, the member of [`Task`] and its type, [`Unit`], [`Group`], whether /proc shows it to everybody (`Open`) or only to
/// those who may trace the task (`Guarded`), and one sentence. A number never changes, and no number comes twice.
///
/// ```
/// macro_rules! names {
///     ($($(#[$cumulative:ident])? $field:ident $id:literal $column:ident $member:ident: $type:ident,
///         $unit:ident $group:ident $guard:ident $help:literal;)*) => { [$(stringify!($member)),*] };
/// }
/// assert_eq!(cpuledger_model::field_table!(names!)[0], "tid");
/// ```
///
/// [`Field`]: crate::Field
/// [`Group`]: crate::field::Group
/// [`Task`]: crate::Task
/// [`Unit`]: crate::field::Unit
#[macro_export]
macro_rules! field_table {
    ($with:ident! $($before:tt)*) => {
        $with! {
            $($before)*
            Tid 1 TID tid: Tid, None Basic Open "Id of the task.";
            Pid 2 PID pid: Pid, None Basic Open "Id of its process: the tid of the leader.";
            Ppid 3 PPID ppid: Pid, None Basic Open "Pid of the parent.";
            Pgid 4 PGID pgid: i32, None Session Open "Process group.";
            Sid 5 SID sid: i32, None Session Open "POSIX session.";
            TtyDevice 6 TTY_DEVICE tty_device: u32, None Session Open "Device number of the controlling terminal; 0: none.";
            TtyPgid 7 TTY_PGID tty_pgid: i32, None Session Open "Foreground process group of the terminal; -1: none.";
            StartTime 8 START_TIME_NS start_time_ns: Boottime, Nanoseconds Detail Open "CLOCK_BOOTTIME at the start.";
            Uid 9 UID uid: u32, None Detail Open "Real user.";
            Euid 10 EUID euid: u32, None Detail Open "Effective user.";
            Suid 11 SUID suid: u32, None Credentials Open "Saved user.";
            Fsuid 12 FSUID fsuid: u32, None Credentials Open "File-system user.";
            Gid 13 GID gid: u32, None Credentials Open "Real group.";
            Egid 14 EGID egid: u32, None Credentials Open "Effective group.";
            Sgid 15 SGID sgid: u32, None Credentials Open "Saved group.";
            Fsgid 16 FSGID fsgid: u32, None Credentials Open "File-system group.";
            Comm 17 COMM comm: Comm, None Name Open "Name of the task.";
            State 18 STATE state: State, None Detail Open "State letter as in /proc/PID/stat.";
            Flags 19 FLAGS flags: u32, None Detail Open "PF_* flags of the kernel.";
            ExitSignal 20 EXIT_SIGNAL exit_signal: i32, None Detail Open "Signal to the parent at exit.";
            Nice 21 NICE nice: i32, None Detail Open "Nice value.";
            Priority 22 PRIORITY priority: i32, None Detail Open "Priority as in /proc/PID/stat: 20 + nice, below 0 real-time.";
            RtPriority 23 RT_PRIORITY rt_priority: u32, None Detail Open "Real-time priority; 0: none.";
            Policy 24 POLICY policy: u32, None Detail Open "Scheduling policy, SCHED_*.";
            Processor 25 PROCESSOR processor: u32, None Detail Open "CPU it ran on last.";
            Threads 26 THREADS threads: u32, Count Basic Open "Threads of the process.";
            NamespaceTid 27 NAMESPACE_TID namespace_tid: i32, None Namespace Open "Its id in its own PID namespace.";
            #[cumulative] Runtime 41 RUNTIME_NS runtime_ns: u64, Nanoseconds Basic Open "CPU time by the scheduler's clock.";
            #[cumulative] User 42 USER_NS user_ns: u64, Nanoseconds Basic Open "CPU time in user mode, by the kernel's scaling rule.";
            #[cumulative] System 43 SYSTEM_NS system_ns: u64, Nanoseconds Basic Open "CPU time in the kernel, by the same rule.";
            #[cumulative] ChildrenUser 44 CHILDREN_USER_NS children_user_ns: u64, Nanoseconds Basic Open "User time of children that it has waited for.";
            #[cumulative] ChildrenSystem 45 CHILDREN_SYSTEM_NS children_system_ns: u64, Nanoseconds Basic Open "System time of children that it has waited for.";
            #[cumulative] RunqueueWait 46 RUNQUEUE_WAIT_NS runqueue_wait_ns: u64, Nanoseconds Activity Open "Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all.";
            #[cumulative] BlockIoDelay 47 BLOCK_IO_DELAY_NS block_io_delay_ns: u64, Nanoseconds Delays Open "Time waiting for block I/O, where delay accounting is on.";
            #[cumulative] SwapInDelay 48 SWAP_IN_DELAY_NS swap_in_delay_ns: u64, Nanoseconds Delays Guarded "Time waiting for swap-in, where delay accounting is on.";
            Vsize 28 VSIZE_BYTES vsize_bytes: u64, Bytes Memory Open "Virtual memory.";
            Rss 29 RSS_BYTES rss_bytes: u64, Bytes Resident Open "Resident memory.";
            Shared 30 SHARED_BYTES shared_bytes: u64, Bytes Resident Open "Resident file and shared memory.";
            Swap 31 SWAP_BYTES swap_bytes: u64, Bytes Resident Open "Swapped-out anonymous memory.";
            Locked 32 LOCKED_BYTES locked_bytes: u64, Bytes Memory Open "Memory locked by mlock(2).";
            #[cumulative] MinorFaults 49 MINOR_FAULTS minor_faults: u64, Count Activity Open "Page faults without I/O.";
            #[cumulative] MajorFaults 50 MAJOR_FAULTS major_faults: u64, Count Activity Open "Page faults with I/O.";
            #[cumulative] ChildrenMinorFaults 51 CHILDREN_MINOR_FAULTS children_minor_faults: u64, Count Basic Open "Minor faults of children that it has waited for.";
            #[cumulative] ChildrenMajorFaults 52 CHILDREN_MAJOR_FAULTS children_major_faults: u64, Count Basic Open "Major faults of children that it has waited for.";
            #[cumulative] VoluntarySwitches 53 VOLUNTARY_SWITCHES voluntary_switches: u64, Count Activity Open "Context switches because it waited.";
            #[cumulative] InvoluntarySwitches 54 INVOLUNTARY_SWITCHES involuntary_switches: u64, Count Activity Open "Context switches because it was preempted.";
            #[cumulative] ReadBytes 55 READ_BYTES read_bytes: u64, Bytes Activity Guarded "Bytes read from block devices; for a process, includes children it has waited for.";
            #[cumulative] WriteBytes 56 WRITE_BYTES write_bytes: u64, Bytes Activity Guarded "Bytes written to block devices; for a process, includes children it has waited for.";
            #[cumulative] CancelledWriteBytes 57 CANCELLED_WRITE_BYTES cancelled_write_bytes: u64, Bytes Activity Guarded "Written bytes whose pages were dropped before they reached the device.";
            #[cumulative] WaitSuffered 282 WAIT_SUFFERED_NS wait_suffered_ns: u64, Nanoseconds Blame Open "Time waiting for a CPU, by the account of blame; of a process, with its dead.";
            #[cumulative] WaitCaused 284 WAIT_CAUSED_NS wait_caused_ns: u64, Nanoseconds Blame Open "Time that others waited for the CPU that it had, summed; likewise.";
            #[cumulative] NetworkSent 300 NETWORK_SENT_BYTES network_sent_bytes: u64, Bytes Network Guarded "Bytes sent, but for Unix sockets; of a process, with the dead that it accounts for.";
            #[cumulative] NetworkSends 302 NETWORK_SENDS network_sends: u64, Count Network Guarded "Calls that have sent, but for Unix sockets; likewise.";
            #[cumulative] NetworkReceived 304 NETWORK_RECEIVED_BYTES network_received_bytes: u64, Bytes Network Guarded "Bytes received, but for Unix sockets; of a process, with the dead that it accounts for.";
            #[cumulative] NetworkReceives 306 NETWORK_RECEIVES network_receives: u64, Count Network Guarded "Calls that have received, but for Unix sockets; likewise.";
            #[cumulative] TcpSent 308 TCP_SENT_BYTES tcp_sent_bytes: u64, Bytes Network Guarded "Bytes sent by TCP, MPTCP included; likewise.";
            #[cumulative] TcpSends 310 TCP_SENDS tcp_sends: u64, Count Network Guarded "Calls that have sent by TCP, MPTCP included; likewise.";
            #[cumulative] TcpReceived 312 TCP_RECEIVED_BYTES tcp_received_bytes: u64, Bytes Network Guarded "Bytes received by TCP, MPTCP included; likewise.";
            #[cumulative] TcpReceives 314 TCP_RECEIVES tcp_receives: u64, Count Network Guarded "Calls that have received by TCP, MPTCP included; likewise.";
            #[cumulative] UdpSent 316 UDP_SENT_BYTES udp_sent_bytes: u64, Bytes Network Guarded "Bytes sent by UDP; likewise.";
            #[cumulative] UdpSends 318 UDP_SENDS udp_sends: u64, Count Network Guarded "Calls that have sent by UDP; likewise.";
            #[cumulative] UdpReceived 320 UDP_RECEIVED_BYTES udp_received_bytes: u64, Bytes Network Guarded "Bytes received by UDP; likewise.";
            #[cumulative] UdpReceives 322 UDP_RECEIVES udp_receives: u64, Count Network Guarded "Calls that have received by UDP; likewise.";
            #[cumulative] UnixSent 324 UNIX_SENT_BYTES unix_sent_bytes: u64, Bytes Network Guarded "Bytes sent by Unix sockets; likewise.";
            #[cumulative] UnixSends 326 UNIX_SENDS unix_sends: u64, Count Network Guarded "Calls that have sent by Unix sockets; likewise.";
            #[cumulative] UnixReceived 328 UNIX_RECEIVED_BYTES unix_received_bytes: u64, Bytes Network Guarded "Bytes received by Unix sockets; likewise.";
            #[cumulative] UnixReceives 330 UNIX_RECEIVES unix_receives: u64, Count Network Guarded "Calls that have received by Unix sockets; likewise.";
            #[cumulative] DiskReads 340 DISK_READS disk_reads: u64, Count Disk Guarded "Reads of it that a disk has ended; of a process, with the dead that it accounts for.";
            #[cumulative] DiskReadBytes 342 DISK_READ_BYTES disk_read_bytes: u64, Bytes Disk Guarded "Bytes of these; likewise.";
            #[cumulative] DiskReadNs 344 DISK_READ_NS disk_read_ns: u64, Nanoseconds Disk Guarded "Time of these from the call to the end, summed; likewise.";
            #[cumulative] DiskWrites 346 DISK_WRITES disk_writes: u64, Count Disk Guarded "Writes, likewise. Those of the page cache are of a kernel thread.";
            #[cumulative] DiskWrittenBytes 348 DISK_WRITTEN_BYTES disk_written_bytes: u64, Bytes Disk Guarded "Bytes of these; likewise.";
            #[cumulative] DiskWriteNs 350 DISK_WRITE_NS disk_write_ns: u64, Nanoseconds Disk Guarded "Time of these; likewise.";
            #[cumulative] DiskBlocked 352 DISK_BLOCKED_NS disk_blocked_ns: u64, Nanoseconds Disk Guarded "The part of `io_wait_ns` for its own requests at disks; of a process, with its dead.";
            #[cumulative] SwapBlocked 354 SWAP_BLOCKED_NS swap_blocked_ns: u64, Nanoseconds Disk Guarded "The part of `disk_blocked_ns` for pages that were swapped out; likewise.";
            CgroupId 33 CGROUP_ID cgroup_id: u64, None Cgroup Open "Cgroup in the unified hierarchy: inode number of its directory.";
            CgroupV1CpuId 34 CGROUP_V1_CPU_ID cgroup_v1_cpu_id: u64, None Cgroup Open "Cgroup in the hierarchy of the cpu controller.";
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
        #[cumulative] $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        $($rest:tt)*
    ) => {
        $crate::field_table::gauges_and_counters! {
            $with [$($gauges)*] [$($counters)* $id $column $field $member: $type, $help;] $($rest)*
        }
    };
    (
        $with:ident [$($gauges:tt)*] [$($counters:tt)*]
        $field:ident $id:literal $column:ident $member:ident: $type:ident, $unit:ident $group:ident $guard:ident $help:literal;
        $($rest:tt)*
    ) => {
        $crate::field_table::gauges_and_counters! {
            $with [$($gauges)* $id $column $field $member: $type, $help;] [$($counters)*] $($rest)*
        }
    };
}

pub(crate) use gauges_and_counters;
