// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one user can have others pay: tables like those of tables.c, and what the kernel's own statistics say of its locks (CONFIG_LOCK_STAT).
 */
#include "taskstats.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 8
#define SWITCHES 10000
#define ROUNDS 6
#define LINKS 40
#define ORPHANS 4000
#define LOAD_S 5

/* One snapshot, of all or of what ran since the last one. */
static void ask_and_read(int fd, uint32_t flags, uint64_t *cookie, size_t room)
{
	static char *buffer;
	ssize_t got;

	if (!buffer)
		buffer = malloc(room);
	must(buffer && !ask(fd, flags, *cookie));
	got = read(fd, buffer, room);
	must(got >= (ssize_t)sizeof(struct header));
	*cookie = ((struct header *)buffer)->cookie;
	while (got > 0)
		got = read(fd, buffer, room);
}

/* As any user, files of mainline. */
static void read_files(void *argument)
{
	char text[4096];

	(void)argument;
	stay_on(0);
	must(!setgid(1000) && !setuid(1000));
	for (;;)
		read_file("/proc/1/stat", text, sizeof(text));
}

/* As any user, all that can be asked for, on and on. */
static void write_on(void *argument)
{
	uint64_t cookie = 0;
	int fd;

	(void)argument;
	stay_on(0);
	must(!setgid(1000) && !setuid(1000));
	fd = open_taskstats();
	for (;;) {
		ask_and_read(fd, 0, &cookie, 65536);
		for (int i = 0; i < 20; i++)
			must(!ask(fd, 0, 0));
	}
}

/* How long switches of one CPU take, while others are busy on another one. */
static uint64_t switches_beside(void (*run)(void *))
{
	pid_t others[WRITERS], echoes;
	uint64_t begin;

	stay_on(1);
	echoes = start_echo();
	for (int i = 0; i < WRITERS; i++)
		others[i] = child(run, NULL);
	usleep(500000);
	begin = now_ns();
	for (int i = 0; i < SWITCHES; i++)
		switch_twice();
	begin = now_ns() - begin;
	for (int i = 0; i < WRITERS; i++)
		end(others[i]);
	end_echo(echoes);
	return begin;
}

/* In turns: the emulator runs one CPU after the other, so what a switch takes varies. */
static void measure_beside(void)
{
	uint64_t files = 0, writers = 0;

	for (int round = 0; round < ROUNDS; round++) {
		files += switches_beside(read_files);
		writers += switches_beside(write_on);
	}
	printf("table others files %d %llu\n", WRITERS, (unsigned long long)files / ROUNDS / SWITCHES);
	printf("table others writers %d %llu\n", WRITERS, (unsigned long long)writers / ROUNDS / SWITCHES);
}

/* Shared by a chain of processes, each the child of the one before. */
static struct chain {
	volatile pid_t link[LINKS], orphan[ORPHANS];
} *chain;

static int reaped[2];

static void be_link(int number, int orphans)
{
	pid_t pid = 0;

	/* A child goes on as the next link. */
	while (number + 1 < LINKS && !(pid = fork()))
		number++;
	if (pid) {
		chain->link[number + 1] = pid;
	} else {
		for (int i = 0; i < orphans; i++) {
			pid = fork();
			if (!pid)
				for (;;)
					pause();
			chain->orphan[i] = pid;
		}
		must(write(reaped[1], "", 1) == 1);
	}
	for (;;) {
		if (waitpid(-1, NULL, 0) > 0)
			must(write(reaped[1], "", 1) == 1);
		else
			pause();
	}
}

/*
 * The links die from the last to the first, and so the orphans of the last one get another accounting parent each time. That the kernel gives
 * them another real parent is once, at the first death.
 */
