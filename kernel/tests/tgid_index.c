// SPDX-License-Identifier: GPL-2.0-only
/*
 * A listing of /proc has every thread group, and nothing else. The reference is pidfd_open(2): of all numbers it takes only
 * those of thread groups, and finds them one by one.
 */
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_PIDS 40000

static bool is_listed[MOST_PIDS];

static void read_listing(void)
{
	struct dirent *entry;
	DIR *directory = opendir("/proc");
	int before = 0;

	must(directory);
	memset(is_listed, 0, sizeof(is_listed));
	while ((entry = readdir(directory))) {
		int pid = atoi(entry->d_name);

		if (pid <= 0)
			continue;
		must(pid < MOST_PIDS);
		if (pid <= before)
			fail("%d is listed after %d", pid, before);
		before = pid;
		is_listed[pid] = true;
	}
	closedir(directory);
}

static bool is_group(pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The first number about which listing and reference differ, or 0. */
static pid_t first_difference(void)
{
	int groups = 0;

	read_listing();
	for (pid_t pid = 1; pid < MOST_PIDS; pid++) {
		bool is = is_group(pid);

		groups += is;
		if (is != is_listed[pid])
			return pid;
	}
	must(groups > 0);
	return 0;
}

/* No task of the test may fork or exit meanwhile. The kernel's own threads may, so there are several attempts. */
static void check_listing(void)
{
	pid_t pid = 0;

	for (int attempt = 0; attempt < 5; attempt++) {
		pid = first_difference();
		if (!pid)
			return;
	}
	fail("%d is %slisted, and is %sa thread group", pid, is_listed[pid] ? "" : "not ", is_group(pid) ? "" : "no ");
}

static void stop_with_threads(void *argument)
{
	add_sleepers(*(int *)argument);
	raise(SIGSTOP);
}

static pid_t stopped(int threads)
{
	pid_t pid = child(stop_with_threads, &threads);

	must(waitpid(pid, NULL, WUNTRACED) == pid);
	return pid;
}

static void threads_are_not_listed(void)
{
	pid_t many = stopped(5000), few = stopped(1), after = stopped(0);

	check_listing();
	must(is_listed[many] && is_listed[few] && is_listed[after]);
	end(many);
	check_listing();
	must(!is_listed[many] && is_listed[few] && is_listed[after]);
	end(few);
	end(after);
}

static void exit_alone(void *argument)
{
	(void)argument;
	add_sleepers(10);
	syscall(SYS_exit, 0);
}

static void a_leader_that_exits_first_is_listed(void)
{
	pid_t pid = child(exit_alone, NULL);

	await_state(pid, pid, 'Z');
	check_listing();
	must(is_listed[pid]);
	end(pid);
	check_listing();
	must(!is_listed[pid]);
}

static char thread_stack[65536] __attribute__((aligned(64)));

static int exec_sleep(void *argument)
{
	(void)argument;
	execl("/init", "init", "sleep", NULL);
	return 1;
}

static int start_thread(int (*run)(void *), void *argument)
{
	return clone(run, thread_stack + sizeof(thread_stack),
		     CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, argument);
}

static void exec_by_thread(void *argument)
{
	add_sleepers(20);
	must(start_thread(exec_sleep, NULL) > 0);
	/* Where the leader is gone, its pid is taken over all the same. */
	if (argument)
		syscall(SYS_exit, 0);
	for (;;)
		pause();
}

static void await_exec(pid_t pid)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	for (int i = 0; i < 20000 && memcmp(text, "init\0sleep", 11); i++) {
		usleep(1000);
		memset(text, 0, sizeof(text));
		read_file(path, text, sizeof(text));
	}
	await_state(pid, pid, 'S');
}

static void an_exec_by_a_thread_keeps_the_pid_listed(void)
{
	for (int is_dead = 0; is_dead < 2; is_dead++) {
		pid_t pid = child(exec_by_thread, is_dead ? &is_dead : NULL);

		await_exec(pid);
		check_listing();
		must(is_listed[pid]);
		end(pid);
		check_listing();
		must(!is_listed[pid]);
	}
}

/* A task with chosen ids, the innermost first. A thread has no stack to return on, so only processes are made so. */
static pid_t clone_with_ids(pid_t *ids, int count)
{
	struct clone_args arguments = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)ids, .set_tid_size = count };
	pid_t pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	must(pid > 0);
	return pid;
}

static pid_t free_pid(void)
{
	pid_t pid = 20000;

	while (!kill(pid, 0) || errno != ESRCH)
		pid++;
	return pid;
}

/* A thread's id, freed and taken by a process, and the other way round. */
static void an_id_that_comes_back_is_what_it_is_now(void)
{
	for (int round = 0; round < 50; round++) {
		pid_t many = stopped(200), tid = many + 100, other;

		must(!is_group(tid));
		end(many);
		other = clone_with_ids(&tid, 1);
		must(other == tid);
		check_listing();
		must(is_listed[tid]);
		end(other);
		/* The next thread takes the id. */
		write_file("/proc/sys/kernel/ns_last_pid", "%d", tid - 3);
		other = stopped(10);
		must(other < tid);
		check_listing();
		must(is_listed[other] && !is_listed[tid]);
		end(other);
	}
}

