/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the records of tasks and processes are written, and how one is: shared by all programs that write them.
 */
#ifndef CPULEDGER_RECORDS_BPF_H
#define CPULEDGER_RECORDS_BPF_H

#include "read_task.bpf.h"

struct task_records {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct cpuledger_task));
};

struct process_records {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct cpuledger_process));
};

/* The buffers are maps in maps, so that user space replaces a full one without loading the programs again. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct task_records);
} task_buffer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct process_records);
} process_buffer SEC(".maps");

/* A per-CPU allocation whose address on each CPU can be asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} probe SEC(".maps");

static long learn_offset(u64 cpu, u64 *base)
{
	u32 zero = 0;
	void *address = bpf_map_lookup_percpu_elem(&probe, &zero, cpu);

	if (!address || cpu >= CPULEDGER_MAX_CPUS)
		return 1;
	cpu_offset[cpu] = as_number(address) - *base;
	return 0;
}

/*
 * Learns the offset of each CPU's per-CPU area, which the sum of RSS needs; run once after loading. A per-CPU pointer
 * plus the offset of a CPU is the address there: `probe` gives both, on any architecture and without kallsyms.
 */
SEC("syscall")
int prepare(struct cpuledger_walk *walk)
{
	struct bpf_array *array = (void *)as_number(&probe);
	u64 base = 0;

	bpf_core_read(&base, sizeof(base), &array->pptrs[0]);
	if (!base)
		return 0;
	cpu_offsets_known = bpf_loop(walk->cpus, learn_offset, &base, 0) == walk->cpus;
	return 0;
}

/* The buffers, looked up once a walk. */
struct walk_buffers {
	void *tasks;
	void *processes;
};

static __always_inline bool find_buffers(struct walk_buffers *buffers)
{
	u32 zero = 0;

	buffers->tasks = bpf_map_lookup_elem(&task_buffer, &zero);
	buffers->processes = bpf_map_lookup_elem(&process_buffer, &zero);
	return buffers->tasks && buffers->processes;
}

/* `tid` and `pid` were read once by the caller: an exec by another thread may exchange them at any time. */
static __always_inline void record_task(struct task_struct *task, struct task_struct *untrusted, s32 tid, s32 pid,
					struct cpuledger_walk *walk, u32 groups, void *buffer)
{
	u32 index = walk->tasks++;
	struct cpuledger_task *record = bpf_map_lookup_elem(buffer, &index);

	if (!record)
		return;
	record->tid = tid;
	record->pid = pid;
	read_task(task, untrusted, groups, record);
	record->process_index = walk->processes - 1;
}

/* A leader opens a process. */
static __always_inline void visit_leader(struct task_struct *leader, struct cpuledger_walk *walk, u32 groups,
					 bool sums_rss, void *buffer)
{
	u32 index = walk->processes++;
	struct cpuledger_process *process = bpf_map_lookup_elem(buffer, &index);

	if (!process)
		return;
	process->task_index = walk->tasks;
	read_process(leader, walk, groups, sums_rss, process);
	add_thread(&process->group, leader, groups);
	process->totals_known = process->threads <= 1 || walk->scope != CPULEDGER_WALK_LEADERS;
}

#endif
