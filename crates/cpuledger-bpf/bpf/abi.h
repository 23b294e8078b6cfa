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
	/* RSS is summed over at most so many CPUs; above it the kernel's global part is reported. */
	CPULEDGER_MAX_CPUS = 1024,
	/* Exits kept in the ring between two reads; when it is full they are folded by parent. */
	CPULEDGER_EXIT_RING_BYTES = 4 * 1024 * 1024,
	/* Parents for which exits can be folded when the ring is full; above it, into parent 0. */
	CPULEDGER_FOLD_ENTRIES = 8192,
	/* Slots of the ledger: unless stated, at least, at most (a slot number has 32 bits, the arrays 4 GiB). */
	CPULEDGER_DEFAULT_SLOTS = 49152,
	CPULEDGER_MIN_SLOTS = 16,
	CPULEDGER_MAX_SLOTS = 8 * 1024 * 1024,
	/* Below one free slot in so many, tasks that die are folded in the kernel. */
	CPULEDGER_LOW_SLOTS_SHARE = 8,
	/* Entries of one bucket of the index: a cache line. Two buckets can hold a tid. */
	CPULEDGER_BUCKET_ENTRIES = 8,
	/* The number of the first interval. 0 is the mark of a slot that was never listed. */
	CPULEDGER_FIRST_INTERVAL = 1,
	/* Places for ends of intervals: the number of an interval modulo this is its place. A power of two. */
	CPULEDGER_CUTS = 4,
	/* Attempts of a compare-and-swap against the one reader, who changes a word once a cut. */
	CPULEDGER_RUN_ATTEMPTS = 4,
	/* Attempts against all other CPUs. */
	CPULEDGER_FREE_ATTEMPTS = 32,
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

/* Fields a walk reads only when asked: each costs about as much as all that is read anyway. */
enum cpuledger_read_group {
	/* of a task all but its numbers, name and CPU time: start, state, scheduling, users, faults, switches, I/O */
	CPULEDGER_READ_DETAIL = 1 << 3,
	CPULEDGER_READ_MEMORY = 1 << 0,
	CPULEDGER_READ_CGROUP = 1 << 1,
	CPULEDGER_READ_KTHREAD_NAME = 1 << 2,
	/* process group, session and terminal: a walk always reads them */
	CPULEDGER_READ_SESSION = 1 << 4,
	/* the number in the PID namespace of the task: a whole walk always reads it */
	CPULEDGER_READ_NAMESPACE = 1 << 5,
	/* What the brief walk can read of these. */
	CPULEDGER_READ_BRIEFLY = CPULEDGER_READ_KTHREAD_NAME | CPULEDGER_READ_SESSION,
	/* What the brief inspection cannot read of these. */
	CPULEDGER_INSPECT_WHOLLY = CPULEDGER_READ_CGROUP | CPULEDGER_READ_SESSION | CPULEDGER_READ_NAMESPACE,
};

/* What the running kernel was built without: user space shows the fields as not known. */
enum cpuledger_lack {
	CPULEDGER_LACKS_RUNQUEUE_WAIT = 1 << 0, /* CONFIG_SCHED_INFO */
	CPULEDGER_LACKS_IO = 1 << 1,		/* CONFIG_TASK_IO_ACCOUNTING */
	CPULEDGER_LACKS_CGROUP = 1 << 2,	/* CONFIG_CGROUPS */
	CPULEDGER_LACKS_RSS_SUM = 1 << 3,	/* the per-CPU part of RSS could not be summed: what was read is inexact */
};

/* Cumulative figures of one task, or of a process: live and dead threads together. */
struct cpuledger_counters {
	u64 runtime_ns;	     /* se.sum_exec_runtime: exact, scheduler clock */
	u64 tick_user_ns;    /* utime: sampled at the tick unless the kernel accounts precisely */
	u64 tick_system_ns;  /* stime, likewise */
	u64 shown_user_ns;   /* prev_cputime: what the kernel showed last, its lower bound */
	u64 shown_system_ns;
	u64 minor_faults;
	u64 major_faults;
	u64 voluntary_switches;
	u64 involuntary_switches;
	u64 runqueue_wait_ns; /* sched_info.run_delay; of a process: of its live threads */
	u64 read_bytes;
	u64 write_bytes;
	u64 cancelled_write_bytes;
};

