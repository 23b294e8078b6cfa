// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a process has used is the sum of what its threads have used, to the nanosecond, and never falls. The reference is the
 * files of its threads.
 */
#include "guest.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Places of a stat file. */
enum { MINOR_FAULTS = 10, MAJOR_FAULTS = 12, USER_TICKS = 14, SYSTEM_TICKS = 15 };

/* What is shared with the process that is looked at. */
static struct shared {
	volatile int threads_to_add;
	volatile uint64_t dead_ns;
	volatile bool is_done;
} *shared;

static void make_shared(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED);
}

/* The sum over the threads of a process. */
static uint64_t sum_of_threads(pid_t pid, uint64_t (*of_one)(const char *folder, int detail), int detail)
{
	char path[64], folder[384];
	struct dirent *entry;
	uint64_t sum = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	must(directory);
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", path, entry->d_name);
		sum += of_one(folder, detail);
	}
	closedir(directory);
	return sum;
}

static uint64_t runtime_of(const char *folder, int detail)
{
	char path[400], text[128];

	(void)detail;
	snprintf(path, sizeof(path), "%s/schedstat", folder);
	read_file(path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

static uint64_t stat_of(const char *folder, int place)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/stat", folder);
	return stat_field(path, place);
}

static uint64_t switches_of(const char *folder, int is_voluntary)
{
	char path[400], text[4096];
	const char *name = is_voluntary ? "\nvoluntary_ctxt_switches:" : "\nnonvoluntary_ctxt_switches:", *at;

	snprintf(path, sizeof(path), "%s/status", folder);
	read_file(path, text, sizeof(text));
	at = strstr(text, name);
	must(at);
	return strtoull(at + strlen(name), NULL, 10);
}

static uint64_t whole(pid_t pid, int place)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return stat_field(path, place);
}

