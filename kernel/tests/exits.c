// SPDX-License-Identifier: GPL-2.0-only
/*
 * The records that tell of exits. Each says what one task has used, and each task has one: so they add up to what the process has used,
 * also where a thread has taken over the pid of its leader.
 */
#include "guest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "taskstats.h"

#define LEADER_US 60000
#define THREAD_US 10000
/* What a task uses beside its loop: an exec, and the way to its end. */
#define SLACK_US 20000
#define MOST_RECORDS 64

static void exec_once(void *argument)
{
	(void)argument;
	exec_in_turn(1, LEADER_US);
}

static void must_be_about(const struct taskstats *stats, uint64_t us)
{
	if (stats->cpu_runtime < us * 1000 || stats->cpu_runtime > (us + SLACK_US) * 1000)
		fail("a record of an exit says %llu ns, not about %llu us", (unsigned long long)stats->cpu_runtime,
		     (unsigned long long)us);
}

static void records_of_exits_are_those_of_tasks(void)
{
	struct taskstats records[MOST_RECORDS], living;
	uint64_t sum = 0, whole;
	int count, found = 0;
	pid_t pid;
	int fd;

	if (!has_patch(5))
		return;
	fd = open_netlink();
	begin_exits(fd, "0-1");
	pid = child(exec_once, NULL);
	usleep((2 * LEADER_US + THREAD_US) * 2);
	await_state(pid, pid, 'S');
	usleep(100000);
	must(read_taskstats(pid, &living));
	whole = process_ns(pid);
	end(pid);
	count = end_exits(fd, "0-1", records, MOST_RECORDS);
	for (int i = 0; i < count; i++) {
		if (records[i].ac_tgid != (uint32_t)pid)
			continue;
		/* The old leader, and after it the thread, with what it used before and after its exec. */
		must(found < 2);
		must_be_about(&records[i], found ? THREAD_US + LEADER_US : LEADER_US);
		sum += records[i].cpu_runtime;
		found++;
	}
	if (found != 2)
		fail("%d records of %d tell of exits in %d", found, count, pid);
	if (sum + 2000000 < whole || sum > whole + SLACK_US * 1000)
		fail("the records have %llu ns, the process had %llu", (unsigned long long)sum, (unsigned long long)whole);
	/* By its id, the living one had what its old leader used. */
	if (has_patch(6))
		must_be_about(&living, 2 * LEADER_US);
}

const struct test exit_tests[] = {
	{ "exits: each record says what one task has used", records_of_exits_are_those_of_tasks },
	{ 0 },
};
