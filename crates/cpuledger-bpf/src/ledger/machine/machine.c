/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine that runs the hooks of the ledger in user space: CPUs, tasks that switch, fork, exec and die, and the reader. They take
 * turns on one thread, and may lose their turn before each access to memory, for any time. A seed tells all that happens.
 */
#include "kernel.h"

enum {
	MOST_CPUS = 8,
	FORK = 8,	/* fiber of the fork hook of CPU 0: it runs in the context of a task, which may be preempted */
	READER = 16,
	FIBERS = 17,
	TASKS = 512,	/* with the idle tasks */
	PIDS = 1024,
};

#define NEVER (~0ULL)
#define EXIT_ZOMBIE 0x20
#define EXIT_DEAD 0x10

enum stage { LIVES, LEAVES, IS_GONE };

/* A task is in one of these. */
enum { MOST_CGROUPS = 100 };
static struct kernfs_node directories[MOST_CGROUPS];
static struct cgroup cgroups[MOST_CGROUPS];
static struct css_set css_sets[MOST_CGROUPS];

struct process {
	struct signal_struct signal;
	u32 tasks;	   /* task_structs that point to it */
	u32 threads;	   /* that are not released */
	struct task *exec; /* the thread that execs */
	bool is_reaped;	   /* its parent ignores SIGCHLD */
	bool has_execd;	   /* as a thread that was not the leader */
};

struct task {
	struct task_struct k;
	struct process *process;
	bool is_queued, is_waking, is_young; /* the last: it has never been woken */
	bool is_used, is_new, is_on_cpu, is_runnable, is_immortal, is_killed, is_forking, is_released, has_left;
	enum stage stage;
	s32 cpu; /* the only one on which it may run; -1: any */
	u64 wake_ns;
	u64 left_ns; /* when it was on a CPU last; 0: not yet */
	u64 off_ns;  /* when a hook has seen it leave its CPU last; 0: not yet */
	u32 off_state;
};

struct cpu {
	struct rq rq;
	struct cfs_rq cfs_rq;
	struct task idle, *current, *next; /* the last: while it switches */
	bool is_in_hook, is_locked;
	s64 skew_ns;
	u64 instant_ns, hook_ns; /* when the scheduler has read its clock last, and the hook of this switch its own */
	struct task *parent, *child; /* of the fork hook */
};

/* How a machine is. */
struct machine_plan {
	u64 seed;
	u32 cpus;
	u32 population;		/* tasks at which it stays */
	u32 preempts_forks;	/* whether a task may lose its CPU in the fork hook */
	u32 skew_ns;		/* maximum difference between clocks */
	u32 freezes;		/* one turn in this number is held up for up to freeze_ns; 0: none */
	u32 freeze_ns;
	u32 pids;
	u32 access_ns;		/* what an access to memory takes */
	u32 work_ns;		/* maximum time between two switches of a CPU, nearly always */
	u32 cgroups;
	u32 is_exact;		/* whether the scheduler's clock is that of the hooks, and read when they read theirs */
};

/* What it did. */
struct machine_seen {
	u64 switches, forks, exits, execs, preempted_forks, turns;
	u64 shared_slots; /* switches after which the slot of the task that runs was another's */
	/* By how much hooks came later than the scheduler had read its clock, and by how much what they took for that instant was off. */
	u64 lag_ns, off_ns;
	u64 newborn, compared, waited_ns; /* the reader's */
	u64 wakeups, pulls;
	u64 blamed, moved, suffered_ns, interrupts_ns, stolen_ns, pairs, pair_sums; /* the reader's */
};

void fiber_make(int number, void (*entry)(int));
void fiber_run(int number);
void fiber_stop(void);
void *map_file(void *address, int file, unsigned long bytes);
int machine_map_of(const void *map);
void abort(void);

extern struct cpuledger_control control;
int cpul_on_switch(bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state);
int on_fork(struct task_struct *parent, struct task_struct *child);
int on_entry(void *context);
int on_rename(struct task_struct *task, const char *comm);
int on_wakeup(struct task_struct *task);
int on_wakeup_new(struct task_struct *task);
int on_migrate(struct task_struct *task, int to);

static struct machine_plan plan;
static struct machine_seen seen;
static struct cpu machine_cpus[MOST_CPUS];
static struct task tasks[TASKS];
static struct process processes[TASKS];
static struct cred creds[4];
static struct sighand_struct sighand;
static struct task *init;
static u32 population;
static u8 pid_taken[PIDS];
static s32 last_freed_pid;

static u64 now_ns, wake_ns[FIBERS], random_state;
static int running; /* fiber */
static s64 budget;
static bool is_over;

static struct {
	u8 *address;
	u64 record_bytes, count;
} maps[12];

static u64 random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static u64 random_below(u64 limit)
{
	return (random_word() >> 11) % limit;
}

