// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of dead threads and dead processes, of all the machine: nothing is lost. The reference is the time that passes.
 */
#include "guest.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

#define STORM_S 8
#define THREADS 20

static volatile uint64_t *said;

static bool begin(void)
{
	struct taskstats mine;

	if (!has_patch(5))
		return false;
	must(read_taskstats(getpid(), &mine) >= offsetof(struct taskstats, exited_children_steal) + 8);
	said = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(said != MAP_FAILED);
	return true;
}

static void *burn(void *argument)
{
	struct timespec time;

	burn_us(5000);
	must(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time));
	__atomic_add_fetch((uint64_t *)said, time.tv_sec * 1000000000ULL + time.tv_nsec, __ATOMIC_SEQ_CST);
	return argument;
}

static void run_threads(int count)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < count; i++)
		must(!pthread_create(&threads[i], NULL, burn, NULL));
	for (int i = 0; i < count; i++)
		must(!pthread_join(threads[i], NULL));
}

static void dead_threads_are_counted(void)
{
	struct taskstats before, after;
	uint64_t got, parts;

	if (!begin())
		return;
	must(read_taskstats(getpid(), &before));
	run_threads(THREADS);
	usleep(50000);
	must(read_taskstats(getpid(), &after));
	got = after.exited_threads_runtime - before.exited_threads_runtime;
	if (got < *said || got > *said + THREADS * 5000000ULL)
		fail("%llu ns, the threads said %llu", (unsigned long long)got, (unsigned long long)*said);
	parts = after.exited_threads_utime + after.exited_threads_stime;
	if (parts > 3 * got || parts < got / 3)
		fail("user and system time are %llu ns of %llu", (unsigned long long)parts, (unsigned long long)got);
	must(after.exited_children_runtime == before.exited_children_runtime);
}

static void have_threads_and_exit(void *argument)
{
	(void)argument;
	run_threads(THREADS);
	usleep(20000);
}

/* A process gives its children's time and that of its threads on. The reference is read while it is a zombie. */
static void threads_of_the_dead_are_inherited(void)
{
	struct taskstats stats, mine;
	uint64_t all, user;
	pid_t pid;

	if (!begin())
		return;
	pid = child(have_threads_and_exit, NULL);
	await_state(pid, pid, 'Z');
	usleep(50000);
	must(read_taskstats(pid, &stats));
	must(stats.exited_threads_runtime >= *said);
	all = process_ns(pid);
	user = stats.exited_threads_utime;
	wait_for(pid);
	must(read_taskstats(getpid(), &mine));
	if (mine.exited_children_runtime < all || mine.exited_children_runtime > all + 20000000)
		fail("%llu ns are inherited of %llu", (unsigned long long)mine.exited_children_runtime, (unsigned long long)all);
	must(mine.exited_children_utime >= user);
	must(mine.exited_children_runtime >= stats.exited_threads_runtime);
	must(mine.exited_children_irq + mine.exited_children_steal >=
	     stats.exited_threads_irq + stats.exited_threads_steal + stats.cpu_irq_total + stats.cpu_steal_total);
}

/* Processes and threads that live for a moment, most of them not waited for. */
static void storm(void *argument)
{
	(void)argument;
	for (unsigned int i = 0;; i++) {
		pthread_t thread;
		pid_t pid;

		signal(SIGCHLD, i % 2 ? SIG_IGN : SIG_DFL);
		pid = fork();
		if (!pid) {
			if (i % 3 == 0 && !fork())
				_exit(0);
			if (i % 5 == 0 && !pthread_create(&thread, NULL, nothing, NULL))
				pthread_join(thread, NULL);
			syscall(SYS_exit_group, 0);
		}
		waitpid(pid, NULL, 0);
		for (int more = 0; more < 3; more++)
			if (!pthread_create(&thread, NULL, nothing, NULL))
				pthread_join(thread, NULL);
	}
}

/* Of one process: its living threads, its dead threads, and its dead children. Sleeping tasks only, whose counters are complete. */
static uint64_t use_of(pid_t pid)
{
	char path[64], file[384], text[128];
	struct taskstats stats;
	struct dirent *entry;
	uint64_t sum = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	if (!directory || !read_taskstats(pid, &stats))
		fail("%d has gone", pid);
	sum = stats.exited_threads_runtime + stats.exited_threads_irq + stats.exited_threads_steal +
	      stats.exited_children_runtime + stats.exited_children_irq + stats.exited_children_steal;
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		must(read_taskstats(atoi(entry->d_name), &stats));
		snprintf(file, sizeof(file), "%s/%s/schedstat", path, entry->d_name);
		read_file(file, text, sizeof(text));
		sum += strtoull(text, NULL, 10) + stats.cpu_irq_total + stats.cpu_steal_total;
	}
	closedir(directory);
	return sum;
}

/* Of all processes but the caller. */
static uint64_t use_of_all(void)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	uint64_t sum = 0;

	must(directory);
	while ((entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid())
			sum += use_of(atoi(entry->d_name));
	closedir(directory);
	return sum;
}

static pid_t members[4];

static void tell_all(int what)
{
	must(!kill(-members[0], what));
}

/* No CPU idles. The storm stands still while it is read, so the sums are of one instant. */
static void all_time_is_somebodys(void)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t before, used, from, passed, mine;

	if (!begin())
		return;
	for (int i = 0; i < 4; i++) {
		members[i] = child(i < cpus ? loop_on : storm, &i);
		must(!setpgid(members[i], members[0]));
	}
	usleep(200000);
	tell_all(SIGSTOP);
	usleep(300000);
	before = use_of_all();
	mine = process_ns(0);
	from = now_ns();
	tell_all(SIGCONT);
	sleep(STORM_S);
	tell_all(SIGSTOP);
	passed = now_ns() - from;
	mine = process_ns(0) - mine;
	usleep(300000);
	used = use_of_all() - before + mine;
	tell_all(SIGKILL);
	for (int i = 0; i < 4; i++)
		must(waitpid(members[i], NULL, 0) == members[i]);
	printf("# %llu us used, of %llu us on %d CPUs\n", (unsigned long long)used / 1000,
	       (unsigned long long)(passed * cpus / 1000), cpus);
	if (used + passed * cpus / 500 < passed * cpus || used > passed * cpus + passed * cpus / 500)
		fail("%llu ns are used, %llu ns have passed", (unsigned long long)used, (unsigned long long)(passed * cpus));
}

const struct test dead_tests[] = {
	{ "dead: the time of dead threads", dead_threads_are_counted },
	{ "dead: a dead process gives on what its threads used", threads_of_the_dead_are_inherited },
	{ "dead: what all tasks used is the time that passed", all_time_is_somebodys },
	{ 0 },
};
