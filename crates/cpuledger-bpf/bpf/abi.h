/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records and limits that the BPF programs and user space share: the only definition.
 * Plain C, included by the programs and translated by bindgen; layouts are asserted on both sides.
 *
 * Times are nanoseconds. A cumulative counter never decreases for one (tid, start time).
 */
#ifndef CPULEDGER_ABI_H
#define CPULEDGER_ABI_H

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef signed short s16;
typedef signed int s32;
typedef unsigned int u32;
typedef signed long long s64;
typedef unsigned long long u64;

enum cpuledger_limits {
	/* task_struct.comm, unchanged since Linux 2.6. */
	CPULEDGER_COMM_BYTES = 16,
	/* The longest name /proc/PID/comm can show for a kernel thread: the buffer in fs/proc/array.c. */
	CPULEDGER_KTHREAD_NAME_BYTES = 64,
	/* struct worker.desc: 24 bytes until 6.9, 32 since. */
	CPULEDGER_WORKER_DESCRIPTION_BYTES = 32,
	/* Maximum number of CPUs over which RSS is summed; with more, the kernel's global part is reported. */
	CPULEDGER_MAX_CPUS = 1024,
	/* Exits kept in the ring between two reads; when it is full they are folded by parent. */
	CPULEDGER_EXIT_RING_BYTES = 4 * 1024 * 1024,
	/* Births kept in theirs; when it is full, they are not told. At 32 bytes a record 160,000 forks a second, if it is emptied five times in one. */
	CPULEDGER_BIRTH_RING_BYTES = 1024 * 1024,
	/* Parents for which exits can be folded when the ring is full; above it, into parent 0. */
	CPULEDGER_FOLD_ENTRIES = 8192,
	/* Slots of the ledger: unless stated, at least, at most (a slot number has 32 bits, the arrays 4 GiB). */
	CPULEDGER_DEFAULT_SLOTS = 32768,
	CPULEDGER_MIN_SLOTS = 16,
	CPULEDGER_MAX_SLOTS = 8 * 1024 * 1024,
	/* When fewer than 1/8 of the slots are free, tasks that die are folded in the kernel. */
	CPULEDGER_LOW_SLOTS_SHARE = 8,
	/* When fewer than 1/32 of the slots are free, only leaders get one. */
	CPULEDGER_LEADER_SLOTS_SHARE = 32,
	/* Entries of one bucket of the index: a cache line. Two buckets can hold a tid. */
	CPULEDGER_BUCKET_ENTRIES = 8,
	/* The second of them is the one at tid * HASH >> HASH_SHIFT. */
	CPULEDGER_BUCKET_HASH = 0x9e3779b1,
	CPULEDGER_BUCKET_HASH_SHIFT = 8,
	/* The number of the first interval. 0 is the mark of a slot that was never listed. */
	CPULEDGER_FIRST_INTERVAL = 1,
	/* Places for ends of intervals: the number of an interval modulo this is its place. A power of two. */
	CPULEDGER_CUTS = 4,
	/* Maximum number of attempts of a compare-and-swap against the reader, which changes a word once a cut. */
	CPULEDGER_RUN_ATTEMPTS = 4,
	/* Maximum number of attempts against all other CPUs. */
	CPULEDGER_FREE_ATTEMPTS = 32,
	/* Slots that a CPU takes or gives back at once, so that forks and exits rarely write the line that all CPUs share. */
	CPULEDGER_SLOT_BATCH = 32,
	/* All batches together hold at most 1/16 of the slots: on many CPUs, batches are smaller. */
	CPULEDGER_BATCHED_SLOTS_SHARE = 16,
	/* In ledgers with fewer slots than this a batch is one slot: no CPU keeps slots that another one needs. */
	CPULEDGER_LEAST_BATCHED_SLOTS = 16384,
	/* Places on the list of an interval that a CPU reserves at once, for the same reason. A power of two. */
	CPULEDGER_LIST_BATCH = 32,
};

/* What a walk visits. */
enum cpuledger_walk_scope {
	/* Leaders only: a process with several threads gets no total of them. */
	CPULEDGER_WALK_LEADERS = 0,
	/* Leaders are recorded, threads are visited and summed. */
	CPULEDGER_WALK_PROCESSES = 1,
	/* Every task is recorded. */
	CPULEDGER_WALK_TASKS = 2,
};

/*
 * Fields a walk reads only when asked: each costs about as much as all that is read anyway. What can be read, by program:
 *
 * - walk_briefly, in walk_slim.bpf.o, writes the record of a task: READ_BRIEFLY.
 * - walk_once, in walk_slim.bpf.o, writes that too: all but WALK_WHOLLY, and READ_RSS where user space has prepared it.
 * - walk_once, in walk.bpf.o, writes the rest of a task as well: all groups.
 * - walk_seq, for older kernels, is in walk.bpf.o only: all groups.
 * - inspect, in inspect.bpf.o: all groups, and DETAIL always.
 *
 * The slim object lacks the array of `cpuledger_task_rest`. So a field there, or a counter in `cpuledger_activity`, needs a group that is in
 * WALK_WHOLLY. A walk takes a group for read as a whole: what is read under one bit must not belong to another in field.rs.
 */
