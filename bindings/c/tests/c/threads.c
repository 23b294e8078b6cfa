/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* threads.c RECORDING: two threads, each with its own handles, of the recording and, where CPULEDGER_SOCKET is set, of the service. */
#include "check.h"
#include <pthread.h>

static const char *recording;

static void *read_books(void *unused)
{
	struct cpuledger_interval interval;
	struct cpuledger *books;

	(void)unused;
	CPULEDGER_INIT(&interval);
	for (int round = 0; round < 10; round++) {
		CHECK(cpuledger_open_recording(&books, recording, NULL) == 0);
		while (cpuledger_next(books, -1, &interval) == CPULEDGER_OK)
			check_balance(books, &interval);
		cpuledger_close(books);
	}
	if (getenv("CPULEDGER_SOCKET") != NULL) {
		CHECK(cpuledger_open(&books, NULL) == 0);
		for (int i = 0; i < 2; i++) {
			CHECK_CALL(books, cpuledger_next(books, -1, &interval) == CPULEDGER_OK);
			check_balance(books, &interval);
		}
		cpuledger_close(books);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	CHECK(argc == 2);
	recording = argv[1];
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, read_books, NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}