static bool one_in(u64 n)
{
	return !random_below(n);
}

/* Up to `limit`; each order of magnitude as often as another. */
static u64 random_length(u64 limit)
{
	u64 bits = 1;

	while (bits < 63 && 1ULL << bits < limit)
		bits++;
	return random_below(1ULL << (1 + random_below(bits))) % limit + 1;
}

/* The scheduler has a clock of its own, which gains 100 us each second. */
static u64 scheduler_ns(u64 ns)
{
	return 7000000 + ns + (plan.is_exact ? 0 : ns / 10000);
}

#include "turns.h"
#include "tasks.h"
static void look_at_clock(struct cpu *cpu, struct task *task);
#include "waits.h"
#include "truth.h"

/* CPUs. */

static struct task *pick(u32 number)
{
	struct task *found = NULL;
	u32 candidates = 0;

	if (one_in(10))
		return &machine_cpus[number].idle;
	for (u32 i = 0; i < TASKS; i++) {
		struct task *task = &tasks[i];

		if (task->is_used && task->is_queued && !task->is_waking && task->k.thread_info.cpu == number && one_in(++candidates))
			found = task;
	}
	return found ? found : &machine_cpus[number].idle;
}

/* The slot of the task that runs is its own. */
static void note_shared_slot(const struct cpu *cpu)
{
	const struct cpuledger_cpu *record = (void *)(maps[0].address + (cpu - machine_cpus) * maps[0].record_bytes);
	u32 slot = record->current[record->run & CPULEDGER_RUN_PARITY];
	const struct cpuledger_slot *of;

	if (slot < CPULEDGER_SLOT_FIRST || slot & CPULEDGER_CURRENT_OF_LEADER)
		return;
	of = (void *)(maps[1].address + slot * maps[1].record_bytes);
	if (of->task != (u64)&cpu->current->k)
		seen.shared_slots++;
}

/* What the scheduler decides by when this task leaves the CPU. */
static u32 state_of(const struct task *task)
{
	static const u32 states[] = { TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE, TASK_STOPPED, TASK_UNINTERRUPTIBLE | TASK_NOLOAD };

	if (task->k.__state == TASK_DEAD)
		return TASK_DEAD;
	return task->is_runnable && task->wake_ns <= now_ns ? TASK_RUNNING : states[random_below(4)];
}


/* The task is on the run queue of this CPU, whose clock was read some time ago. */
static void look_at_clock(struct cpu *cpu, struct task *task)
{
	u64 age_ns = random_below(now_ns < 20000 ? 1 : 20000);
	u64 clock_ns = scheduler_ns(now_ns) - (plan.is_exact ? 0 : age_ns);

	if (clock_ns > cpu->rq.clock) {
		/* One time in four, interrupts and the hypervisor take a part of it. */
		u64 passed_ns = clock_ns - cpu->rq.clock, taken_ns = one_in(4) ? random_below(passed_ns + 1) : 0;

		cpu->rq.clock_task += passed_ns - taken_ns;
		cpu->rq.prev_irq_time += one_in(4) ? random_below(taken_ns + 1) : taken_ns;
		cpu->rq.clock = clock_ns;
		cpu->instant_ns = now_ns - (plan.is_exact ? 0 : age_ns);
	}
	cpu->cfs_rq.rq = &cpu->rq;
	task->k.se.cfs_rq = &cpu->cfs_rq;
}

/* The kernel knows how long a task has waited for the CPU that it gets now. */
static void queue(struct cpu *cpu, struct task *task)
{
	look_at_clock(cpu, task);
	task->k.__state = TASK_RUNNING;
	if (task->left_ns && scheduler_ns(task->left_ns) <= cpu->rq.clock)
		task->k.sched_info.last_queued = cpu->rq.clock - random_below(cpu->rq.clock - scheduler_ns(task->left_ns) + 1);
}

static void arrive(struct cpu *cpu, struct task *task)
{
	if (task->k.sched_info.last_queued)
		task->k.sched_info.run_delay += cpu->rq.clock - task->k.sched_info.last_queued;
	task->k.sched_info.last_queued = 0;
}

