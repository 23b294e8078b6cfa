/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slots of the ledger: taking one, giving it back, finding it by its task. No lock: compare-and-swap, tried a stated
 * number of times. Nothing here loops over tasks.
 */
#ifndef CPULEDGER_SLOTS_BPF_H
#define CPULEDGER_SLOTS_BPF_H

#include "compat.bpf.h"

struct cpuledger_control control SEC(".data.control") __attribute__((aligned(64))) = {};

/* User space sets the number of entries of these before it loads them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPULEDGER_DEFAULT_SLOTS);
	__type(key, u32);
	__type(value, struct cpuledger_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPULEDGER_DEFAULT_SLOTS);
	__type(key, u32);
	__type(value, struct cpuledger_slot_rest);
} slot_rests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_bucket);
} tid_index SEC(".maps");

static __always_inline struct cpuledger_slot *slot_at(u32 number)
{
	return bpf_map_lookup_elem(&slots, &number);
}

static __always_inline struct cpuledger_slot_rest *rest_at(u32 number)
{
	return bpf_map_lookup_elem(&slot_rests, &number);
}

/*
 * The two buckets that may hold a tid. Tids are consecutive, so the first spreads them evenly; the second is for tasks whose
 * tids happen to be a multiple of the number of buckets apart.
 */
static __always_inline struct cpuledger_bucket *bucket_of(u32 tid, int choice)
{
	u32 key = (choice ? tid * CPULEDGER_BUCKET_HASH >> CPULEDGER_BUCKET_HASH_SHIFT : tid) & control.bucket_mask;

	return bpf_map_lookup_elem(&tid_index, &key);
}

/* What the next slot taken or given finds wrong, it corrects: two CPUs may come here in another order than they counted. */
static __always_inline void note_free_count(s64 count)
{
	u32 is_low = count < control.low_slots;

	if (control.is_low != is_low)
		control.is_low = is_low;
}

/*
 * Global functions, which the verifier checks once and not for each path that leads to them, nor for each turn of a loop.
 * They take only numbers.
 */

/*
 * One attempt at a slot that nobody uses: its number, NOBODY if there is none, IDLE if another CPU was faster. The tag in
 * `free_head` keeps a slot that came back from being taken for itself.
 */
__noinline u32 try_take_slot(void)
{
	u64 head = *(volatile u64 *)&control.free_head, fresh;
	struct cpuledger_slot *slot = slot_at(head);

	if (slot && (u32)head) {
		u64 next = ((head >> 32) + 1) << 32 | slot->ppid_or_next_free;

		return __sync_val_compare_and_swap(&control.free_head, head, next) == head ? head : CPULEDGER_SLOT_IDLE;
	}
	fresh = *(volatile u64 *)&control.fresh;
	if (!slot || fresh >= control.slots)
		return CPULEDGER_SLOT_NOBODY;
	return __sync_val_compare_and_swap(&control.fresh, fresh, fresh + 1) == fresh ? fresh : CPULEDGER_SLOT_IDLE;
}

/* A slot that nobody uses, or NOBODY. */
__noinline u32 take_slot(void)
{
	u32 number = CPULEDGER_SLOT_IDLE;

	for (int i = 0; i < CPULEDGER_FREE_ATTEMPTS && number == CPULEDGER_SLOT_IDLE; i++)
		number = try_take_slot();
	if (number >= CPULEDGER_SLOT_FIRST) {
		note_free_count(__sync_fetch_and_add(&control.free_count, -1) - 1);
		return number;
	}
	__sync_fetch_and_add(&control.no_slot, 1);
	return CPULEDGER_SLOT_NOBODY;
}

/* One attempt to give a slot back; false if another CPU was faster. */
__noinline int try_give_slot(u32 number)
{
	struct cpuledger_slot *slot = slot_at(number);
	u64 head = *(volatile u64 *)&control.free_head;

	if (!slot)
		return false;
	slot->ppid_or_next_free = head;
	return __sync_val_compare_and_swap(&control.free_head, head, ((head >> 32) + 1) << 32 | number) == head;
}

