/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* service.c: what the service at CPULEDGER_SOCKET has: intervals, rows, a cut, a listing, and what a child used. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BURN_NS = 200 * 1000 * 1000 };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void burn(void)
{
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < BURN_NS)
		;
}

static void intervals(struct cpuledger *books)
{
	struct cpuledger_interval interval;
	uint64_t end_ns = 0, now_ns;

	CPULEDGER_INIT(&interval);
	CHECK_CALL(books, cpuledger_next(books, 0, &interval) >= 0);
	/* A busy machine may read too late. */
	for (int i = 0; i < 3; i += !(interval.flags & CPULEDGER_INTERVAL_GAP)) {
		CHECK_CALL(books, cpuledger_next(books, -1, &interval) == CPULEDGER_OK);
		check_balance(books, &interval);
		CHECK(end_ns == 0 || interval.start_ns == end_ns);
		CHECK(strcmp(interval.source, "service") == 0);
		end_ns = interval.end_ns;
	}
	now_ns = clock_ns(CLOCK_MONOTONIC);
	CHECK_CALL(books, cpuledger_cut(books, &interval) == CPULEDGER_OK);
	while (interval.end_ns < now_ns)
		CHECK_CALL(books, cpuledger_next(books, -1, &interval) == CPULEDGER_OK);
	check_balance(books, &interval);
}

static void listing(struct cpuledger *books)
{
	struct cpuledger_row row;
	struct cpuledger_list_options options;
	int is_found = 0;

	CPULEDGER_INIT(&row);
	CPULEDGER_INIT(&options);
	options.with_tasks = 1;
	CHECK_CALL(books, cpuledger_list(books, &options) == 0);
	for (uint64_t i = 0; cpuledger_listed_process(books, i, &row) == CPULEDGER_OK; i++) {
		CHECK(row.cpu_ns == CPULEDGER_UNKNOWN);
		is_found |= row.pid == getpid() && CPULEDGER_KNOWS(&row, RSS_BYTES) && row.rss_bytes > 0;
	}
	CHECK(is_found);
	is_found = 0;
	for (uint64_t i = 0; cpuledger_listed_task(books, i, &row) == CPULEDGER_OK; i++)
		is_found |= row.tid == getpid();
	CHECK(is_found);
	/* What is not asked for is not known. */
	options.with_tasks = 0;
	options.fields[0] = UINT64_C(1) << CPULEDGER_FIELD_PID;
	CHECK_CALL(books, cpuledger_list(books, &options) == 0);
	CHECK(cpuledger_listed_process(books, 0, &row) == CPULEDGER_OK);
	CHECK(CPULEDGER_KNOWS(&row, PID) && !CPULEDGER_KNOWS(&row, VSIZE_BYTES));
	CHECK(cpuledger_listed_task(books, 0, &row) == CPULEDGER_NOTHING);
}

static void measurement(void)
{
	struct cpuledger_measurement *measurement;
	struct cpuledger_measured measured;
	struct cpuledger_used used;
	uint64_t sum_ns = 0;
	pid_t child;

	CPULEDGER_INIT(&measured);
	CPULEDGER_INIT(&used);
	CHECK(cpuledger_measure_begin(&measurement, 0, NULL) == 0);
	CHECK(cpuledger_measure_name(measurement, 0, &used) == CPULEDGER_EINVAL);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		burn();
		_exit(0);
	}
	while (waitpid(child, NULL, WNOHANG) == 0)
		CHECK(cpuledger_measure_collect(measurement) == 0);
	CHECK(cpuledger_measure_end(measurement, &measured) == 0);
	CHECK(measured.end_ns > measured.start_ns && measured.running == 0);
	CHECK(measured.without_books_ns > 0 || (measured.cpu_ns >= BURN_NS && measured.processes == 1));
	for (uint64_t i = 0; cpuledger_measure_name(measurement, i, &used) == CPULEDGER_OK; i++) {
		CHECK(used.name != NULL);
		sum_ns += used.cpu_ns;
	}
	CHECK(sum_ns + measured.unidentified_ns == measured.cpu_ns);
	CHECK(cpuledger_measure_end(measurement, &measured) == 0 && cpuledger_measure_message(measurement)[0] == 0);
	cpuledger_measure_close(measurement);
}

int main(void)
{
	struct cpuledger *books;
	struct cpuledger_options options;

	CPULEDGER_INIT(&options);
	options.interval_ns = 400 * 1000 * 1000;
	CHECK(cpuledger_open(&books, &options) == 0);
	intervals(books);
	listing(books);
	cpuledger_close(books);
	measurement();
	return 0;
}
