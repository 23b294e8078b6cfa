/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the test programs share. They are C99 and C++. */
#ifndef CHECK_H
#define CHECK_H

#include <cpuledger.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program with a sentence where something does not hold. */
#define CHECK(condition)                                                                            \
	do {                                                                                        \
		if (!(condition)) {                                                                 \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                    \
		}                                                                                   \
	} while (0)

/* Likewise, with the message of a handle. */
#define CHECK_CALL(books, condition)                                                                     \
	do {                                                                                             \
		if (!(condition)) {                                                                      \
			fprintf(stderr, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, #condition, \
				cpuledger_message(books));                                               \
			exit(1);                                                                         \
		}                                                                                        \
	} while (0)

/* An interval balances, and so do its rows. */
static inline void check_balance(struct cpuledger *books, const struct cpuledger_interval *interval)
{
	struct cpuledger_row row;
	struct cpuledger_exited dead;
	uint64_t sum_ns = 0, i;

	CPULEDGER_INIT(&row);
	CPULEDGER_INIT(&dead);
	CHECK(interval->end_ns > interval->start_ns && interval->capacity_ns > 0);
	CHECK(interval->idle_ns != CPULEDGER_UNKNOWN && interval->unattributed_ns != CPULEDGER_UNKNOWN);
	CHECK(interval->capacity_ns == interval->attributed_ns + interval->idle_ns + interval->unattributed_ns);
	CHECK(interval->unattributed_ns == interval->no_slot_ns + interval->forgotten_task_ns +
						   interval->uncovered_cpu_ns + interval->not_attached_ns);
	for (i = 0; cpuledger_process(books, i, &row) == CPULEDGER_OK; i++) {
		if (row.cpu_ns == CPULEDGER_UNKNOWN) {
			CHECK(row.row_flags & CPULEDGER_ROW_UNSEEN);
			continue;
		}
		CHECK(row.cpu_ns == row.self_ns + row.exited_threads_ns + row.exited_children_ns);
		CHECK(CPULEDGER_KNOWS(&row, PID) && row.size == sizeof row);
		sum_ns += row.cpu_ns;
	}
	CHECK(i == interval->processes && sum_ns == interval->attributed_ns);
	for (i = 0; cpuledger_task(books, i, &row) == CPULEDGER_OK; i++)
		CHECK(row.cpu_ns == row.self_ns && CPULEDGER_KNOWS(&row, TID));
	CHECK(i == interval->tasks);
	for (i = 0; cpuledger_death(books, i, &dead) == CPULEDGER_OK; i++)
		CHECK(dead.tid > 0 && dead.pid > 0 && dead.comm[63] == 0);
	CHECK(i == interval->exited);
	CHECK(((interval->flags & CPULEDGER_INTERVAL_GAP) != 0) == (interval->not_attached_ns == interval->capacity_ns));
}

#endif
