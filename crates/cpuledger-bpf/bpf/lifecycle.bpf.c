// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last switch of every task: its final figures go to a ring, so that the time of tasks which died between two
 * walks is not lost. And the parent of each process at its fork, to which that time belongs: at the exit the kernel may
 * name another. O(1): no loop over tasks, children or threads.
 */
#include "cgroups.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CPULEDGER_EXIT_RING_BYTES);
} exits SEC(".maps");

/* Births that find it full are not told: then the parent at the fork is not known. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CPULEDGER_BIRTH_RING_BYTES);
} births SEC(".maps");

/* Exits that found the ring full, by the pid of the parent; user space makes entry 0, which takes what finds no room. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CPULEDGER_FOLD_ENTRIES);
	__type(key, s32);
	__type(value, struct cpuledger_fold);
} folds SEC(".maps");

static __always_inline void fold(s32 parent, u64 runtime_ns)
{
	struct cpuledger_fold fresh = {}, *entry = bpf_map_lookup_elem(&folds, &parent);

	if (!entry) {
		bpf_map_update_elem(&folds, &parent, &fresh, BPF_NOEXIST);
		entry = bpf_map_lookup_elem(&folds, &parent);
	}
	if (!entry) {
		parent = 0;
		entry = bpf_map_lookup_elem(&folds, &parent);
	}
	if (!entry)
		return;
	__sync_fetch_and_add(&entry->exits, 1);
	__sync_fetch_and_add(&entry->runtime_ns, runtime_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(last_switch, bool preempt, struct task_struct *prev)
{
	struct task_struct *leader = prev->group_leader, *parent;
	struct cpuledger_exit *record;

	if (task_state(prev) != TASK_DEAD)
		return 0;
	parent = parent_process(prev);
	record = bpf_ringbuf_reserve(&exits, sizeof(*record), 0);
	if (!record) {
		fold(parent ? parent->tgid : 0, prev->se.sum_exec_runtime);
		return 0;
	}
	record->tid = prev->pid;
	record->pid = prev->tgid;
	record->ppid = parent ? parent->tgid : 0;
	record->exit_code = prev->exit_code;
	record->start_time_ns = prev->start_boottime;
	/* A leader that was released before this thread may have been freed: then its memory is another's. */
	record->process_start_time_ns = leader->tgid == prev->tgid ? leader->start_boottime : prev->start_boottime;
	record->end_time_ns = bpf_ktime_get_boot_ns();
	record->lifetime_ns = bpf_ktime_get_ns() - prev->start_time;
	record->runtime_ns = prev->se.sum_exec_runtime;
	record->tick_user_ns = prev->utime;
	record->tick_system_ns = prev->stime;
	read_last_cgroups((u64)prev, &record->cgroup_id, &record->cgroup_v1_cpu_id);
	record->uid = prev->real_cred->uid.val;
	record->euid = prev->real_cred->euid.val;
	__builtin_memcpy(record->comm, prev->comm, sizeof(record->comm));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(birth, struct task_struct *parent, struct task_struct *child)
{
	struct cpuledger_birth *record;

	/* Not a thread, nor with CLONE_PARENT: the parent's parent may have been replaced since. */
	if (child->pid != child->tgid || child->real_parent != parent)
		return 0;
	record = bpf_ringbuf_reserve(&births, sizeof(*record), 0);
	if (!record)
		return 0;
	record->pid = child->pid;
	record->parent_pid = parent->tgid;
	record->start_time_ns = child->start_boottime;
	record->parent_start_time_ns = parent->group_leader->start_boottime;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
