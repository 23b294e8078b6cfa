// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks over the kernel's task list: all tasks, all processes, or one process, in one system call into mapped records.
 *
 * `walk_once` needs the open-coded task iterator (6.7) and is one RCU read-side section. `walk_seq` is its stand-in for
 * older kernels: a bpf iterator read in pieces of up to 32 KiB, hence several sections. User space loads one of the two.
 */
#include "read_task.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct task_records {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_task);
};

struct process_records {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_process);
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

/* Learns the offset of each CPU's per-CPU area, which the sum of RSS needs; run once after loading. */
SEC("syscall")
int prepare(struct cpuledger_walk *walk)
{
	u32 cpu;

	if (!bpf_ksym_exists(&this_cpu_off))
		return 0;
	for (cpu = 0; cpu < CPULEDGER_MAX_CPUS && cpu < walk->cpus; cpu++) {
		const unsigned long *offset = bpf_per_cpu_ptr(&this_cpu_off, cpu);

		cpu_offset[cpu] = offset ? *offset : 0;
	}
	cpu_offsets_known = walk->cpus <= CPULEDGER_MAX_CPUS;
	return 0;
}

/* The records a walk fills and how far it is. */
struct walk_cursor {
	void *tasks;
	void *processes;
	u32 task_index;
	u32 process_index;
};

static __always_inline void record_task(struct task_struct *task, u32 groups, struct walk_cursor *cursor)
{
	u32 index = cursor->task_index++;
	struct cpuledger_task *record = bpf_map_lookup_elem(cursor->tasks, &index);

	if (!record)
		return;
	read_task(task, groups, record);
	record->process_index = cursor->process_index;
}

/* Records a process, its leader, and as the scope asks its other threads or their sum. */
static __always_inline void walk_process(struct task_struct *leader, const struct cpuledger_walk *walk,
					 struct walk_cursor *cursor)
{
	struct cpuledger_process *process = bpf_map_lookup_elem(cursor->processes, &cursor->process_index);
	struct cpuledger_counters group;
	struct bpf_iter_task threads;
	struct task_struct *thread;
	u32 scope = walk->scope, groups = walk->groups;

	if (process) {
		process->task_index = cursor->task_index;
		read_process(leader, walk, process);
		add_thread(&process->group, leader, groups);
		process->totals_known = scope != CPULEDGER_WALK_LEADERS || process->threads <= 1;
	}
	record_task(leader, groups, cursor);
	if (scope != CPULEDGER_WALK_LEADERS && leader->signal->nr_threads > 1) {
		bpf_iter_task_new(&threads, leader, CPULEDGER_PROCESS_THREADS);
		while ((thread = bpf_iter_task_next(&threads))) {
			if (thread->pid == thread->tgid)
				continue;
			if (process)
				add_thread(&process->group, thread, groups);
			if (scope == CPULEDGER_WALK_TASKS)
				record_task(thread, groups, cursor);
		}
		bpf_iter_task_destroy(&threads);
	}
	cursor->process_index++;
}

SEC("syscall")
int walk_once(struct cpuledger_walk *walk)
{
	struct walk_cursor cursor = {};
	struct bpf_iter_task processes;
	struct task_struct *leader;
	u32 zero = 0;

	walk->lacks = kernel_lacks();
	cursor.tasks = bpf_map_lookup_elem(&task_buffer, &zero);
	cursor.processes = bpf_map_lookup_elem(&process_buffer, &zero);
	if (!cursor.tasks || !cursor.processes)
		return 0;
	bpf_rcu_read_lock();
	walk->begin_ns = bpf_ktime_get_ns();
	bpf_iter_task_new(&processes, NULL, CPULEDGER_ALL_PROCESSES);
	while ((leader = bpf_iter_task_next(&processes))) {
		if (!leader->pid || (walk->only_pid && leader->tgid != walk->only_pid))
			continue;
		walk_process(leader, walk, &cursor);
	}
	bpf_iter_task_destroy(&processes);
	walk->end_ns = bpf_ktime_get_ns();
	bpf_rcu_read_unlock();
	walk->tasks = cursor.task_index;
	walk->processes = cursor.process_index;
	return 0;
}
