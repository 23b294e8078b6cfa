// SPDX-License-Identifier: GPL-2.0-only
/* What tests and tables share. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void fail(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	printf("# %s\n", text);
	_exit(1);
}

void write_file(const char *path, const char *format, ...)
{
	char text[256];
	va_list arguments;
	int fd, length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, length) != length)
		fail("cannot write %s to %s: %m", text, path);
	close(fd);
}

void read_file(const char *path, char *text, size_t size)
{
	ssize_t length;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		fail("cannot open %s: %m", path);
	length = read(fd, text, size - 1);
	if (length < 0)
		fail("cannot read %s: %m", path);
	text[length] = 0;
	close(fd);
}

pid_t child(void (*run)(void *), void *argument)
{
	pid_t parent = getpid(), pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	must(!prctl(PR_SET_PDEATHSIG, SIGKILL));
	if (getppid() != parent)
		_exit(1);
	run(argument);
	_exit(0);
}

void end(pid_t pid)
{
	must(!kill(pid, SIGKILL));
	must(waitpid(pid, NULL, __WALL) == pid);
}

void wait_for(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, __WALL) == pid);
	if (status)
		fail("a child has ended with status %#x", status);
}

void await_state(pid_t pid, pid_t tid, char state)
{
	char path[64], text[1024];
	const char *name_end = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	for (int i = 0; i < 20000; i++) {
		read_file(path, text, sizeof(text));
		name_end = strrchr(text, ')');
		if (name_end && name_end[2] == state)
			return;
		usleep(1000);
	}
	fail("task %d is not in state %c: %s", tid, state, text);
}

/* The child needs no stack: it has nothing to return to, and keeps all in registers. */
static pid_t add_sleeper(void)
{
	const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	register long no_tid asm("r10") = 0;
	register long no_tls asm("r8") = 0;
	long result = SYS_clone;

	asm volatile("syscall\n\t"
		     "test %%rax, %%rax\n\t"
		     "jnz 2f\n"
		     "1: mov %[pause], %%eax\n\t"
		     "syscall\n\t"
		     "jmp 1b\n"
		     "2:"
		     : "+a"(result)
		     : "D"(flags), "S"(0L), "d"(0L), "r"(no_tid), "r"(no_tls), [pause] "i"(SYS_pause)
		     : "rcx", "r11", "memory", "cc");
	errno = result < 0 ? -result : 0;
	return result;
}

void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set));
}

void loop_on(void *cpu)
{
	stay_on(*(int *)cpu);
	for (;;)
		;
}

void *nothing(void *argument)
{
	return argument;
}

static int there[2], back[2];

static void echo(void *argument)
{
	char byte;

	(void)argument;
	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
}

pid_t start_echo(void)
{
	must(!pipe(there) && !pipe(back));
	return child(echo, NULL);
}

void end_echo(pid_t pid)
{
	end(pid);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

void switch_twice(void)
{
	char byte = 0;

	must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
}

void try_sleepers(unsigned int count)
{
	while (count-- && add_sleeper() >= 0)
		;
}

pid_t add_sleepers(unsigned int count)
{
	pid_t first = 0;

	for (unsigned int i = 0; i < count; i++) {
		pid_t tid = add_sleeper();

		if (tid < 0)
			fail("thread %u of %u: %m", i + 1, count);
		first = first ? first : tid;
	}
	return first;
}

void sleep_with_threads(void *count)
{
	add_sleepers(*(unsigned int *)count - 1);
	raise(SIGSTOP);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	must(!clock_gettime(clock, &time));
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void burn_us(uint64_t us)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

uint64_t process_ns(pid_t pid)
{
	clockid_t clock;

	must(!clock_getcpuclockid(pid, &clock));
	return clock_ns(clock);
}

uint64_t stat_field(const char *path, int place)
{
	char text[1024];
	char *at;

	read_file(path, text, sizeof(text));
	at = strrchr(text, ')');
	if (!at)
		fail("%s has no name: %s", path, text);
	/* What follows the name and a blank is field 3. */
	at += 2;
	for (; place > 3; place--) {
		at = strchr(at, ' ');
		if (!at)
			fail("%s is short: %s", path, text);
		at++;
	}
	return strtoull(at, NULL, 10);
}