enum cpuledger_read_group {
	/* what the record of a task has besides its numbers, name and CPU time: start, state, scheduling, user */
	CPULEDGER_READ_DETAIL = 1 << 3,
	CPULEDGER_READ_MEMORY = 1 << 0, /* virtual and locked memory */
	CPULEDGER_READ_CGROUP = 1 << 1,
	CPULEDGER_READ_KTHREAD_NAME = 1 << 2,
	/* process group, session and terminal: a walk always reads them */
	CPULEDGER_READ_SESSION = 1 << 4,
	/* the number in the PID namespace of the task: read with every detail by programs that can */
	CPULEDGER_READ_NAMESPACE = 1 << 5,
	/* faults, switches, waiting and I/O: read with every detail by programs that can */
	CPULEDGER_READ_ACTIVITY = 1 << 6,
	/* resident and swapped memory */
	CPULEDGER_READ_RSS = 1 << 7,
	/* groups, and users that are neither real nor effective: read with every detail by programs that can */
	CPULEDGER_READ_CREDENTIALS = 1 << 8,
	/* What the brief walk can read of these. */
	CPULEDGER_READ_BRIEFLY = CPULEDGER_READ_KTHREAD_NAME | CPULEDGER_READ_SESSION,
	/* What only the whole walk can read of these. */
	CPULEDGER_WALK_WHOLLY = CPULEDGER_READ_CGROUP | CPULEDGER_READ_NAMESPACE | CPULEDGER_READ_ACTIVITY |
				CPULEDGER_READ_CREDENTIALS,
};

/* What the running kernel was built without: user space shows these fields as unknown. */
enum cpuledger_lack {
	CPULEDGER_LACKS_CGROUP = 1 << 0,   /* CONFIG_CGROUPS */
	CPULEDGER_LACKS_RSS_SUM = 1 << 1,  /* the per-CPU part of RSS could not be summed: what was read is inexact */
	CPULEDGER_LACKS_ACTIVITY = 1 << 2, /* the first counter of CPULEDGER_ACTIVITY; the next bit is the second one, and so on */
};

/* What the scheduler knows of the CPU time of one task, or of a process: live and dead threads together. */
struct cpuledger_cpu_time {
	u64 runtime_ns;	     /* se.sum_exec_runtime: exact, scheduler clock */
	u64 tick_user_ns;    /* utime: sampled at the tick unless the kernel accounts precisely */
	u64 tick_system_ns;  /* stime: sampled as utime is */
	u64 shown_user_ns;   /* prev_cputime: what the kernel showed last, its lower bound */
	u64 shown_system_ns;
};

/*
 * What else the kernel counts: (member, where task_struct has it, where signal_struct has the sum over dead threads). With `not_summed`, a process
 * has that of its live threads. A kernel may be built without those that are OPTIONAL. Members are called as in field_table.rs, where their group
 * is Activity.
 */
#define CPULEDGER_ACTIVITY(COUNTER, OPTIONAL)                                 \
	COUNTER(minor_faults, min_flt, min_flt)                               \
	COUNTER(major_faults, maj_flt, maj_flt)                               \
	COUNTER(voluntary_switches, nvcsw, nvcsw)                             \
	COUNTER(involuntary_switches, nivcsw, nivcsw)                         \
	OPTIONAL(runqueue_wait_ns, sched_info.run_delay, not_summed)          \
	OPTIONAL(read_bytes, ioac.read_bytes, ioac.read_bytes)                \
	OPTIONAL(write_bytes, ioac.write_bytes, ioac.write_bytes)             \
	OPTIONAL(cancelled_write_bytes, ioac.cancelled_write_bytes, ioac.cancelled_write_bytes)

/* The activity of one task, or of a process: live and dead threads together. */
struct cpuledger_activity {
#define COUNTER(member, of_task, of_dead_threads) u64 member;
	CPULEDGER_ACTIVITY(COUNTER, COUNTER)
#undef COUNTER
};

/* All cumulative figures of one task or process. */
struct cpuledger_counters {
	struct cpuledger_cpu_time cpu_time;
	struct cpuledger_activity activity;
};

/*
 * One task, by what most listings show of it: the memory of a record has to be cleared before it is written, and that takes longer
 * than the walk. What the brief walk writes comes first: it dirties one or two cache lines a task.
 */