static void switch_away(u32 number)
{
	struct cpu *cpu = &machine_cpus[number];
	struct task *prev = cpu->current, *next;
	bool waits;

	lock_queue(cpu);
	next = pick(number);
	if (next == prev) {
		unlock_queue(cpu);
		return;
	}
	seen.switches++;
	if (prev->is_forking)
		seen.preempted_forks++;
	next->is_on_cpu = true;
	next->is_queued = false;
	prev->k.se.sum_exec_runtime += 1000;
	cpu->is_in_hook = true;
	cpu->next = next;
	prev->k.__state = state_of(prev);
	prev->is_queued = prev->k.__state == TASK_RUNNING && prev != &cpu->idle;
	queue(cpu, next);
	cpu->hook_ns = 0;
	waits = is_told_to_wait(next);
	cpul_on_switch(prev->k.__state == TASK_RUNNING, &prev->k, &next->k, prev->k.__state);
	if (waits)
		note_wait(next, number, WAIT_ENDS);
	note_who_runs(number, next);
	if (prev->is_queued && is_told_to_wait(prev))
		note_wait(prev, number, WAIT_BEGINS);
	note_instant(cpu);
	note_switch(cpu, prev, next);
	arrive(cpu, next);
	prev->left_ns = now_ns;
	cpu->current = next;
	cpu->next = NULL;
	cpu->is_in_hook = false;
	prev->is_on_cpu = false;
	prev->k.on_cpu = 0;
	next->k.on_cpu = 1;
	note_shared_slot(cpu);
	unlock_queue(cpu);
	if (prev->stage == IS_GONE && prev->k.__state == TASK_DEAD) {
		prev->has_left = true;
		put_task(prev);
	}
}

static void fork_task(u32 number, struct task *task)
{
	struct cpu *cpu = &machine_cpus[number];
	bool is_thread = task->process->exec || task == init ? false : one_in(2);
	struct task *child;

	if (population >= TASKS - 8)
		return;
	child = make_task(task, is_thread, !is_thread && task != init && one_in(6));
	seen.forks++;
	if (cpu->child) {
		/* The hook of another task was preempted on this CPU: the kernel runs no second one. */
		return;
	}
	child->is_new = true;
	cpu->parent = task;
	cpu->child = child;
	task->is_forking = true;
	task->cpu = number;
	wake_ns[FORK + number] = 0;
}

static void fork_main(int fiber)
{
	struct cpu *cpu = &machine_cpus[fiber - FORK];

	for (;;) {
		if (!cpu->child) {
			sleep_until(NEVER);
			continue;
		}
		on_fork(&cpu->parent->k, &cpu->child->k);
		cpu->child->is_new = false;
		cpu->parent->is_forking = false;
		cpu->parent->cpu = -1;
		cpu->child = NULL;
	}
}

static void begin_exit(struct task *task)
{
	task->process->signal.live.counter--;
	task->stage = LEAVES;
	if (task->process->exec == task)
		task->process->exec = NULL;
	seen.exits++;
}

static void act(u32 number, struct task *task)
{
	u32 share = population < plan.population ? 6 : 2;

	/* No random number: it goes to the next cgroup. */
	if (!(now_ns % 11))
		task->k.cgroups = &css_sets[(task->k.cgroups - css_sets + 1) % plan.cgroups];

	switch (task->stage) {
	case IS_GONE:
		task->is_runnable = false;
		task->k.__state = TASK_DEAD;
		switch_away(number);
		return;
	case LEAVES:
		leave(task);
		task->stage = IS_GONE;
		return;
	case LIVES:
		break;
	}
	if (task->is_killed) {
		begin_exit(task);
		return;
	}
	if (task->process->exec == task) {
		become_leader(task);
		on_rename(&task->k, "exec");
		return;
	}
	for (u32 i = 0; i < TASKS; i++)
		if (tasks[i].is_used && tasks[i].k.real_parent && ((struct task *)tasks[i].k.real_parent)->process == task->process &&
		    is_leader(&tasks[i]) && &tasks[i] != task && one_in(2))
			reap_if_alone(&tasks[i], true);
	if (random_below(16) < share) {
		fork_task(number, task);
		return;
	}
	if (!task->is_immortal && !task->process->exec) {
		if (random_below(16) < 8 - share) {
			begin_exit(task);
			/* The whole process. */
			if (one_in(6))
				kill_others(task);
			return;
		}
		if (task->process->threads > 1 && one_in(6)) {
			task->process->exec = task;
			kill_others(task);
			task->is_runnable = false;
			wake_exec(task->process);
			switch_away(number);
			return;
		}
	}
	if (one_in(3))
		task->wake_ns = now_ns + random_length(20 * plan.work_ns);
	switch_away(number);
}

static void cpu_main(int fiber)
{
	struct cpu *cpu = &machine_cpus[fiber];
	u32 before;

	look_at_clock(cpu, &cpu->idle);
	for (;;) {
		sleep_until(now_ns + random_length(one_in(200) ? 20000000 : plan.work_ns));
		look_after_queues(fiber);
		/* The timer needs no lock. Here it has that of the queue, so that what it changes is noted in order. */
		if (!cpu->is_locked && one_in(20)) {
			cpu->is_locked = cpu->is_in_hook = true;
			before = blame_of_cpu(fiber)->running;
			on_entry(NULL);
			if (blame_of_cpu(fiber)->running != before)
				note_who_runs(fiber, cpu->current);
			cpu->is_locked = cpu->is_in_hook = false;
		}
		if (cpu->current == &cpu->idle || (cpu->current->is_forking && plan.preempts_forks && one_in(3)))
			switch_away(fiber);
		else if (!cpu->current->is_forking)
			act(fiber, cpu->current);
	}
}