static void measure_chain(int orphans)
{
	uint64_t least = UINT64_MAX;
	pid_t first;
	char byte;

	chain = mmap(NULL, sizeof(*chain), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(chain != MAP_FAILED && !pipe(reaped) && !prctl(PR_SET_CHILD_SUBREAPER, 1));
	stay_on(0);
	first = fork();
	if (!first)
		be_link(0, orphans);
	must(read(reaped[0], &byte, 1) == 1);
	usleep(100000);
	for (int number = LINKS - 1; number > 0; number--) {
		uint64_t begin = now_ns(), took;

		must(!kill(chain->link[number], SIGKILL) && read(reaped[0], &byte, 1) == 1);
		took = now_ns() - begin;
		if (number < LINKS - 1)
			least = took < least ? took : least;
	}
	printf("table others chain %d %llu\n", orphans, (unsigned long long)least);
	end(first);
	for (int i = 0; i < orphans; i++)
		kill(chain->orphan[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	must(!prctl(PR_SET_CHILD_SUBREAPER, 0));
}

void print_others(void)
{
	measure_beside();
	measure_chain(0);
	measure_chain(ORPHANS);
}

/* The lines of /proc/lock_stat that are those of locks, the most contended ones first, with what the kernel says of them. */
static void print_locks(const char *what, const char *only, int most)
{
	FILE *file = fopen("/proc/lock_stat", "r");
	char line[1024];

	must(file);
	while (most && fgets(line, sizeof(line), file)) {
		char *name = line + strspn(line, " "), *colon = strrchr(line, ':');

		/* Places of code follow, whose lines have an address, and rules between them. */
		if (!colon || strstr(line, "[<") || strchr("-.\n", *name) || strstr(line, "class name") || (only && !strstr(name, only)))
			continue;
		printf("lock %s %s", what, name);
		most--;
	}
	fclose(file);
}

static void begin_locks(void)
{
	write_file("/proc/lock_stat", "0");
	write_file("/proc/sys/kernel/lock_stat", "1");
}

static void end_locks(const char *what, const char *only, int most)
{
	write_file("/proc/sys/kernel/lock_stat", "0");
	print_locks(what, only, most);
}

/* A user who sees none of them asks for all. */
static void read_hidden(void *argument)
{
	uint64_t cookie = 0, until = now_ns() + LOAD_S * 1000000000ULL;
	int fd;

	(void)argument;
	must(!setgid(1000) && !setuid(1000));
	fd = open("/tmp/hidden/taskstats", O_RDWR);
	must(fd >= 0);
	while (now_ns() < until)
		ask_and_read(fd, OF_THREADS, &cookie, 65536);
}

/* Processes and threads that come and go, SIGCHLD ignored each second time. */
static void storm(void *argument)
{
	uint64_t until = now_ns() + LOAD_S * 1000000000ULL;
	pthread_t thread;

	for (int i = 0; now_ns() < until; i++) {
		pid_t pid;

		signal(SIGCHLD, i % 2 ? SIG_IGN : SIG_DFL);
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		must(!pthread_create(&thread, NULL, nothing, NULL) && !pthread_join(thread, NULL));
	}
	(void)argument;
}

static void read_on(void *argument)
{
	uint64_t cookie = 0, until = now_ns() + LOAD_S * 1000000000ULL;
	int fd = open_taskstats();

	(void)argument;
	while (now_ns() < until) {
		ask_and_read(fd, 0, &cookie, 1 << 20);
		usleep(10000);
	}
}

void print_lock_statistics(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int threads = 100000;
	pid_t target, *storms;

	if (cpus <= 2) {
		must(mkdir("/tmp/hidden", 0755) == 0 || !access("/tmp/hidden", F_OK));
		must(!mount("proc", "/tmp/hidden", "proc", 0, "hidepid=2"));
		target = child(sleep_with_threads, &threads);
		must(waitpid(target, NULL, WUNTRACED) == target);
		begin_locks();
		wait_for(child(read_hidden, NULL));
		end_locks("hidden", "tasklist_lock", 2);
		end(target);
	}
	printf("# %ld CPUs\n", cpus);
	storms = calloc(cpus, sizeof(*storms));
	must(storms);
	begin_locks();
	target = child(read_on, NULL);
	for (long i = 0; i < cpus; i++)
		storms[i] = child(storm, NULL);
	for (long i = 0; i < cpus; i++)
		wait_for(storms[i]);
	wait_for(target);
	end_locks("storm", NULL, 10);
}
