// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks over the kernel's task list: all tasks, all processes, or one process, in one system call into mapped records.
 *
 * `walk_once` needs the open-coded task iterator (6.7) and is one RCU read-side section. `walk_seq` is its stand-in for
 * older kernels, a bpf iterator: one section a task. User space loads one of the two.
 */
#include "records.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* visit_leader() as a global function, for the loop. */
__noinline int visit_leader_at(u64 address, struct cpuledger_walk *walk)
{
	struct task_struct *leader = CAST(address, task_struct);

	if (walk)
		visit_leader(leader, walk, walk->groups | CPULEDGER_READ_DETAIL, true);
	return 0;
}

__noinline int visit_leader_briefly_at(u64 address, struct cpuledger_walk *walk)
{
	struct task_struct *leader = CAST(address, task_struct);

	if (walk)
		visit_leader(leader, walk, walk->groups & CPULEDGER_READ_BRIEFLY, false);
	return 0;
}

#ifndef CPULEDGER_WITHOUT_REST

/*
 * The rest of a task as a global function, too: it has more branches than all else in the loop, and the verifier would follow them in
 * each combination.
 */
__noinline int record_rest_at(u64 address, s32 tid, u32 index, u32 groups)
{
	struct task_struct *task = CAST(address, task_struct);

	record_rest(task, task, tid, index, groups);
	return 0;
}

#else

#define record_rest_at(address, tid, index, groups)

#endif

/* Adds a thread to the open process: the task list has the threads of a process behind its leader. */
static __always_inline void visit_thread(struct task_struct *thread, const struct cpuledger_walk *walk, u32 groups)
{
	u32 index = walk->processes - 1;
	struct cpuledger_process *process = bpf_map_lookup_elem(&process_records, &index);

	if (process && process->pid == thread->tgid)
		add_thread(&process->group, thread, groups);
}

/* `brief`, a constant, leaves out most groups of fields: there is less to relocate and to verify. */
static __always_inline int walk_tasks(struct cpuledger_walk *context, bool brief)
{
	struct cpuledger_walk walk = *context;
	/* The whole walk always reads details: each group that is a choice doubles what the verifier has to follow. */
	u32 groups = brief ? walk.groups & CPULEDGER_READ_BRIEFLY : walk.groups | CPULEDGER_READ_DETAIL;
	struct task_struct *task, *leader = NULL;
	struct bpf_iter_task iterator;
	u32 iterates = CPULEDGER_ALL_THREADS;
	s32 tid, pid, open_pid = 0;

	if (!brief) {
		walk.lacks = kernel_lacks();
		forget_cgroups();
	}
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
	walk.begin_boottime_ns = bpf_ktime_get_boot_ns();
	bpf_iter_task_new(&iterator, leader, iterates);
	while ((task = bpf_iter_task_next(&iterator))) {
		tid = task->pid;
		pid = task->tgid;
		/* A thread that has taken over the tid of a leader already visited, by an exec, is that leader now. */
		if (!tid || (tid == pid && pid == open_pid))
			continue;
		if (tid == pid) {
			open_pid = pid;
			if (brief)
				visit_leader_briefly_at(as_number(task), &walk);
			else
				visit_leader_at(as_number(task), &walk);
		} else {
			visit_thread(task, &walk, groups);
		}
		if (tid == pid || walk.scope == CPULEDGER_WALK_TASKS) {
			/* Before the record that most listings show: behind its branches, the verifier would come here more often. */
			if (!brief)
				record_rest_at(as_number(task), tid, walk.tasks, groups);
			record_briefly(task, CAST(task, task_struct), tid, pid, &walk, groups);
		}
	}
	bpf_iter_task_destroy(&iterator);
	walk.end_ns = bpf_ktime_get_ns();
	bpf_rcu_read_unlock();
	if (leader)
		bpf_task_release(leader);
	*context = walk;
	return 0;
}

SEC("syscall")
int walk_once(struct cpuledger_walk *context)
{
	return walk_tasks(context, false);
}

SEC("syscall")
int walk_briefly(struct cpuledger_walk *context)
{
	return walk_tasks(context, true);
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
static __always_inline int visit_in_tid_order(struct bpf_iter__task *context, bool sums_rss)
{
	struct task_struct *task = context->task;
	struct cpuledger_walk *walk;
	s32 tid, pid;
	u32 zero = 0;

	walk = bpf_map_lookup_elem(&seq_state, &zero);
	if (!walk)
		return 0;
	walk->end_ns = bpf_ktime_get_ns();
	if (!walk->begin_ns) {
		walk->begin_ns = walk->end_ns;
		walk->begin_boottime_ns = bpf_ktime_get_boot_ns();
		walk->lacks = kernel_lacks();
		forget_cgroups();
	}
	if (!task)
		return 0;
	tid = task->pid;
	pid = task->tgid;
	if (walk->only_pid && pid != walk->only_pid)
		return 0;
	if (tid == pid)
		visit_leader(task, walk, walk->groups, sums_rss);
	else if (walk->scope == CPULEDGER_WALK_LEADERS)
		return 0;
	record_task(task, task, tid, pid, walk, walk->groups);
	return 0;
}

SEC("iter/task")
int walk_seq(struct bpf_iter__task *context)
{
	return visit_in_tid_order(context, true);
}

/* For kernels without bpf_loop; before 6.2 RSS has no parts to sum. */
SEC("iter/task")
int walk_seq_plain(struct bpf_iter__task *context)
{
	return visit_in_tid_order(context, false);
}
