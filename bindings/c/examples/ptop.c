/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ptop.c: who has used the CPUs, second by second, and where the rest of their time went.
 *
 * cc -o ptop ptop.c $(pkg-config --cflags --libs cpuledger) && ./ptop [INTERVALS] */
#include <cpuledger.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 15 };

static int by_time(const void *a, const void *b)
{
	const struct cpuledger_row *left = a, *right = b;
	return (left->cpu_ns < right->cpu_ns) - (left->cpu_ns > right->cpu_ns);
}

/* Any process may have any name: none of it is a command to the terminal. */
static const char *printable(struct cpuledger_row *row)
{
	for (char *byte = row->comm; *byte; byte++)
		if (*byte < ' ' || *byte > '~')
			*byte = '?';
	return row->comm;
}

static void show(struct cpuledger *books, const struct cpuledger_interval *interval)
{
	double whole = (double)(interval->end_ns - interval->start_ns) / 100.0;
	struct cpuledger_row *rows = calloc(interval->processes + 1, sizeof *rows);
	uint64_t count = 0;
	if (!rows)
		return;
	for (uint64_t i = 0; i < interval->processes; i++) {
		CPULEDGER_INIT(&rows[count]);
		/* What is not known, as CPU time that the kernel hides, is not 0: it is left out. */
		if (cpuledger_process(books, i, &rows[count]) == CPULEDGER_OK && rows[count].cpu_ns != CPULEDGER_UNKNOWN)
			count++;
	}
	qsort(rows, count, sizeof *rows, by_time);
	printf("%7s %7s %7s %7s  %s\n", "PID", "SELF%", "X%", "C%", "NAME");
	for (uint64_t i = 0; i < count && i < SHOWN && rows[i].cpu_ns > 0; i++) {
		const struct cpuledger_row *row = &rows[i];
		printf("%7" PRId32 " %7.2f", row->pid, (double)row->self_ns / whole);
		if (row->exited_threads_ns != CPULEDGER_UNKNOWN && row->exited_children_ns != CPULEDGER_UNKNOWN)
			printf(" %7.2f %7.2f", (double)row->exited_threads_ns / whole, (double)row->exited_children_ns / whole);
		else
			printf(" %7s %7s", "-", "-");
		printf("  %s\n", printable(&rows[i]));
	}
	free(rows);
	if (interval->flags & CPULEDGER_INTERVAL_GAP)
		printf("no books of this time: %s\n", cpuledger_message(books));
	printf("%" PRIu64 " ns attributed + %" PRIu64 " idle + %" PRIu64 " unattributed = %" PRIu64 "\n\n",
	       interval->attributed_ns, interval->idle_ns, interval->unattributed_ns, interval->capacity_ns);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long left = argc > 1 ? atol(argv[1]) : -1; /* without end */
	struct cpuledger *books;
	struct cpuledger_interval interval;
	int code = cpuledger_open(&books, NULL);

	CPULEDGER_INIT(&interval);
	for (; code >= 0 && left != 0; left -= left > 0) {
		code = cpuledger_next(books, -1, &interval);
		if (code == CPULEDGER_OK)
			show(books, &interval);
	}
	if (code < 0)
		fprintf(stderr, "ptop: %s\n", cpuledger_message(books));
	cpuledger_close(books);
	return code < 0;
}
