// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that the series touches, at once and for long, on a kernel that checks its locks and its memory. Each load repeats its
 * round until the time is over. What is checked is that the kernel has not complained, and still looks.
 */
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
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

#include "record.h"
#include "taskstats.h"

/* Few enough that numbers come again after some seconds: the first 300 are left out after a wrap. */
#define MOST_PIDS 1000
/* More than a group has before it gets counters of its own. */
#define THREADS 40

/* Where numbers run out a load waits, and goes on. */
static pid_t try_fork(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		must(errno == EAGAIN || errno == ENOMEM);
		usleep(10000);
	}
	return pid;
}

static void reap(pid_t pid)
{
	if (pid > 0)
		must(waitpid(pid, NULL, __WALL) == pid || errno == ECHILD);
}

static void *use_time(void *argument)
{
	struct rusage usage;
	struct tms ticks;

	getrusage(RUSAGE_SELF, &usage);
	times(&ticks);
	process_ns(0);
	return argument;
}

/* Returns how many there are. */
static int add_threads(pthread_t *threads, int count)
{
	pthread_attr_t small;
	int made = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	while (made < count && !pthread_create(&threads[made], &small, use_time, NULL))
		made++;
	pthread_attr_destroy(&small);
	return made;
}

static void vfork_and_exit(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	reap(pid);
}

/* Children that are waited for, that are not, that lose their parent, and that have the parent of their parent. */
static void fork_in_all_ways(void)
{
	pid_t pid;

	for (int way = 0; way < 4; way++) {
		signal(SIGCHLD, way & 1 ? SIG_IGN : SIG_DFL);
		pid = try_fork();
		if (!pid) {
			if (way & 2)
				syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, NULL, NULL, 0);
			else
				try_fork();
			burn_us(200);
			_exit(0);
		}
		reap(pid);
		vfork_and_exit();
	}
	signal(SIGCHLD, SIG_DFL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void *exit_later(void *argument)
{
	usleep(2000);
	return argument;
}

/* A group with counters that loses its threads one by one, and one whose leader goes first. */
static void make_threads(void)
{
	pthread_t threads[THREADS];
	pid_t pid;
	int made;

	made = add_threads(threads, THREADS);
	for (int i = 0; i < made; i++)
		must(!pthread_join(threads[i], NULL));
	pid = try_fork();
	if (!pid) {
		add_threads(threads, THREADS / 2);
		pthread_create(&threads[0], NULL, exit_later, NULL);
		syscall(SYS_exit, 0);
	}
	reap(pid);
}

static void *exec_again(void *argument)
{
	char left[16];

	snprintf(left, sizeof(left), "%d", *(int *)argument - 1);
	execl("/init", "init", "exec-at-once", left, NULL);
	abort();
}

void exec_at_once(int left)
{
	pthread_t threads[THREADS], execs;

	add_threads(threads, left % 2 ? THREADS : 2);
	/* So many that a snapshot sums them without a lock, where it has to visit each. */
	if (left % 2)
		try_sleepers(3 * THREADS);
	if (left <= 0 || pthread_create(&execs, NULL, exec_again, &left))
		exit(0);
	burn_us(500);
	/* With the leader alive, and as a zombie. */
	if (left % 3)
		syscall(SYS_exit, 0);
	for (;;)
		pause();
}

static void exec_by_threads(void)
{
	pid_t pid = try_fork();

	if (!pid)
		exec_at_once(6);
	reap(pid);
}

/* The first process of a namespace. It ends all others there. */
static void be_init(int ready)
{
	pthread_t threads[THREADS];
	struct snapshot snapshot;

	for (int i = 0; i < 5; i++)
		if (!try_fork()) {
			burn_us(100);
			_exit(0);
		}
	add_threads(threads, THREADS / 2);
	snapshot = take_by_netlink(open_netlink(), OF_THREADS, 0);
	must(snapshot.count);
	must(write(ready, "", 1) == 1);
	usleep(3000);
	_exit(0);
}

/* A process that was not made there, enters a namespace and forks in it. */
static void enter(int namespace)
{
	pid_t pid = try_fork();

	if (!pid) {
		/* Its init may be gone: no process can be made there then. */
		if (!setns(namespace, CLONE_NEWPID)) {
			pid = fork();
			if (!pid)
				_exit(0);
			reap(pid);
		}
		_exit(0);
	}
	reap(pid);
}

static void use_namespaces(void)
{
	int ready[2], namespace;
	pid_t maker, init;
	char byte;

	maker = try_fork();
	if (!maker) {
		must(!pipe(ready) && !unshare(CLONE_NEWPID));
		init = fork();
		if (!init)
			be_init(ready[1]);
		close(ready[1]);
		if (init > 0 && read(ready[0], &byte, 1) == 1) {
			namespace = open("/proc/self/ns/pid_for_children", O_RDONLY);
			must(namespace >= 0);
			for (int i = 0; i < 5; i++)
				enter(namespace);
			kill(init, SIGKILL);
			enter(namespace);
		}
		reap(init);
		_exit(0);
	}
	reap(maker);
}

/* Numbers that are chosen, as a restored process has them. */
static void choose_numbers(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t wanted = 310 + rand() % (MOST_PIDS - 320);
		struct clone_args arguments = {
			.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&wanted, .set_tid_size = 1,
		};
		pid_t pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

		if (!pid)
			_exit(0);
		must(pid == wanted || (pid < 0 && (errno == EEXIST || errno == EAGAIN)));
		reap(pid);
	}
}