struct cpuledger_task {
	s32 tid;
	s32 pid;
	u32 process_index;	/* of its record among the processes of this walk */
	u32 flags;		/* PF_* */
	u8 comm[CPULEDGER_COMM_BYTES];
	struct cpuledger_cpu_time cpu_time;
	u64 start_time_ns;	/* start_boottime: CLOCK_BOOTTIME */
	u32 uid, euid;
	u32 state;		/* __state */
	u32 processor;
	u16 exit_state;
	s16 priority;		/* prio - 100, as /proc shows it */
	s8 nice;
	u8 rt_priority;
	u8 policy;
	s8 exit_signal;		/* sent to the parent; 17 is SIGCHLD, -1 of threads: none */
};

/* What decides, beside users and groups, whether the kernel lets a task be traced: __ptrace_may_access() of kernel/ptrace.c. */
enum cpuledger_trace {
	CPULEDGER_TRACE_GUARDED = 1 << 0,  /* not even its user may look at its memory: it has run a setuid program, or has asked for it */
	CPULEDGER_TRACE_CAPABLE = 1 << 1,  /* it has capabilities, or may take some */
	CPULEDGER_TRACE_OUTSIDE = 1 << 2,  /* it is in another user namespace than the initial one */
	CPULEDGER_TRACE_OF_OTHER = 1 << 3, /* and that is no child of the initial one that the user of the task has made */
};

/* The rest of the same task, at the same index of its own array, for walks that read more. */
struct cpuledger_task_rest {
	struct cpuledger_activity activity;
	s32 namespace_tid;	/* in the innermost PID namespace of the task */
	u16 namespace_level;	/* 0: the initial PID namespace */
	u16 trace;		/* enum cpuledger_trace */
	u32 suid, fsuid;
	u32 gid, egid, sgid, fsgid;
	u64 cgroup_id;		/* unified hierarchy */
	u64 cgroup_v1_cpu_id;	/* hierarchy of the cpu controller; 0 where it is not compiled in */
};

/* One process: what its threads share, and their sums. */
struct cpuledger_process {
	s32 pid;
	s32 ppid;
	s32 pgid;
	s32 sid;
	u32 task_index;		/* of its leader among the tasks of this walk */
	u32 threads;		/* signal.nr_threads, zombies included */
	u32 tty_device;		/* new_encode_dev, as /proc shows it; 0: none */
	s32 tty_pgid;		/* -1: none */
	u32 totals_known;	/* 1: `group` holds sums; 0: several threads that were not visited */
	u32 flags;		/* PF_* of its leader */
	u64 children_user_ns;	/* waited-for children, by the tick */
	u64 children_system_ns;
	u64 children_minor_faults;
	u64 children_major_faults;
	struct cpuledger_counters group;
	u64 vsize_pages;
	u64 rss_anonymous_pages;
	u64 rss_file_pages;
	u64 rss_shmem_pages;
	u64 swap_pages;
	u64 locked_pages;
	u32 has_mm;
	u32 live;		/* threads that have not begun to exit: signal.live */
	s32 is_worker;		/* a workqueue worker: `name` is followed by its description */
	s32 worker_is_busy;
	u8 name[CPULEDGER_KTHREAD_NAME_BYTES]; /* of kernel threads; of a worker: the workqueue it rescues; empty: comm */
	u8 worker_description[CPULEDGER_WORKER_DESCRIPTION_BYTES];
};

/* The arguments and the result of one walk: the context of the program, copied in and out by the one call. */
struct cpuledger_walk {
	/* in */
	u32 scope;		/* enum cpuledger_walk_scope */
	u32 groups;		/* enum cpuledger_read_group, or-ed */
	s32 only_pid;		/* only this process; 0: all */
	u32 cpus;		/* numbers of CPUs are below this: for the sum of RSS */
	/* out */
	u32 tasks;		/* that had to be recorded; more than the buffer holds: repeat with a larger one */
	u32 processes;		/* likewise */
	u64 begin_ns;		/* CLOCK_MONOTONIC */
	u64 begin_boottime_ns;	/* the same instant by CLOCK_BOOTTIME, as starts and ends are told */
	u64 end_ns;		/* CLOCK_MONOTONIC */
	u32 lacks;		/* enum cpuledger_lack, or-ed: what this kernel cannot give */
	/* in */
	u32 wanted;		/* of an inspection: entries of its list */
};

/* BPF_OBJ_NAME_LEN of include/uapi/linux/bpf.h. */
enum { CPULEDGER_PROGRAM_NAME_BYTES = 16 };

/* A BPF program in the kernel, of any owner. */
struct cpuledger_program {
	u32 id;
	u32 uid;		/* real user when it was loaded */
	u8 name[CPULEDGER_PROGRAM_NAME_BYTES];
};

