/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* arguments.c RECORDING: what is wrong with arguments is an error with a sentence, and nothing is written beyond the size of a struct. */
#include "check.h"

enum { ROUNDS = 20000, ROOM = 512, GUARD = 0x5a };

static uint32_t state = 1;

/* xorshift: the same numbers in each run. */
static uint32_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static void null_is_an_error(void)
{
	struct cpuledger_interval interval;
	struct cpuledger_row row;
	struct cpuledger_exited dead;
	struct cpuledger_measured measured;
	struct cpuledger_used used;

	CPULEDGER_INIT(&interval);
	CPULEDGER_INIT(&row);
	CPULEDGER_INIT(&dead);
	CPULEDGER_INIT(&measured);
	CPULEDGER_INIT(&used);
	CHECK(cpuledger_open(NULL, NULL) == CPULEDGER_EINVAL);
	CHECK(cpuledger_open_recording(NULL, "/", NULL) == CPULEDGER_EINVAL);
	CHECK(cpuledger_next(NULL, 0, &interval) == CPULEDGER_EINVAL);
	CHECK(cpuledger_cut(NULL, &interval) == CPULEDGER_EINVAL);
	CHECK(cpuledger_process(NULL, 0, &row) == CPULEDGER_EINVAL);
	CHECK(cpuledger_task(NULL, 0, &row) == CPULEDGER_EINVAL);
	CHECK(cpuledger_death(NULL, 0, &dead) == CPULEDGER_EINVAL);
	CHECK(cpuledger_list(NULL, NULL) == CPULEDGER_EINVAL);
	CHECK(cpuledger_listed_process(NULL, 0, &row) == CPULEDGER_EINVAL);
	CHECK(cpuledger_listed_task(NULL, 0, &row) == CPULEDGER_EINVAL);
	CHECK(cpuledger_field(0, NULL) == CPULEDGER_EINVAL);
	CHECK(cpuledger_measure_begin(NULL, 0, NULL) == CPULEDGER_EINVAL);
	CHECK(cpuledger_measure_collect(NULL) == CPULEDGER_EINVAL);
	CHECK(cpuledger_measure_end(NULL, &measured) == CPULEDGER_EINVAL);
	CHECK(cpuledger_measure_name(NULL, 0, &used) == CPULEDGER_EINVAL);
	CHECK(cpuledger_message(NULL)[0] != 0 && cpuledger_measure_message(NULL)[0] != 0);
	cpuledger_close(NULL);
	cpuledger_measure_close(NULL);
}

/* A handle that could not be opened has the reason, and nothing else. */
static void what_is_not_open_says_why(void)
{
	struct cpuledger *books;
	struct cpuledger_options options;
	struct cpuledger_interval interval;
	struct cpuledger_measurement *measurement;
	struct cpuledger_measured measured;

	CPULEDGER_INIT(&interval);
	CPULEDGER_INIT(&measured);
	CPULEDGER_INIT(&options);
	options.socket = "/nonexistent/socket";
	CHECK(cpuledger_open(&books, &options) == CPULEDGER_EUNUSABLE);
	CHECK(strstr(cpuledger_message(books), "/nonexistent/socket") != NULL);
	CHECK(cpuledger_next(books, 0, &interval) == CPULEDGER_EUNUSABLE);
	CHECK(cpuledger_message(books)[0] != 0);
	cpuledger_close(books);
	CHECK(cpuledger_measure_begin(&measurement, 0, &options) == CPULEDGER_EUNUSABLE);
	CHECK(strstr(cpuledger_measure_message(measurement), "/nonexistent/socket") != NULL);
	CHECK(cpuledger_measure_end(measurement, &measured) == CPULEDGER_EUNUSABLE);
	cpuledger_measure_close(measurement);
	CHECK(cpuledger_measure_begin(&measurement, -1, NULL) == CPULEDGER_EINVAL);
	cpuledger_measure_close(measurement);
	CHECK(cpuledger_open_recording(&books, NULL, NULL) == CPULEDGER_EINVAL);
	cpuledger_close(books);
	CHECK(cpuledger_open_recording(&books, "/nonexistent", NULL) == CPULEDGER_EREAD);
	cpuledger_close(books);
}

