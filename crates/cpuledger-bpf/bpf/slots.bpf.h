/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slots of the ledger: taking one, giving it back, finding it by its task. There is no lock. A compare-and-swap is tried a
 * stated number of times. Nothing here loops over tasks.
 */
#ifndef CPULEDGER_SLOTS_BPF_H
#define CPULEDGER_SLOTS_BPF_H

#include "cgroups.bpf.h"
#include "compat.bpf.h"

struct cpuledger_control control SEC(".data.control") __attribute__((aligned(64))) = {};

/* User space sets the number of entries of these before it loads them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_cpu);
} cpus SEC(".maps");

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
	__uint(max_entries, CPULEDGER_DEFAULT_SLOTS);
	__type(key, u32);
	__type(value, struct cpuledger_slot_off);
} slot_offs SEC(".maps");

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

static __always_inline struct cpuledger_slot_off *off_at(u32 number)
{
	return bpf_map_lookup_elem(&slot_offs, &number);
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

/* The record of this CPU. */
static __always_inline struct cpuledger_cpu *this_cpu(void)
{
	u32 key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &key);
}

static __always_inline void note_no_slot(void)
{
	struct cpuledger_cpu *cpu = this_cpu();

	if (cpu)
		__sync_fetch_and_add(&cpu->no_slot, 1);
}

/* Two CPUs may come here in another order than they counted. Then the next batch that is taken or given corrects the flag. */
static __always_inline void note_free_count(s64 count)
{
	u32 is_low = count < control.low_slots;

	if (control.is_low != is_low)
		control.is_low = is_low;
}

static __always_inline u32 free_link(u64 word)
{
	return word;
}

static __always_inline u32 free_number(u32 link)
{
	return link & ~CPULEDGER_FREE_RUN;
}

static __always_inline u64 free_count_of(u64 word)
{
	return word >> CPULEDGER_FREE_COUNT_SHIFT & CPULEDGER_FREE_COUNT_MASK;
}

/* The word after `word`. Its tag is new, so that a compare-and-swap with an older word fails. */
static __always_inline u64 next_free_word(u64 word, u64 count, u32 link)
{
	return ((word >> CPULEDGER_FREE_TAG_SHIFT) + 1) << CPULEDGER_FREE_TAG_SHIFT | count << CPULEDGER_FREE_COUNT_SHIFT | link;
}

/* The result of an attempt at which another CPU was faster: it may be tried again. */
#define TRY_AGAIN (-1)

/* Takes a batch that no CPU holds: its word without a tag. 0: there is none. RUN alone: another CPU was faster. */
static __always_inline u64 try_take_batch(void)
{
	u64 head = *(volatile u64 *)&control.free_head, fresh, batch, count;
	struct cpuledger_slot *slot = slot_at(free_number(head));

	if (!slot)
		return 0;
	if ((u32)head) {
		batch = slot->end_ns_or_batch;
		count = batch >> 32;
		/* The tag distinguishes a batch from the same one after it has been taken and given back. */
		if (__sync_val_compare_and_swap(&control.free_head, head, ((head >> 32) + 1) << 32 | (u32)batch) != head)
			return CPULEDGER_FREE_RUN;
		batch = count << CPULEDGER_FREE_COUNT_SHIFT | (u32)head;
	} else {
		fresh = *(volatile u64 *)&control.fresh;
		if (fresh >= control.slots)
			return 0;
		count = control.slots - fresh < control.slot_batch ? control.slots - fresh : control.slot_batch;
		if (__sync_val_compare_and_swap(&control.fresh, fresh, fresh + count) != fresh)
			return CPULEDGER_FREE_RUN;
		batch = count << CPULEDGER_FREE_COUNT_SHIFT | CPULEDGER_FREE_RUN | fresh;
	}
	note_free_count(__sync_fetch_and_add(&control.free_count, -count) - count);
	return batch;
}

/* Gives a batch back; false if another CPU was faster. */
static __always_inline bool try_give_batch(u64 batch)
{
	u64 head = *(volatile u64 *)&control.free_head, count = free_count_of(batch);
	struct cpuledger_slot *slot = slot_at(free_number(free_link(batch)));

	if (!slot)
		return false;
	slot->end_ns_or_batch = count << 32 | (u32)head;
	if (__sync_val_compare_and_swap(&control.free_head, head, ((head >> 32) + 1) << 32 | free_link(batch)) != head)
		return false;
	note_free_count(__sync_fetch_and_add(&control.free_count, count) + count);
	return true;
}