/* Consecutive numbers of possible CPUs, for a program that learns what the sum of RSS needs. */
struct cpuledger_cpu_range {
	u32 first;
	u32 end;		/* behind the last */
	u32 is_next;		/* not 0: others came before, whose result holds too */
	u32 is_known;		/* out; not 0: it has learned all of these, and of those before */
};

/* One task that an inspection shall look at. */
struct cpuledger_wanted {
	s32 tid;
	u32 opens_process;	/* not 0: a leader; else a thread of the process that was opened last */
};

/* A process, its parent and its name: all processes are listed once, when the ledger is attached. */
struct cpuledger_parent {
	s32 pid;
	s32 parent_pid;
	u64 start_time_ns;	  /* start_boottime: CLOCK_BOOTTIME */
	u64 parent_start_time_ns; /* likewise, of the process of the parent */
	u8 comm[CPULEDGER_COMM_BYTES];
};

/* A task that waits for a CPU in a queue of the scheduler. */
struct cpuledger_waiting {
	s32 tid;
	s32 pid;
	u64 start_time_ns;	  /* start_boottime: CLOCK_BOOTTIME */
	u64 process_start_time_ns; /* likewise */
	u64 queued_ns;		  /* since when it is in the queue of this CPU, by the clock of the scheduler */
	u64 run_delay_ns;	  /* what it has waited in its life before that */
	u32 cpu;
	u32 unused;
};

/* One task that has died: written at its last switch, when its figures are final. */
struct cpuledger_exit {
	s32 tid;
	s32 pid;
	s32 ppid;		/* its parent when it died; 0: not known */
	s32 exit_code;		/* as wait(2) returns it */
	u64 start_time_ns;	/* CLOCK_BOOTTIME */
	u64 process_start_time_ns;
	u64 end_time_ns;	/* CLOCK_BOOTTIME */
	u64 lifetime_ns;	/* since its start, CLOCK_MONOTONIC: without suspension, so no distance of the two above */
	u64 runtime_ns;
	u64 tick_user_ns;
	u64 tick_system_ns;
	u64 cgroup_id;		/* unified hierarchy; 0: not known */
	u64 cgroup_v1_cpu_id;	/* hierarchy of the cpu controller; likewise */
	u32 uid, euid;
	u8 comm[CPULEDGER_COMM_BYTES];
};

/* A process that was forked, and its parent. Both starts are of CLOCK_BOOTTIME. */
struct cpuledger_birth {
	s32 pid;
	s32 parent_pid;
	u64 start_time_ns;
	u64 parent_start_time_ns;
};

/* Exits that found the ring full, by the parent of the process: identity lost, time kept. */
struct cpuledger_fold {
	u64 exits;
	u64 runtime_ns;
};

/* Slots that are no task's. */
enum cpuledger_slot_number {
	CPULEDGER_SLOT_IDLE = 0,   /* the idle task of each CPU */
	CPULEDGER_SLOT_NONE = 1,   /* of a task that has no slot, and whose leader has none: its time is unattributed */
	CPULEDGER_SLOT_FIRST = 2,
};

/* In `current`: the slot is the leader's, for a thread that found none. Slot numbers are below it. */
enum cpuledger_current {
	CPULEDGER_CURRENT_OF_LEADER = 1 << 30,
};

/*
 * How `run` of a CPU is packed: start_ns << SHIFT | OFFLINE | UNCOVERED | PARITY. With neither of the two marks a task is running,
 * and the CPU is in the books.
 */
enum cpuledger_run {
	CPULEDGER_RUN_PARITY = 1 << 0,	  /* which of current[] is running */
	CPULEDGER_RUN_UNCOVERED = 1 << 1, /* the CPU is online, and no hook has seen yet what runs there */
	CPULEDGER_RUN_OFFLINE = 1 << 2,	  /* the CPU is offline: its time is no capacity */
	CPULEDGER_RUN_OUT = CPULEDGER_RUN_UNCOVERED | CPULEDGER_RUN_OFFLINE,
	CPULEDGER_RUN_SHIFT = 3,
};

/* Numbers of types of the running kernel. */
struct cpuledger_kernel_types {
	u32 task_struct;
	u32 cred;
	u32 has_rdonly_cast;	/* not 0: it has bpf_rdonly_cast */
	u32 unused;
};

/*
 * What stands for a function of the kernel in the programs: numbers that no helper has. Before they are loaded, user space puts those of the
 * running kernel in their place (src/btf.rs).
 */
enum cpuledger_kernel_function {
	CPULEDGER_CALLS_RDONLY_CAST = 0x40000000,
	CPULEDGER_CALLS_RCU_READ_LOCK,
	CPULEDGER_CALLS_RCU_READ_UNLOCK,
	CPULEDGER_CALLS_TASK_FROM_PID,
	CPULEDGER_CALLS_TASK_RELEASE,
	CPULEDGER_CALLS_ITER_TASK_NEW,
	CPULEDGER_CALLS_ITER_TASK_NEXT,
	CPULEDGER_CALLS_ITER_TASK_DESTROY,
};