/* Whether the slot could be given back; if not, it is left to the reader. */
__noinline int give_slot(u32 number)
{
	for (int i = 0; i < CPULEDGER_FREE_ATTEMPTS; i++)
		if (try_give_slot(number)) {
			note_free_count(__sync_fetch_and_add(&control.free_count, 1) + 1);
			return true;
		}
	return false;
}

/* Whether there was room. One CPU at a time makes the slot of a task: the forking one, or the one that runs it. */
__noinline int index_insert(u32 tid, u32 number)
{
	struct cpuledger_bucket *bucket;
	u64 entry = (u64)tid << 32 | number;

	for (int choice = 0; choice < 2; choice++) {
		bucket = bucket_of(tid, choice);
		if (!bucket)
			break;
		for (int i = 0; i < CPULEDGER_BUCKET_ENTRIES; i++)
			if (!bucket->entries[i] && !__sync_val_compare_and_swap(&bucket->entries[i], 0, entry))
				return true;
	}
	__sync_fetch_and_add(&control.no_entry, 1);
	return false;
}

/* Whether the entry was there; of several that remove it, one is told so. */
__noinline int index_remove(u32 tid, u32 number)
{
	struct cpuledger_bucket *bucket;
	u64 entry = (u64)tid << 32 | number;

	for (int choice = 0; choice < 2; choice++) {
		bucket = bucket_of(tid, choice);
		if (!bucket)
			break;
		for (int i = 0; i < CPULEDGER_BUCKET_ENTRIES; i++)
			if (bucket->entries[i] == entry &&
			    __sync_val_compare_and_swap(&bucket->entries[i], entry, 0) == entry)
				return true;
	}
	return false;
}

/*
 * The slot under this tid that is wanted: of a process by its start time and exit_interval, else by its task_struct; 0: there is
 * none. `of_process` is a constant.
 */
static __always_inline u32 search_index(u32 tid, bool of_process, u64 wanted, u64 exit_interval)
{
	struct cpuledger_bucket *bucket;
	struct cpuledger_slot *slot;

	for (int choice = 0; choice < 2; choice++) {
		bucket = bucket_of(tid, choice);
		if (!bucket)
			break;
		for (int i = 0; i < CPULEDGER_BUCKET_ENTRIES; i++) {
			u64 entry = bucket->entries[i], difference;

			if (entry >> 32 != tid)
				continue;
			slot = slot_at(entry);
			if (!slot)
				continue;
			/* One branch: each costs the verifier another path. */
			difference = slot->task ^ wanted;
			if (of_process)
				difference = ((u32)slot->pid ^ tid) | (slot->start_time_ns ^ wanted) |
					     (slot->exit_interval ^ exit_interval);
			if (!difference)
				return entry;
		}
	}
	return 0;
}

/*
 * A slot that stands for a process; 0: there is none. With 0 for an interval, its leader's, if he lives and has run; else one that
 * collects the time of that process in this interval.
 */
__noinline u32 find_process(u32 pid, u64 start_time_ns, u64 exit_interval)
{
	return search_index(pid, true, start_time_ns, exit_interval);
}

/* The slot of the leader of that process, if it lives and has run; else 0. */
static __always_inline u32 find_leader(u32 pid, u64 start_time_ns)
{
	return find_process(pid, start_time_ns, 0);
}

/* The slot with this tid and task_struct; 0: there is none. */
__noinline u32 find_slot_of(u32 tid, u64 task)
{
	return search_index(tid, false, task, 0);
}

/*
 * The slot of a task; 0: it has none. The tid alone is not enough: it may belong to the next task before this one's
 * last switch, and an exec by a thread that is not the leader hands the leader's tid on while the leader still dies.
 */
static __always_inline u32 find_slot(struct task_struct *task)
{
	return search_index(task->pid, false, (u64)task, 0);
}

#endif
