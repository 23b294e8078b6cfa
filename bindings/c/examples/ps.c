/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ps.c: the processes that exist now, by one listing of the service.
 *
 * cc -o ps ps.c $(pkg-config --cflags --libs cpuledger) && ./ps */
#include <cpuledger.h>
#include <inttypes.h>
#include <stdio.h>

int main(void)
{
	struct cpuledger *books;
	struct cpuledger_list_options options;
	struct cpuledger_row row;
	int code = cpuledger_open(&books, NULL);

	/* What is not asked for is not read. */
	CPULEDGER_INIT(&options);
	options.fields[0] = UINT64_C(1) << CPULEDGER_FIELD_PID | UINT64_C(1) << CPULEDGER_FIELD_PPID |
			    UINT64_C(1) << CPULEDGER_FIELD_THREADS | UINT64_C(1) << CPULEDGER_FIELD_RSS_BYTES |
			    UINT64_C(1) << CPULEDGER_FIELD_RUNTIME_NS | UINT64_C(1) << CPULEDGER_FIELD_COMM;
	if (code == 0)
		code = cpuledger_list(books, &options);
	if (code == 0)
		printf("%7s %7s %7s %10s %14s  %s\n", "PID", "PPID", "THREADS", "RSS KIB", "CPU SECONDS", "NAME");
	CPULEDGER_INIT(&row);
	for (uint64_t i = 0; code >= 0 && cpuledger_listed_process(books, i, &row) == CPULEDGER_OK; i++) {
		printf("%7" PRId32 " %7" PRId32 " %7" PRIu32, row.pid, row.ppid, row.threads);
		if (CPULEDGER_KNOWS(&row, RSS_BYTES))
			printf(" %10" PRIu64, row.rss_bytes / 1024);
		else
			printf(" %10s", "-");
		printf(" %14.3f  ", (double)row.runtime_ns / 1e9);
		for (const char *byte = row.comm; *byte; byte++)
			putchar(*byte < ' ' || *byte > '~' ? '?' : *byte);
		putchar('\n');
	}
	if (code < 0)
		fprintf(stderr, "ps: %s\n", cpuledger_message(books));
	cpuledger_close(books);
	return code < 0;
}