/* How a cut is packed: time << SHIFT | CONFIRMED. With 0, none is published. With all ones, a hook has voided it. */
enum cpuledger_cut_word {
	CPULEDGER_CUT_CONFIRMED = 1 << 0,
	CPULEDGER_CUT_SHIFT = 1,
};

/*
 * One CPU of the ledger. The hooks of that CPU write all of it; when it is dead, the hook of the CPU that has taken it down does. The
 * reader exchanges `run`, and zeroes the accumulators of the closed interval. The index of [2] is a parity: of the interval
 * number or, for `current`, of the run.
 */
struct cpuledger_cpu {
	u64 run;		/* since when the running task has run: enum cpuledger_run */
	u64 booked;		/* the `run` that a hook wrote last, as soon as all before it is booked */
	u64 idle_ns[2];
	u64 lag_ns;		/* this clock less the scheduler's, both read at once: the least that was seen lately; 0: none was */
	u64 lag_at_ns;		/* when that was seen */
	u32 current[2];		/* slot of the running task: enum cpuledger_slot_number, enum cpuledger_current */
	u64 switches;
	u32 at_cut[2];		/* slot that ran when the interval of that parity ended, where a switch has closed it; 0: none */
	u64 task;		/* of use within one switch */
	s32 current_pid[2];	/* the process of the running task, where `current` is the slot of its leader */
	/* Rarely used. */
	u64 uncovered_ns[2];	/* online, and no hook has seen what ran */
	u64 offline_ns[2];
	u64 reserved2;

	/* What this CPU has taken from the lines that all CPUs share: the only other ones that a fork or a first touch writes. */
	u64 list_place[2];	/* interval << 32 | next place on its list, by parity; a multiple of LIST_BATCH: none is reserved */
	u64 free;		/* free slots of this CPU: enum cpuledger_free */
	u64 spare;		/* a full batch beside it, or 0; likewise */
	u64 no_slot_ns[2];	/* of tasks that found no slot; rarely used */
	u64 births;		/* the slot that was made last at a fork, since the reader looked; it links to the one before. 0: none was */
	u64 reserved3;

	/* Lost detail. */
	u64 no_slot;		/* attempts to give a task a slot when none was free */
	u64 no_entry;		/* likewise, when its buckets of the index were full */
	u64 folded_threads;
	u64 folded_processes;
	u64 contended;		/* switches that lost all their attempts: the time is with the task before or after */
	u64 missed;		/* switches that the kernel has not shown: the time went to the task after */
	u64 lost_slots;		/* free slots that could not be given back: none, unless dozens of CPUs gave one back at once */
	u64 unnamed_deaths;	/* of tasks that had no slot at their last switch */
};

/*
 * How free slots are packed: tag << TAG_SHIFT | count << COUNT_SHIFT | link. Each change takes a new tag. A link is the number of a
 * slot, which links to the next. With RUN, the `count` slots from that number on are free and were never used.
 */
enum cpuledger_free {
	CPULEDGER_FREE_COUNT_SHIFT = 32,
	CPULEDGER_FREE_COUNT_MASK = 0xffff,
	CPULEDGER_FREE_TAG_SHIFT = 48,
	CPULEDGER_FREE_RUN = 1 << 30,
};

enum cpuledger_slot_flag {
	CPULEDGER_SLOT_PARENT_KNOWN = 1 << 0, /* the accounting parent was fixed at fork; else it is the present parent */
	CPULEDGER_SLOT_EXITED = 1 << 1,	      /* the task has died */
	CPULEDGER_SLOT_RENUMBERED = 1 << 2,   /* the task lives on under the tid of its leader: an exec by another thread */
	CPULEDGER_SLOT_PROCESS_DEAD = 1 << 3, /* no thread of its process is left alive */
	CPULEDGER_SLOT_COLLECTS = 1 << 4,     /* of a dead task, and still in the index: collects the time of its process until the cut */
};

/* One task that has run since the ledger was attached: whole cache lines. The first one is what a switch touches. */
struct cpuledger_slot {
	u64 wall_ns[2];		/* on a CPU, by parity of the interval */
	u64 mark[2];		/* number of the last interval that lists this slot; 0: none yet */
	u64 task;		/* address of the task_struct: tells tasks with the same tid apart */
	u64 exit_interval;	/* the interval of its last switch; 0: not yet */
	s32 tid;
	s32 pid;
	u16 flags;		/* enum cpuledger_slot_flag */
	u16 exit_code;		/* as wait(2) returns it */
	u32 euid;		/* as `uid` */

