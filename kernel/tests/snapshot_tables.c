// SPDX-License-Identifier: GPL-2.0-only
/* The tables of snapshots, where the kernel has them: beside a reader of /proc and the walk of cpuledger, and of what ran only. */
#include "taskstats.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACTIVE 60

static int file, sockets, there[2], back[2];
static char *buffer;
static size_t room;

static void read_stats(const char *folder, bool with_threads)
{
	DIR *directory = opendir(folder);
	char path[512], text[4096];
	struct dirent *entry;

	must(directory);
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		if (with_threads) {
			snprintf(path, sizeof(path), "%s/%s/task", folder, entry->d_name);
			read_stats(path, false);
		} else {
			snprintf(path, sizeof(path), "%s/%s/stat", folder, entry->d_name);
			read_file(path, text, sizeof(text));
		}
	}
	closedir(directory);
}

static void leaders_by_proc(void)
{
	read_stats("/proc", false);
}

static void threads_by_proc(void)
{
	read_stats("/proc", true);
}

/* Two system calls, and none of the library. */
static void ask_for(uint32_t flags, uint64_t cookie)
{
	must(!ask(file, flags, cookie) && read(file, buffer, room) > 0);
}

static void leaders(void)
{
	ask_for(0, 0);
}

static void threads(void)
{
	ask_for(OF_THREADS, 0);
}

static void leaders_by_netlink(void)
{
	free(take_by_netlink(sockets, 0, 0).records);
}

static void echo(void *argument)
{
	char byte;

	(void)argument;
	while (read(there[0], &byte, 1) == 1) {
		must(write(back[1], &byte, 1) == 1);
		usleep(20000);
	}
}

/* Each of the active ones takes one byte, as all others are then asleep. */
static void wake_all(void)
{
	char bytes[ACTIVE] = {};

	must(write(there[1], bytes, ACTIVE) == ACTIVE);
	for (int got = 0; got < ACTIVE;)
		got += read(back[0], bytes, ACTIVE);
	usleep(50000);
}

static void measure_active(unsigned int row)
{
	uint64_t least = UINT64_MAX;
	pid_t active[ACTIVE];

	must(!pipe(there) && !pipe(back));
	for (int i = 0; i < ACTIVE; i++)
		active[i] = child(echo, NULL);
	for (int attempt = 0; attempt < 7; attempt++) {
		uint64_t cookie, begin;
		struct header header;

		usleep(50000);
		leaders();
		memcpy(&header, buffer, sizeof(header));
		cookie = header.cookie;
		wake_all();
		begin = now_ns();
		ask_for(0, cookie);
		begin = now_ns() - begin;
		least = begin < least ? begin : least;
		for (int i = 0; i < ACTIVE; i++) {
			const char *record = buffer + sizeof(header);
			size_t seen = 0;

			while (field32(record, PID) != (uint32_t)active[i] && ++seen < 200)
				record += header.record_size;
			must(seen < 200);
		}
		memset(buffer, 0, 200 * header.record_size);
	}
	printf("table snapshot active %u %llu\n", row, (unsigned long long)least);
	for (int i = 0; i < ACTIVE; i++)
		end(active[i]);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

/* The walk of cpuledger, where the guest has it: it loads its programs once, then prints a line as measure() does. */
static void measure_walk(const char *scope, const char *column, unsigned int row)
{
	char text[16];
	pid_t pid;

	if (access("/bin/walk_cost", X_OK))
		return;
	snprintf(text, sizeof(text), "%u", row);
	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		execl("/bin/walk_cost", "walk_cost", scope, column, text, NULL);
		_exit(127);
	}
	wait_for(pid);
}

static void sleep_as_process(void *argument)
{
	(void)argument;
	for (;;)
		pause();
}

/* That many threads of one process: tasks without processes. */
static void measure_threads(unsigned int count)
{
	pid_t target = child(sleep_with_threads, &count);

	must(waitpid(target, NULL, WUNTRACED) == target);
	usleep(100000);
	measure("snapshot", "threads-proc", count, threads_by_proc, 1);
	measure("snapshot", "threads", count, threads, 1);
	measure_walk("tasks", "threads-walk", count);
	measure("snapshot", "leaders-of-threads", count, leaders, 1);
	measure_walk("processes", "leaders-of-threads-walk", count);
	measure_active(count);
	end(target);
}

static void measure_processes(unsigned int count)
{
	pid_t *pids = calloc(count, sizeof(*pids));

	must(pids);
	for (unsigned int i = 0; i < count; i++)
		pids[i] = child(sleep_as_process, NULL);
	usleep(500000);
	measure("snapshot", "leaders-proc", count, leaders_by_proc, 1);
	measure("snapshot", "leaders", count, leaders, 1);
	measure("snapshot", "leaders-netlink", count, leaders_by_netlink, 1);
	measure_walk("processes", "leaders-walk", count);
	for (unsigned int i = 0; i < count; i++)
		end(pids[i]);
	free(pids);
}

void print_snapshot_tables(unsigned int most_threads)
{
	static const unsigned int sleepers[] = { 1000, 10000, 100000 };

	if (!has_snapshots())
		return;
	room = (most_threads + 1000) * 1024UL;
	buffer = malloc(room);
	must(buffer);
	memset(buffer, 0, room);
	file = open_taskstats();
	sockets = open_netlink();
	for (int i = 0; i < 3; i++)
		if (sleepers[i] <= most_threads)
			measure_threads(sleepers[i]);
	/* More processes than that need more memory than the guest has. */
	for (int i = 0; i < 2; i++)
		if (sleepers[i] <= most_threads)
			measure_processes(sleepers[i]);
}
