/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slots that were touched in an interval: the reader looks at these, and at no others.
 */
#ifndef CPULEDGER_LIST_BPF_H
#define CPULEDGER_LIST_BPF_H

#include "slots.bpf.h"

/* LIST_BATCH places for even intervals, as many for odd ones, and so on. User space sets their number before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * (CPULEDGER_DEFAULT_SLOTS + CPULEDGER_LIST_BATCH));
	__type(key, u32);
	__type(value, u64);
} listed SEC(".maps");

/*
 * The next place that this CPU has reserved on a list of an interval: `next` is where it keeps that, `control` where all CPUs reserve. Switches and
 * wake-ups list slots, with interrupts off, so nothing interrupts this.
 */
static __always_inline u32 next_place(u64 *next, u64 *reserved, u64 interval)
{
	u64 place = *next;

	if ((u32)(place >> 32) != (u32)interval || !(place & (CPULEDGER_LIST_BATCH - 1)))
		place = interval << 32 | (u32)__sync_fetch_and_add(reserved, CPULEDGER_LIST_BATCH);
	*next = place + 1;
	return place;
}

static __always_inline void set_place(void *list, u32 place, u64 interval, u32 number)
{
	u32 key = (place & ~(CPULEDGER_LIST_BATCH - 1)) * 2 + (interval & 1) * CPULEDGER_LIST_BATCH + (place & (CPULEDGER_LIST_BATCH - 1));
	u64 *entry = bpf_map_lookup_elem(list, &key);

	if (entry)
		*entry = number;
}

/* Puts a slot on the list of an interval, once. Several CPUs may fold into the same slot. */
__noinline int list_slot(u32 number, u64 interval)
{
	struct cpuledger_slot *slot = slot_at(number);
	struct cpuledger_cpu *cpu = this_cpu();

	if (!slot || !cpu || __sync_lock_test_and_set(&slot->mark[interval & 1], interval) == interval)
		return 0;
	set_place(&listed, next_place(&cpu->list_place[interval & 1], &control.listed[interval & 1], interval), interval, number);
	return 0;
}

/* Likewise, where a switch may interrupt it: it takes a run of places for this one. */
__noinline int list_slot_apart(u32 number, u64 interval)
{
	struct cpuledger_slot *slot = slot_at(number);

	if (!slot || __sync_lock_test_and_set(&slot->mark[interval & 1], interval) == interval)
		return 0;
	set_place(&listed, __sync_fetch_and_add(&control.listed[interval & 1], CPULEDGER_LIST_BATCH), interval, number);
	return 0;
}

/* A child is added to a list, the reader takes it, and another fork hook of this CPU may come between: none of them does so twice. */
#define BIRTH_ATTEMPTS 4

/*
 * A task was made, and may not run before the cut: each CPU has a list of these, which the reader takes as a whole. A slot is on one list
 * at most until the reader has taken it from there, also if it gets another owner meanwhile.
 */
static __always_inline void list_birth(u32 number)
{
	struct cpuledger_slot_rest *rest = rest_at(number);
	struct cpuledger_cpu *cpu = this_cpu();

	if (!rest || !cpu || *(volatile u64 *)&rest->birth)
		return;
	for (u32 i = 0; i < BIRTH_ATTEMPTS; i++) {
		u64 last = *(volatile u64 *)&cpu->births;

		*(volatile u64 *)&rest->birth = last | CPULEDGER_BIRTH_LISTED;
		if (__sync_val_compare_and_swap(&cpu->births, last, number) == last)
			return;
	}
	/* It is told when it runs. */
	*(volatile u64 *)&rest->birth = 0;
}

static __always_inline void touch(struct cpuledger_slot *slot, u32 number, u64 interval)
{
	if (slot->mark[interval & 1] != interval)
		list_slot(number, interval);
}

#endif