	/* What a fork writes. */
	u64 start_time_ns;	/* start_boottime: CLOCK_BOOTTIME */
	u64 process_start_time_ns;
	u64 parent_start_time_ns; /* of the process that is the accounting parent */
	u64 first_runtime_ns;	/* runtime when the slot was made: 0 of a child */
	s32 parent_pid;		/* accounting parent */
	s32 grandparent_pid;	/* accounting parent of the accounting parent, or a living one further up; 0: not known */
	u32 uid;		/* when the slot was made or, once it has died, at the last switch */
	u32 ppid_or_next_free;	/* the parent when it died, 0: not known; of a free slot the link to the next: enum cpuledger_free */
	u8 comm[CPULEDGER_COMM_BYTES];

	/* Written at the last switch, except for the first one. */
	u64 grandparent_start_time_ns;
	u64 end_ns_or_batch;	/* CLOCK_MONOTONIC; of the first free slot of a batch: its count << 32 | link to the next batch, 0: the last */
	u64 lifetime_ns;	/* since its start, CLOCK_MONOTONIC */
	struct cpuledger_counters last; /* before: when the slot was made */
} __attribute__((aligned(64)));

/* The rarely used part of a slot: at the same index of an array of its own. */
struct cpuledger_slot_rest {
	u64 folded_threads_ns[2]; /* of threads of this process without a slot, dead or alive, by parity of the interval */
	u64 folded_children_ns[2];
	u64 first_ns;		  /* since when this slot tells what the task does: its start or, after an exec by a thread, that; CLOCK_MONOTONIC; 0: it does not tell that */
	u64 birth;		  /* on the list of births of a CPU: LISTED | the next one; 0: it is on none */
	u64 cgroup_id;		  /* written at the last switch: unified hierarchy, 0: not known */
	u64 cgroup_v1_cpu_id;	  /* likewise: hierarchy of the cpu controller */
};

/* In `birth`. Slot numbers are below it. */
enum cpuledger_birth_link {
	CPULEDGER_BIRTH_LISTED = 1 << 30,
};

/* What a task does while it is on no CPU. */
enum cpuledger_off {
	CPULEDGER_OFF_WAITS,	/* for a CPU: it is runnable, or has just been forked */
	CPULEDGER_OFF_SLEEPS,	/* until a signal or an event */
	CPULEDGER_OFF_BLOCKED,	/* without being interruptible, but not for I/O */
	CPULEDGER_OFF_IO,	/* likewise, for I/O */
	CPULEDGER_OFF_STOPPED,	/* by a signal, a tracer or a freezer */
	CPULEDGER_OFF_UNSEEN,	/* since before the ledger has seen it first, or the kernel has not shown a switch of it */
	CPULEDGER_OFF_STATES,
};

/* How `off` is packed: since_ns << SHIFT | state + 1. The clock is CLOCK_MONOTONIC. 0: the task is on a CPU. */
enum cpuledger_off_word {
	CPULEDGER_OFF_SHIFT = 3,
	CPULEDGER_OFF_MASK = 7,
};

/* What the task of a slot does off the CPU: two cache lines at the same index of an array of its own. A switch touches the first one. */
struct cpuledger_slot_off {
	u64 off;		/* since when, and in which state: enum cpuledger_off_word */
	u64 run_delay_ns;	/* what the kernel says that it has waited for a CPU in its life, when it left the CPU last */
	u64 ns[CPULEDGER_OFF_STATES][2]; /* by state, and parity of the interval */
	/*
	 * What it did at the cut of `cut_interval`, if it came back after that and the reader had not closed it yet. Packed as `off`, but with
	 * the time from which on it waited for a CPU. What lies before the cut is not booked.
	 */
	u64 cut_interval;
	u64 at_cut;
};

/* Kinds of sockets that the account of the network tells apart. */
enum cpuledger_socket {
	CPULEDGER_SOCKET_TCP, /* MPTCP too */
	CPULEDGER_SOCKET_UDP, /* UDP-Lite too */
	CPULEDGER_SOCKET_UNIX,
	CPULEDGER_SOCKET_OTHER,
	CPULEDGER_SOCKETS,
};

enum cpuledger_direction {
	CPULEDGER_SENT,
	CPULEDGER_RECEIVED,
	CPULEDGER_DIRECTIONS,
};

/* What went through sockets of one kind, in one direction. */
struct cpuledger_traffic {
	u64 bytes;
	u64 calls;
};

struct cpuledger_network {
	struct cpuledger_traffic by[CPULEDGER_SOCKETS][CPULEDGER_DIRECTIONS];
};

/* The traffic of a slot: at the same index of an array of its own, which is there while the account is kept. */
struct cpuledger_slot_network {
	struct cpuledger_network used[2]; /* by parity of the interval */
	u64 owner[2];			  /* start of the task that this is of: where slots are low, another task may get the slot */
} __attribute__((aligned(64)));