/* One task. What the brief walk writes comes first: it dirties one or two cache lines a task. */
struct cpuledger_task {
	s32 tid;
	s32 pid;
	u32 process_index;	/* of its record among the processes of this walk */
	u32 flags;		/* PF_* */
	u8 comm[CPULEDGER_COMM_BYTES];
	struct cpuledger_counters own;
	u64 start_time_ns;	/* start_boottime: CLOCK_BOOTTIME */
	u32 state;		/* __state */
	u32 exit_state;
	s32 exit_signal;	/* sent to the parent; 17 is SIGCHLD, -1 of threads: none */
	s32 priority;		/* prio - 100, as /proc shows it */
	s32 nice;
	u32 rt_priority;
	u32 policy;
	u32 processor;
	s32 namespace_tid;	/* in the innermost PID namespace of the task */
	u32 namespace_level;	/* 0: the initial PID namespace */
	u32 uid, euid, suid, fsuid;
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
	u64 has_mm;
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
	u32 cpus;		/* possible CPUs, for the sum of RSS */
	/* out */
	u32 tasks;		/* that had to be recorded; more than the buffer holds: repeat with a larger one */
	u32 processes;		/* likewise */
	u64 begin_ns;		/* CLOCK_MONOTONIC */
	u64 end_ns;
	u32 lacks;		/* enum cpuledger_lack, or-ed: what this kernel cannot give */
	/* in */
	u32 wanted;		/* of an inspection: entries of its list */
};

/* One task that an inspection shall look at. */
struct cpuledger_wanted {
	s32 tid;
	u32 opens_process;	/* not 0: a leader; else a thread of the process that was opened last */
};

/* Who is whose parent: all processes, listed once. */
struct cpuledger_parent {
	s32 pid;
	s32 parent_pid;
	u64 start_time_ns;	  /* start_boottime: CLOCK_BOOTTIME */
	u64 parent_start_time_ns; /* likewise, of the process of the parent */
};

/* One task that has died: written at its last switch, when its figures are final. */
struct cpuledger_exit {
	s32 tid;
	s32 pid;
	s32 ppid;		/* its parent when it died */
	s32 exit_code;		/* as wait(2) returns it */
	u64 start_time_ns;	/* CLOCK_BOOTTIME */
	u64 process_start_time_ns;
	u64 lifetime_ns;	/* since its start, CLOCK_MONOTONIC */
	u64 runtime_ns;
	u64 tick_user_ns;
	u64 tick_system_ns;
	u32 uid;
	u32 reserved;
	u8 comm[CPULEDGER_COMM_BYTES];
};

/* Exits that found the ring full, by the parent of the process: identity lost, time kept. */
struct cpuledger_fold {
	u64 exits;
	u64 runtime_ns;
};

/* Slots that are no task's. */
enum cpuledger_slot_number {
	CPULEDGER_SLOT_IDLE = 0,   /* the idle task of each CPU */
	CPULEDGER_SLOT_NOBODY = 1, /* whoever found no slot: its time is not attributed */
	CPULEDGER_SLOT_FIRST = 2,
};

/* How `run` of a CPU is packed: start_ns << SHIFT | OUT | PARITY. */
enum cpuledger_run {
	CPULEDGER_RUN_PARITY = 1 << 0, /* which of current[] is running */
	CPULEDGER_RUN_OUT = 1 << 1,    /* the CPU is not in the books until its next switch */
	CPULEDGER_RUN_SHIFT = 2,
};

/* How a cut is packed: time << SHIFT | CONFIRMED. 0: none is published; all ones: a hook has voided it. */
enum cpuledger_cut_word {
	CPULEDGER_CUT_CONFIRMED = 1 << 0,
	CPULEDGER_CUT_SHIFT = 1,
};

/*
 * One CPU of the ledger. The hook of that CPU writes all of it; the reader exchanges `run`, and zeroes the accumulators of
 * the closed interval. In [2], the index is the parity: of the interval number, or, for `current`, of the run.
 */
struct cpuledger_cpu {
	u64 run;		/* since when the running task has run: enum cpuledger_run */
	u64 booked;		/* the `run` that the last switch wrote, as soon as all before it is booked */
	u64 idle_ns[2];
	u64 unattributed_ns[2];
	u32 current[2];		/* slot of the running task */
	u64 switches;
	u64 entered_ns;		/* when it came into the books: its first switch since it was out of them */
	u32 at_cut[2];		/* slot that ran when the interval of that parity ended, where a switch has closed it; 0: none */
	u64 task;		/* of use within one switch */
	u64 reserved[5];
};

