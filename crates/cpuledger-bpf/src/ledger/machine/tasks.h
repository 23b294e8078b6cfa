/* SPDX-License-Identifier: GPL-2.0-only */
/* A part of machine.c: births, deaths and execs, as the kernel does them. Nothing here loses its turn. */
static s32 take_pid(void)
{
	s32 pid = last_freed_pid;

	if (!pid || pid_taken[pid] || one_in(2))
		do
			pid = 2 + random_below(plan.pids - 2);
		while (pid_taken[pid]);
	pid_taken[pid] = 1;
	return pid;
}

static struct process *free_process(void)
{
	for (u32 i = 0; i < TASKS; i++)
		if (!processes[i].tasks)
			return &processes[i];
	abort();
}

/* The lowest: memory that was used last is used again. */
static struct task *free_task(void)
{
	for (u32 i = 0; i < TASKS; i++)
		if (!tasks[i].is_used)
			return &tasks[i];
	abort();
}

static void put_task(struct task *task)
{
	if (!task->is_released || !task->has_left)
		return;
	task->process->tasks--;
	task->is_used = false;
	population--;
}

static struct task *make_task(struct task *parent, bool is_thread, bool has_same_parent)
{
	struct task *task = free_task();
	struct process *process = is_thread ? parent->process : free_process();

	__builtin_memset(task, 0, sizeof(*task));
	if (!is_thread) {
		__builtin_memset(process, 0, sizeof(*process));
		process->is_reaped = one_in(3);
	}
	process->tasks++;
	process->threads++;
	process->signal.live.counter++;
	task->process = process;
	task->is_used = task->is_runnable = task->is_young = true;
	task->cpu = -1;
	task->k.pid = take_pid();
	task->k.cgroups = &css_sets[task->k.pid % plan.cgroups];
	task->k.tgid = is_thread ? parent->k.tgid : task->k.pid;
	task->k.group_leader = is_thread ? parent->k.group_leader : &task->k;
	task->k.real_parent = !parent ? &task->k : is_thread || has_same_parent ? parent->k.real_parent : &parent->k;
	task->k.start_time = task->k.start_boottime = ++now_ns;
	task->k.signal = &process->signal;
	task->k.sighand = &sighand;
	task->k.real_cred = &creds[random_below(4)];
	population++;
	return task;
}

static void release(struct task *task)
{
	task->k.sighand = NULL;
	task->is_released = true;
	task->process->threads--;
	pid_taken[task->k.pid] = 0;
	last_freed_pid = task->k.pid;
	put_task(task);
}

static bool is_leader(const struct task *task)
{
	return task->k.group_leader == &task->k;
}

/* Whether a thread that execs is alone: but for its leader, which is a zombie. */
static void wake_exec(struct process *process)
{
	struct task *exec = process->exec;
	u32 others;

	if (!exec)
		return;
	others = is_leader(exec) ? 1 : 2;
	if (process->threads == others && (is_leader(exec) || exec->k.group_leader->exit_state))
		exec->is_runnable = true;
}

static void reap_if_alone(struct task *leader, bool is_waited)
{
	if (!leader->is_used || leader->is_released || leader->k.exit_state != EXIT_ZOMBIE || leader->process->threads > 1 ||
	    leader->process->exec)
		return;
	if (leader->process->is_reaped || is_waited)
		release(leader);
}

static void leave(struct task *task)
{
	struct task *heir = init;
	struct process *process = task->process;

	for (u32 i = 0; i < TASKS; i++)
		if (tasks[i].is_used && tasks[i].process == process && &tasks[i] != task && tasks[i].stage == LIVES)
			heir = &tasks[i];
	for (u32 i = 0; i < TASKS; i++)
		if (tasks[i].is_used && tasks[i].k.real_parent == &task->k)
			tasks[i].k.real_parent = &heir->k;
	task->k.exit_state = EXIT_ZOMBIE;
	if (is_leader(task)) {
		reap_if_alone(task, false);
	} else {
		struct task *leader = (struct task *)task->k.group_leader;

		release(task);
		reap_if_alone(leader, false);
	}
	wake_exec(process);
}

/* The thread is alone: it becomes the leader. */
static void become_leader(struct task *task)
{
	struct task *leader = (struct task *)task->k.group_leader;
	s32 pid = task->k.pid;

	task->process->exec = NULL;
	if (leader == task)
		return;
	task->process->has_execd = true;
	task->k.start_time = leader->k.start_time;
	task->k.start_boottime = leader->k.start_boottime;
	task->k.pid = leader->k.pid;
	leader->k.pid = pid;
	task->k.group_leader = leader->k.group_leader = &task->k;
	task->k.real_parent = leader->k.real_parent;
	for (u32 i = 0; i < TASKS; i++)
		if (tasks[i].is_used && tasks[i].k.real_parent == &leader->k)
			tasks[i].k.real_parent = &task->k;
	leader->k.exit_state = EXIT_DEAD;
	release(leader);
	seen.execs++;
}

static void kill_others(struct task *task)
{
	for (u32 i = 0; i < TASKS; i++)
		if (tasks[i].is_used && tasks[i].process == task->process && &tasks[i] != task && tasks[i].stage == LIVES) {
			tasks[i].is_killed = true;
			tasks[i].is_runnable = true;
			tasks[i].wake_ns = 0;
		}
}