/* Threads that use the CPU, touch memory and then sleep without end. */
static void *use_and_sleep(void *argument)
{
	char *pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(pages != MAP_FAILED);
	for (int i = 0; i < 4; i++)
		pages[i * 4096] = 1;
	burn_us((uintptr_t)argument);
	__atomic_sub_fetch(&shared->threads_to_add, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/* Threads that end at once, and say what they have used. */
static void *use_and_exit(void *argument)
{
	struct timespec time;

	burn_us((uintptr_t)argument);
	must(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time));
	__atomic_add_fetch(&shared->dead_ns, time.tv_sec * 1000000000ULL + time.tv_nsec, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start(void *(*run)(void *), uint64_t us)
{
	pthread_attr_t attributes;
	pthread_t thread;

	must(!pthread_attr_init(&attributes));
	must(!pthread_attr_setstacksize(&attributes, 65536));
	must(!pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
	must(!pthread_create(&thread, &attributes, run, (void *)(uintptr_t)us));
}

/* Adds as many threads as it is told to, and stops, again and again. */
static void add_threads(void *argument)
{
	(void)argument;
	for (;;) {
		for (int count = shared->threads_to_add; count > 0; count--)
			start(use_and_sleep, 100);
		while (shared->threads_to_add)
			usleep(1000);
		raise(SIGSTOP);
	}
}

static void let_add(pid_t pid, int threads)
{
	int status;

	shared->threads_to_add = threads;
	must(!kill(pid, SIGCONT));
	must(waitpid(pid, &status, WUNTRACED) == pid);
	must(WIFSTOPPED(status));
	usleep(20000);
}

static void check_sums(pid_t pid, int threads)
{
	uint64_t runtime = sum_of_threads(pid, runtime_of, 0), clock = process_ns(pid);
	uint64_t ticks;

	if (runtime != clock)
		fail("%d threads: their runtimes are %llu ns, the process has %llu", threads, (unsigned long long)runtime,
		     (unsigned long long)clock);
	for (int place = MINOR_FAULTS; place <= MAJOR_FAULTS; place += MAJOR_FAULTS - MINOR_FAULTS) {
		uint64_t faults = sum_of_threads(pid, stat_of, place);

		if (faults != whole(pid, place))
			fail("%d threads: field %d is %llu, their sum is %llu", threads, place,
			     (unsigned long long)whole(pid, place), (unsigned long long)faults);
	}
	/* User and system time are parts of the runtime, in whole ticks. */
	ticks = whole(pid, USER_TICKS) + whole(pid, SYSTEM_TICKS);
	if (ticks > clock / 10000000 || ticks + 2 < clock / 10000000)
		fail("%d threads: %llu ticks of %llu ns", threads, (unsigned long long)ticks, (unsigned long long)clock);
}

static void a_process_is_the_sum_of_its_threads(void)
{
	int threads = 1;
	pid_t pid;

	make_shared();
	pid = child(add_threads, NULL);
	let_add(pid, 0);
	check_sums(pid, threads);
	for (int i = 1; i < 40; i++) {
		int more = i < 30 ? 1 : 50;

		let_add(pid, more);
		threads += more;
		check_sums(pid, threads);
	}
	end(pid);
}

static void let_threads_die(void *argument)
{
	(void)argument;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 30; i++) {
			start(use_and_exit, 300);
			if (i % 3 == 0)
				shared->threads_to_add++, start(use_and_sleep, 100);
		}
		usleep(50000);
	}
	/* A stop would keep a thread that has not come to its end. */
	while (shared->threads_to_add || stat_field("/proc/self/stat", 20) != 101)
		usleep(1000);
	raise(SIGSTOP);
	/* Its times are those of a process that has just begun. */
	if (!fork()) {
		must(process_ns(0) < 1000000000);
		must(process_ns(getpid()) < sum_of_threads(getppid(), runtime_of, 0) / 2);
		_exit(0);
	}
	wait(NULL);
	_exit(0);
}

/* Waits until a process has this number of threads. */
static void await_threads(pid_t pid, uint64_t threads)
{
	for (int i = 0; i < 20000; i++) {
		if (whole(pid, 20) == threads)
			return;
		usleep(1000);
	}
	fail("%d has %llu threads", pid, (unsigned long long)whole(pid, 20));
}

static void what_dead_threads_used_stays(void)
{
	uint64_t living, dead, clock;
	struct rusage usage;
	pid_t pid;

	make_shared();
	pid = child(let_threads_die, NULL);
	must(waitpid(pid, NULL, WUNTRACED) == pid);
	await_threads(pid, 101);
	usleep(50000);
	clock = process_ns(pid);
	living = sum_of_threads(pid, runtime_of, 0);
	dead = clock - living;
	/* The last instants of a thread are not in what it has said. */
	if (clock < living || dead < shared->dead_ns || dead > shared->dead_ns + 300 * 2000000ULL)
		fail("%llu ns of the dead, which said %llu", (unsigned long long)dead, (unsigned long long)shared->dead_ns);
	must(whole(pid, MINOR_FAULTS) > sum_of_threads(pid, stat_of, MINOR_FAULTS));
	must(!kill(pid, SIGCONT));
	wait_for(pid);
	must(!getrusage(RUSAGE_CHILDREN, &usage));
	dead = usage.ru_utime.tv_sec * 1000000ULL + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000ULL +
	       usage.ru_stime.tv_usec;
	if (dead + 1 < clock / 1000)
		fail("%llu us were waited for, and %llu ns were used", (unsigned long long)dead, (unsigned long long)clock);
}

static uint64_t usage_part(int part)
{
	struct rusage usage;

	must(!getrusage(RUSAGE_SELF, &usage));
	return part == 2 ? usage.ru_minflt : part == 1 ? usage.ru_nvcsw : usage.ru_nivcsw;
}

/* Of the caller itself, which goes on meanwhile: the sum lies between two readings. */
static void usage_is_the_sum_of_threads(void)
{
	make_shared();
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 10; i++) {
			__atomic_add_fetch(&shared->threads_to_add, 1, __ATOMIC_SEQ_CST);
			start(use_and_sleep, 50);
		}
		while (shared->threads_to_add)
			usleep(1000);
		usleep(20000);
		for (int part = 0; part < 3; part++) {
			uint64_t before = usage_part(part), sum, after;

			sum = part == 2 ? sum_of_threads(getpid(), stat_of, MINOR_FAULTS) :
					  sum_of_threads(getpid(), switches_of, part);
			after = usage_part(part);
			if (sum < before || sum > after)
				fail("part %d: %llu is not in %llu to %llu", part, (unsigned long long)sum,
				     (unsigned long long)before, (unsigned long long)after);
		}
	}
}

