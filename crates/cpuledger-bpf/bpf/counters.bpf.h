/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of one task, for the walks and for the last switch. They are all in the task_struct itself.
 */
#ifndef CPULEDGER_COUNTERS_BPF_H
#define CPULEDGER_COUNTERS_BPF_H

#include "compat.bpf.h"

static __always_inline void read_cpu_time(struct task_struct *task, struct cpuledger_cpu_time *own)
{
	own->runtime_ns = task->se.sum_exec_runtime;
	own->tick_user_ns = task->utime;
	own->tick_system_ns = task->stime;
	own->shown_user_ns = task->prev_cputime.utime;
	own->shown_system_ns = task->prev_cputime.stime;
}

static __always_inline void read_activity(struct task_struct *task, struct cpuledger_activity *own)
{
#define COUNTER(member, of_task, of_dead_threads) own->member = task->of_task;
#define OPTIONAL(member, of_task, of_dead_threads)    \
	if (bpf_core_field_exists(task->of_task))     \
		COUNTER(member, of_task, of_dead_threads)
	CPULEDGER_ACTIVITY(COUNTER, OPTIONAL)
#undef OPTIONAL
#undef COUNTER
}

#endif
