/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* snapshots.c: what each task used while a command ran: two snapshots, the difference by task, and the sum, over one of several transports.
 *
 * cc -o snapshots snapshots.c $(pkg-config --cflags --libs cpuledger) && ./snapshots service COMMAND [ARGUMENT...]
 *
 * "taskstats: Enhancements for precise process accounting" (Michael Holzheu, 2010) has such a program for its library. Compiled with -DWITH_LEDGER and
 * linked to libcpuledger-ledger it has the transports ledger, walk, netlink and procfs, too. "recording PATH" adds up all of a recording. */
#define _POSIX_C_SOURCE 200809L

#ifdef WITH_LEDGER
#include <cpuledger-ledger.h>
#else
#include <cpuledger.h>
#endif
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As long as no snapshot is taken, the interval goes on. */
#define LONGEST_NS (UINT64_C(1) << 60)
/* The service has room for two of its intervals at least. */
#define GATHER_EVERY_MS 100

static uint64_t sum_ns, tasks;

static void print(int pid, int tid, uint64_t cpu_ns, const char *name, const char *end)
{
	if (cpu_ns == 0 || cpu_ns == CPULEDGER_UNKNOWN)
		return;
	printf("%7d %7d %6" PRIu64 ".%09" PRIu64 "  ", pid, tid, cpu_ns / 1000000000, cpu_ns % 1000000000);
	for (; *name; name++)
		putchar(*name < ' ' || *name > '~' ? '?' : *name);
	printf("%s\n", end);
	sum_ns += cpu_ns;
	tasks++;
}

/* The difference by task: those that live, then those that died. */
static void show(struct cpuledger *books, const struct cpuledger_interval *interval)
{
	struct cpuledger_row row;
	struct cpuledger_exited dead;

	CPULEDGER_INIT(&row);
	CPULEDGER_INIT(&dead);
	for (uint64_t i = 0; cpuledger_task(books, i, &row) == CPULEDGER_OK; i++)
		print(row.pid, row.tid, row.self_ns, row.comm, "");
	for (uint64_t i = 0; cpuledger_death(books, i, &dead) == CPULEDGER_OK; i++)
		print(dead.pid, dead.tid, dead.cpu_ns, dead.comm, " (dead)");
	if (!(interval->flags & CPULEDGER_INTERVAL_SEES_EXITS))
		printf("tasks that died meanwhile are not in the sum: %s does not see them\n", interval->source);
	printf("%" PRIu64 " ns by %" PRIu64 " tasks; ", sum_ns, tasks);
	if (interval->idle_ns == CPULEDGER_UNKNOWN)
		printf("the source has no exact cut; ");
	else
		printf("idle %" PRIu64 ", unattributed %" PRIu64 "; ", interval->idle_ns, interval->unattributed_ns);
	printf("attributed %" PRIu64 ", capacity %" PRIu64 "\n", interval->attributed_ns, interval->capacity_ns);
}

static int open_books(struct cpuledger **books, char **argv)
{
	struct cpuledger_options options;

	CPULEDGER_INIT(&options);
	options.interval_ns = LONGEST_NS;
	if (strcmp(argv[1], "service") == 0)
		return cpuledger_open(books, &options);
	if (strcmp(argv[1], "recording") == 0)
		return cpuledger_open_recording(books, argv[2], &options);
#ifdef WITH_LEDGER
	return cpuledger_open_ledger(books, argv[1], &options);
#else
	fprintf(stderr, "usage: snapshots service COMMAND... | snapshots recording PATH\n");
	_exit(2);
#endif
}

/* The interval that ends now: what came before the first snapshot is of no interest. */
static int run(struct cpuledger *books, char **command, struct cpuledger_interval *interval)
{
	int code = cpuledger_cut(books, interval);
	pid_t child = code < 0 ? -1 : fork();

	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	while (code >= 0 && child > 0 && waitpid(child, NULL, WNOHANG) == 0)
		code = cpuledger_next(books, GATHER_EVERY_MS, interval);
	return code < 0 ? code : cpuledger_cut(books, interval);
}

int main(int argc, char **argv)
{
	struct cpuledger *books;
	struct cpuledger_interval interval;
	int code;

	if (argc < 3) {
		fprintf(stderr, "usage: snapshots TRANSPORT COMMAND [ARGUMENT...], or: snapshots recording PATH\n");
		return 2;
	}
	code = open_books(&books, argv);
	CPULEDGER_INIT(&interval);
	if (code == 0 && strcmp(argv[1], "recording") == 0)
		code = cpuledger_next(books, -1, &interval);
	else if (code == 0)
		code = run(books, argv + 2, &interval);
	if (code == CPULEDGER_OK)
		show(books, &interval);
	else if (code < 0)
		fprintf(stderr, "snapshots: %s\n", cpuledger_message(books));
	cpuledger_close(books);
	return code < 0;
}
