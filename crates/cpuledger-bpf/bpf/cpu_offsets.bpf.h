/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Learning where each CPU keeps its part of a per-CPU counter, for all programs that sum RSS.
 */
#ifndef CPULEDGER_CPU_OFFSETS_BPF_H
#define CPULEDGER_CPU_OFFSETS_BPF_H

#include "read_task.bpf.h"

/* A per-CPU allocation whose address on each CPU can be asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} probe SEC(".maps");

struct learning {
	u64 base;
	u64 first_cpu;
	u64 end;
};

static long learn_offset(u64 place, struct learning *learning)
{
	u64 cpu = learning->first_cpu + place;
	u32 zero = 0;
	void *address = bpf_map_lookup_percpu_elem(&probe, &zero, cpu);

	if (!address || cpu >= CPULEDGER_MAX_CPUS || cpu >= learning->end)
		return 1;
	cpu_offset[cpu] = as_number(address) - learning->base;
	return 0;
}

/*
 * Learns the offset of each CPU's per-CPU area, which the sum of RSS needs. It runs after loading, once for each range of possible
 * CPUs: for the numbers between the ranges the kernel answers too, with an address that no CPU uses. A per-CPU pointer plus the
 * offset of a CPU is the address there. `probe` gives both, on any architecture and without kallsyms.
 */
SEC("syscall")
int prepare(struct cpuledger_cpu_range *range)
{
	struct bpf_array *array = (void *)as_number(&probe);
	struct learning learning = { .first_cpu = range->first, .end = range->end };
	u32 cpus = range->end - range->first;

	bpf_core_read(&learning.base, sizeof(learning.base), &array->pptrs[0]);
	if (!learning.base || (range->is_next && !cpu_offsets_known))
		return 0;
	/* One turn more, which stops it: it is not reached after a turn that has failed, not even after that of the last CPU. */
	cpu_offsets_known = bpf_loop(cpus + 1, learn_offset, &learning, 0) > cpus;
	range->is_known = cpu_offsets_known;
	return 0;
}

#endif
