/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* recording.c RECORDING: its intervals follow each other, balance, and are what the arguments say: their number, and that of gaps. */
#include "check.h"

int main(int argc, char **argv)
{
	struct cpuledger *books;
	struct cpuledger_interval interval;
	struct cpuledger_options options;
	uint64_t intervals = 0, gaps = 0, end_ns = 0, first_realtime_ns = 0;
	int code;

	CHECK(argc == 4);
	CPULEDGER_INIT(&interval);
	CPULEDGER_INIT(&options);
	CHECK(cpuledger_open_recording(&books, argv[1], NULL) == 0);
	while ((code = cpuledger_next(books, -1, &interval)) == CPULEDGER_OK) {
		check_balance(books, &interval);
		CHECK(end_ns == 0 || interval.start_ns == end_ns);
		CHECK(interval.flags & CPULEDGER_INTERVAL_REPLAYED && interval.end_realtime_ns != CPULEDGER_UNKNOWN);
		end_ns = interval.end_ns;
		gaps += (interval.flags & CPULEDGER_INTERVAL_GAP) != 0;
		if (intervals++ == 0)
			first_realtime_ns = interval.end_realtime_ns;
	}
	CHECK_CALL(books, code == CPULEDGER_END);
	CHECK(cpuledger_next(books, 0, &interval) == CPULEDGER_END && cpuledger_cut(books, &interval) == CPULEDGER_END);
	CHECK(intervals == (uint64_t)atol(argv[2]) && gaps == (uint64_t)atol(argv[3]));
	cpuledger_close(books);
	options.since_realtime_ns = first_realtime_ns;
	options.interval_ns = UINT64_C(1) << 60;
	CHECK(cpuledger_open_recording(&books, argv[1], &options) == 0);
	CHECK_CALL(books, cpuledger_next(books, -1, &interval) == CPULEDGER_OK);
	CHECK(interval.end_realtime_ns > first_realtime_ns);
	cpuledger_close(books);
	return 0;
}
