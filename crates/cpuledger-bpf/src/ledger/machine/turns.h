/* SPDX-License-Identifier: GPL-2.0-only */
/* A part of machine.c: the hooks lose their turn before accesses to memory, and what they call. */
static void lose_turn(void)
{
	if (running >= 0)
		fiber_stop();
}

static void access(void)
{
	now_ns += plan.access_ns;
	if (--budget <= 0)
		lose_turn();
}

static void sleep_until(u64 time_ns)
{
	wake_ns[running] = time_ns;
	lose_turn();
}

#define ACCESSES(bytes) \
	void __tsan_read##bytes(void *address) { access(); } \
	void __tsan_write##bytes(void *address) { access(); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_init(void) {}

static void access_range(u64 bytes)
{
	for (u64 i = 0; i < bytes; i += 8)
		access();
}

void __tsan_read_range(void *address, u64 bytes) { access_range(bytes); }
void __tsan_write_range(void *address, u64 bytes) { access_range(bytes); }

u64 __tsan_atomic64_exchange(volatile u64 *word, u64 value, int order)
{
	u64 old;

	access();
	old = *word;
	*word = value;
	return old;
}

u64 __tsan_atomic64_fetch_add(volatile u64 *word, u64 value, int order)
{
	u64 old;

	access();
	old = *word;
	*word = old + value;
	return old;
}

u64 __tsan_atomic64_fetch_or(volatile u64 *word, u64 value, int order)
{
	u64 old;

	access();
	old = *word;
	*word = old | value;
	return old;
}

bool __tsan_atomic64_compare_exchange_strong(volatile u64 *word, u64 *expected, u64 value, int order, int otherwise)
{
	u64 old;

	access();
	old = *word;
	if (old != *expected) {
		*expected = old;
		return false;
	}
	*word = value;
	return true;
}

/* What the hooks call. */

static u32 this_cpu_number(void)
{
	return running % FORK;
}

void *bpf_map_lookup_elem(void *map, const void *key)
{
	int which = machine_map_of(map);
	u32 index = *(const u32 *)key;

	return index < maps[which].count ? maps[which].address + index * maps[which].record_bytes : NULL;
}

u32 bpf_get_smp_processor_id(void)
{
	return this_cpu_number();
}

u64 bpf_ktime_get_ns(void)
{
	struct cpu *cpu = &machine_cpus[this_cpu_number()];

	access();
	/* Only the first time that a hook asks is that of the scheduler. */
	if (plan.is_exact && !cpu->hook_ns)
		cpu->rq.clock = scheduler_ns(now_ns);
	if (!cpu->hook_ns)
		cpu->hook_ns = now_ns;
	return now_ns + cpu->skew_ns;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &machine_cpus[this_cpu_number()].current->k;
}

u64 bpf_get_current_task(void)
{
	return (u64)bpf_get_current_task_btf();
}

long bpf_probe_read_kernel_str(void *to, u32 size, const void *from)
{
	access_range(size);
	__builtin_memcpy(to, from, size);
	return size;
}