/* Keeps a batch as the spare one of this CPU. Its place is free, unless an interrupt has come in between. */
static __always_inline void keep_batch(struct cpuledger_cpu *cpu, u64 batch)
{
	if (__sync_val_compare_and_swap(&cpu->spare, 0, batch) && !try_give_batch(batch))
		__sync_fetch_and_add(&cpu->lost_slots, free_count_of(batch));
}

/*
 * Global functions, which the verifier checks once and not for each path that leads to them, nor for each turn of a loop.
 * They take only numbers.
 */

/*
 * One attempt to take a free slot: its number, NONE if there is none, IDLE if it has to be tried again. The words of a CPU are
 * changed by compare-and-swap, because an interrupt may take a slot on the same CPU in between. No other CPU writes them.
 */
__noinline u32 try_take_slot(void)
{
	struct cpuledger_cpu *cpu = this_cpu();
	struct cpuledger_slot *slot;
	u64 word, batch, count;
	u32 link, next;

	if (!cpu)
		return CPULEDGER_SLOT_NONE;
	word = *(volatile u64 *)&cpu->free;
	link = free_link(word);
	count = free_count_of(word);
	if (count) {
		slot = slot_at(free_number(link));
		if (!slot)
			return CPULEDGER_SLOT_NONE;
		next = link & CPULEDGER_FREE_RUN ? link + 1 : slot->ppid_or_next_free;
		if (__sync_val_compare_and_swap(&cpu->free, word, next_free_word(word, count - 1, next)) != word)
			return CPULEDGER_SLOT_IDLE;
		return free_number(link);
	}
	batch = __sync_lock_test_and_set(&cpu->spare, 0);
	if (!batch)
		batch = try_take_batch();
	if (!batch)
		return CPULEDGER_SLOT_NONE;
	if (free_count_of(batch) &&
	    __sync_val_compare_and_swap(&cpu->free, word, next_free_word(word, free_count_of(batch), free_link(batch))) != word)
		keep_batch(cpu, batch);
	return CPULEDGER_SLOT_IDLE;
}

/* Takes a free slot; NONE if there is none. */
__noinline u32 take_slot(void)
{
	u32 number = CPULEDGER_SLOT_IDLE;

	for (u32 i = 0; i < CPULEDGER_FREE_ATTEMPTS && number == CPULEDGER_SLOT_IDLE; i++)
		number = try_take_slot();
	if (number >= CPULEDGER_SLOT_FIRST)
		return number;
	note_no_slot();
	return CPULEDGER_SLOT_NONE;
}

/* One attempt to give a slot back: true, false if it cannot be, or TRY_AGAIN. */
__noinline int try_give_slot(u32 number)
{
	struct cpuledger_slot *slot = slot_at(number);
	struct cpuledger_cpu *cpu = this_cpu();
	u64 word, count, spare;

	if (!cpu || !slot)
		return false;
	if (control.slot_batch <= 1)
		return try_give_batch(1ULL << CPULEDGER_FREE_COUNT_SHIFT | number) ? true : TRY_AGAIN;
	word = *(volatile u64 *)&cpu->free;
	count = free_count_of(word);
	if (count < control.slot_batch) {
		slot->ppid_or_next_free = free_link(word);
		return __sync_val_compare_and_swap(&cpu->free, word, next_free_word(word, count + 1, number)) == word ? true :
														       TRY_AGAIN;
	}
	/* A batch leaves its place before it goes elsewhere: only one context can take it out. */
	spare = __sync_lock_test_and_set(&cpu->spare, 0);
	if (spare && !try_give_batch(spare))
		keep_batch(cpu, spare);
	else if (__sync_val_compare_and_swap(&cpu->free, word, next_free_word(word, 0, 0)) == word)
		keep_batch(cpu, word);
	return TRY_AGAIN;
}

/* Whether the slot could be given back. If not, the caller leaves it to the reader, or counts it as lost. */
__attribute__((warn_unused_result)) __noinline int give_slot(u32 number)
{
	int given = TRY_AGAIN;

	for (u32 i = 0; i < CPULEDGER_FREE_ATTEMPTS && given == TRY_AGAIN; i++)
		given = try_give_slot(number);
	return given == true;
}

/* Gives back a slot that is on no list, so that the reader does not see it. If that fails, the slot is lost, and counted. */
__noinline int give_slot_or_lose_it(u32 number)
{
	struct cpuledger_slot *slot = slot_at(number);
	struct cpuledger_cpu *cpu = this_cpu();

	if (slot)
		slot->task = 0;
	if (!give_slot(number) && cpu)
		__sync_fetch_and_add(&cpu->lost_slots, 1);
	return 0;
}

