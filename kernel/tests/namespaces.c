// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots in namespaces: they have the numbers of their own and the clocks of their own, as the files of /proc there have.
 */
#include "taskstats.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define FIELD_START 22
#define TICK_NS 10000000
#define OFFSET_S 100000

static void sleep_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		pause();
}

static void in_a_namespace(void *argument)
{
	struct snapshot snapshot;
	pid_t pid;

	(void)argument;
	must(getpid() == 1);
	must(!mount("proc", "/proc", "proc", 0, NULL));
	pid = child(sleep_for_ever, NULL);
	for (int by_netlink = 0; by_netlink < 2; by_netlink++) {
		snapshot = by_netlink ? take_by_netlink(open_netlink(), 0, 0) : take(open_taskstats(), 0, 0);
		must(snapshot.count == 2 && find_record(&snapshot, 1));
		must(find_record(&snapshot, pid) && field32(find_record(&snapshot, pid), PPID) == 1);
	}
	snapshot = take(open_taskstats(), OF_THREADS, 1);
	for (size_t i = 0; i < snapshot.count; i++)
		must(field32(snapshot.records + i * snapshot.header.record_size, PID) <= (uint32_t)pid);
	end(pid);
}

static void make_namespace(void *argument)
{
	pid_t pid;

	must(!unshare(CLONE_NEWPID | CLONE_NEWNS));
	pid = fork();
	if (!pid) {
		in_a_namespace(argument);
		_exit(0);
	}
	wait_for(pid);
}

static void a_namespace_sees_its_own(void)
{
	if (has_snapshots())
		wait_for(child(make_namespace, NULL));
}

/* A process that was there before says that it began later, by as much as the clocks of the namespace are ahead. */
static void by_its_clocks(void *argument)
{
	struct snapshot snapshot;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", getppid());
	for (int way = 0; way < 3; way++) {
		uint64_t before = now_ns(), start;
		const char *record;

		snapshot = way ? take(open_taskstats(), way == 2 ? NOT_EXACT : 0, 0) : take_by_netlink(open_netlink(), 0, 0);
		record = find_record(&snapshot, getppid());
		must(record);
		start = field64(record, START_BOOTTIME);
		if (start / TICK_NS != stat_field(path, FIELD_START) || start < OFFSET_S * 1000000000ULL)
			fail("way %d: began at %llu ns, stat says %llu ticks", way, (unsigned long long)start,
			     (unsigned long long)stat_field(path, FIELD_START));
		must(snapshot.header.time >= before && snapshot.header.time <= now_ns());
		must(field64(record, START_TIME) < before && field64(record, START_TIME) + 10000000000ULL > before);
		must(field64(record, ELAPSED_US) < 10000000);
	}
	(void)argument;
}

static void make_time_namespace(void *argument)
{
	must(!unshare(CLONE_NEWTIME));
	write_file("/proc/self/timens_offsets", "monotonic %d 0\nboottime %d 0\n", OFFSET_S / 2, OFFSET_S);
	wait_for(child(by_its_clocks, argument));
}

static void a_time_namespace_has_its_clocks(void)
{
	if (has_snapshots())
		wait_for(child(make_time_namespace, NULL));
}

const struct test namespace_tests[] = {
	{ "snapshot: a namespace sees its own", a_namespace_sees_its_own },
	{ "snapshot: a time namespace has its clocks", a_time_namespace_has_its_clocks },
	{ 0 },
};