static void read_if_there(const char *pid, const char *name)
{
	static char text[8192];
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return;
	while (read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
}

static void list_threads(const char *pid)
{
	struct dirent *entry;
	char path[300], name[300];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	directory = opendir(path);
	if (!directory)
		return;
	while ((entry = readdir(directory))) {
		snprintf(name, sizeof(name), "task/%.20s/stat", entry->d_name);
		read_if_there(pid, name);
	}
	closedir(directory);
}

static void read_proc(void)
{
	struct dirent *entry;
	DIR *directory = opendir("/proc");

	must(directory);
	while ((entry = readdir(directory))) {
		if (!atoi(entry->d_name))
			continue;
		read_if_there(entry->d_name, "stat");
		read_if_there(entry->d_name, "status");
		read_if_there(entry->d_name, "schedstat");
		if (rand() % 4 == 0)
			list_threads(entry->d_name);
	}
	closedir(directory);
}

/* All and what ran, threads and processes, with detail and without; and one that is left unread. */
static void take_snapshots(int fd, struct snapshot (*take_one)(int, uint32_t, uint64_t))
{
	for (uint32_t flags = 0; flags < 4; flags++) {
		struct snapshot all = take_one(fd, flags, 0), ran;

		must(all.count);
		usleep(1000);
		ran = take_one(fd, flags, all.header.cookie);
		for (size_t i = 0; i < ran.count && i < 10; i++) {
			struct taskstats stats;

			read_taskstats(field32(ran.records + i * ran.header.record_size, PID), &stats);
		}
		free(ran.records);
		free(all.records);
	}
}

static void take_from_file(void)
{
	static int fd = -1;
	char some[2000];

	if (fd < 0)
		fd = open_taskstats();
	take_snapshots(fd, take);
	must(!ask(fd, OF_THREADS, 0) && read(fd, some, sizeof(some)) > 0);
}

static void take_from_socket(void)
{
	int fd = open_netlink();

	take_snapshots(fd, take_by_netlink);
	close(fd);
	fd = open_netlink();
	begin_dump(fd, OF_THREADS);
	close(fd);
	fd = open_netlink();
	begin_exits(fd, "0-1");
	usleep(5000);
	end_exits(fd, "0-1", NULL, 0);
	close(fd);
}

/* Few, as this kernel is slow. */
static void look_at_some_who_die(void)
{
	look_at_those_who_die(300);
}

static const struct load {
	const char *name;
	void (*round)(void);
} loads[] = {
	{ "fork", fork_in_all_ways },
	{ "threads", make_threads },
	{ "exec", exec_by_threads },
	{ "namespaces", use_namespaces },
	{ "chosen-numbers", choose_numbers },
	{ "proc", read_proc },
	{ "file", take_from_file },
	{ "socket", take_from_socket },
	{ "second-file", take_from_file },
	{ "those-who-die", look_at_some_who_die },
};

#define LOADS (sizeof(loads) / sizeof(*loads))

static unsigned long *rounds;

static void repeat(void *argument)
{
	const struct load *load = argument;
	uint64_t until = now_ns() + strtoull(getenv("guest_seconds"), NULL, 10) * 1000000000;

	srand(getpid());
	while (now_ns() < until) {
		load->round();
		rounds[load - loads]++;
	}
}

/* The kernel still checks locks, and has not complained. */
static bool is_sound(void)
{
	static char text[16384];
	const char *checks;
	bool sound = true;

	read_file("/proc/sys/kernel/tainted", text, sizeof(text));
	if (strcmp(text, "0\n")) {
		printf("# the kernel is tainted: %s", text);
		sound = false;
	}
	read_file("/proc/lockdep_stats", text, sizeof(text));
	checks = strstr(text, "debug_locks:");
	if (!checks || atoi(checks + strlen("debug_locks:")) != 1) {
		printf("# locks are not checked any more\n");
		sound = false;
	}
	return sound;
}

void run_stress(void)
{
	pid_t pids[LOADS];
	int status;

	write_file("/proc/sys/kernel/pid_max", "%d", MOST_PIDS);
	write_file("/proc/sys/kernel/printk", "8");
	rounds = mmap(NULL, sizeof(*rounds) * LOADS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(rounds != MAP_FAILED && has_snapshots());
	for (size_t i = 0; i < LOADS; i++)
		pids[i] = child(repeat, (void *)&loads[i]);
	/* Orphans are children of this process, too. */
	for (size_t left = LOADS; left;) {
		pid_t ended = waitpid(-1, &status, 0);

		must(ended > 0);
		for (size_t i = 0; i < LOADS; i++) {
			if (pids[i] != ended)
				continue;
			pids[i] = 0;
			left--;
			printf("rounds %s %lu\n", loads[i].name, rounds[i]);
			printf("%sok stress: %s\n", status || !rounds[i] ? "not " : "", loads[i].name);
		}
	}
	printf("%sok stress: the kernel has not complained\n", is_sound() ? "" : "not ");
}
