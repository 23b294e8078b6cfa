/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* killed.c: does all that can be done with the service at CPULEDGER_SOCKET, again and again, until it is killed. */
#include "check.h"

int main(void)
{
	struct cpuledger_interval interval;
	struct cpuledger_measured measured;
	struct cpuledger_options options;

	CPULEDGER_INIT(&interval);
	CPULEDGER_INIT(&measured);
	CPULEDGER_INIT(&options);
	options.interval_ns = 100 * 1000 * 1000;
	for (;;) {
		struct cpuledger *books;
		struct cpuledger_measurement *measurement;

		CHECK(cpuledger_open(&books, &options) == 0);
		CHECK_CALL(books, cpuledger_next(books, -1, &interval) == CPULEDGER_OK);
		CHECK_CALL(books, cpuledger_cut(books, &interval) == CPULEDGER_OK);
		CHECK_CALL(books, cpuledger_list(books, NULL) == 0);
		CHECK(cpuledger_measure_begin(&measurement, 0, &options) == 0);
		CHECK(cpuledger_measure_collect(measurement) == 0);
		CHECK(cpuledger_measure_end(measurement, &measured) == 0);
		cpuledger_measure_close(measurement);
		cpuledger_close(books);
	}
}
