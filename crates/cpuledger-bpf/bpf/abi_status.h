/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of the text of /proc/PID/{status,stat,statm}; the rest is in abi.h.
 */
#ifndef CPULEDGER_ABI_STATUS_H
#define CPULEDGER_ABI_STATUS_H

#include "abi.h"

/* Limits of the text of /proc/PID/{status,stat,statm}. A task beyond one of them is marked, and the kernel's file is read instead. */
enum cpuledger_status_limits {
	/* PID namespaces one inside the other. */
	CPULEDGER_STATUS_LEVELS = 4,
	/* Supplementary groups. */
	CPULEDGER_STATUS_GROUPS = 32,
	/* 64 CPUs or memory nodes each. */
	CPULEDGER_STATUS_MASK_WORDS = 16,
	/* The index of a record that there is not. */
	CPULEDGER_STATUS_NONE = 0xffffffffU,
};

/* What a task of that text is, beside its figures. */
enum cpuledger_status_mark {
	CPULEDGER_STATUS_BEYOND = 1 << 0,      /* beyond a limit, or it changed while it was read: ask the kernel */
	CPULEDGER_STATUS_HAS_UMASK = 1 << 1,   /* it has not let go of its file system information */
	CPULEDGER_STATUS_HAS_UNTAG = 1 << 2,   /* of memory: the kernel keeps untag_mask by process */
};

/*
 * One task as /proc/PID/task/TID/{status,stat} show it. What many tasks share is in records of its own. What status shows
 * comes first, so that few cache lines are written for it.
 */
struct cpuledger_status_task {
	s32 tid;
	s32 pid;
	u32 process_index;
	u32 memory_index;	/* CPULEDGER_STATUS_NONE: it has no memory of its own */
	u32 credentials_index;
	u32 placement_index;
	u32 marks;		/* enum cpuledger_status_mark */
	u32 flags;		/* PF_* */
	u8 comm[CPULEDGER_COMM_BYTES];
	u32 state;		/* __state */
	u32 exit_state;
	u32 umask;
	u32 max_fds;

	u32 namespace_level;	/* 0: the initial PID namespace */
	s32 namespace_tids[CPULEDGER_STATUS_LEVELS]; /* from the initial PID namespace inwards */
	s32 numa_group;
	s32 tracer_pid;
	u32 seccomp_mode;
	u64 atomic_flags;	/* PFA_* */
	u64 pending_signals;
	u64 blocked_signals;
	u64 voluntary_switches;

	u64 involuntary_switches;
	u64 thread_features;	/* of x86: ARCH_SHSTK_* */
	u64 locked_thread_features;
	u32 seccomp_filters;
	/* From here on read for stat only. */
	u32 processor;
	s32 exit_signal;
	s32 exit_code;
	s32 priority;		/* prio - 100, as /proc shows it */
	s32 nice;
	u32 rt_priority;
	u32 policy;
	u64 start_time_ns;	/* start_boottime: CLOCK_BOOTTIME */
	u64 guest_ns;		/* gtime */
	u64 block_delay_ns;	/* delays->blkio_delay */
	struct cpuledger_cpu_time cpu_time;
	u64 minor_faults;
	u64 major_faults;
};

/* One process, likewise. */
struct cpuledger_status_process {
	struct cpuledger_process process;
	u32 marks;		/* enum cpuledger_status_mark */
	u32 dumps_core;
	s32 namespace_pids[CPULEDGER_STATUS_LEVELS];
	s32 namespace_pgids[CPULEDGER_STATUS_LEVELS];
	s32 namespace_sids[CPULEDGER_STATUS_LEVELS];
	u64 shared_pending_signals;
	u64 ignored_signals;
	u64 caught_signals;
	u64 queued_signals_limit; /* RLIMIT_SIGPENDING */
	u64 resident_limit;	/* RLIMIT_RSS */
	u64 guest_ns;		/* of all threads, dead ones too, where they were visited */
	u64 children_guest_ns;
	u32 signal_flags;	/* SIGNAL_* */
	s32 group_exit_code;
};

/* Memory that the tasks of a process share; in pages, but for what is named otherwise. */
struct cpuledger_status_memory {
	u64 virtual_peak;
	u64 virtual_now;
	u64 locked;
	u64 pinned;
	u64 resident_peak;
	u64 anonymous;
	u64 file;
	u64 shmem;
	u64 swap;
	u64 resident_coarse;	/* without the parts of each CPU, as /proc/PID/stat has it */
	u64 data;
	u64 stack;
	u64 executable;
	u64 page_table_bytes;
	u64 hugetlb;
	u64 flags;		/* MMF_* */
	u64 untag_mask;
	u64 code_start, code_end; /* addresses from here on */
	u64 stack_start;
	u64 data_start, data_end;
	u64 heap_start;
	u64 arguments_start, arguments_end;
	u64 environment_start, environment_end;
	u32 marks;		/* enum cpuledger_status_mark */
	u32 reserved;
};

/* Credentials that tasks share. */
struct cpuledger_status_credentials {
	u32 uid, euid, suid, fsuid;
	u32 gid, egid, sgid, fsgid;
	u64 inheritable, permitted, effective, bounding, ambient;
	u64 queued_signals;	/* of the user */
	u32 groups[CPULEDGER_STATUS_GROUPS];
	u32 group_count;
	u32 marks;		/* enum cpuledger_status_mark */
};

/* Where tasks may run and have their memory. */
struct cpuledger_status_placement {
	u64 cpus[CPULEDGER_STATUS_MASK_WORDS];
	u64 nodes[CPULEDGER_STATUS_MASK_WORDS];
};

/* The arguments and the result of one walk for that text. Counts above what the buffers hold: repeat with larger ones. */
struct cpuledger_status_walk {
	/* in */
	u32 scope;		/* enum cpuledger_walk_scope */
	u32 cpus;		/* numbers of CPUs are below this: for the sum of RSS */
	u32 reads_status;	/* whether what only status shows is wanted, */
	u32 reads_stat;		/* and what only stat shows */
	/* out */
	u32 tasks;
	u32 processes;
	u32 memories;
	u32 credentials;
	u32 placements;
	u32 lacks;		/* enum cpuledger_lack, or-ed */
	u64 begin_ns;		/* CLOCK_MONOTONIC */
	u64 end_ns;
};

CPULEDGER_ASSERT_SIZE(cpuledger_status_task, 264);
CPULEDGER_ASSERT_SIZE(cpuledger_status_process, 392 + CPULEDGER_ACTIVITY_BYTES);
CPULEDGER_ASSERT_SIZE(cpuledger_status_memory, 224);
CPULEDGER_ASSERT_SIZE(cpuledger_status_credentials, 216);
CPULEDGER_ASSERT_SIZE(cpuledger_status_placement, 256);
CPULEDGER_ASSERT_SIZE(cpuledger_status_walk, 56);

#endif
