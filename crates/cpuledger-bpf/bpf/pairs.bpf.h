/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pairs: which cgroup has made which cgroup wait for a CPU.
 *
 * It is blame.bpf.h once more, for each class of tasks apart: W(t) = area + waiters * t is the sum of all that those of one class have waited for a CPU. At a
 * switch its growth is what the class of the task that leaves has made that class wait. All sums over classes are those of blame, as each
 * event changes both by the same instants. A bit for each class says of which something may have grown, so a switch looks at the
 * classes that wait, and at no others.
 *
 * A class is a cgroup, by a number below CPULEDGER_CLASSES. The first task of a cgroup that waits takes a number that is free, and the reader
 * takes back those that nobody has used for a while. Where none is free, the class is OTHER. Two CPUs may give one cgroup two numbers: the
 * reader adds up what has the same name.
 */
#ifndef CPULEDGER_PAIRS_BPF_H
#define CPULEDGER_PAIRS_BPF_H

#include "numbers.bpf.h"
#include "slots.bpf.h"

#ifndef CPULEDGER_WANTS_PAIRS
#define CPULEDGER_WANTS_PAIRS 0
#endif

/* Whether user space wants this, besides blame. It says so before it loads the programs. */
const volatile u32 wants_pairs SEC(".rodata.pairs") = CPULEDGER_WANTS_PAIRS;

