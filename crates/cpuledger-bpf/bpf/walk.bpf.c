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

/* A pointer as a number: the verifier forgets what it is once it has been in a map. */
static __always_inline u64 as_number(void *pointer)
{
	static void *volatile forgotten;

	forgotten = pointer;
	return (u64)forgotten;
}

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

static __always_inline void record_task(struct task_struct *task, const struct cpuledger_walk *walk)
{
	u32 zero = 0, index = walk->tasks;
	struct cpuledger_task *record;
	void *buffer;

	buffer = bpf_map_lookup_elem(&task_buffer, &zero);
	if (!buffer)
		return;
	record = bpf_map_lookup_elem(buffer, &index);
	if (!record)
		return;
	read_task(task, walk->groups, record);
	record->process_index = walk->processes - 1;
}

/* The record of the process that was opened last. */
static __always_inline struct cpuledger_process *open_process(const struct cpuledger_walk *walk)
{
	u32 zero = 0, index = walk->processes - 1;
	void *buffer = bpf_map_lookup_elem(&process_buffer, &zero);

	return buffer ? bpf_map_lookup_elem(buffer, &index) : NULL;
}

/*
 * Visits one task and counts it. A leader opens a process, to which its threads are added in the order of the task
 * list; in the order of tids they may come before it, and user space adds them.
 */
static __always_inline void visit(struct task_struct *task, struct cpuledger_walk *walk, bool adds_threads)
{
	bool is_leader = task->pid == task->tgid;
	struct cpuledger_process *process;

	if (is_leader)
		walk->processes++;
	process = open_process(walk);
	if (process) {
		if (is_leader) {
			process->task_index = walk->tasks;
			read_process(task, walk, process);
			process->totals_known = process->threads <= 1 || walk->scope != CPULEDGER_WALK_LEADERS;
		}
		if (is_leader || (adds_threads && process->pid == task->tgid))
			add_thread(&process->group, task);
	}
	if (!is_leader && walk->scope != CPULEDGER_WALK_TASKS)
		return;
	record_task(task, walk);
	walk->tasks++;
}

/*
 * The body of the loop as a global function: the verifier checks it once by itself, 50 times faster than inside the
 * loop, but takes no task_struct as an argument, so the pointer travels as a number.
 */
__noinline int visit_address(u64 address, struct cpuledger_walk *walk)
{
	struct task_struct *task = bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct task_struct));

	if (walk)
		visit(task, walk, true);
	return 0;
}

SEC("syscall")
int walk_once(struct cpuledger_walk *context)
{
	struct cpuledger_walk walk = *context;
	struct task_struct *task, *leader = NULL;
	struct bpf_iter_task iterator;
	u32 iterates = CPULEDGER_ALL_THREADS;

	walk.lacks = kernel_lacks();
	if (walk.only_pid) {
		iterates = CPULEDGER_PROCESS_THREADS;
		leader = bpf_task_from_pid(walk.only_pid);
		if (!leader)
			return 0;
	} else if (walk.scope == CPULEDGER_WALK_LEADERS) {
		iterates = CPULEDGER_ALL_PROCESSES;
	}
	bpf_rcu_read_lock();
	walk.begin_ns = bpf_ktime_get_ns();
	bpf_iter_task_new(&iterator, leader, iterates);
	while ((task = bpf_iter_task_next(&iterator))) {
		if (task->pid)
			visit_address(as_number(task), &walk);
	}
	bpf_iter_task_destroy(&iterator);
	walk.end_ns = bpf_ktime_get_ns();
	bpf_rcu_read_unlock();
	if (leader)
		bpf_task_release(leader);
	*context = walk;
	return 0;
}

/* Arguments and progress of `walk_seq`, which one reader at a time runs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_walk);
} seq_state SEC(".maps");

/*
 * One task of a bpf iterator, in the order of tids. It writes nothing to the seq file, so one read(2) visits all tasks,
 * but the RCU lock is retaken for each of them.
 */
SEC("iter/task")
int walk_seq(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct cpuledger_walk *walk;
	u32 zero = 0;

	walk = bpf_map_lookup_elem(&seq_state, &zero);
	if (!walk)
		return 0;
	walk->end_ns = bpf_ktime_get_ns();
	if (!walk->begin_ns) {
		walk->begin_ns = walk->end_ns;
		walk->lacks = kernel_lacks();
	}
	if (!task || (walk->only_pid && task->tgid != walk->only_pid))
		return 0;
	if (task->pid == task->tgid || walk->scope != CPULEDGER_WALK_LEADERS)
		visit(task, walk, false);
	return 0;
}
