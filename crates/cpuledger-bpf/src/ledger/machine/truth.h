/* SPDX-License-Identifier: GPL-2.0-only */
/* A part of machine.c: what tasks truly did while they were on no CPU, for as long as clocks are exact. */

enum { MOST_STRETCHES = 1 << 18 };

/* A task was on no CPU: it did one thing until it was queued, and then waited for a CPU. */
struct stretch {
	u64 task; /* its address */
	u64 start_ns; /* of the task */
	u64 left_ns, queued_ns, came_ns; /* of the hooks' clock; NEVER: it has not yet */
	u32 state;
	u16 is_of_now; /* what the task does now: a stretch without an end or, on a CPU, without length */
	u16 is_unsure; /* nothing can be compared: it switches right now, or has another identity since an exec */
};

struct truth {
	const struct stretch *stretches;
	u64 count;
	const struct wait_event *waits;
	u64 wait_count;
};

static struct stretch stretches[MOST_STRETCHES];
static u64 stretch_count;

static struct stretch *add_stretch(const struct task *task, u64 queued_ns, u64 came_ns)
{
	/* One that has not run yet has waited since it was made. */
	bool is_young = !task->off_ns;

	if (stretch_count == MOST_STRETCHES)
		abort();
	stretches[stretch_count] = (struct stretch){
		.task = (u64)&task->k,
		.start_ns = task->k.start_boottime,
		.left_ns = is_young ? task->k.start_time : task->off_ns,
		.queued_ns = queued_ns,
		.came_ns = came_ns,
		.state = is_young ? CPULEDGER_OFF_WAITS : task->off_state,
	};
	return &stretches[stretch_count++];
}

/* When the last hook of this CPU has seen a switch. */
static u64 switch_ns(const struct cpu *cpu)
{
	const struct cpuledger_cpu *record = (void *)(maps[0].address + (cpu - machine_cpus) * maps[0].record_bytes);

	return record->booked >> CPULEDGER_RUN_SHIFT;
}

/* The scheduler's instant of the switch that a hook has just seen: nothing else tells it where no turn is held up. */
static void note_instant(const struct cpu *cpu)
{
	u64 end_ns = switch_ns(cpu);

	if (plan.is_exact || plan.skew_ns || plan.freezes || end_ns > cpu->hook_ns)
		return;
	seen.lag_ns += cpu->hook_ns - cpu->instant_ns;
	seen.off_ns += end_ns > cpu->instant_ns ? end_ns - cpu->instant_ns : cpu->instant_ns - end_ns;
}

/* What a task does by this state of the scheduler. */
static u32 off_state(u32 state)
{
	return state == TASK_RUNNING	     ? CPULEDGER_OFF_WAITS :
	       state == TASK_STOPPED	     ? CPULEDGER_OFF_STOPPED :
	       state == TASK_UNINTERRUPTIBLE ? CPULEDGER_OFF_BLOCKED :
					       CPULEDGER_OFF_SLEEPS;
}

/* A hook has seen this switch. The kernel knows yet since when `next` was queued. */
static void note_switch(const struct cpu *cpu, struct task *prev, const struct task *next)
{
	u64 end_ns = switch_ns(cpu), queued = next->k.sched_info.last_queued;

	if (!plan.is_exact)
		return;
	if (next->k.pid)
		add_stretch(next, queued ? queued - scheduler_ns(0) : end_ns, end_ns);
	prev->off_ns = end_ns;
	prev->off_state = off_state(prev->k.__state);
}

/* All that was noted since the last call, and one for each living task, which says what it does now. */
static struct truth machine_truth(void)
{
	struct truth truth = { stretches, 0, wait_events, wait_event_count };

	for (u32 i = 0; plan.is_exact && i < TASKS; i++) {
		const struct task *task = &tasks[i];
		u64 came_ns = task->is_on_cpu ? 0 : NEVER;
		struct stretch *now;

		if (!task->is_used)
			continue;
		now = add_stretch(task, came_ns, came_ns);
		now->is_of_now = true;
		now->is_unsure = task->process->has_execd;
		for (u32 cpu = 0; cpu < plan.cpus; cpu++)
			now->is_unsure |= machine_cpus[cpu].next &&
					  (machine_cpus[cpu].next == task || machine_cpus[cpu].current == task);
	}
	truth.count = stretch_count;
	stretch_count = 0;
	wait_event_count = 0;
	return truth;
}
