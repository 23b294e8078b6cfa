// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of the guest: runs every test in a process of its own, prints the tables, and ends the guest.
 * The host reads these lines from the console:
 *
 *   ok NAME                        a test holds
 *   not ok NAME                    it does not; lines that begin with # before it say why
 *   table TABLE COLUMN ROW NUMBER  a figure
 *   lock LOAD LINE                 a line of /proc/lock_stat
 *   done                           the guest has come to its end
 *
 * The word after `guest_run=` on the kernel's command line says what is run: tests, tables, snapshots, prices, others, locks, stress,
 * selftests, or the program /product. That after `guest_only=` has only the tests run that have it in their names.
 */
#include "guest.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define SECONDS_PER_TEST 120

static void run_test(const struct test *test)
{
	int status;
	pid_t ended, pid = fork();

	if (!pid) {
		alarm(SECONDS_PER_TEST);
		test->run();
		_exit(0);
	}
	must(pid > 0);
	/* What a test leaves behind is a child of this process, too. */
	do {
		ended = waitpid(-1, &status, 0);
		must(ended > 0);
	} while (ended != pid);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (WIFSIGNALED(status))
		printf("# ended by signal %d\n", WTERMSIG(status));
	printf("%sok %s\n", status ? "not " : "", test->name);
}

static void run_tests(void)
{
	const char *only = getenv("guest_only");
	static const struct test *const files[] = {
		index_tests, time_tests, snapshot_tests, namespace_tests, steal_tests,
		lineage_tests, dead_tests, exec_tests, balance_tests, exit_tests,
	};

	for (size_t file = 0; file < sizeof(files) / sizeof(*files); file++)
		for (const struct test *test = files[file]; test->run; test++)
			if (!only || strstr(test->name, only))
				run_test(test);
}

/* cpuledger's own tests, see scripts/kernel product. It has the time that it needs. */
static void run_product(void)
{
	int status;
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		execl("/product", "/product", NULL);
		_exit(127);
	}
	/* Orphans of the tests are this process' children. */
	while (waitpid(-1, &status, 0) != pid)
		;
	printf("%sok product\n", status ? "not " : "");
}

static void make_files(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/tmp", 0755);
	must(!mount("proc", "/proc", "proc", 0, NULL));
	must(!mount("sysfs", "/sys", "sysfs", 0, NULL));
	must(!mount("tmpfs", "/tmp", "tmpfs", 0, NULL));
	must(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	write_file("/proc/sys/kernel/threads-max", "200000");
	write_file("/proc/sys/kernel/printk", "4");
}

int main(int argc, char **argv)
{
	const char *what = getenv("guest_run");
	const char *threads = getenv("guest_threads");
	struct utsname kernel;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* A test execs this program. */
	if (argc > 1 && !strcmp(argv[1], "sleep")) {
		pause();
		return 0;
	}
	if (argc > 3 && !strcmp(argv[1], "exec-in-turn"))
		exec_in_turn(atoi(argv[2]), atoi(argv[3]));
	if (argc > 2 && !strcmp(argv[1], "exec-at-once"))
		exec_at_once(atoi(argv[2]));
	if (getpid() != 1)
		return 2;
	make_files();
	if (what && !strcmp(what, "tables")) {
		write_file("/proc/sys/kernel/pid_max", "4194304");
		print_tables(threads ? strtoul(threads, NULL, 10) : 100000);
	} else if (what && !strcmp(what, "snapshots")) {
		write_file("/proc/sys/kernel/pid_max", "4194304");
		print_snapshot_tables(threads ? strtoul(threads, NULL, 10) : 100000);
	} else if (what && !strcmp(what, "prices")) {
		must(!mknod("/dev/ram0", S_IFBLK | 0600, makedev(1, 0)));
		print_prices();
	} else if (what && !strcmp(what, "others")) {
		print_others();
	} else if (what && !strcmp(what, "locks")) {
		write_file("/proc/sys/kernel/pid_max", "4194304");
		print_lock_statistics();
	} else if (what && !strcmp(what, "product")) {
		run_product();
	} else if (what && !strcmp(what, "stress")) {
		run_stress();
	} else if (what && !strcmp(what, "selftests")) {
		run_selftests();
	} else {
		write_file("/proc/sys/kernel/pid_max", "32768");
		must(sysconf(_SC_NPROCESSORS_ONLN) == 2 && !uname(&kernel));
		printf("# Linux %s\n", kernel.release);
		run_tests();
	}
	printf("done\n");
	fflush(stdout);
	sync();
	/* The serial line sends it in its own time, and a reset takes what it has not sent. */
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	return 1;
}
