/* SPDX-License-Identifier: GPL-2.0-only */
/* The cgroups of a task that dies. */
#ifndef CPULEDGER_CGROUPS_BPF_H
#define CPULEDGER_CGROUPS_BPF_H

#include "compat.bpf.h"

/*
 * The cgroups that a task has died in: a dead task keeps its css_set until it is freed (4.4, 2e91fa7f6d45). 0: not known, or not
 * compiled in.
 */
static __always_inline void read_last_cgroups(u64 task_address, u64 *id, u64 *v1_cpu_id)
{
	struct task_struct *task = (void *)task_address;
	struct cgroup_subsys_state *state = NULL;
	struct kernfs_node *directory;
	struct cgroup *cgroup;
	struct css_set *set;

	*id = 0;
	*v1_cpu_id = 0;
	if (!bpf_core_field_exists(task->cgroups))
		return;
	set = BPF_CORE_READ(task, cgroups);
	cgroup = BPF_CORE_READ(set, dfl_cgrp);
	directory = BPF_CORE_READ(cgroup, kn);
	*id = BPF_CORE_READ(directory, id);
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return;
	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)__builtin_preserve_access_index(&set->subsys[0]) +
				      bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) * sizeof(void *));
	cgroup = BPF_CORE_READ(state, cgroup);
	directory = BPF_CORE_READ(cgroup, kn);
	*v1_cpu_id = BPF_CORE_READ(directory, id);
}

#endif