/* Likewise, of a CPU. Its hooks write all of it; the reader zeroes the accumulators of the closed interval. */
struct cpuledger_cpu_network {
	u64 entered, left; /* hooks that have begun, and that have ended: the reader waits for those that were there when it has closed the CPU */
	struct cpuledger_network all[2];	  /* by parity of the interval */
	struct cpuledger_network unattributed[2]; /* the part of that without a slot */
} __attribute__((aligned(64)));

enum cpuledger_disk_limits {
	/* Requests whose tasks are remembered. A device has some hundreds. */
	CPULEDGER_DISK_REQUESTS = 16384,
	/* Devices that are told apart, in both intervals. All others are one. */
	CPULEDGER_DISKS = 512,
	/* Buckets of the histogram of how long requests take: the first is below 2 us, each of the next twice as long. */
	CPULEDGER_DISK_BUCKETS = 32,
	CPULEDGER_DISK_FIRST_SHIFT = 10,
};

/* As the kernel counts them in /proc/diskstats. */
enum cpuledger_disk_kind {
	CPULEDGER_DISK_READ,
	CPULEDGER_DISK_WRITE,
	CPULEDGER_DISK_DISCARD,
	CPULEDGER_DISK_KINDS,
};

/* Requests of one kind that have ended. */
struct cpuledger_disk_use {
	u64 requests;
	u64 bytes;
	u64 ns; /* from the call of the task to the end, summed */
	u64 blocked_ns; /* for how long the task was blocked until the end of each, without what it was for others before */
};

/* What the requests of a task did: at the index of its slot in an array of its own, which is there while the account is kept. */
struct cpuledger_slot_disk {
	struct cpuledger_disk_use used[2][CPULEDGER_DISK_KINDS]; /* by parity of the interval */
	u64 owner[2];						  /* as in cpuledger_slot_network */
	u64 mark[2];						  /* number of the last interval that lists it; 0: none yet */
	u64 blocked_until_ns;					  /* CLOCK_MONOTONIC: what it was blocked for before that is booked */
	u64 swap_blocked_ns[2];					  /* the part of what it was blocked for that was swap-in, by parity */
	u64 reserved;
} __attribute__((aligned(64)));

/* Which task a request is of. */
struct cpuledger_disk_request {
	u32 number;   /* of its slot; IDLE: it has none */
	u32 is_swap;  /* it reads a page that was swapped out */
	u64 owner;    /* start of the task */
	u64 start_ns; /* CLOCK_MONOTONIC; likewise */
	u64 issue_ns; /* when the device got it; 0: not yet */
};

struct cpuledger_disk_key {
	u32 major;
	u32 first_minor;
	u32 parity; /* of the interval */
	u32 unused;
};

/* One device. */
struct cpuledger_disk {
	struct cpuledger_disk_use all[CPULEDGER_DISK_KINDS];
	struct cpuledger_disk_use unattributed[CPULEDGER_DISK_KINDS]; /* the part of that without a slot */
	u64 queue_ns;						       /* before the device had them */
	u64 device_ns;						       /* afterwards */
	u64 buckets[CPULEDGER_DISK_KINDS - 1][CPULEDGER_DISK_BUCKETS]; /* of reads and of writes, by the time they took */
};

/* Hooks of a CPU that have begun, and that have ended: as in cpuledger_cpu_network. */
struct cpuledger_cpu_disk {
	u64 entered, left;
	u64 reserved[6];
} __attribute__((aligned(64)));

/* What all CPUs and the reader share of it. */
struct cpuledger_disk_control {
	u64 listed[2];					    /* places taken on the list of an interval, by parity */
	struct cpuledger_disk_use folded[2][CPULEDGER_DISK_KINDS]; /* of tasks whose slots others have got */
	u64 lost[2];					    /* requests of queues without a device; likewise */
	struct cpuledger_disk others[2];		    /* devices for which there was no room, as one; likewise */
	u64 hides_swap;					    /* 1: this kernel does not say what a request is for, and there was one */
};

/* 8 tids with their slots, as tid << 32 | slot; 0: free. */
struct cpuledger_bucket {
	u64 entries[CPULEDGER_BUCKET_ENTRIES];
};

