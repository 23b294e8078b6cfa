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
	own->minor_faults = task->min_flt;
	own->major_faults = task->maj_flt;
	own->voluntary_switches = task->nvcsw;
	own->involuntary_switches = task->nivcsw;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		own->runqueue_wait_ns = task->sched_info.run_delay;
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		own->read_bytes = task->ioac.read_bytes;
		own->write_bytes = task->ioac.write_bytes;
		own->cancelled_write_bytes = task->ioac.cancelled_write_bytes;
	}
}

#endif
