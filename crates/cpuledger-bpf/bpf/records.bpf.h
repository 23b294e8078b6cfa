/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the records of tasks and processes are written, and how one is: shared by all programs that write them.
 */
#ifndef CPULEDGER_RECORDS_BPF_H
#define CPULEDGER_RECORDS_BPF_H

#include "buffers.bpf.h"
#include "cpu_offsets.bpf.h"
#include "read_task.bpf.h"

RECORDS(task_records, cpuledger_task);
#ifndef CPULEDGER_WITHOUT_REST
RECORDS(rest_records, cpuledger_task_rest);
#endif
RECORDS(process_records, cpuledger_process);

#ifndef CPULEDGER_WITHOUT_REST

static __always_inline void record_rest(struct task_struct *task, struct task_struct *untrusted, s32 tid, u32 index,
					u32 groups)
{
	struct cpuledger_task_rest *record = bpf_map_lookup_elem(&rest_records, &index);

	if (record)
		read_rest(task, untrusted, tid, groups, record);
}

#else

static __always_inline void record_rest(struct task_struct *task, struct task_struct *untrusted, s32 tid, u32 index,
					u32 groups)
{
}

#endif

/*
 * Records what most listings show of a task. `tid` and `pid` were read once by the caller: an exec by another thread may exchange them at any
 * time.
 */
static __always_inline void record_briefly(struct task_struct *task, struct task_struct *untrusted, s32 tid, s32 pid,
					   struct cpuledger_walk *walk, u32 groups)
{
	u32 index = walk->tasks++;
	struct cpuledger_task *record = bpf_map_lookup_elem(&task_records, &index);

	if (!record)
		return;
	record->tid = tid;
	record->pid = pid;
	read_task(task, untrusted, groups, record);
	record->process_index = walk->processes - 1;
}

/* Records all of a task. */
static __always_inline void record_task(struct task_struct *task, struct task_struct *untrusted, s32 tid, s32 pid,
					struct cpuledger_walk *walk, u32 groups)
{
	record_rest(task, untrusted, tid, walk->tasks, groups);
	record_briefly(task, untrusted, tid, pid, walk, groups);
}

/* A leader opens a process. */
static __always_inline void visit_leader(struct task_struct *leader, struct cpuledger_walk *walk, u32 groups,
					 bool sums_rss)
{
	u32 index = walk->processes++;
	struct cpuledger_process *process = bpf_map_lookup_elem(&process_records, &index);

	if (!process)
		return;
	process->task_index = walk->tasks;
	read_process(leader, walk, groups, sums_rss, process);
	add_thread(&process->group, leader, groups);
	process->totals_known = process->threads <= 1 || walk->scope != CPULEDGER_WALK_LEADERS;
}

#endif