/* User space sets the number of entries of these before it loads them: one each, where nobody wants this. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_cpu_pairs);
} cpu_pairs SEC(".maps");

/* CPULEDGER_ROWS of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_pair_row);
} pair_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_class);
} classes SEC(".maps");

static __always_inline struct cpuledger_cpu_pairs *pairs_at(u32 key)
{
	return bpf_map_lookup_elem(&cpu_pairs, &key);
}

static __always_inline struct cpuledger_pair_row *row_at(u32 key, u32 row)
{
	u32 place = key * CPULEDGER_ROWS + row;

	return bpf_map_lookup_elem(&pair_rows, &place);
}

/* The lowest class of a set that is not empty: the number of bits below it, which are added up in parallel. Clang 14 crashes on the builtin. */
static __always_inline u32 first_class(u64 set)
{
	u64 below = (set & -set) - 1;

	below -= below >> 1 & 0x5555555555555555ULL;
	below = (below & 0x3333333333333333ULL) + (below >> 2 & 0x3333333333333333ULL);
	below = (below + (below >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	below = below * 0x0101010101010101ULL >> 56;
	/* Clang 21 makes a table of all that, knows its values, and leaves out the bound: the verifier does not know them. */
	barrier_var(below);
	return below & (CPULEDGER_CLASSES - 1);
}

/* The number of a cgroup at one of the places where it may be; OTHER is none. */
static __always_inline u32 class_number(u64 id, u64 v1_cpu_id, u32 probe)
{
	return ((((id ^ v1_cpu_id << 32) * CPULEDGER_CLASS_HASH) >> CPULEDGER_CLASS_HASH_SHIFT) + probe) & (CPULEDGER_CLASSES - 1);
}

static __always_inline struct cpuledger_class *class_record(u32 number)
{
	return number == CPULEDGER_CLASS_OTHER ? NULL : bpf_map_lookup_elem(&classes, &number);
}

/* Takes a number for a cgroup, if one is free. */
__noinline u32 take_class(u64 id, u64 v1_cpu_id)
{
	for (u32 i = 0; i < CPULEDGER_CLASS_PROBES; i++) {
		u32 number = class_number(id, v1_cpu_id, i);
		struct cpuledger_class *class = class_record(number);

		if (!class || !claim(&class->state))
			continue;
		class->cgroup_id = id;
		class->cgroup_v1_cpu_id = v1_cpu_id;
		/* Last, and an exchange, so that whoever finds it used finds which cgroup it is. */
		__sync_lock_test_and_set(&class->state, CPULEDGER_CLASS_USED);
		return number;
	}
	return CPULEDGER_CLASS_OTHER;
}

/* The class of a cgroup: its number, if it has one or gets one. */
__noinline u32 find_class(u64 id, u64 v1_cpu_id)
{
	for (u32 i = 0; i < CPULEDGER_CLASS_PROBES; i++) {
		u32 number = class_number(id, v1_cpu_id, i);
		struct cpuledger_class *class = class_record(number);

		if (class && *(volatile u64 *)&class->state == CPULEDGER_CLASS_USED && class->cgroup_id == id && class->cgroup_v1_cpu_id == v1_cpu_id)
			return number;
	}
	return take_class(id, v1_cpu_id);
}

/* The class of a task, by the cgroup that it is in now. */
static __always_inline u32 class_of(struct task_struct *task)
{
	struct cgroup_subsys_state **states;
	struct css_set *set;
	u64 v1_cpu_id = 0;

	if (!bpf_core_field_exists(task->cgroups))
		return CPULEDGER_CLASS_OTHER;
	set = as_walked(task)->cgroups;
	/* The number is a constant when the verifier looks, so it knows what is read: without the calls of a helper. */
	states = (void *)__builtin_preserve_access_index(&set->subsys[0]);
	if (bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		v1_cpu_id = states[bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id)]->cgroup->kn->id;
	return find_class(set->dfl_cgrp->kn->id, v1_cpu_id);
}

/* The row of a task that has a CPU. */
static __always_inline u32 row_of(struct task_struct *task)
{
	return task->pid ? class_of(task) : CPULEDGER_ROW_IDLE;
}

/* A timer has brought this CPU into the books, while this task had it. */
static __always_inline void enter_class(u32 key, struct task_struct *task)
{
	struct cpuledger_cpu_pairs *cpu = pairs_at(key);

	if (cpu)
		*(volatile u32 *)&cpu->row = row_of(task);
}

/*
 * Global functions, which the verifier checks once.
 */

/* So many of a class come to a CPU, or leave it, at instants whose sum is taken from `area`, or added. */
__noinline int change_class(u32 key, u32 number, s64 count, u64 area_ns)
{
	struct cpuledger_cpu_pairs *cpu = pairs_at(key);
	u32 class = number & (CPULEDGER_CLASSES - 1);

	if (!cpu)
		return 0;
	cpu->of[class].waiters += count;
	cpu->of[class].area += area_ns;
	cpu->waiting |= 1ULL << class;
	return 0;
}

/* One of a class waits no more for a CPU whose lock is not held. The class comes before the bit that says so. */
__noinline int leave_class_elsewhere(u32 key, u32 number, u64 now_ns)
{
	struct cpuledger_cpu_pairs *cpu = pairs_at(key);
	u32 class = number & (CPULEDGER_CLASSES - 1);

	if (!cpu)
		return 0;
	__sync_fetch_and_add(&cpu->of[class].gone, now_ns << CPULEDGER_GONE_SHIFT | 1);
	__sync_fetch_and_or(&cpu->gone, 1ULL << class);
	return 0;
}

/* Adds what a class has waited because of one of the causes. */
__noinline int book_pair(u32 key, u32 row, u32 number, u64 ns, u64 parity)
{
	struct cpuledger_pair_row *of = row_at(key, row);
	u32 class = number & (CPULEDGER_CLASSES - 1);

	if (!of || !ns)
		return 0;
	of->ns[parity & 1][class] += ns;
	of->touched[parity & 1] |= 1ULL << class;
	return 0;
}

/* A switch: the task that had the CPU has caused what each class has waited since, and was not booked. */
__noinline int book_classes(u32 key, u64 now_ns, u64 parity)
{
	struct cpuledger_cpu_pairs *cpu = pairs_at(key);
	struct cpuledger_pair_row *row;
	u64 set;

	if (!cpu)
		return 0;
	row = row_at(key, cpu->row);
	cpu->row = cpu->next_row;
	if (!row)
		return 0;
	set = cpu->waiting;
	for (u32 i = 0; i < CPULEDGER_CLASSES && set; i++) {
		u32 class = first_class(set);
		struct cpuledger_class_waits *of = &cpu->of[class];
		u64 ns = of->area + of->waiters * now_ns - of->told;

		set &= set - 1;
		of->told += ns;
		row->ns[parity & 1][class] += ns;
		if (!of->waiters)
			cpu->waiting &= ~(1ULL << class);
		if (ns)
			row->touched[parity & 1] |= 1ULL << class;
	}
	return 0;
}

/* The first event of a CPU after a cut leaves for the reader what was waited up to that, and was not booked since then or since `from_ns`, if that is not 0. */
__noinline int cut_classes(u32 key, u64 start_ns, u64 from_ns)
{
	struct cpuledger_cpu_pairs *cpu = pairs_at(key);
	u64 set;

	if (!cpu)
		return 0;
	set = cpu->waiting;
	cpu->cut_waiting = set;
	cpu->cut_row = cpu->row;
	for (u32 i = 0; i < CPULEDGER_CLASSES && set; i++) {
		struct cpuledger_class_waits *of = &cpu->of[first_class(set)];
		u64 waited_ns = of->area + of->waiters * start_ns;

		set &= set - 1;
		of->cut_caused_ns = waited_ns - (from_ns ? of->area + of->waiters * from_ns : of->told);
		of->told = waited_ns;
	}
	return 0;
}

/* What each class has waited because of interrupts and the hypervisor. */
__noinline int book_taken_classes(u32 key, u64 taken_ns, u64 interrupted_ns, u64 parity)
{
	struct cpuledger_pair_row *interrupts = row_at(key, CPULEDGER_ROW_INTERRUPTS), *stolen = row_at(key, CPULEDGER_ROW_STOLEN);
	struct cpuledger_cpu_pairs *cpu = pairs_at(key);
	u64 set;

	if (!cpu || !interrupts || !stolen)
		return 0;
	set = cpu->waiting;
	interrupts->touched[parity & 1] |= set;
	stolen->touched[parity & 1] |= set;
	for (u32 i = 0; i < CPULEDGER_CLASSES && set; i++) {
		u32 class = first_class(set);
		struct cpuledger_class_waits *of = &cpu->of[class];

		set &= set - 1;
		of->told += of->waiters * taken_ns;
		interrupts->ns[parity & 1][class] += of->waiters * interrupted_ns;
		stolen->ns[parity & 1][class] += of->waiters * (taken_ns - interrupted_ns);
	}
	return 0;
}

#endif