enum cpuledger_slot_flag {
	CPULEDGER_SLOT_PARENT_KNOWN = 1 << 0, /* the accounting parent was fixed at fork, else it is the parent of now */
	CPULEDGER_SLOT_EXITED = 1 << 1,	      /* the task has died */
	CPULEDGER_SLOT_RENUMBERED = 1 << 2,   /* the task lives on under the tid of its leader: an exec by another thread */
	CPULEDGER_SLOT_PROCESS_DEAD = 1 << 3, /* no thread of its process is left alive */
};

/* One task that has run since the ledger was attached. The first line is what a switch touches. */
struct cpuledger_slot {
	u64 wall_ns[2];		/* on a CPU, by parity of the interval */
	u64 mark[2];		/* number of the last interval that lists this slot; 0: none yet */
	u64 task;		/* tells tasks of one tid apart; no meaning otherwise */
	u64 exit_interval;	/* the interval of its last switch; 0: not yet */
	s32 tid;
	s32 pid;
	u32 flags;		/* enum cpuledger_slot_flag */
	s32 exit_code;		/* as wait(2) returns it */

	u64 start_time_ns;	/* start_boottime: CLOCK_BOOTTIME */
	u64 process_start_time_ns;
	u64 parent_start_time_ns; /* of the process that is the accounting parent */
	u64 first_runtime_ns;	/* runtime when the slot was made: 0 of a child */
	s32 parent_pid;		/* accounting parent */
	u32 uid;
	u8 comm[CPULEDGER_COMM_BYTES];
	u32 next_free;		/* slot number; 0: the last */
	s32 ppid;		/* from here on, but for what was folded: at the last switch; the parent when it died */

	u64 folded_threads_ns[2]; /* of threads of this process that were folded, by parity of the interval */
	u64 folded_children_ns[2];
	u64 end_ns;		/* CLOCK_MONOTONIC */
	u64 lifetime_ns;	/* since its start, CLOCK_MONOTONIC */
	struct cpuledger_counters last; /* before: when the slot was made */
};

/* 8 tids with their slots: tid << 32 | slot; 0: free. */
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
	s64 low_slots;		/* fewer free slots: fold */
	u64 reserved0;
	/* Free slots: a stack of given-back ones, then those never used. */
	u64 free_head;		/* changes so far << 32 | slot; slot 0: empty */
	u64 fresh;		/* first slot that was never used */
	s64 free_count;
	u64 reserved1[5];
	/* Slots listed in an interval, by parity. */
	u64 listed[2];
	u64 reserved2[6];
	/* Lost detail. */
	u64 no_slot;		/* attempts to give a task a slot when none was free */
	u64 no_entry;		/* likewise, when its buckets of the index were full */
	u64 folded_threads;
	u64 folded_processes;
	u64 contended;		/* switches that lost all their attempts: the time is with a task before or after */
	u64 missed;		/* switches the kernel has not shown: the time went to the task after */
	/* Steps of CPUs on their way online or offline: while it stays the same, so does the set of online CPUs. */
	u64 hotplug;
	u64 reserved3;
};

#define CPULEDGER_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " has changed its size")
CPULEDGER_ASSERT_SIZE(cpuledger_counters, 104);
CPULEDGER_ASSERT_SIZE(cpuledger_task, 232);
CPULEDGER_ASSERT_SIZE(cpuledger_process, 336);
CPULEDGER_ASSERT_SIZE(cpuledger_walk, 48);
CPULEDGER_ASSERT_SIZE(cpuledger_wanted, 8);
CPULEDGER_ASSERT_SIZE(cpuledger_parent, 24);
CPULEDGER_ASSERT_SIZE(cpuledger_exit, 88);
CPULEDGER_ASSERT_SIZE(cpuledger_fold, 16);
CPULEDGER_ASSERT_SIZE(cpuledger_cpu, 128);
CPULEDGER_ASSERT_SIZE(cpuledger_slot, 280);
CPULEDGER_ASSERT_SIZE(cpuledger_bucket, 64);
CPULEDGER_ASSERT_SIZE(cpuledger_control, 256);
_Static_assert(CPULEDGER_MIN_SLOTS > CPULEDGER_SLOT_FIRST, "the smallest ledger has a slot for a task");
_Static_assert(CPULEDGER_FIRST_INTERVAL > 0, "a slot that was never listed is not taken for one that is");
_Static_assert(!(CPULEDGER_CUTS & (CPULEDGER_CUTS - 1)), "a mask finds the place of a cut");
_Static_assert((u64)CPULEDGER_MAX_SLOTS * sizeof(struct cpuledger_slot) < 1ULL << 32, "an array of slots stays below 4 GiB");

#endif
