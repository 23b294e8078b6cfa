/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks wait for a CPU, and since when: those in the queues of the scheduler. A hook at each wake-up would cost every wake-up; this
 * costs what waits when it is asked for.
 *
 * No lock is taken, so a list may change while it is read. A task that has the CPU next, or is made anew, moves to the front: what is behind
 * is still found. One that leaves while it is looked at leads to itself: the list is begun again. One that moves to another CPU may lead
 * there. What is found on the way is a task only if the kernel finds it by its tid. The number of steps is bounded. User space calls this
 * until it finds no more (`Inspector::waiting`).
 */
#ifndef CPULEDGER_WAITING_BPF_H
#define CPULEDGER_WAITING_BPF_H

#include "records.bpf.h"

RECORDS(waiting_records, cpuledger_waiting);

/* Steps beyond one and a half for each task of a queue. */
#define SPARE_STEPS 64

/* How far a search has come. */
struct search {
	u64 queue;   /* address of the run queue of the CPU that this runs on, */
	u64 offset;  /* and where that has its per-CPU area */
	u64 list;    /* address of the list of the CPU that is looked at, */
	u64 node;    /* and of the place in it */
	u32 cpu;
	u32 tasks;   /* that were found */
};

static __always_inline u64 next_of(u64 node)
{
	struct list_head *list = (void *)node;
	u64 next = 0;

	bpf_core_read(&next, sizeof(next), &list->next);
	return next;
}

static __always_inline void note_waiting(struct task_struct *task, struct search *search)
{
	struct cpuledger_waiting *record;
	u64 queued_ns = task->sched_info.last_queued;
	u32 index = search->tasks;

	/* It has the CPU, or has left the queue. */
	if (!queued_ns)
		return;
	search->tasks++;
	record = bpf_map_lookup_elem(&waiting_records, &index);
	if (!record)
		return;
	record->tid = task->pid;
	record->pid = task->tgid;
	record->start_time_ns = task->start_boottime;
	record->process_start_time_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	record->queued_ns = queued_ns;
	record->run_delay_ns = task->sched_info.run_delay;
	record->cpu = search->cpu;
}

static long look_at_node(u64 place, struct search *search)
{
	u64 address = search->node - bpf_core_field_offset(struct task_struct, se.group_node), next;
	struct task_struct *found = (void *)address, *task;
	s32 tid = 0;

	if (!search->node || search->node == search->list)
		return 1;
	next = next_of(search->node);
	bpf_core_read(&tid, sizeof(tid), &found->pid);
	search->node = next == search->node ? next_of(search->list) : next;
	task = tid > 0 ? bpf_task_from_pid(tid) : NULL;
	if (!task)
		return 0;
	if (as_number(task) == address)
		note_waiting(task, search);
	bpf_task_release(task);
	return 0;
}

static long look_at_queue(u64 cpu, struct search *search)
{
	u64 offset = cpu < CPULEDGER_MAX_CPUS ? cpu_offset[cpu] : 0;
	struct rq *queue = (void *)(search->queue - search->offset + offset);
	u32 running = 0;

	if (!offset)
		return 0;
	search->list = (u64)__builtin_preserve_access_index(&queue->cfs_tasks);
	search->node = next_of(search->list);
	search->cpu = cpu;
	bpf_core_read(&running, sizeof(running), &queue->nr_running);
	bpf_loop(running + running / 2 + SPARE_STEPS, look_at_node, search, 0);
	return 0;
}

/* `wanted` of the context is how many numbers CPUs have. `tasks` becomes how many wait, whether there is room for their records or not. */
SEC("syscall")
int list_waiting(struct cpuledger_walk *context)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct task_struct *own = bpf_get_current_task_btf();
	struct search search = {};

	context->tasks = 0;
	/* CONFIG_SCHED_INFO, CONFIG_FAIR_GROUP_SCHED, CONFIG_SMP */
	if (!bpf_core_field_exists(own->sched_info.last_queued) || !bpf_core_field_exists(own->se.cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->rq) || !bpf_core_field_exists(((struct rq *)0)->cfs_tasks) ||
	    !bpf_core_field_exists(own->se.group_node) || cpu >= CPULEDGER_MAX_CPUS || !cpu_offsets_known)
		return 0;
	/* Each CPU has its run queue at the same place of its per-CPU area. */
	search.queue = (u64)BPF_CORE_READ(own, se.cfs_rq, rq);
	search.offset = cpu_offset[cpu];
	if (!search.queue)
		return 0;
	bpf_rcu_read_lock();
	bpf_loop(context->wanted, look_at_queue, &search, 0);
	bpf_rcu_read_unlock();
	context->tasks = search.tasks;
	return 0;
}

#endif