static void *come_and_go(void *argument)
{
	burn_us((uintptr_t)argument % 1500);
	if ((uintptr_t)argument % 3)
		sched_yield();
	return NULL;
}

static char thread_stack[65536] __attribute__((aligned(64)));

static int exec_sleep(void *argument)
{
	(void)argument;
	execl("/init", "init", "sleep", NULL);
	return 1;
}

/* Hundreds of threads that come and go, and an exec by one of them at the end. */
static void be_busy(void *argument)
{
	uint64_t until = now_ns() + 3000000000ULL;

	(void)argument;
	for (uintptr_t i = 0; now_ns() < until; i++) {
		start(come_and_go, i * 37);
		if (i % 60 == 59)
			usleep(2000);
	}
	clone(exec_sleep, thread_stack + sizeof(thread_stack),
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
	for (;;)
		pause();
}

static void the_time_of_a_process_never_falls(void)
{
	uint64_t clock = 0, user = 0, system = 0, faults = 0, until = now_ns() + 5000000000ULL;
	pid_t pid = child(be_busy, NULL);
	int readings = 0;

	for (; now_ns() < until; readings++) {
		uint64_t next[] = { process_ns(pid), whole(pid, USER_TICKS), whole(pid, SYSTEM_TICKS), whole(pid, MINOR_FAULTS) };
		uint64_t *last[] = { &clock, &user, &system, &faults };

		for (int i = 0; i < 4; i++) {
			if (next[i] < *last[i])
				fail("figure %d falls from %llu to %llu at reading %d", i, (unsigned long long)*last[i],
				     (unsigned long long)next[i], readings);
			*last[i] = next[i];
		}
	}
	must(readings > 100);
	end(pid);
}

#define CHURN_THREADS 4000

static void churn(void)
{
	pthread_t thread;

	for (int i = 0; i < CHURN_THREADS; i++)
		must(!pthread_create(&thread, NULL, come_and_go, NULL) && !pthread_join(thread, NULL));
}

/*
 * While a timer on the clock of a process is armed, the kernel counts for it, and else it adds up the threads. Threads that come and go
 * meanwhile are the same for both: what one uses after its release is in neither.
 */
static void clock_and_timers_agree(void *argument)
{
	struct itimerspec far = { .it_value.tv_sec = 1000000 }, off = { 0 };
	uint64_t armed, disarmed;
	timer_t timer;

	(void)argument;
	add_sleepers(40);
	must(!timer_create(CLOCK_PROCESS_CPUTIME_ID, &(struct sigevent){ .sigev_notify = SIGEV_NONE }, &timer));
	must(!timer_settime(timer, TIMER_ABSTIME, &far, NULL));
	churn();
	armed = process_ns(0);
	must(!timer_settime(timer, 0, &off, NULL));
	/* The kernel stops to count at the next tick that finds no timer. */
	burn_us(30000);
	disarmed = process_ns(0);
	printf("# %llu ns with a timer, %llu ns after it and 30 ms\n", (unsigned long long)armed, (unsigned long long)disarmed);
	if (disarmed < armed + 30000000 || disarmed > armed + 32000000)
		fail("the clock has %llu ns with a timer, and %llu ns after it and 30 ms", (unsigned long long)armed,
		     (unsigned long long)disarmed);
}

static void the_clock_of_a_process_and_its_timers_agree(void)
{
	wait_for(child(clock_and_timers_agree, NULL));
}

const struct test time_tests[] = {
	{ "time: a process is the sum of its threads", a_process_is_the_sum_of_its_threads },
	{ "time: what dead threads used stays with the process", what_dead_threads_used_stays },
	{ "time: getrusage is the sum of the threads", usage_is_the_sum_of_threads },
	{ "time: figures of a process never fall", the_time_of_a_process_never_falls },
	{ "time: the clock of a process and its timers agree", the_clock_of_a_process_and_its_timers_agree },
	{ 0 },
};
