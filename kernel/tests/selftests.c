// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the kernel's own tests, for scripts/kernel selftests. /selftests/list names them, SUITE:PROGRAM a line; a program runs in /selftests/SUITE.
 * The host reads from the console:
 *
 *   begin SUITE PROGRAM
 *   | LINE                   what the program has printed
 *   end SUITE PROGRAM HOW    HOW is the exit code, `signal NUMBER`, or `late`
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_PER_PROGRAM 300
#define OUTPUT "/tmp/output"

static void mount_for_tests(void)
{
	must(!mount("devtmpfs", "/dev", "devtmpfs", 0, NULL));
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	must(!symlink("/proc/self/fd", "/dev/fd"));
	must(!mount("devpts", "/dev/pts", "devpts", 0, NULL));
	must(!mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL));
	must(!mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL));
}

/* Else malloc(3) leaves EAGAIN of getrandom(2) in errno, which a test takes for that of acct(2). It is not random, and need not be. */
static void make_random_numbers_ready(void)
{
	struct {
		struct rand_pool_info info;
		char bytes[32];
	} seed = { .info = { .entropy_count = 8 * sizeof(seed.bytes), .buf_size = sizeof(seed.bytes) }, .bytes = "seed" };
	int fd = open("/dev/random", O_WRONLY);

	must(fd >= 0);
	must(!ioctl(fd, RNDADDENTROPY, &seed));
	close(fd);
}

/* Mounts of a program are its own. The rest of the machine is not. */
static void be_program(const char *suite, const char *program)
{
	char path[512];

	must(!unshare(CLONE_NEWNS));
	snprintf(path, sizeof(path), "/selftests/%s", suite);
	must(!chdir(path));
	setsid();
	must(freopen("/dev/null", "r", stdin) && freopen(OUTPUT, "w", stdout) && dup2(1, 2) == 2);
	clearenv();
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/tmp", 1);
	snprintf(path, sizeof(path), "./%s", program);
	execl(path, path, NULL);
	printf("cannot run %s: %s\n", path, strerror(errno));
	fflush(stdout);
	_exit(126);
}

static void print_output(void)
{
	FILE *file = fopen(OUTPUT, "r");
	bool at_start = true;
	int c;

	must(file);
	while ((c = getc(file)) != EOF) {
		if (at_start)
			fputs("| ", stdout);
		/* A console may take other characters for its own. */
		putchar((c >= ' ' && c <= '~') || c == '\n' ? c : '?');
		at_start = c == '\n';
	}
	if (!at_start)
		putchar('\n');
	fclose(file);
	must(!truncate(OUTPUT, 0));
}

static void run_program(const char *suite, const char *program)
{
	const uint64_t until = now_ns() + SECONDS_PER_PROGRAM * 1000000000ULL;
	int status;
	bool late;
	pid_t pid, ended;

	printf("begin %s %s\n", suite, program);
	pid = fork();
	must(pid >= 0);
	if (!pid)
		be_program(suite, program);
	/* What a program leaves behind is a child of this process, too. */
	while ((ended = waitpid(-1, &status, WNOHANG)) != pid && now_ns() < until)
		if (!ended)
			usleep(10000);
	late = ended != pid;
	/* The first process is the only one that this leaves. */
	do
		kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0);
	print_output();
	if (late)
		printf("end %s %s late\n", suite, program);
	else if (WIFSIGNALED(status))
		printf("end %s %s signal %d\n", suite, program, WTERMSIG(status));
	else
		printf("end %s %s %d\n", suite, program, WEXITSTATUS(status));
}

void run_selftests(void)
{
	FILE *list = fopen("/selftests/list", "r");
	char line[256];

	must(list);
	mount_for_tests();
	make_random_numbers_ready();
	/* A test forks until a number comes again. */
	write_file("/proc/sys/kernel/pid_max", "4096");
	while (fgets(line, sizeof(line), list)) {
		char *program = strchr(line, ':');

		must(program);
		*program++ = 0;
		program[strcspn(program, "\n")] = 0;
		run_program(line, program);
	}
	fclose(list);
}
