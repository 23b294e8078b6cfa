/* SPDX-License-Identifier: GPL-2.0-only */
/* A part of machine.c: the queues of CPUs, their locks, and who truly waits in them. */

enum { MOST_WAIT_EVENTS = 1 << 18, TASK_ON_RQ_MIGRATING = 2 };

/* What happened in the queue of a CPU, in the order of each CPU. */
enum wait_kind { WAIT_BEGINS, WAIT_BEGINS_MOVED, WAIT_ENDS, WAIT_RUNS };

/* Who has a CPU, where it is no task with a slot. */
enum { RUNS_IDLE = 0, RUNS_WITHOUT_SLOT = 1 };

struct wait_event {
	u64 task; /* its address; of WAIT_RUNS, the one that has the CPU from now on, or one of the above */
	u64 start_ns; /* of the task */
	u64 instant_ns;
	u64 taken_ns, interrupted_ns; /* of the CPU, by the clocks of its queue */
	u32 cpu, kind;
	u64 cgroup; /* of the task: where it waits or runs, as if it came now */
};

static struct wait_event wait_events[MOST_WAIT_EVENTS];
static u64 wait_event_count;

static struct cpuledger_cpu_blame *blame_of_cpu(u32 number)
{
	return (void *)(maps[7].address + number * maps[7].record_bytes);
}

static struct cpuledger_slot *slot_number(u32 number)
{
	return (void *)(maps[1].address + number * maps[1].record_bytes);
}

static bool waits_in_slot(u32 number)
{
	return ((struct cpuledger_slot_blame *)(maps[6].address + number * maps[6].record_bytes))->wait & CPULEDGER_WAIT_IS;
}

/* Whether the hooks have this task waiting. One without a slot does not. A slot that was given back at once may name it, too. */
static bool is_told_to_wait(const struct task *task)
{
	for (u32 number = CPULEDGER_SLOT_FIRST; number < control.fresh && number < control.slots; number++)
		if (slot_number(number)->task == (u64)&task->k && waits_in_slot(number))
			return true;
	return false;
}

/* An event at the instant that the hook has given it. */
static void note_event(u64 task, u64 start_ns, u32 cpu, u32 kind, u64 cgroup)
{
	const struct rq *queue = &machine_cpus[cpu].rq;

	if (wait_event_count == MOST_WAIT_EVENTS)
		abort();
	wait_events[wait_event_count++] = (struct wait_event){
		task, start_ns, blame_of_cpu(cpu)->last_ns, queue->clock - queue->clock_task, queue->prev_irq_time, cpu, kind, cgroup,
	};
}

static void note_wait(const struct task *task, u32 cpu, u32 kind)
{
	note_event((u64)&task->k, task->k.start_boottime, cpu, kind, task->k.cgroups->dfl_cgrp->kn->id);
}

/* The hooks have seen a switch of this CPU to a task. */
static void note_who_runs(u32 cpu, const struct task *task)
{
	u64 cgroup = task->k.cgroups->dfl_cgrp->kn->id;
	u32 number = blame_of_cpu(cpu)->running;

	if (number == CPULEDGER_SLOT_IDLE)
		note_event(RUNS_IDLE, 0, cpu, WAIT_RUNS, cgroup);
	else if (number >= CPULEDGER_SLOT_FIRST && number < control.slots)
		note_event(slot_number(number)->task, slot_number(number)->start_time_ns, cpu, WAIT_RUNS, cgroup);
	else
		note_event(RUNS_WITHOUT_SLOT, 0, cpu, WAIT_RUNS, cgroup);
}

/* The lock of a queue. One that spins loses its turn. */
static void lock_queue(struct cpu *cpu)
{
	while (cpu->is_locked)
		sleep_until(now_ns + 1 + random_below(500));
	cpu->is_locked = true;
}

static void unlock_queue(struct cpu *cpu)
{
	cpu->is_locked = false;
}

static bool may_wake(const struct task *task)
{
	return task->is_used && task->is_runnable && !task->is_new && !task->is_queued && !task->is_on_cpu && !task->has_left &&
	       !task->is_waking && task->wake_ns <= now_ns && !(task->stage == IS_GONE && task->k.__state == TASK_DEAD);
}

static void wake(struct task *task)
{
	u32 number = task->cpu >= 0 ? task->cpu : random_below(plan.cpus);
	struct cpu *cpu = &machine_cpus[number];
	bool waited;

	task->is_waking = true;
	if (!task->is_young && task->k.thread_info.cpu != number)
		on_migrate(&task->k, number);
	task->k.thread_info.cpu = number;
	lock_queue(cpu);
	look_at_clock(cpu, task);
	task->k.__state = TASK_RUNNING;
	task->is_queued = true;
	waited = is_told_to_wait(task);
	if (task->is_young)
		on_wakeup_new(&task->k);
	else
		on_wakeup(&task->k);
	if (!waited && is_told_to_wait(task))
		note_wait(task, number, WAIT_BEGINS);
	task->is_young = task->is_waking = false;
	seen.wakeups++;
	unlock_queue(cpu);
}

/* A task is woken that has a CPU or waits for one: it shall not sleep now. */
static void wake_again(struct task *task)
{
	u32 number = task->k.thread_info.cpu;
	struct cpu *cpu = &machine_cpus[number];
	bool waited;

	if (cpu->is_locked)
		return;
	cpu->is_locked = true;
	waited = is_told_to_wait(task);
	if (task->is_queued || cpu->current == task)
		on_wakeup(&task->k);
	/* It may have got a slot since it came. */
	if (!waited && is_told_to_wait(task))
		note_wait(task, number, WAIT_BEGINS);
	cpu->is_locked = false;
}

/* A task that waits for another CPU goes to this one. */
static void pull(u32 number, struct task *task)
{
	u32 from = task->k.thread_info.cpu;
	struct cpu *cpu = &machine_cpus[from];
	bool waited;

	if (cpu->is_locked)
		return;
	cpu->is_locked = true;
	waited = is_told_to_wait(task);
	task->is_waking = true;
	task->is_queued = false;
	task->k.on_rq = TASK_ON_RQ_MIGRATING;
	on_migrate(&task->k, number);
	task->k.on_rq = 0;
	if (waited) {
		note_wait(task, from, WAIT_ENDS);
		note_wait(task, number, WAIT_BEGINS_MOVED);
		wait_events[wait_event_count - 1].instant_ns = blame_of_cpu(from)->last_ns;
		seen.pulls++;
	}
	task->k.thread_info.cpu = number;
	task->k.se.cfs_rq = &machine_cpus[number].cfs_rq;
	cpu->is_locked = false;
	/* Nothing of it is in the queue of this CPU before that is locked. */
	cpu = &machine_cpus[number];
	lock_queue(cpu);
	task->is_queued = true;
	task->is_waking = false;
	unlock_queue(cpu);
}

/* What interrupts do on a CPU: they wake tasks, and move those that wait. */
static void look_after_queues(u32 number)
{
	u32 first = random_below(TASKS);

	for (u32 i = 0; i < TASKS; i++) {
		struct task *task = &tasks[(first + i) % TASKS];

		if (may_wake(task)) {
			if (!one_in(4))
				wake(task);
		} else if (task->is_used && task->is_queued && task->cpu < 0 && task->k.thread_info.cpu != number && one_in(30)) {
			pull(number, task);
		} else if (task->is_used && (task->is_queued || task->is_on_cpu) && !task->is_waking && one_in(30)) {
			wake_again(task);
		}
	}
}
