// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detail of a list of tasks in one system call: a walk over those alone, into the same records. It needs bpf_task_from_pid
 * (6.2) and is one RCU read-side section. What it costs does not depend on the number of other tasks.
 *
 * `list_parents`, which is run once, tells the parent of every process; it needs the open-coded task iterator (6.7). `list_waiting` tells
 * which tasks wait for a CPU.
 */
#include "waiting.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* The list, which user space fills. */
RECORDS(wanted_records, cpuledger_wanted);

/* How far an inspection has come. */
struct inspection {
	struct cpuledger_walk walk;
	s32 open_pid; /* the process that was opened last; 0: it is not there */
	u32 unused;
};

/* A global function, as in the walk: the verifier looks into it once. */
__noinline int inspect_task(u64 address, s32 tid, s32 pid, struct cpuledger_walk *walk)
{
	struct task_struct *task = CAST(address, task_struct);
	u32 groups;

	if (!walk)
		return 0;
	groups = walk->groups | CPULEDGER_READ_DETAIL;
	if (tid == pid)
		visit_leader(task, walk, groups, true);
	record_task(task, task, tid, pid, walk, groups);
	return 0;
}

/* Whether the task is still what was asked for: an exec or a new owner of the tid may have made it another. */
static __always_inline bool is_wanted(s32 tid, s32 pid, bool opens_process, s32 open_pid)
{
	return opens_process ? tid == pid : tid != pid && pid == open_pid;
}

static long inspect_wanted(u64 place, struct inspection *inspection)
{
	u32 index = place;
	struct cpuledger_wanted *wanted = bpf_map_lookup_elem(&wanted_records, &index);
	struct task_struct *task;
	bool opens_process;
	s32 tid, pid;

	if (!wanted)
		return 1;
	opens_process = wanted->opens_process;
	if (opens_process)
		inspection->open_pid = 0;
	task = bpf_task_from_pid(wanted->tid);
	if (!task)
		return 0;
	tid = task->pid;
	pid = task->tgid;
	if (is_wanted(tid, pid, opens_process, inspection->open_pid)) {
		inspection->open_pid = pid;
		inspect_task(as_number(task), tid, pid, &inspection->walk);
	}
	bpf_task_release(task);
	return 0;
}

SEC("syscall")
int inspect(struct cpuledger_walk *context)
{
	struct inspection inspection = { .walk = *context };

	/* Totals are those of processes with one thread only, as its others are not visited. */
	inspection.walk.scope = CPULEDGER_WALK_LEADERS;
	inspection.walk.lacks = kernel_lacks();
	forget_cgroups();
	bpf_rcu_read_lock();
	inspection.walk.begin_ns = bpf_ktime_get_ns();
	inspection.walk.begin_boottime_ns = bpf_ktime_get_boot_ns();
	bpf_loop(inspection.walk.wanted, inspect_wanted, &inspection, 0);
	inspection.walk.end_ns = bpf_ktime_get_ns();
	bpf_rcu_read_unlock();
	*context = inspection.walk;
	return 0;
}

RECORDS(parent_records, cpuledger_parent);

SEC("syscall")
int list_parents(struct cpuledger_walk *context)
{
	struct cpuledger_parent *record;
	struct bpf_iter_task iterator;
	struct task_struct *leader, *parent;
	u32 count = 0;

	bpf_rcu_read_lock();
	bpf_iter_task_new(&iterator, NULL, CPULEDGER_ALL_PROCESSES);
	while ((leader = bpf_iter_task_next(&iterator))) {
		u32 index = count++;

		record = bpf_map_lookup_elem(&parent_records, &index);
		if (!record)
			continue;
		parent = BPF_CORE_READ(leader, real_parent);
		record->pid = leader->tgid;
		record->start_time_ns = leader->start_boottime;
		__builtin_memcpy(record->comm, leader->comm, sizeof(record->comm));
		record->parent_pid = BPF_CORE_READ(parent, tgid);
		record->parent_start_time_ns = BPF_CORE_READ(parent, group_leader, start_boottime);
	}
	bpf_iter_task_destroy(&iterator);
	bpf_rcu_read_unlock();
	context->processes = count;
	return 0;
}
