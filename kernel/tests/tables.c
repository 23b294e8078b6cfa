// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables. Under QEMU's -icount the clock counts instructions, one a nanosecond. So each figure is the same in every run.
 */
#include "taskstats.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static pid_t target;

static void list_proc(void)
{
	static char buffer[32768];
	int fd = open("/proc", O_RDONLY | O_DIRECTORY);

	must(fd >= 0);
	while (syscall(SYS_getdents64, fd, buffer, sizeof(buffer)) > 0)
		;
	close(fd);
}

static void read_one(const char *file)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/%s", target, file);
	read_file(path, text, sizeof(text));
}

static void read_stat(void)
{
	read_one("stat");
}

static void read_status(void)
{
	read_one("status");
}

static void read_clock(void)
{
	process_ns(target);
}

static void run_ps(void)
{
	pid_t pid = vfork();

	if (!pid) {
		int fd = open("/dev/null", O_WRONLY);

		dup2(fd, STDOUT_FILENO);
		execl("/bin/ps", "ps", "-e", NULL);
		_exit(127);
	}
	wait_for(pid);
}

static void fork_and_exit(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	must(waitpid(pid, NULL, 0) == pid);
}

static void thread_and_exit(void)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, nothing, NULL));
	must(!pthread_join(thread, NULL));
}

static void measure_least(const char *table, const char *column, unsigned int row, void (*run)(void), unsigned int rounds, unsigned int attempts)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int attempt = 0; attempt < attempts; attempt++) {
		uint64_t begin = now_ns(), took;

		for (unsigned int i = 0; i < rounds; i++)
			run();
		took = (now_ns() - begin) / rounds;
		least = took < least ? took : least;
	}
	printf("table %s %s %u %llu\n", table, column, row, (unsigned long long)least);
}

void measure(const char *table, const char *column, unsigned int row, void (*run)(void), unsigned int rounds)
{
	measure_least(table, column, row, run, rounds, 5);
}

static void measure_reading(unsigned int threads)
{
	target = child(sleep_with_threads, &threads);
	must(waitpid(target, NULL, WUNTRACED) == target);
	usleep(100000);
	measure("reading", "getdents", threads, list_proc, 5);
	measure("reading", "stat", threads, read_stat, 5);
	measure("reading", "status", threads, read_status, 5);
	measure("reading", "clock", threads, read_clock, 5);
	if (!access("/bin/ps", X_OK))
		measure("reading", "ps-e", threads, run_ps, 1);
	end(target);
}

/*
 * The kernel frees a task some ticks after its end. An attempt of 200 forks takes one tick or two, and some of the 25 attempts contain little of that
 * work. In five attempts there may be none such. With threads, the share of that work varies more, so an attempt has more of them.
 */
#define FORKS 200
#define FORK_ATTEMPTS 25
#define THREADS 2000
#define THREAD_ATTEMPTS 10

static void measure_living(const char *table, unsigned int threads)
{
	pid_t echoes;

	target = child(sleep_with_threads, &threads);
	must(waitpid(target, NULL, WUNTRACED) == target);
	echoes = start_echo();
	usleep(100000);
	measure_least(table, "fork+exit", threads, fork_and_exit, FORKS, FORK_ATTEMPTS);
	measure_least(table, "thread+exit", threads, thread_and_exit, THREADS, THREAD_ATTEMPTS);
	measure(table, "two-switches", threads, switch_twice, 500);
	end_echo(echoes);
	end(target);
}

/* What a task pays for its own figures. */
static char *page;
static int disk = -1;

static void fault(void)
{
	page[0] = 1;
	must(!madvise(page, PAGE, MADV_DONTNEED));
}

/* From a device, past the page cache: the I/O of the task is counted. */
static void read_a_page(void)
{
	must(pread(disk, page, PAGE, 0) == PAGE);
}

static void fork_as_well(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	must(waitpid(pid, NULL, 0) == pid);
}

static void *measure_own_figures(void *column)
{
	char name[32];

	snprintf(name, sizeof(name), "fault%s", (char *)column);
	measure_least("prices", name, 1, fault, 2000, 10);
	snprintf(name, sizeof(name), "read%s", (char *)column);
	if (disk >= 0)
		measure_least("prices", name, 1, read_a_page, 1000, 10);
	return NULL;
}

/* What each event costs, in few words: to be told for each patch. In a large group, threads add to counters of the group, too. */
void print_prices(void)
{
	unsigned int threads = 100;
	pthread_t thread;

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(page != MAP_FAILED);
	disk = open("/dev/ram0", O_RDWR | O_DIRECT);
	measure_own_figures("");
	measure_living("prices", 200);
	measure_least("prices", "fork", 200, fork_as_well, FORKS, FORK_ATTEMPTS);
	add_sleepers(threads);
	must(!pthread_create(&thread, NULL, measure_own_figures, "-large"));
	must(!pthread_join(thread, NULL));
	measure_reading(2 * threads);
}

void print_tables(unsigned int most_threads)
{
	static const unsigned int sleepers[] = { 1, 1000, 10000, 100000 }, tasks[] = { 200, 1000, 4000, 16000 };

	for (int i = 0; i < 4; i++)
		if (sleepers[i] <= most_threads)
			measure_reading(sleepers[i]);
	for (int i = 0; i < 4; i++)
		if (tasks[i] <= most_threads)
			measure_living("living", tasks[i]);
	/* From the first request on, each task is noted once for each. */
	has_snapshots();
	for (int i = 0; i < 4; i++)
		if (tasks[i] <= most_threads)
			measure_living("asked", tasks[i]);
}