/* What all CPUs and the reader share. Each group is a line of its own. */
struct cpuledger_control {
	/* Written by the reader. */
	u64 interval;		/* the running one, from CPULEDGER_FIRST_INTERVAL */
	u64 cut[CPULEDGER_CUTS]; /* its end: enum cpuledger_cut_word */
	u32 slots;
	u32 bucket_mask;
	s32 low_slots;		/* fewer free slots: fold */
	s32 slots_of_leaders;	/* no more free slots than that: none for threads */
	/* Written by the CPU that takes or gives a batch, when it changes: deaths read this, and leave the line of free_count alone. */
	u32 is_low;		/* whether free_count was below low_slots */
	u32 slot_batch;		/* written by the reader: CPULEDGER_SLOT_BATCH, or less */
	/* Free slots that no CPU has taken: a stack of batches, then those never used. */
	u64 free_head;		/* changes so far << 32 | link to the first slot of the first batch; 0: there is none */
	u64 fresh;		/* first slot that was never used */
	s64 free_count;
	u64 reserved1[5];
	/* Places reserved on the list of an interval, by parity. */
	u64 listed[2];
	u64 reserved2[6];
	/* Likewise on its list of waiters. */
	u64 waiting[2];
	u64 reserved3[6];
};

#include "abi_blame.h"
#include "abi_pairs.h"
#include "abi_wire.h"

/* A size that has changed on purpose is written here anew. That of a slot takes whole cache lines. */
#define CPULEDGER_ACTIVITY_BYTES ((unsigned int)sizeof(struct cpuledger_activity))
#define CPULEDGER_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " has changed its size")
CPULEDGER_ASSERT_SIZE(cpuledger_kernel_types, 16);
CPULEDGER_ASSERT_SIZE(cpuledger_task, 104);
CPULEDGER_ASSERT_SIZE(cpuledger_task_rest, 48 + CPULEDGER_ACTIVITY_BYTES);
CPULEDGER_ASSERT_SIZE(cpuledger_process, 272 + CPULEDGER_ACTIVITY_BYTES);
CPULEDGER_ASSERT_SIZE(cpuledger_walk, 56);
CPULEDGER_ASSERT_SIZE(cpuledger_wanted, 8);
CPULEDGER_ASSERT_SIZE(cpuledger_cpu_range, 16);
CPULEDGER_ASSERT_SIZE(cpuledger_parent, 40);
CPULEDGER_ASSERT_SIZE(cpuledger_waiting, 48);
CPULEDGER_ASSERT_SIZE(cpuledger_program, 24);
CPULEDGER_ASSERT_SIZE(cpuledger_exit, 112);
CPULEDGER_ASSERT_SIZE(cpuledger_birth, 24);
CPULEDGER_ASSERT_SIZE(cpuledger_fold, 16);
CPULEDGER_ASSERT_SIZE(cpuledger_cpu, 256);
CPULEDGER_ASSERT_SIZE(cpuledger_slot, (192 + CPULEDGER_ACTIVITY_BYTES + 63) / 64 * 64);
CPULEDGER_ASSERT_SIZE(cpuledger_slot_rest, 64);
CPULEDGER_ASSERT_SIZE(cpuledger_slot_off, 128);
CPULEDGER_ASSERT_SIZE(cpuledger_slot_network, 320);
CPULEDGER_ASSERT_SIZE(cpuledger_cpu_network, 576);
CPULEDGER_ASSERT_SIZE(cpuledger_slot_disk, 256);
CPULEDGER_ASSERT_SIZE(cpuledger_disk_request, 32);
CPULEDGER_ASSERT_SIZE(cpuledger_disk_key, 16);
CPULEDGER_ASSERT_SIZE(cpuledger_disk, 720);
CPULEDGER_ASSERT_SIZE(cpuledger_cpu_disk, 64);
CPULEDGER_ASSERT_SIZE(cpuledger_disk_control, 1672);
CPULEDGER_ASSERT_SIZE(cpuledger_bucket, 64);
CPULEDGER_ASSERT_SIZE(cpuledger_slot_blame, 64);
CPULEDGER_ASSERT_SIZE(cpuledger_cpu_blame, 256);
CPULEDGER_ASSERT_SIZE(cpuledger_control, 256);
_Static_assert((u32)CPULEDGER_MIN_SLOTS > (u32)CPULEDGER_SLOT_FIRST, "the smallest ledger has a slot for a task");
_Static_assert(CPULEDGER_FIRST_INTERVAL > 0, "a slot that was never listed is not taken for one that is");
_Static_assert(!(CPULEDGER_CUTS & (CPULEDGER_CUTS - 1)), "a mask finds the place of a cut");
_Static_assert(!(CPULEDGER_LIST_BATCH & (CPULEDGER_LIST_BATCH - 1)), "a mask finds the end of what is reserved");
_Static_assert(2 * CPULEDGER_SLOT_BATCH < CPULEDGER_FREE_COUNT_MASK, "the count of a batch fits");
_Static_assert(CPULEDGER_MAX_SLOTS < CPULEDGER_FREE_RUN, "a link holds every slot number");
_Static_assert((u64)CPULEDGER_MAX_SLOTS * sizeof(struct cpuledger_slot) < 1ULL << 32, "an array of slots stays below 4 GiB");

#endif
