// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a process has used is what its living threads say, and what is said of its dead threads: to the nanosecond, whatever has died or
 * execs meanwhile, and whoever looks.
 */
#include "guest.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"
#include "taskstats.h"

/* More than a group has before it gets counters of its own. */
#define SLEEPERS 40
#define MORTALS 3000
#define EXECS 300
#define EXEC_LEADER_US 400
/* Of each leader, where there is no memory. */
#define POOR_LEADER_US 60000

/* Shared with the process that is looked at. */
static volatile pid_t *latest;

static uint64_t runtime_by_id(pid_t tid)
{
	struct taskstats stats;

	must(read_taskstats(tid, &stats));
	return stats.cpu_runtime;
}

static uint64_t runtime_of_living(pid_t pid)
{
	struct dirent *entry;
	uint64_t sum = 0;
	char path[32];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	must(threads);
	while ((entry = readdir(threads)))
		if (entry->d_name[0] != '.')
			sum += runtime_by_id(atoi(entry->d_name));
	closedir(threads);
	return sum;
}

/* All its threads are asleep, so all its figures stand still. */
static void must_balance(pid_t pid)
{
	int fd = open_taskstats();
	struct snapshot snapshot = take(fd, 0, 0);
	const char *record = find_record(&snapshot, pid);
	uint64_t living = runtime_of_living(pid);
	struct taskstats stats;

	must(record && read_taskstats(pid, &stats));
	if (field64(record, RUNTIME) != living + stats.exited_threads_runtime)
		fail("%d has %llu ns: its living threads %llu, the dead %llu", pid, (unsigned long long)field64(record, RUNTIME),
		     (unsigned long long)living, (unsigned long long)stats.exited_threads_runtime);
	free(snapshot.records);
	close(fd);
}

static void *be_mortal(void *argument)
{
	*latest = syscall(SYS_gettid);
	burn_us(20);
	return argument;
}

/* Threads that add to the counters of their group, and die one after the other. */
static void let_many_die(void *argument)
{
	int mortals = *(int *)argument;
	pthread_t thread;

	try_sleepers(SLEEPERS);
	stay_on(1);
	/* In a storm, numbers may run out. */
	for (int i = 0; i < mortals; i++) {
		if (pthread_create(&thread, NULL, be_mortal, NULL))
			usleep(1000);
		else
			must(!pthread_join(thread, NULL));
	}
	*latest = 0;
	for (;;)
		pause();
}

/* An answer brings the task that it is about up to date, also on another CPU, at any instant. */
void look_at_those_who_die(int mortals)
{
	struct taskstats stats;
	pid_t pid;
	int looks = 0;

	latest = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(latest != MAP_FAILED);
	*latest = -1;
	pid = child(let_many_die, &mortals);
	stay_on(0);
	for (unsigned int i = 0; *latest; i++) {
		must(i % 1024 || !waitpid(pid, NULL, WNOHANG));
		if (*latest > 0)
			looks += read_taskstats(*latest, &stats) > 0;
	}
	await_state(pid, pid, 'S');
	usleep(50000);
	must(looks > 0);
	must_balance(pid);
	end(pid);
	munmap((void *)latest, 4096);
}

static void looking_changes_nothing(void)
{
	if (has_patch(5))
		look_at_those_who_die(MORTALS);
}

static void exec_often(void *argument)
{
	exec_in_turn(*(int *)argument, EXEC_LEADER_US);
}

/* It has no exec left. */
static bool is_at_its_end(pid_t pid)
{
	static const char last[] = "init\0exec-in-turn\0" "0";
	char path[32], line[64] = { 0 };

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	read_file(path, line, sizeof(line));
	return !memcmp(line, last, sizeof(last));
}

/* One answer after the other, while thread after thread takes over the pid. */
static void the_dead_never_give_back(void)
{
	int execs = EXECS, readings = 0;
	uint64_t last = 0;
	pid_t pid;

	if (!has_patch(6))
		return;
	pid = child(exec_often, &execs);
	for (uint64_t until = now_ns() + 20000000000ULL; now_ns() < until; readings++) {
		struct taskstats stats;

		must(read_taskstats(pid, &stats));
		if (stats.exited_threads_runtime < last)
			fail("what the dead used falls from %llu to %llu at reading %d", (unsigned long long)last,
			     (unsigned long long)stats.exited_threads_runtime, readings);
		last = stats.exited_threads_runtime;
		if (readings % 64 == 0 && is_at_its_end(pid))
			break;
	}
	must(is_at_its_end(pid));
	await_state(pid, pid, 'S');
	usleep(50000);
	must_balance(pid);
	must(readings > EXECS);
	end(pid);
}

/* The last exec of it has no memory, where inject-no-memory.patch is. */
static void start_without_memory(void *argument)
{
	must(!setenv("no_memory", "1", 1));
	exec_in_turn(*(int *)argument, POOR_LEADER_US);
}

static void without_memory_the_sum_stays(void)
{
	struct taskstats stats;
	int execs = 2;
	pid_t pid;

	if (!has_patch(6))
		return;
	if (!getenv("guest_no_memory")) {
		printf("# this kernel has memory\n");
		return;
	}
	pid = child(start_without_memory, &execs);
	while (!is_at_its_end(pid))
		usleep(10000);
	await_state(pid, pid, 'S');
	usleep(50000);
	must(read_taskstats(pid, &stats));
	/* The last one has no memory: it says what it has used itself, and all that was before is of the dead. */
	if (stats.cpu_runtime > 2 * POOR_LEADER_US * 1000 || stats.exited_threads_runtime < 2 * POOR_LEADER_US * 1000ULL)
		fail("%llu ns, and %llu of the dead", (unsigned long long)stats.cpu_runtime,
		     (unsigned long long)stats.exited_threads_runtime);
	must_balance(pid);
	end(pid);
}

const struct test balance_tests[] = {
	{ "balance: a look at threads that die changes nothing", looking_changes_nothing },
	{ "balance: what the dead used never falls while threads exec", the_dead_never_give_back },
	{ "balance: an exec without memory leaves the sum right", without_memory_the_sum_stays },
	{ 0 },
};
