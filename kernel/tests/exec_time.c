// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of a pid over an exec by a thread that is not the leader. The pid then is another thread's, and its figures go on.
 */
#include "guest.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "record.h"

#define LEADER_US 60000
#define THREAD_US 10000
#define EXECS 3
/* A leader uses as much as so many threads. */
#define LEADER_TO_THREAD (LEADER_US / THREAD_US)

/* What a pid has said of itself: as a task, and of the dead threads of its process. */
enum { RUNTIME, TAKEN, USER_TICKS, SYSTEM_TICKS, DEAD_RUNTIME, DEAD_USER, DEAD_TAKEN, FIGURES };

struct turn {
	int left, leader_us;
};

static void *exec_again(void *argument)
{
	const struct turn *turn = argument;
	char left[16], leader_us[16];

	snprintf(left, sizeof(left), "%d", turn->left - 1);
	snprintf(leader_us, sizeof(leader_us), "%d", turn->leader_us);
	burn_us(turn->leader_us / LEADER_TO_THREAD);
	/* See balance.c: the last exec of a process that has said so at its begin has no memory. */
	if (turn->left == 1 && getenv("no_memory"))
		must(!prctl(PR_SET_NAME, "no-memory"));
	execl("/init", "init", "exec-in-turn", left, leader_us, NULL);
	abort();
}

/* The leader uses the CPU, and a thread after it, which execs; so on, as many times as are left. */
void exec_in_turn(int left, int leader_us)
{
	struct turn turn = { .left = left, .leader_us = leader_us };
	pthread_t thread;

	burn_us(leader_us);
	if (left)
		pthread_create(&thread, NULL, exec_again, &turn);
	for (;;)
		pause();
}

static void start(void *argument)
{
	exec_in_turn(*(int *)argument, LEADER_US);
}

static void read_figures(pid_t pid, uint64_t figures[FIGURES])
{
	struct taskstats stats;
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, pid);
	read_file(path, text, sizeof(text));
	figures[RUNTIME] = strtoull(text, NULL, 10);
	must(read_taskstats(pid, &stats));
	figures[TAKEN] = stats.cpu_irq_total + stats.cpu_steal_total;
	figures[DEAD_RUNTIME] = stats.exited_threads_runtime;
	figures[DEAD_USER] = stats.exited_threads_utime;
	figures[DEAD_TAKEN] = stats.exited_threads_irq + stats.exited_threads_steal;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	figures[USER_TICKS] = stat_field(path, 14);
	figures[SYSTEM_TICKS] = stat_field(path, 15);
}

/* Between execs, a leader sleeps while its thread computes: only the last one sleeps for good. */
static void await_last_leader(pid_t pid)
{
	static const char begin[] = "init\0exec-in-turn";
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	for (int i = 0; i < 20000; i++) {
		read_file(path, text, sizeof(text));
		if (!memcmp(text, begin, sizeof(begin)) && text[sizeof(begin)] == '0') {
			await_state(pid, pid, 'S');
			return;
		}
		usleep(1000);
	}
	fail("the last of %d execs does not come: %s", EXECS, text);
}

static void the_time_of_a_pid_goes_on(void)
{
	int execs = EXECS, readings = 0;
	uint64_t last[FIGURES] = { 0 }, clock, until, dead;
	struct taskstats mine;
	pid_t pid;

	if (!has_patch(6))
		return;
	pid = child(start, &execs);
	until = now_ns() + (EXECS + 1) * (LEADER_US + THREAD_US) * 3000ULL;
	for (; now_ns() < until; readings++) {
		uint64_t next[FIGURES];

		read_figures(pid, next);
		for (int i = 0; i < FIGURES; i++)
			if (next[i] < last[i])
				fail("figure %d falls from %llu to %llu at reading %d", i, (unsigned long long)last[i],
				     (unsigned long long)next[i], readings);
		memcpy(last, next, sizeof(last));
	}
	must(readings > 200);
	await_last_leader(pid);
	usleep(20000);
	read_figures(pid, last);
	/* Each leader in turn, and the threads that are no more. */
	if (last[RUNTIME] < (EXECS + 1) * LEADER_US * 1000ULL)
		fail("the pid has %llu ns", (unsigned long long)last[RUNTIME]);
	dead = EXECS * THREAD_US * 1000ULL;
	if (last[DEAD_RUNTIME] < dead || last[DEAD_RUNTIME] > 2 * dead)
		fail("dead threads have %llu ns", (unsigned long long)last[DEAD_RUNTIME]);
	/* The clock of the process does not hold the last instants of the dead. */
	clock = process_ns(pid);
	if (last[RUNTIME] + last[DEAD_RUNTIME] < clock || last[RUNTIME] + last[DEAD_RUNTIME] > clock + 2000000)
		fail("%llu and %llu ns are not %llu", (unsigned long long)last[RUNTIME],
		     (unsigned long long)last[DEAD_RUNTIME], (unsigned long long)clock);
	/* All of it is inherited. */
	dead = last[RUNTIME] + last[DEAD_RUNTIME];
	end(pid);
	must(read_taskstats(getpid(), &mine));
	if (mine.exited_children_runtime < dead || mine.exited_children_runtime > dead + 3000000)
		fail("%llu ns are inherited of %llu", (unsigned long long)mine.exited_children_runtime, (unsigned long long)dead);
}

/* Longer than any of these lives. */
#define LONG_NS 60000000000ULL

static void *exec_and_compute(void *unused)
{
	(void)unused;
	execl("/init", "init", "exec-in-turn", "0", "100000", NULL);
	abort();
}

static void leave_at_once(void *unused)
{
	cpu_set_t second;
	pthread_t thread;

	(void)unused;
	/* Where a guest has full dynticks, it is this one that has them. */
	CPU_ZERO(&second);
	CPU_SET(1, &second);
	must(!sched_setaffinity(0, sizeof(second), &second));
	pthread_create(&thread, NULL, exec_and_compute, NULL);
	pthread_exit(NULL);
}

/*
 * The leader is gone before a tick, and the thread execs and computes. With full dynticks, what a task has used since the last tick is told
 * in some of its states only.
 */
static void no_time_is_below_zero(void)
{
	struct taskstats of;
	uint64_t until = now_ns() + 300000000;
	pid_t pid;

	if (!has_patch(6))
		return;
	pid = child(leave_at_once, NULL);
	while (now_ns() < until) {
		must(read_taskstats(pid, &of));
		if (of.cpu_utime > LONG_NS || of.cpu_stime > LONG_NS || of.exited_threads_utime > LONG_NS ||
		    of.exited_threads_stime > LONG_NS)
			fail("%llu and %llu ns, and %llu and %llu of the dead", (unsigned long long)of.cpu_utime,
			     (unsigned long long)of.cpu_stime, (unsigned long long)of.exited_threads_utime,
			     (unsigned long long)of.exited_threads_stime);
	}
	end(pid);
}

const struct test exec_tests[] = {
	{ "exec: the time of a pid goes on when a thread execs", the_time_of_a_pid_goes_on },
	{ "exec: no time of a pid is below 0", no_time_is_below_zero },
	{ 0 },
};
