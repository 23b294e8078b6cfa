/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of pairs: which class of tasks has made which class wait for a CPU. A class is a cgroup. Included by abi.h.
 */
#ifndef CPULEDGER_ABI_PAIRS_H
#define CPULEDGER_ABI_PAIRS_H

/* Numbers of classes. A bit of a word stands for each. */
enum cpuledger_classes {
	CPULEDGER_CLASS_OTHER = 0, /* all cgroups that have no class of their own */
	CPULEDGER_CLASSES = 64,
	CPULEDGER_CLASS_PROBES = 8, /* numbers that one cgroup may have: one after the other, from its hash on */
	CPULEDGER_CLASS_HASH_SHIFT = 58,
};
#define CPULEDGER_CLASS_HASH 0x9e3779b97f4a7c15ULL

/* Who is to blame, in this order: a class by its number, or one of these. */
enum cpuledger_pair_row_number {
	CPULEDGER_ROW_IDLE = CPULEDGER_CLASSES,
	CPULEDGER_ROW_QUOTA,
	CPULEDGER_ROW_INTERRUPTS,
	CPULEDGER_ROW_STOLEN,
	CPULEDGER_ROWS,
};

/* What a class number stands for. */
enum cpuledger_class_state {
	CPULEDGER_CLASS_FREE = 0,
	CPULEDGER_CLASS_CLAIMED = 1, /* a hook is writing which cgroup */
	CPULEDGER_CLASS_USED = 2,
	CPULEDGER_CLASS_RETIRED = 3, /* no task gets it any more: the reader frees it when none has it */
};

struct cpuledger_class {
	u64 state;	/* enum cpuledger_class_state */
	u64 cgroup_id;	/* unified hierarchy */
	u64 cgroup_v1_cpu_id; /* hierarchy of the cpu controller; 0 where it is not compiled in */
	u64 reserved;
};

/* Those of a class that wait for a CPU, as in struct cpuledger_cpu_blame: a cache line. */
struct cpuledger_class_waits {
	u64 waiters;
	u64 area;
	u64 told;
	u64 cut_caused_ns; /* what they had waited up to the start of the CPU's interval, and was not booked: for the reader */
	u64 gone;	   /* enum cpuledger_gone. Any CPU adds to it */
	u64 reserved[3];
};

/* The waiters of a CPU by class. The hooks write it as they write struct cpuledger_cpu_blame, and between the same turns of `sequence`. */
struct cpuledger_cpu_pairs {
	u64 waiting;	 /* classes of which something may not be booked: a bit each */
	u64 gone;	 /* classes whose `gone` is not 0, perhaps. Any CPU adds to it */
	u64 cut_waiting; /* classes with `cut_caused_ns` */
	u32 row;	 /* of the task that has the CPU */
	u32 cut_row;	 /* of the one that had it at the start of the CPU's interval */
	u32 next_row;	 /* of the task that is switched in */
	u32 reserved_half;
	u64 reserved[3];
	struct cpuledger_class_waits of[CPULEDGER_CLASSES];
};

/* What one class or cause has made others wait on a CPU, by parity of the interval. */
struct cpuledger_pair_row {
	u64 touched[2]; /* classes to which something was added: a bit each */
	u64 ns[2][CPULEDGER_CLASSES];
};

_Static_assert(sizeof(struct cpuledger_class) == 32, "cpuledger_class has changed its size");
_Static_assert(sizeof(struct cpuledger_cpu_pairs) == 64 + 64 * CPULEDGER_CLASSES, "cpuledger_cpu_pairs has changed its size");
_Static_assert(sizeof(struct cpuledger_pair_row) == 16 + 16 * CPULEDGER_CLASSES, "cpuledger_pair_row has changed its size");
_Static_assert(CPULEDGER_CLASSES == 1 << (CPULEDGER_PLACE_SHIFT - CPULEDGER_PLACE_CLASS_SHIFT), "a place holds every class");
_Static_assert(CPULEDGER_CLASSES == 1 << (64 - CPULEDGER_CLASS_HASH_SHIFT) && CPULEDGER_CLASSES == 64, "a word has a bit for each class");

#endif