static void chosen_ids_are_listed(void)
{
	pid_t id = free_pid(), pid = clone_with_ids(&id, 1);

	must(pid == id);
	check_listing();
	must(is_listed[pid]);
	end(pid);
}

static void be_session(void *argument)
{
	(void)argument;
	must(setsid() == getpid());
	if (!fork()) {
		for (;;)
			pause();
	}
}

static void a_dead_leader_of_a_session_is_not_listed(void)
{
	pid_t leader, heir = 0;
	char path[64];

	must(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	leader = child(be_session, NULL);
	wait_for(leader);
	check_listing();
	must(!is_listed[leader]);
	for (pid_t pid = 1; pid < MOST_PIDS; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (is_listed[pid] && stat_field(path, 6) == (uint64_t)leader)
			heir = pid;
	}
	must(heir);
	end(heir);
}

static void check_namespace(int level);

/* In a namespace of its own, with a /proc of its own. */
static void check_inside(int level)
{
	pid_t many, ids[2], other;

	must(getpid() == 1);
	must(!mount("proc", "/proc", "proc", 0, NULL));
	many = stopped(300);
	check_listing();
	must(is_listed[1] && is_listed[many]);
	if (level)
		check_namespace(level - 1);
	/* One id here, and another one in the namespace around. */
	ids[0] = free_pid();
	ids[1] = ids[0] + 7;
	other = clone_with_ids(ids, 2);
	must(other == ids[0]);
	check_listing();
	must(is_listed[other]);
	end(other);
	end(many);
}

static void enter_namespace(void *argument)
{
	pid_t pid;

	must(!unshare(CLONE_NEWPID | CLONE_NEWNS));
	pid = fork();
	if (!pid) {
		must(!prctl(PR_SET_PDEATHSIG, SIGKILL));
		check_inside(*(int *)argument);
		_exit(0);
	}
	wait_for(pid);
}

/* The caller stays where it is. */
static void check_namespace(int level)
{
	wait_for(child(enter_namespace, &level));
}

static void each_namespace_has_its_own_listing(void)
{
	check_namespace(2);
	check_listing();
}

static void pids_that_wrap_are_listed(void)
{
	char before[32];
	pid_t last = 0;
	int wraps = 0;

	read_file("/proc/sys/kernel/pid_max", before, sizeof(before));
	write_file("/proc/sys/kernel/pid_max", "1500");
	for (int i = 0; i < 200; i++) {
		pid_t pid = stopped(i % 7 * 10);

		wraps += pid < last;
		last = pid;
		if (i % 4 == 0)
			check_listing();
		must(i % 4 || is_listed[pid]);
		end(pid);
	}
	write_file("/proc/sys/kernel/pid_max", "%s", before);
	must(wraps > 1);
}

static void storm(void *argument)
{
	(void)argument;
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			add_sleepers(3);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/* What lives all the time is in every listing, whatever comes and goes around it. */
static void the_living_are_listed_in_a_storm(void)
{
	pid_t quiet[40], storms[3];
	uint64_t until;

	for (int i = 0; i < 40; i++)
		quiet[i] = stopped(i * 3);
	for (int i = 0; i < 3; i++)
		storms[i] = child(storm, NULL);
	until = now_ns() + 3000000000ULL;
	while (now_ns() < until) {
		read_listing();
		for (int i = 0; i < 40; i++) {
			if (!is_listed[quiet[i]])
				fail("%d is not listed", quiet[i]);
			if (i && is_listed[quiet[i] + 1])
				fail("%d is listed, a thread", quiet[i] + 1);
		}
	}
	for (int i = 0; i < 3; i++)
		end(storms[i]);
	for (int i = 0; i < 40; i++)
		end(quiet[i]);
}

const struct test index_tests[] = {
	{ "index: threads are not listed", threads_are_not_listed },
	{ "index: a leader that exits before its threads is listed", a_leader_that_exits_first_is_listed },
	{ "index: an exec by a thread keeps the pid listed", an_exec_by_a_thread_keeps_the_pid_listed },
	{ "index: chosen ids are listed", chosen_ids_are_listed },
	{ "index: an id that comes back is listed as what it is now", an_id_that_comes_back_is_what_it_is_now },
	{ "index: a dead leader of a session is not listed", a_dead_leader_of_a_session_is_not_listed },
	{ "index: each namespace has its own listing", each_namespace_has_its_own_listing },
	{ "index: pids that wrap are listed", pids_that_wrap_are_listed },
	{ "index: what lives is listed in a storm", the_living_are_listed_in_a_storm },
	{ 0 },
};