static bool may_run(int fiber)
{
	struct cpu *cpu = &machine_cpus[fiber % FORK];

	if (wake_ns[fiber] > now_ns)
		return false;
	if (fiber >= FORK && fiber < READER)
		return cpu->child && cpu->current == cpu->parent && !cpu->is_in_hook;
	return true;
}

static bool exists(int fiber)
{
	return fiber == READER || fiber % FORK < plan.cpus;
}

/* Which has the next turn; -1: none is awake. */
static int next_fiber(void)
{
	int found = -1;
	u32 candidates = 0;

	for (int fiber = 0; fiber < FIBERS; fiber++)
		if (exists(fiber) && may_run(fiber) && one_in(++candidates))
			found = fiber;
	return found;
}

static void wait_for_one(void)
{
	u64 earliest = NEVER;

	for (int fiber = 0; fiber < FIBERS; fiber++)
		if (exists(fiber) && wake_ns[fiber] > now_ns && wake_ns[fiber] < earliest)
			earliest = wake_ns[fiber];
	if (earliest == NEVER)
		abort();
	now_ns = earliest;
}

/* For the reader. */

static void machine_access(void)
{
	access();
}

static u64 machine_now(void)
{
	access();
	return now_ns;
}

static void machine_sleep_until(u64 time_ns)
{
	if (running >= 0)
		sleep_until(time_ns);
}

static void machine_end(void)
{
	is_over = true;
	for (;;)
		lose_turn();
}

static void machine_map(int which, int file, u64 record_bytes, u64 count)
{
	if (which == sizeof(maps) / sizeof(*maps)) {
		map_file(&control, file, 65536);
		return;
	}
	maps[which].address = map_file(NULL, file, record_bytes * count);
	maps[which].record_bytes = record_bytes;
	maps[which].count = count;
}

static void prepare(const struct machine_plan *of)
{
	plan = *of;
	random_state = (plan.seed + 1) * 0x9e3779b97f4a7c15ULL;
	running = -1;
	now_ns = 1000000000;
	for (u32 i = 0; i < MOST_CGROUPS; i++) {
		directories[i].id = 1 + i;
		cgroups[i].kn = &directories[i];
		css_sets[i].dfl_cgrp = &cgroups[i];
	}
	init = make_task(NULL, false, false);
	init->is_immortal = true;
	/* Older than the ledger: leaders that sleep, and threads of theirs. */
	for (u32 i = 0; i < plan.population / 3; i++) {
		struct task *leader = make_task(init, false, false);

		leader->wake_ns = now_ns + random_length(100000000);
		make_task(leader, true, false);
		make_task(leader, true, false);
	}
	for (u32 i = 0; i < plan.cpus; i++) {
		struct cpu *cpu = &machine_cpus[i];

		cpu->idle.k.thread_info.cpu = i;
		cpu->current = &cpu->idle;
		cpu->idle.k.cgroups = &css_sets[0];
		cpu->idle.is_immortal = cpu->idle.is_on_cpu = true;
		cpu->idle.process = init->process;
		cpu->idle.k.group_leader = cpu->idle.k.real_parent = &cpu->idle.k;
		cpu->idle.k.signal = &init->process->signal;
		cpu->idle.k.real_cred = &creds[0];
		cpu->skew_ns = plan.skew_ns ? (s64)random_below(2 * plan.skew_ns + 1) - plan.skew_ns : 0;
		fiber_make(i, cpu_main);
		fiber_make(FORK + i, fork_main);
	}
}

/* Runs the machine until the reader ends it. */
static void machine_run(const struct machine_plan *of, void (*reader)(int))
{
	prepare(of);
	fiber_make(READER, reader);
	while (!is_over) {
		int fiber = next_fiber();

		if (fiber < 0) {
			wait_for_one();
			continue;
		}
		if (plan.freezes && one_in(plan.freezes)) {
			wake_ns[fiber] = now_ns + random_length(plan.freeze_ns);
			continue;
		}
		seen.turns++;
		budget = random_length(one_in(10) ? 4096 : 64);
		running = fiber;
		fiber_run(fiber);
		running = -1;
	}
}

/* All that the test uses. */
struct machine {
	void (*map)(int which, int file, u64 record_bytes, u64 count);
	void (*run)(const struct machine_plan *of, void (*reader)(int));
	void (*access)(void);
	u64 (*now)(void);
	void (*sleep_until)(u64 time_ns);
	void (*end)(void);
	const struct machine_seen *seen;
	struct truth (*truth)(void);
} machine = { machine_map, machine_run, machine_access, machine_now, machine_sleep_until, machine_end, &seen, machine_truth };
