// SPDX-License-Identifier: GPL-2.0-only
/*
 * What interrupts and the hypervisor take from a task. The time that a task has a CPU is its runtime and what is taken, and what is
 * left is the time that it waits: the three together are the time that passes.
 */
#include "guest.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

struct reading {
	uint64_t clock, runtime, wait, irq, steal;
};

/* Of a task of the caller. The runtime of the caller itself is up to date. */
static struct reading read_task(pid_t tid)
{
	struct taskstats stats;
	struct reading reading;
	char path[64], text[128];
	char *end;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	reading.clock = now_ns();
	/* Brings runtime and what is taken up to this instant, together. */
	if (tid == syscall(SYS_gettid))
		must(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &(struct timespec){ 0 }));
	must(read_taskstats(tid, &stats));
	read_file(path, text, sizeof(text));
	reading.runtime = strtoull(text, &end, 10);
	reading.wait = strtoull(end, NULL, 10);
	reading.irq = stats.cpu_irq_total;
	reading.steal = stats.cpu_steal_total;
	return reading;
}

static void do_nothing(int signal)
{
	(void)signal;
}

/* A timer that interrupts the CPU where it is armed. A signal without a handler would have it slowed down. */
static void interrupt_often(long interval_ns)
{
	struct itimerspec often = { .it_interval.tv_nsec = interval_ns, .it_value.tv_nsec = interval_ns };
	timer_t timer;

	signal(SIGALRM, do_nothing);
	must(!timer_create(CLOCK_MONOTONIC, NULL, &timer));
	must(!timer_settime(timer, 0, &often, NULL));
}

static void spin_until(uint64_t until)
{
	while (now_ns() < until)
		;
}

/* A loop that does not sleep: its runtime, what was taken, and its waits for the CPU are all the time that passes. */
static void steal_fills_the_gap(void)
{
	struct reading from, to;
	uint64_t passed, known, taken;

	if (!has_patch(4))
		return;
	stay_on(1);
	interrupt_often(200000);
	spin_until(now_ns() + 100000000);
	from = read_task(getpid());
	spin_until(now_ns() + 3000000000ULL);
	to = read_task(getpid());
	passed = to.clock - from.clock;
	taken = to.irq - from.irq + to.steal - from.steal;
	known = to.runtime - from.runtime + taken + to.wait - from.wait;
	printf("# of %llu us: runtime %llu, taken %llu, waits %llu\n", (unsigned long long)passed / 1000,
	       (unsigned long long)(to.runtime - from.runtime) / 1000, (unsigned long long)taken / 1000,
	       (unsigned long long)(to.wait - from.wait) / 1000);
	if (taken < 20000000)
		fail("interrupts have taken %llu ns of 3 s", (unsigned long long)taken);
	/* What is read one after the other is some microseconds apart. */
	if (known + 1000000 < passed || known > passed + 1000000)
		fail("%llu ns have passed, %llu ns are known", (unsigned long long)passed, (unsigned long long)known);
}

/* Where inject-steal.patch is a hypervisor that takes a quarter of the time of CPU 1: it is neither runtime nor that of interrupts. */
static void what_a_hypervisor_takes_is_apart(void)
{
	struct reading from, to;
	uint64_t passed, steal, irq, runtime;

	if (!has_patch(4))
		return;
	if (!getenv("guest_hypervisor")) {
		printf("# this kernel has no hypervisor\n");
		return;
	}
	for (int cpu = 0; cpu < 2; cpu++) {
		stay_on(cpu);
		spin_until(now_ns() + 20000000);
		from = read_task(getpid());
		spin_until(from.clock + 2000000000ULL);
		to = read_task(getpid());
		passed = to.clock - from.clock;
		steal = to.steal - from.steal;
		irq = to.irq - from.irq;
		runtime = to.runtime - from.runtime;
		printf("# CPU %d, of %llu us: runtime %llu, interrupts %llu, hypervisor %llu\n", cpu, (unsigned long long)passed / 1000,
		       (unsigned long long)runtime / 1000, (unsigned long long)irq / 1000, (unsigned long long)steal / 1000);
		if (cpu ? steal < passed / 4 - passed / 50 || steal > passed / 4 + passed / 50 : steal != 0)
			fail("the hypervisor took %llu of %llu ns on CPU %d", (unsigned long long)steal, (unsigned long long)passed, cpu);
		/* Nothing else wants this CPU. */
		if (steal + irq + runtime + passed / 50 < passed || steal + irq + runtime > passed + passed / 50)
			fail("%llu ns are known of %llu", (unsigned long long)(steal + irq + runtime), (unsigned long long)passed);
	}
}

static uint64_t taken_from(pid_t tid)
{
	struct taskstats stats;

	must(read_taskstats(tid, &stats));
	return stats.cpu_irq_total + stats.cpu_steal_total;
}

static void no_steal_without_a_cpu(void)
{
	uint64_t before, after;
	pid_t tid;

	if (!has_patch(4))
		return;
	tid = add_sleepers(1);
	await_state(getpid(), tid, 'S');
	usleep(20000);
	before = taken_from(tid);
	burn_us(500000);
	after = taken_from(tid);
	if (before != after)
		fail("a sleeping task has lost %llu ns", (unsigned long long)(after - before));
	/* A new task begins with nothing. */
	before = taken_from(getpid());
	if (after > before / 2 + 2000000)
		fail("a task begins with %llu ns", (unsigned long long)after);
}

const struct test steal_tests[] = {
	{ "taken: runtime, what is taken and waits are all of the time", steal_fills_the_gap },
	{ "taken: what a hypervisor takes is apart", what_a_hypervisor_takes_is_apart },
	{ "taken: nothing is taken from a task that sleeps", no_steal_without_a_cpu },
	{ 0 },
};
