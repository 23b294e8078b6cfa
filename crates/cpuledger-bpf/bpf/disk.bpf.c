// SPDX-License-Identifier: GPL-2.0-only
/*
 * The account of disks: which task has its requests at which device, and how long they take. An object of its own, loaded while somebody wants
 * it. It shares the slots and CPUs of a ledger.
 *
 * A request begins in the context of the task that asks for it: its slot is remembered by the address of the request. It ends in an interrupt, or
 * wherever the device is asked. What /proc/diskstats counts then is counted here, by the same rules, for the device and for the slot. It belongs to the
 * interval of the CPU on which it ends, as a call of network.bpf.c does. The task may not run in that, so slots have a list of their own.
 *
 * Writes of the page cache begin in a kernel thread, which writes back for all.
 */
#include "account.bpf.h"
#include "cut.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct cpuledger_disk_control disk_control SEC(".data.disk") = {};

/* User space sets the number of entries of the next three before it loads them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPULEDGER_DEFAULT_SLOTS);
	__type(key, u32);
	__type(value, struct cpuledger_slot_disk);
} slot_disks SEC(".maps");

/* A place for each slot in even intervals, then as many in odd ones. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * CPULEDGER_DEFAULT_SLOTS);
	__type(key, u32);
	__type(value, u64);
} disk_listed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_cpu_disk);
} cpu_disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CPULEDGER_DISK_REQUESTS);
	__type(key, u64);
	__type(value, struct cpuledger_disk_request);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CPULEDGER_DISKS);
	__type(key, struct cpuledger_disk_key);
	__type(value, struct cpuledger_disk);
} disks SEC(".maps");

/* Whether a request has this flag. */
#define HAS_FLAG(rq, name)                                                                                      \
	((rq)->rq_flags >> (bpf_core_enum_value_exists(enum rqf_flags, __##name) ?                                \
				    bpf_core_enum_value(enum rqf_flags, __##name) : OLD_##name) & 1)

static __always_inline u32 kind_of(struct request *rq)
{
	u32 operation = rq->cmd_flags & REQ_OP_MASK;

	if (operation == REQ_OP_DISCARD)
		return CPULEDGER_DISK_DISCARD;
	return operation & 1 ? CPULEDGER_DISK_WRITE : CPULEDGER_DISK_READ;
}

/* Whether this kernel has all that the next function looks at. */
static __always_inline bool shows_swap(void)
{
	return bpf_core_enum_value_exists(enum pageflags, PG_uptodate) && bpf_core_enum_value_exists(enum pageflags, PG_swapcache) &&
	       bpf_core_enum_value_exists(enum pageflags, PG_swapbacked) && bpf_core_field_exists(struct request, bio) &&
	       bpf_core_field_exists(struct bio, bi_io_vec) && bpf_core_field_exists(struct bio_vec, bv_page) &&
	       (bpf_core_field_exists(struct page___struct, flags.f) || bpf_core_field_exists(struct page, flags));
}

#define HAS_PAGE_FLAG(flags, name) ((flags) >> bpf_core_enum_value(enum pageflags, name) & 1)

/*
 * Whether a request reads a page that was swapped out. Such a page is in the swap cache, and has no content yet: that of a task which reads a file to
 * where its memory was swapped has. The bit of the swap cache is another one's in pages without swap. A request for swap has one page, or one folio.
 */
static __always_inline bool reads_swap(struct request *rq)
{
	struct page___struct *newer;
	struct page *page;
	unsigned long flags;

	if ((rq->cmd_flags & REQ_OP_MASK) != REQ_OP_READ || !rq->bio || !rq->bio->bi_io_vec)
		return false;
	page = rq->bio->bi_io_vec->bv_page;
	if (!page)
		return false;
	newer = (void *)page;
	flags = bpf_core_field_exists(newer->flags.f) ? newer->flags.f : page->flags;
	return HAS_PAGE_FLAG(flags, PG_swapbacked) && HAS_PAGE_FLAG(flags, PG_swapcache) && !HAS_PAGE_FLAG(flags, PG_uptodate);
}

/* The record of the device of a request, for the interval of this parity; where there is no room, that of all others. */
static __always_inline struct cpuledger_disk *disk_of(struct request *rq, u64 parity)
{
	static const struct cpuledger_disk none;
	struct cpuledger_disk_key key = { .parity = parity };
	struct gendisk *device = rq->q->disk;
	struct cpuledger_disk *disk;

	if (!device)
		return NULL;
	key.major = device->major;
	key.first_minor = device->first_minor;
	disk = bpf_map_lookup_elem(&disks, &key);
	if (disk)
		return disk;
	/* Another CPU may have been faster. */
	bpf_map_update_elem(&disks, &key, &none, BPF_NOEXIST);
	disk = bpf_map_lookup_elem(&disks, &key);
	return disk ? disk : &disk_control.others[parity & 1];
}

static __always_inline void add(struct cpuledger_disk_use *use, const struct cpuledger_disk_use *more)
{
	if (more->requests)
		__sync_fetch_and_add(&use->requests, more->requests);
	if (more->bytes)
		__sync_fetch_and_add(&use->bytes, more->bytes);
	if (more->ns)
		__sync_fetch_and_add(&use->ns, more->ns);
	if (more->blocked_ns)
		__sync_fetch_and_add(&use->blocked_ns, more->blocked_ns);
}

/* Puts a slot on the list of an interval, once. Interrupts may do so at any time. */
static __always_inline void list_once(struct cpuledger_slot_disk *of_slot, u32 number, u64 interval)
{
	u64 parity = interval & 1, place, *entry;
	u32 key;

	if (*(volatile u64 *)&of_slot->mark[parity] == interval ||
	    __sync_lock_test_and_set(&of_slot->mark[parity], interval) == interval)
		return;
	place = __sync_fetch_and_add(&disk_control.listed[parity], 1);
	if (place >= control.slots)
		return;
	key = place + parity * control.slots;
	entry = bpf_map_lookup_elem(&disk_listed, &key);
	if (entry)
		*entry = number;
}

/* As in network.bpf.c: what another task has left is no task's any more. */
static __noinline int take_over(struct cpuledger_slot_disk *of_slot, u64 owner, u64 parity)
{
	u64 *from = (u64 *)&of_slot->used[parity & 1], *to = (u64 *)&disk_control.folded[parity & 1];

	for (u32 i = 0; i < CPULEDGER_DISK_KINDS * sizeof(struct cpuledger_disk_use) / sizeof(u64); i++)
		if (from[i])
			__sync_fetch_and_add(&to[i], __sync_lock_test_and_set(&from[i], 0));
	of_slot->swap_blocked_ns[parity & 1] = 0;
	of_slot->owner[parity & 1] = owner;
	return 0;
}

/* Whether a task that is off the CPU was woken: it waits for a CPU, and no longer for what comes now. */
static __always_inline bool was_woken(const struct cpuledger_slot *slot)
{
	struct task_struct *task = (void *)slot->task;
	u32 state = bpf_core_field_exists(task->__state) ? BPF_CORE_READ(task, __state) : (u32)BPF_CORE_READ(task, state);

	return !(state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT));
}

/*
 * A part of a request has come, and its task is blocked for I/O: since it left the CPU, since the last part that came, or since the interval began. The
 * kernel wakes the task after this.
 */
static __always_inline u64 blocked_until_now(struct cpuledger_slot_disk *of_slot, const struct cpuledger_slot *slot, u32 number, u64 interval)
{
	struct cpuledger_slot_off *off = off_at(number);
	u64 word = off ? *(volatile u64 *)&off->off : 0, from_ns = word >> CPULEDGER_OFF_SHIFT;
	u64 last_ns = *(volatile u64 *)&of_slot->blocked_until_ns, start_ns = interval_start(interval), now_ns;

	if ((word & CPULEDGER_OFF_MASK) != CPULEDGER_OFF_IO + 1 || was_woken(slot))
		return 0;
	if (from_ns < last_ns)
		from_ns = last_ns;
	if (from_ns < start_ns)
		from_ns = start_ns;
	now_ns = bpf_ktime_get_ns();
	/* Two may come at once, on two CPUs: the time is of one of them. */
	if (now_ns <= from_ns || __sync_val_compare_and_swap(&of_slot->blocked_until_ns, last_ns, now_ns) != last_ns)
		return 0;
	return now_ns - from_ns;
}

/* Books to the device, and to the task that has asked for it. */
static __always_inline struct cpuledger_disk *book(struct request *rq, const struct cpuledger_disk_request *of, u64 interval,
						   struct cpuledger_disk_use *use)
{
	u32 kind = kind_of(rq), number = of ? of->number : CPULEDGER_SLOT_IDLE;
	struct cpuledger_disk *disk = disk_of(rq, interval & 1);
	struct cpuledger_slot_disk *of_slot = bpf_map_lookup_elem(&slot_disks, &number);
	struct cpuledger_slot *slot = slot_at(number);

	if (!disk) {
		__sync_fetch_and_add(&disk_control.lost[interval & 1], use->requests);
		return NULL;
	}
	if (!of || number < CPULEDGER_SLOT_FIRST || !of_slot || !slot || slot->start_time_ns != of->owner) {
		add(&disk->all[kind], use);
		add(&disk->unattributed[kind], use);
		return disk;
	}
	if (use->bytes)
		use->blocked_ns = blocked_until_now(of_slot, slot, number, interval);
	add(&disk->all[kind], use);
	if (of_slot->owner[interval & 1] != of->owner)
		take_over(of_slot, of->owner, interval & 1);
	add(&of_slot->used[interval & 1][kind], use);
	if (of->is_swap && use->blocked_ns)
		__sync_fetch_and_add(&of_slot->swap_blocked_ns[interval & 1], use->blocked_ns);
	list_once(of_slot, number, interval);
	return disk;
}

static __always_inline struct cpuledger_cpu_disk *enter(struct cpuledger_cpu **cpu)
{
	u32 key = bpf_get_smp_processor_id();
	struct cpuledger_cpu_disk *own = bpf_map_lookup_elem(&cpu_disks, &key);

	*cpu = bpf_map_lookup_elem(&cpus, &key);
	if (!own || !*cpu)
		return NULL;
	count_in_order(&own->entered);
	return own;
}

/* 6.5, 5a80bd075f3b; so is block_io_done. */
SEC("tp_btf/block_io_start")
int BPF_PROG(on_io_start, struct request *rq)
{
	struct cpuledger_disk_request request = { .start_ns = bpf_ktime_get_ns() };
	u32 key = bpf_get_smp_processor_id();
	struct cpuledger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);
	struct cpuledger_slot *slot;
	u64 address = (u64)rq;

	if (!cpu)
		return 0;
	request.number = slot_of_current(cpu, *(volatile u64 *)&cpu->run);
	slot = slot_at(request.number);
	request.owner = slot ? slot->start_time_ns : 0;
	if (shows_swap())
		request.is_swap = reads_swap(rq);
	else
		disk_control.hides_swap = 1;
	bpf_map_update_elem(&requests, &address, &request, 0);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq)
{
	u64 address = (u64)rq;
	struct cpuledger_disk_request *request = bpf_map_lookup_elem(&requests, &address);

	if (request)
		request->issue_ns = bpf_ktime_get_ns();
	return 0;
}

/* A part of the bytes of a request has come, or all of it. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, int error, unsigned int bytes)
{
	struct cpuledger_disk_use use = { .bytes = bytes };
	struct cpuledger_cpu_disk *own;
	struct cpuledger_cpu *cpu;
	u64 address = (u64)rq;

	if (!bytes || !rq->part || !HAS_FLAG(rq, RQF_IO_STAT))
		return 0;
	own = enter(&cpu);
	if (!own)
		return 0;
	book(rq, bpf_map_lookup_elem(&requests, &address), interval_of(*(volatile u64 *)&cpu->run), &use);
	count_in_order(&own->left);
	return 0;
}

static __always_inline u32 bucket_of_time(u64 ns)
{
	u32 bucket = 0;

	ns >>= CPULEDGER_DISK_FIRST_SHIFT;
	for (u32 shift = 16; shift; shift >>= 1)
		if (ns >> shift) {
			ns >>= shift;
			bucket += shift;
		}
	return bucket & (CPULEDGER_DISK_BUCKETS - 1);
}

static __always_inline void book_end(struct request *rq, struct cpuledger_disk_request *of, u64 interval)
{
	struct cpuledger_disk_use use = { .requests = 1 };
	u64 now_ns = bpf_ktime_get_ns(), issue_ns = 0;
	struct cpuledger_disk *disk;
	u32 kind = kind_of(rq);

	if (of && of->start_ns) {
		use.ns = now_ns - of->start_ns;
		issue_ns = of->issue_ns;
	}
	disk = book(rq, of, interval, &use);
	if (!disk || !use.ns)
		return;
	if (issue_ns) {
		__sync_fetch_and_add(&disk->queue_ns, issue_ns - of->start_ns);
		__sync_fetch_and_add(&disk->device_ns, now_ns - issue_ns);
	}
	if (kind < CPULEDGER_DISK_DISCARD)
		__sync_fetch_and_add(&disk->buckets[kind & 1][bucket_of_time(use.ns)], 1);
}

SEC("tp_btf/block_io_done")
int BPF_PROG(on_io_done, struct request *rq)
{
	struct cpuledger_cpu_disk *own;
	struct cpuledger_cpu *cpu;
	u64 address = (u64)rq;

	if (rq->part && HAS_FLAG(rq, RQF_IO_STAT) && !HAS_FLAG(rq, RQF_FLUSH_SEQ)) {
		own = enter(&cpu);
		if (own) {
			book_end(rq, bpf_map_lookup_elem(&requests, &address), interval_of(*(volatile u64 *)&cpu->run));
			count_in_order(&own->left);
		}
	}
	bpf_map_delete_elem(&requests, &address);
	return 0;
}
