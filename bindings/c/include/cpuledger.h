/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libcpuledger: the books of a Linux machine's CPU time. See cpuledger(3). Made by cbindgen of bindings/c/src: change that. */

#ifndef CPULEDGER_H
#define CPULEDGER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
/** Makes a struct ready for its first use: all zero, and its size stated. */
#define CPULEDGER_INIT(pointer) \
  ((void)memset((pointer), 0, sizeof *(pointer)), (void)((pointer)->size = sizeof *(pointer)))

/** Whether a row, or its `growth`, has a value for a field: CPULEDGER_KNOWS(&row, RSS_BYTES). */
#define CPULEDGER_KNOWS(pointer, FIELD) \
  ((int)((pointer)->known[CPULEDGER_FIELD_##FIELD / 64] >> (CPULEDGER_FIELD_##FIELD % 64) & 1))

/** An argument is wrong: NULL, a size that is none, a reserve that is not zero, a handle that could not be opened. */
#define CPULEDGER_EINVAL -1

/** The source cannot be used here: there is no service, or it is not to be believed. The message says what helps. */
#define CPULEDGER_EUNUSABLE -2

/** A recording cannot be read. */
#define CPULEDGER_EREAD -3

/** An error of the library itself. The handle is of no more use, except to be closed. */
#define CPULEDGER_EINTERNAL -4

/** `flags` of an interval: it is from a recording; `source` says where its numbers came from. */
#define CPULEDGER_INTERVAL_REPLAYED 1

/** `flags` of an interval: there are no books of it, because the service was not there, or nothing was recorded. */
#define CPULEDGER_INTERVAL_GAP 2

/** `flags` of an interval: the source sees what dies, so `exited` is a count. */
#define CPULEDGER_INTERVAL_SEES_EXITS 4

/** The value of a `uint64_t` that is not known. It is never 0 then. */
#define CPULEDGER_UNKNOWN UINT64_MAX

/** The field is an identifier, a code or text. */
#define CPULEDGER_UNIT_NONE 0

/** The field counts events. */
#define CPULEDGER_UNIT_COUNT 1

/** The field is in nanoseconds. */
#define CPULEDGER_UNIT_NANOSECONDS 2

/** The field is in bytes. */
#define CPULEDGER_UNIT_BYTES 3

#define CPULEDGER_FIELD_TID 0
#define CPULEDGER_FIELD_PID 1
#define CPULEDGER_FIELD_PPID 2
#define CPULEDGER_FIELD_PGID 3
#define CPULEDGER_FIELD_SID 4
#define CPULEDGER_FIELD_TTY_DEVICE 5
#define CPULEDGER_FIELD_TTY_PGID 6
#define CPULEDGER_FIELD_START_TIME_NS 7
#define CPULEDGER_FIELD_UID 8
#define CPULEDGER_FIELD_EUID 9
#define CPULEDGER_FIELD_SUID 10
#define CPULEDGER_FIELD_FSUID 11
#define CPULEDGER_FIELD_GID 12
#define CPULEDGER_FIELD_EGID 13
#define CPULEDGER_FIELD_SGID 14
#define CPULEDGER_FIELD_FSGID 15
#define CPULEDGER_FIELD_COMM 16
#define CPULEDGER_FIELD_STATE 17
#define CPULEDGER_FIELD_FLAGS 18
#define CPULEDGER_FIELD_EXIT_SIGNAL 19
#define CPULEDGER_FIELD_NICE 20
#define CPULEDGER_FIELD_PRIORITY 21
#define CPULEDGER_FIELD_RT_PRIORITY 22
#define CPULEDGER_FIELD_POLICY 23
#define CPULEDGER_FIELD_PROCESSOR 24
#define CPULEDGER_FIELD_THREADS 25
#define CPULEDGER_FIELD_NAMESPACE_TID 26
#define CPULEDGER_FIELD_VSIZE_BYTES 27
#define CPULEDGER_FIELD_RSS_BYTES 28
#define CPULEDGER_FIELD_SHARED_BYTES 29
#define CPULEDGER_FIELD_SWAP_BYTES 30
#define CPULEDGER_FIELD_LOCKED_BYTES 31
#define CPULEDGER_FIELD_CGROUP_ID 32
#define CPULEDGER_FIELD_CGROUP_V1_CPU_ID 33
#define CPULEDGER_FIELD_RUNTIME_NS 40
#define CPULEDGER_FIELD_USER_NS 41
#define CPULEDGER_FIELD_SYSTEM_NS 42
#define CPULEDGER_FIELD_CHILDREN_USER_NS 43
#define CPULEDGER_FIELD_CHILDREN_SYSTEM_NS 44
#define CPULEDGER_FIELD_RUNQUEUE_WAIT_NS 45
#define CPULEDGER_FIELD_BLOCK_IO_DELAY_NS 46
#define CPULEDGER_FIELD_SWAP_IN_DELAY_NS 47
#define CPULEDGER_FIELD_MINOR_FAULTS 48
#define CPULEDGER_FIELD_MAJOR_FAULTS 49
#define CPULEDGER_FIELD_CHILDREN_MINOR_FAULTS 50
#define CPULEDGER_FIELD_CHILDREN_MAJOR_FAULTS 51
#define CPULEDGER_FIELD_VOLUNTARY_SWITCHES 52
#define CPULEDGER_FIELD_INVOLUNTARY_SWITCHES 53
#define CPULEDGER_FIELD_READ_BYTES 54
#define CPULEDGER_FIELD_WRITE_BYTES 55
#define CPULEDGER_FIELD_CANCELLED_WRITE_BYTES 56

/** `row_flags`: the kernel keeps the process from the source, so its CPU time is not known. */
#define CPULEDGER_ROW_UNSEEN 1

/** `row_flags`: this is no process. It has the time of all that the service does not show this user. */
#define CPULEDGER_ROW_REMAINDER 2

/** The call has brought nothing: no interval has ended in time, or there is no such row. */
#define CPULEDGER_NOTHING 0

/** There is an interval, or a row. */
#define CPULEDGER_OK 1

/** The recording has no more intervals. */
#define CPULEDGER_END 2

/** A handle. One thread at a time uses it; threads may use different handles at the same time. */
struct cpuledger;

/** A measurement. One thread at a time uses it. */
struct cpuledger_measurement;

/** A field that a row may have: which member it is, and what it means. */
struct cpuledger_field_info {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** The name of the member, and the key in JSON. It is never freed. */
  const char *name;
  /** One sentence. It is never freed. */
  const char *help;
  /** Its bit in `known`: CPULEDGER_FIELD_… */
  uint32_t bit;
  /** What its number counts: CPULEDGER_UNIT_… */
  uint32_t unit;
  /** Whether it never decreases during the life of a task: then `growth` has a member of this name, too. */
  uint32_t is_cumulative;
  /** Zero. */
  uint32_t reserved[5];
};

/** How a handle is opened. Zero in a member means what its comment says. */
struct cpuledger_options {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** The length of intervals, in nanoseconds; 0: one second, and of a recording the intervals as they were recorded. */
  uint64_t interval_ns;
  /** The socket of the service; NULL: $CPULEDGER_SOCKET, else /run/cpuledger/io.cpuledger.Ledger. It is copied. */
  const char *socket;
  /** The begin of what is read of a recording, in nanoseconds since 1970; 0: its own begin. */
  uint64_t since_realtime_ns;
  /** The end of what is read of a recording, in nanoseconds since 1970; 0: its own end. */
  uint64_t until_realtime_ns;
  /** Zero. */
  uint64_t reserved[11];
};

/**
 * The books of one interval, without its rows: `capacity_ns = attributed_ns + idle_ns + unattributed_ns`, to the nanosecond, where the last two are
 * known.
 */
struct cpuledger_interval {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** Where the numbers come from: "ledger", "service" and so on. It is never freed. */
  const char *source;
  /** CPULEDGER_INTERVAL_… */
  uint32_t flags;
  /** CPUs that were online at the end. */
  uint32_t online_cpus;
  /** The earlier cut, CLOCK_MONOTONIC. */
  uint64_t start_ns;
  /** The later cut, CLOCK_MONOTONIC. */
  uint64_t end_ns;
  /** The later cut, CLOCK_REALTIME, in nanoseconds since 1970. */
  uint64_t end_realtime_ns;
  /** The later cut, CLOCK_BOOTTIME, the clock of `start_time_ns` of rows. */
  uint64_t end_boottime_ns;
  /** Online CPUs × length. */
  uint64_t capacity_ns;
  /** The sum of `cpu_ns` over the processes. */
  uint64_t attributed_ns;
  /** Time of the idle tasks. Unknown where the source has no exact cut. */
  uint64_t idle_ns;
  /** What could not be attributed: the sum of the next four. Unknown where the source has no exact cut. */
  uint64_t unattributed_ns;
  /** Of processes that found no slot. */
  uint64_t no_slot_ns;
  /** Of the dead whose task was forgotten meanwhile. */
  uint64_t forgotten_task_ns;
  /** Of CPUs that were online before a hook had seen what ran there. */
  uint64_t uncovered_cpu_ns;
  /** Of all CPUs, while there were no books. */
  uint64_t not_attached_ns;
  /** Rows of processes, for `cpuledger_process`. */
  uint64_t processes;
  /** Rows of tasks, for `cpuledger_task`. 0 where the books are not kept by task. */
  uint64_t tasks;
  /** Tasks that died, for `cpuledger_death`. */
  uint64_t exited;
  /** Tasks that died and whose identity was lost. Their time is with their process or its heir. */
  uint64_t unidentified_exits;
  /** Tasks that died and were not told of: their time is lost. */
  uint64_t missed_exits;
  /** Tasks that were blocked all the time. Unknown where the source does not tell it. */
  uint64_t blocked_tasks;
  /** Switches that the kernel has not shown. */
  uint64_t missed_switches;
  /** CPU time of processes that the kernel hides. It is in the rows of others and in `idle_ns`. */
  uint64_t hidden_cpu_ns;
  /** For how long the machine was suspended in the interval. */
  uint64_t suspended_ns;
  /** Zero. */
  uint64_t reserved[8];
};

/** What is listed. */
struct cpuledger_list_options {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** Bits of the fields that are wanted, as in `known` of a row; both 0: all fields. */
  uint64_t fields[2];
  /** Whether tasks are listed besides processes: 0 or 1. */
  uint64_t with_tasks;
  /** Zero. */
  uint64_t reserved[4];
};

/**
 * What a process or task did while it was on no CPU, in nanoseconds. With the time on a CPU the parts add up to `elapsed_ns`. All are
 * CPULEDGER_UNKNOWN where the source does not know it.
 */
struct cpuledger_states {
  /** The time it was alive in the interval. */
  uint64_t elapsed_ns;
  /** It was runnable, and waited for a CPU. */
  uint64_t runqueue_wait_ns;
  /** It waited without being interruptible, for I/O or anything else. */
  uint64_t blocked_ns;
  /** The part of `blocked_ns` in which it waited for I/O. */
  uint64_t io_wait_ns;
  /** It slept until a signal or an event. */
  uint64_t sleep_ns;
  /** A signal, a tracer or a freezer had stopped it. */
  uint64_t stopped_ns;
  /** What it did is not known. */
  uint64_t unseen_ns;
  /** Zero. */
  uint64_t reserved;
};

/** What the cumulative figures of a process or task grew by in an interval. A member is meaningful where `known` has its bit. */
struct cpuledger_counters {
  /** Bits of the fields that are known: CPULEDGER_KNOWS. */
  uint64_t known[2];
  /** CPU time by the scheduler's clock. */
  uint64_t runtime_ns;
  /** CPU time in user mode, by the kernel's scaling rule. */
  uint64_t user_ns;
  /** CPU time in the kernel, by the same rule. */
  uint64_t system_ns;
  /** User time of children that it has waited for. */
  uint64_t children_user_ns;
  /** System time of children that it has waited for. */
  uint64_t children_system_ns;
  /** Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all. */
  uint64_t runqueue_wait_ns;
  /** Time waiting for block I/O, where delay accounting is on. */
  uint64_t block_io_delay_ns;
  /** Time waiting for swap-in, where delay accounting is on. */
  uint64_t swap_in_delay_ns;
  /** Page faults without I/O. */
  uint64_t minor_faults;
  /** Page faults with I/O. */
  uint64_t major_faults;
  /** Minor faults of children that it has waited for. */
  uint64_t children_minor_faults;
  /** Major faults of children that it has waited for. */
  uint64_t children_major_faults;
  /** Context switches because it waited. */
  uint64_t voluntary_switches;
  /** Context switches because it was preempted. */
  uint64_t involuntary_switches;
  /** Bytes read from block devices; for a process, includes children it has waited for. */
  uint64_t read_bytes;
  /** Bytes written to block devices; for a process, includes children it has waited for. */
  uint64_t write_bytes;
  /** Written bytes whose pages were dropped before they reached the device. */
  uint64_t cancelled_write_bytes;
  /** Zero. */
  uint64_t reserved[12];
};

/**
 * A process or a task: which it is, and what it used in an interval. Of the fields at its end, as of those in `growth`, a member is
 * meaningful where `known` has its bit; other members that are not known are CPULEDGER_UNKNOWN.
 */
struct cpuledger_row {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** Bits of the fields below that are known: CPULEDGER_KNOWS. */
  uint64_t known[2];
  /** CPU time in the interval: the sum of the next three. Unknown in a listing. */
  uint64_t cpu_ns;
  /** Of its living tasks. */
  uint64_t self_ns;
  /** Of its threads that died in the interval. */
  uint64_t exited_threads_ns;
  /** Of the dead processes that it inherits from. */
  uint64_t exited_children_ns;
  /** The part in which it had a CPU and did not execute: the hypervisor or an interrupt did. */
  uint64_t stolen_ns;
  /** The same of the dead processes that it inherits from, a part of `exited_children_ns`. */
  uint64_t exited_children_stolen_ns;
  /** User time in `self_ns`. */
  uint64_t self_user_ns;
  /** User time in `exited_threads_ns`. */
  uint64_t exited_threads_user_ns;
  /** Stolen time in `exited_threads_ns`, a part of `stolen_ns`. */
  uint64_t exited_threads_stolen_ns;
  /** User time in `exited_children_ns`. */
  uint64_t exited_children_user_ns;
  /** What it did off the CPU. */
  struct cpuledger_states states;
  /** What its cumulative figures grew by in the interval. */
  struct cpuledger_counters growth;
  /** CPULEDGER_ROW_… */
  uint32_t row_flags;
  /** The pid of its heir, which would get its time if it died now; 0: not known. */
  int32_t heir_pid;
  /** CLOCK_BOOTTIME at the start. */
  uint64_t start_time_ns;
  /** Virtual memory. */
  uint64_t vsize_bytes;
  /** Resident memory. */
  uint64_t rss_bytes;
  /** Resident file and shared memory. */
  uint64_t shared_bytes;
  /** Swapped-out anonymous memory. */
  uint64_t swap_bytes;
  /** Memory locked by mlock(2). */
  uint64_t locked_bytes;
  /** Cgroup in the unified hierarchy: inode number of its directory. */
  uint64_t cgroup_id;
  /** Cgroup in the hierarchy of the cpu controller. */
  uint64_t cgroup_v1_cpu_id;
  /** CPU time by the scheduler's clock. */
  uint64_t runtime_ns;
  /** CPU time in user mode, by the kernel's scaling rule. */
  uint64_t user_ns;
  /** CPU time in the kernel, by the same rule. */
  uint64_t system_ns;
  /** User time of children that it has waited for. */
  uint64_t children_user_ns;
  /** System time of children that it has waited for. */
  uint64_t children_system_ns;
  /** Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all. */
  uint64_t runqueue_wait_ns;
  /** Time waiting for block I/O, where delay accounting is on. */
  uint64_t block_io_delay_ns;
  /** Time waiting for swap-in, where delay accounting is on. */
  uint64_t swap_in_delay_ns;
  /** Page faults without I/O. */
  uint64_t minor_faults;
  /** Page faults with I/O. */
  uint64_t major_faults;
  /** Minor faults of children that it has waited for. */
  uint64_t children_minor_faults;
  /** Major faults of children that it has waited for. */
  uint64_t children_major_faults;
  /** Context switches because it waited. */
  uint64_t voluntary_switches;
  /** Context switches because it was preempted. */
  uint64_t involuntary_switches;
  /** Bytes read from block devices; for a process, includes children it has waited for. */
  uint64_t read_bytes;
  /** Bytes written to block devices; for a process, includes children it has waited for. */
  uint64_t write_bytes;
  /** Written bytes whose pages were dropped before they reached the device. */
  uint64_t cancelled_write_bytes;
  /** Id of the task. */
  int32_t tid;
  /** Id of its process: the tid of the leader. */
  int32_t pid;
  /** Pid of the parent. */
  int32_t ppid;
  /** Process group. */
  int32_t pgid;
  /** POSIX session. */
  int32_t sid;
  /** Device number of the controlling terminal; 0: none. */
  uint32_t tty_device;
  /** Foreground process group of the terminal; -1: none. */
  int32_t tty_pgid;
  /** Real user. */
  uint32_t uid;
  /** Effective user. */
  uint32_t euid;
  /** Saved user. */
  uint32_t suid;
  /** File-system user. */
  uint32_t fsuid;
  /** Real group. */
  uint32_t gid;
  /** Effective group. */
  uint32_t egid;
  /** Saved group. */
  uint32_t sgid;
  /** File-system group. */
  uint32_t fsgid;
  /** PF_* flags of the kernel. */
  uint32_t flags;
  /** Signal to the parent at exit. */
  int32_t exit_signal;
  /** Nice value. */
  int32_t nice;
  /** Priority as in /proc/PID/stat: 20 + nice, below 0 real-time. */
  int32_t priority;
  /** Real-time priority; 0: none. */
  uint32_t rt_priority;
  /** Scheduling policy, SCHED_*. */
  uint32_t policy;
  /** CPU it ran on last. */
  uint32_t processor;
  /** Threads of the process. */
  uint32_t threads;
  /** Its id in its own PID namespace. */
  int32_t namespace_tid;
  /** Name of the task. */
  char comm[64];
  /** State letter as in /proc/PID/stat. */
  char state;
  /** Zero. */
  char reserved_bytes[7];
  /** Zero. */
  uint64_t reserved[16];
};

/** A task that died in an interval. Its time is in the rows, too: with its process, or with the heir of that. */
struct cpuledger_exited {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** CPU time in the interval. */
  uint64_t cpu_ns;
  /** CPU time of its life. */
  uint64_t runtime_ns;
  /** How long it lived. */
  uint64_t lifetime_ns;
  /** CLOCK_BOOTTIME at its start. With the tid it says which task it was. */
  uint64_t start_time_ns;
  /** The same of its process. */
  uint64_t process_start_time_ns;
  /** The same of its heir. */
  uint64_t heir_start_time_ns;
  /** The cgroup in which it died, in the unified hierarchy. */
  uint64_t cgroup_id;
  /** What it did in the interval while it was on no CPU. */
  struct cpuledger_states states;
  /** Its tid. */
  int32_t tid;
  /** The pid of its process. */
  int32_t pid;
  /** The pid of its parent when it died; 0: not known. */
  int32_t ppid;
  /** The pid of the heir of its process, which gets its time if its process died; 0: not known. */
  int32_t heir_pid;
  /** Its real user. */
  uint32_t uid;
  /** Its effective user; UINT32_MAX: not known. */
  uint32_t euid;
  /** As wait(2) returns it; INT32_MIN: not known. */
  int32_t exit_code;
  /** Whether no thread of its process is left: 0 or 1; -1: not known. */
  int32_t ends_process;
  /** Its name, any bytes up to a NUL: escape it before it reaches a terminal. */
  char comm[64];
  /** Zero. */
  uint64_t reserved[8];
};

/** What processes used between two cuts. */
struct cpuledger_measured {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** The first cut, CLOCK_MONOTONIC. */
  uint64_t start_ns;
  /** The last cut, CLOCK_MONOTONIC. */
  uint64_t end_ns;
  /** CPU time of all that descends from the process, that of the dead included, stolen time included. */
  uint64_t cpu_ns;
  /** The part of it in which they did not execute: the hypervisor or an interrupt did. */
  uint64_t stolen_ns;
  /** How long they were runnable, and waited for a CPU. */
  uint64_t waiting_ns;
  /** The part of `cpu_ns` that no name has: of the dead whose identity was lost. */
  uint64_t unidentified_ns;
  /** How many processes they were. */
  uint64_t processes;
  /** How many of them still run. */
  uint64_t running;
  /** CPU time of the process itself, its threads included. It is not in `cpu_ns`. */
  uint64_t own_ns;
  /** CPU time of the machine that is attributed to nobody: some of it may be theirs. */
  uint64_t unattributed_ns;
  /** For how long there were no books: what ran then is in no figure. */
  uint64_t without_books_ns;
  /** Switches that the kernel has not shown, so that some time may be with another task. */
  uint64_t missed_switches;
  /** Names that `cpuledger_measure_name` has. */
  uint64_t names;
  /** Zero. */
  uint64_t reserved[8];
};

/** What processes of one name used. */
struct cpuledger_used {
  /** CPULEDGER_INIT sets it. */
  size_t size;
  /** Their name, with `\x…` for what a terminal could take for a command; NULL: all names beyond the first 10,000. It belongs to the measurement. */
  const char *name;
  /** How many they were. */
  uint64_t processes;
  /** CPU time, stolen time included. */
  uint64_t cpu_ns;
  /** How long they were runnable, and waited for a CPU. */
  uint64_t waiting_ns;
  /** The longest life of one. */
  uint64_t longest_ns;
  /** Zero. */
  uint64_t reserved[4];
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/** Describes the field of this place in the table, from 0 on. Returns 1, or 0 where there is none any more: a later version has more fields. */
int cpuledger_field(unsigned int index,
                    struct cpuledger_field_info *info);

/** The version of the library, such as "0.1.0". It is never freed. */
const char *cpuledger_version(void);

/**
 * Opens the books of the service, and stores a handle: also where this fails, for `cpuledger_message`. Close it with `cpuledger_close`. Without options,
 * intervals have one second. Returns 0, or a negative code.
 */
int cpuledger_open(struct cpuledger **handle,
                   const struct cpuledger_options *options);

/** Opens a recording: a directory, or a file of one. Otherwise as `cpuledger_open`. */
int cpuledger_open_recording(struct cpuledger **handle,
                             const char *path,
                             const struct cpuledger_options *options);

/** Closes a handle, and frees all that belongs to it. NULL is permitted. */
void cpuledger_close(struct cpuledger *handle);

/**
 * The sentence of the last error of this handle, or what its user should know, as that the service is gone; else an empty text. It belongs to the handle, and
 * is valid until the next call with it.
 */
const char *cpuledger_message(const struct cpuledger *handle);

/**
 * Waits for the end of the next interval, at most for so many milliseconds; -1: as long as it takes. Returns CPULEDGER_OK, CPULEDGER_NOTHING if none has
 * ended in time, CPULEDGER_END, or a negative code. Rows of the interval before are gone.
 */
int cpuledger_next(struct cpuledger *handle,
                   int timeout_ms,
                   struct cpuledger_interval *interval);

/** Ends the running interval now. Otherwise as `cpuledger_next`, which has those first that were not read. */
int cpuledger_cut(struct cpuledger *handle, struct cpuledger_interval *interval);

/** Lists what exists now. Returns 0, or a negative code. `cpuledger_listed_process` and `cpuledger_listed_task` have the rows. */
int cpuledger_list(struct cpuledger *handle,
                   const struct cpuledger_list_options *options);

/** Copies the row of a process of the last interval. Returns CPULEDGER_OK, CPULEDGER_NOTHING if `index` is not below `processes`, or a negative code. */
int cpuledger_process(struct cpuledger *handle,
                      uint64_t index,
                      struct cpuledger_row *row);

/** Copies the row of a task of the last interval. Returns CPULEDGER_OK, CPULEDGER_NOTHING if `index` is not below `tasks`, or a negative code. */
int cpuledger_task(struct cpuledger *handle,
                   uint64_t index,
                   struct cpuledger_row *row);

/** Copies the row of a task that died of the last interval. Returns CPULEDGER_OK, CPULEDGER_NOTHING if `index` is not below `exited`, or a negative code. */
int cpuledger_death(struct cpuledger *handle,
                    uint64_t index,
                    struct cpuledger_exited *row);

/** Copies the row of a process of the last `cpuledger_list`. Returns CPULEDGER_OK, CPULEDGER_NOTHING if there are not so many, or a negative code. */
int cpuledger_listed_process(struct cpuledger *handle,
                             uint64_t index,
                             struct cpuledger_row *row);

/** Copies the row of a task of the last `cpuledger_list`. Returns CPULEDGER_OK, CPULEDGER_NOTHING if there are not so many, or a negative code. */
int cpuledger_listed_task(struct cpuledger *handle,
                          uint64_t index,
                          struct cpuledger_row *row);

/**
 * Makes the first cut, and stores a measurement of what descends from the process `pid`, 0 for the caller: also where this fails, for
 * `cpuledger_measure_message`. Close it with `cpuledger_measure_close`. Of the options, the socket counts. Returns 0, or a negative code.
 */
int cpuledger_measure_begin(struct cpuledger_measurement **measurement,
                            int32_t pid,
                            const struct cpuledger_options *options);

/** Adds what has come, without waiting. The service has room for two intervals at least, of a second as a rule: call this every second. Returns 0, or a negative code. */
int cpuledger_measure_collect(struct cpuledger_measurement *measurement);

/** Makes the last cut, if that is not made, and copies what was measured. Returns 0, or a negative code. */
int cpuledger_measure_end(struct cpuledger_measurement *measurement, struct cpuledger_measured *measured);

/**
 * Copies what processes of one name used, after `cpuledger_measure_end`: `index` 0 is that with the most CPU time. Returns CPULEDGER_OK,
 * CPULEDGER_NOTHING if `index` is not below `names`, or a negative code.
 */
int cpuledger_measure_name(struct cpuledger_measurement *measurement,
                           uint64_t index,
                           struct cpuledger_used *used);

/** The sentence of the last error; else an empty text. It belongs to the measurement, and is valid until the next call with it. */
const char *cpuledger_measure_message(const struct cpuledger_measurement *measurement);

/** Closes a measurement, and frees all that belongs to it. NULL is permitted. */
void cpuledger_measure_close(struct cpuledger_measurement *measurement);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CPULEDGER_H */