/* Returns whether there was room. Only one CPU at a time makes the slot of a task: the one that forks it or the one that runs it. */
__noinline int index_insert(u32 tid, u32 number)
{
	struct cpuledger_bucket *bucket;
	struct cpuledger_cpu *cpu;
	u64 entry = (u64)tid << 32 | number;

	for (int choice = 0; choice < 2; choice++) {
		bucket = bucket_of(tid, choice);
		if (!bucket)
			break;
		for (u32 i = 0; i < CPULEDGER_BUCKET_ENTRIES; i++)
			if (!bucket->entries[i] && !__sync_val_compare_and_swap(&bucket->entries[i], 0, entry))
				return true;
	}
	cpu = this_cpu();
	if (cpu)
		__sync_fetch_and_add(&cpu->no_entry, 1);
	return false;
}

/* Returns whether the entry was there. If several CPUs remove it, one of them gets true. */
__noinline int index_remove(u32 tid, u32 number)
{
	struct cpuledger_bucket *bucket;
	u64 entry = (u64)tid << 32 | number;

	for (int choice = 0; choice < 2; choice++) {
		bucket = bucket_of(tid, choice);
		if (!bucket)
			break;
		for (u32 i = 0; i < CPULEDGER_BUCKET_ENTRIES; i++)
			if (bucket->entries[i] == entry &&
			    __sync_val_compare_and_swap(&bucket->entries[i], entry, 0) == entry)
				return true;
	}
	return false;
}

/*
 * The wanted slot under this tid; 0: there is none. A process is found by its start time and exit_interval, a task by its
 * task_struct. `of_process` is a constant.
 */
static __always_inline u32 search_index(u32 tid, bool of_process, u64 wanted, u64 exit_interval)
{
	struct cpuledger_bucket *bucket;
	struct cpuledger_slot *slot;

	for (int choice = 0; choice < 2; choice++) {
		bucket = bucket_of(tid, choice);
		if (!bucket)
			break;
		for (u32 i = 0; i < CPULEDGER_BUCKET_ENTRIES; i++) {
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
 * A slot that stands for a process; 0: there is none. For interval 0 it is the slot of its leader, if the leader lives and has run.
 * Otherwise it is the slot that collects the time of the process in that interval.
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

/* The slot of the leader of a process or, if it has none, the slot that collects the time of the process in this interval; else 0. */
__noinline u32 find_standing(u32 pid, u64 start_time_ns, u64 interval)
{
	u32 number = find_leader(pid, start_time_ns);

	return number ? number : find_process(pid, start_time_ns, interval);
}

/* The slot of the heir of a dead process: its accounting parent, or else the one above that. Returns 0 if neither has a slot. */
__noinline u32 find_heir(u32 number, u64 interval)
{
	struct cpuledger_slot *slot = slot_at(number);
	u32 heir;

	if (!slot)
		return 0;
	heir = find_standing(slot->parent_pid, slot->parent_start_time_ns, interval);
	if (!heir && slot->grandparent_pid)
		heir = find_standing(slot->grandparent_pid, slot->grandparent_start_time_ns, interval);
	return heir;
}

/* Whether the accounting parent that a slot has is still the parent process that the kernel knows: if it is, it lives. */
static __always_inline bool has_parent(struct cpuledger_slot *slot, struct task_struct *leader)
{
	return leader && leader->tgid == slot->parent_pid && leader->start_boottime == slot->parent_start_time_ns;
}

/* The slot with this tid and task_struct; 0: there is none. */
__noinline u32 find_slot_of(u32 tid, u64 task)
{
	return search_index(tid, false, task, 0);
}

/*
 * The slot of a task; 0: it has none. The tid alone is not enough. The next task may have it before this one's last switch, and an
 * exec by a thread that is not the leader hands the leader's tid on while the leader still dies.
 */
static __always_inline u32 find_slot(struct task_struct *task)
{
	return search_index(task->pid, false, (u64)task, 0);
}

static __always_inline void read_users(struct task_struct *walked, struct cpuledger_slot *slot)
{
	const struct cred *cred = walked->real_cred;

	slot->uid = cred->uid.val;
	slot->euid = cred->euid.val;
}

/* A function that the verifier checks by itself: what it reads has no effect on what comes after it. */
__noinline int keep_last_cgroups(u32 number)
{
	struct cpuledger_slot_rest *rest = rest_at(number);
	struct cpuledger_slot *slot = slot_at(number);

	if (rest && slot)
		read_last_cgroups(slot->task, &rest->cgroup_id, &rest->cgroup_v1_cpu_id);
	return 0;
}

/* Moves one accumulator of a slot to another slot. */
static __always_inline void move_time(u64 *from, u64 *to, u64 parity)
{
	if (from[parity & 1])
		__sync_fetch_and_add(&to[parity & 1], __sync_lock_test_and_set(&from[parity & 1], 0));
}

#endif
