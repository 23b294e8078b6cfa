/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of blame: what a task waited for a CPU, and which task had it. Included by abi.h; docs/blame.md says what the figures mean.
 */
#ifndef CPULEDGER_ABI_BLAME_H
#define CPULEDGER_ABI_BLAME_H

/* How `place` of a task is packed: CPU << SHIFT | class << CLASS_SHIFT | how it waits there. Without pairs the class is 0. */
enum cpuledger_place {
	CPULEDGER_PLACE_NOWHERE = 0, /* it does not wait */
	CPULEDGER_PLACE_QUEUED = 1,  /* among the waiters of the CPU */
	CPULEDGER_PLACE_MOVED = 2,   /* likewise, but came from another CPU: the CPU does not know yet */
	CPULEDGER_PLACE_QUOTA = 3,   /* its cgroup had used up its quota when it left the CPU */
	CPULEDGER_PLACE_LATER = 4,   /* no place: it is told at the end of the switch */
	CPULEDGER_PLACE_HOW = 7,     /* a mask */
	CPULEDGER_PLACE_CLASS_SHIFT = 3,
	CPULEDGER_PLACE_SHIFT = 9,
};

/* How `wait` of a task is packed: since_ns << SHIFT | whether it waits. The clock is CLOCK_MONOTONIC. */
enum cpuledger_wait {
	CPULEDGER_WAIT_IS = 1 << 0,
	CPULEDGER_WAIT_SHIFT = 1,
};

/* How `at_cut` of a task is packed: the low bits of the interval << SHIFT | place. */
enum cpuledger_blame_cut {
	CPULEDGER_BLAME_CUT_SHIFT = 32,
};

/* How `gone` of a CPU is packed: the sum of the instants at which tasks were found << SHIFT | their number. The sum loses its high bits. */
enum cpuledger_gone {
	CPULEDGER_GONE_SHIFT = 16,
	CPULEDGER_GONE_COUNT = (1 << CPULEDGER_GONE_SHIFT) - 1, /* a mask */
};

/* An event is booked at an instant that is at most this long ago. The reader looks later than that after a cut. */
enum cpuledger_blame_limit {
	CPULEDGER_BLAME_LAG_NS = 50000,
};

/* What the kernel tells of the time in which the task that had a CPU did not execute, for the task clocks of its scheduler. */
enum cpuledger_taken {
	CPULEDGER_TAKEN_INTERRUPTS = 1 << 0, /* CONFIG_IRQ_TIME_ACCOUNTING */
	CPULEDGER_TAKEN_STOLEN = 1 << 1,     /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
};

/*
 * What the task of a slot waits for, and what others wait for because of it: a cache line at the same index of an array of its own. The hooks write it
 * while the kernel holds the lock of the run queue that the task is on, but for what other tasks add atomically when they are folded.
 */
struct cpuledger_slot_blame {
	u64 wait;	    /* since when it waits at its place, or does not: enum cpuledger_wait */
	u32 place;	    /* enum cpuledger_place */
	u32 mark;	    /* low bits of the interval whose list of waiters has the slot */
	u64 suffered_ns[2]; /* by parity of the interval */
	u64 caused_ns[2];
	/* Where it waited at the last cut, and since when, if it has left that place since. */
	u64 cut_since_ns;
	u64 at_cut;	    /* enum cpuledger_blame_cut */
};

/*
 * The waiters of a CPU. The hooks write it while the kernel holds the lock of its run queue, whichever CPU they run on. What all that came so far have
 * waited here up to the time t is `area` + `waiters` * t, modulo 2^64.
 */
struct cpuledger_cpu_blame {
	u64 sequence;	    /* odd: a hook is writing */
	u64 waiters;
	u64 area;
	u64 told;	    /* of what they have waited: what is booked to those that had the CPU */
	u64 last_ns;	    /* instant of the last event */
	u64 interval;	    /* and its interval */
	u32 running;	    /* slot that has the CPU: as `current` of struct cpuledger_cpu */
	u32 cut_running;    /* slot that had it at the start of `interval` */
	u64 gone;	    /* tasks that wait here no more, and were found elsewhere: enum cpuledger_gone. Any CPU adds to it */

	u64 taken_ns;	    /* for how long tasks that had the CPU did not execute, so far, */
	u64 interrupted_ns; /* and the part of it in which they were interrupted; the rest was stolen */
	u64 told_taken_ns;  /* the same at the last event */
	u64 told_interrupted_ns;
	u64 lag_ns;	    /* as in struct cpuledger_cpu, since the last switch */
	u64 lag_at_ns;
	/* Written by hooks that run on this CPU. */
	u64 list_place[2];  /* as in struct cpuledger_cpu, for the lists of waiters */

	u64 idle_ns[2];	    /* waits while the CPU was idle, by parity of the interval */
	u64 quota_ns[2];    /* waits at places with PLACE_QUOTA */
	u64 no_slot_ns[2];  /* waits while a task without a slot had the CPU */
	u64 cut_caused_ns;  /* what `cut_running` had caused up to the start of `interval`, and was not booked: for the reader */
	u64 cut_waiters;    /* waiters at that instant */

	u64 interrupts_ns[2]; /* waits while the task that had the CPU was interrupted, by parity of the interval */
	u64 stolen_ns[2];   /* waits while the hypervisor had the CPU */
	u64 unseen;	    /* wake-ups of tasks that had no slot: their waits are not in the books; by the CPU that the hook ran on */
	u64 amended;	    /* events that the kernel has not shown: tasks that were found elsewhere than where they waited; likewise */
	u64 kernel_tells;   /* enum cpuledger_taken */
	u64 reserved;
};

#endif