/* Options of any size and content: those that say more than the library knows are refused. Others reach the recording, and there is none. */
static void options_follow_the_rules(void)
{
	uint64_t words[ROOM / 8];
	unsigned char *bytes = (unsigned char *)words;
	const size_t reserve = offsetof(struct cpuledger_options, reserved), known = sizeof(struct cpuledger_options);

	for (int round = 0; round < ROUNDS; round++) {
		struct cpuledger_options *options = (struct cpuledger_options *)words;
		struct cpuledger *books;
		size_t size = random_number() % 4 ? known + random_number() % 96 : random_number() % ROOM;
		int is_valid = size >= known, code;

		memset(bytes, 0, ROOM);
		if (random_number() % 2)
			bytes[reserve + random_number() % (ROOM - reserve)] = 1;
		for (size_t i = reserve; i < size && i < ROOM; i++)
			is_valid = is_valid && bytes[i] == 0;
		if (random_number() % 16 == 0) {
			size = (size_t)random_number() << 20;
			is_valid = 0;
		}
		options->size = size;
		options->interval_ns = random_number();
		options->since_realtime_ns = random_number();
		options->until_realtime_ns = random_number() % 2 ? 0 : UINT64_C(1) << 40 | random_number();
		code = cpuledger_open_recording(&books, "/nonexistent", options);
		CHECK_CALL(books, code == (is_valid ? CPULEDGER_EREAD : CPULEDGER_EINVAL));
		CHECK(cpuledger_message(books)[0] != 0);
		cpuledger_close(books);
	}
}

/* Outputs of any size: no byte behind it is written, and what the library does not know is zero. */
static void outputs_stay_within_their_size(struct cpuledger *books)
{
	static uint64_t words[4096 / 8];
	unsigned char *bytes = (unsigned char *)words;
	struct cpuledger_row *row = (struct cpuledger_row *)words;

	for (int round = 0; round < ROUNDS; round++) {
		size_t size = sizeof *row / 2 + random_number() % sizeof *row;
		int code;

		memset(bytes, GUARD, sizeof words);
		row->size = size;
		code = cpuledger_process(books, 0, row);
		CHECK(code == (size < sizeof *row ? CPULEDGER_EINVAL : CPULEDGER_OK));
		CHECK(row->size == size);
		for (size_t i = size; i < sizeof words; i++)
			CHECK(bytes[i] == GUARD);
		for (size_t i = sizeof *row; i < size; i++)
			CHECK(bytes[i] == 0);
	}
}

int main(int argc, char **argv)
{
	struct cpuledger *books;
	struct cpuledger_interval interval;
	struct cpuledger_list_options list;
	struct cpuledger_field_info info;
	unsigned fields = 0;

	CHECK(argc == 2 && cpuledger_version()[0] == '0');
	null_is_an_error();
	what_is_not_open_says_why();
	options_follow_the_rules();
	CPULEDGER_INIT(&interval);
	CPULEDGER_INIT(&info);
	CPULEDGER_INIT(&list);
	CHECK(cpuledger_open_recording(&books, argv[1], NULL) == 0);
	CHECK(cpuledger_next(books, 0, NULL) == CPULEDGER_EINVAL);
	CHECK_CALL(books, cpuledger_next(books, 0, &interval) == CPULEDGER_OK && interval.processes > 0);
	CHECK(cpuledger_process(books, 0, NULL) == CPULEDGER_EINVAL);
	CHECK(cpuledger_process(books, UINT64_MAX, NULL) == CPULEDGER_EINVAL);
	outputs_stay_within_their_size(books);
	CHECK(cpuledger_list(books, NULL) == CPULEDGER_EUNUSABLE && cpuledger_message(books)[0] != 0);
	list.with_tasks = 2;
	CHECK(cpuledger_list(books, &list) == CPULEDGER_EINVAL);
	list.with_tasks = 0;
	list.fields[1] = UINT64_C(1) << 63;
	CHECK(cpuledger_list(books, &list) == CPULEDGER_EINVAL);
	cpuledger_close(books);
	for (; cpuledger_field(fields, &info) == CPULEDGER_OK; fields++)
		CHECK(info.name[0] != 0 && info.help[0] != 0 && info.bit < 128 && info.unit <= CPULEDGER_UNIT_BYTES);
	CHECK(fields > 50);
	return 0;
}
