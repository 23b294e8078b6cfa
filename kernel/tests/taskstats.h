/* SPDX-License-Identifier: GPL-2.0-only */
/* Snapshots by taskstats, read through /proc/taskstats or as a netlink dump. */
#ifndef TASKSTATS_H
#define TASKSTATS_H

#include "guest.h"

#include <linux/taskstats.h>
#include <stddef.h>

/* What is asked for, as in linux/taskstats.h of the series. */
enum { OF_THREADS = 1, EXACT = 2, WITH_DETAIL = 4 };

struct request {
	uint32_t flags, reserved;
	uint64_t cookie;
};

struct header {
	uint32_t version, header_size, record_size, flags;
	uint64_t cookie, time, reparented;
};

/* Where fields are in struct taskstats. */
enum {
	EXIT_CODE = 4,
	COMM = 80,
	UID = 120,
	PID = 128,
	PPID = 132,
	ELAPSED_US = 144,
	USER_US = 152,
	SYSTEM_US = 160,
	MOST_MEMORY = 208,
	TGID = 368,
	START_TIME = offsetof(struct taskstats, ac_start_time),
	START_BOOTTIME = START_TIME + 8,
	RUNTIME = START_TIME + 16,
	UTIME = START_TIME + 24,
	STIME = START_TIME + 32,
	IRQ = START_TIME + 40,
	STEAL = START_TIME + 48,
};

struct snapshot {
	struct header header;
	size_t count;
	char *records;
};

/* Whether the kernel has snapshots. Fails if it has and should not, or should and has not: the host says how many patches it has. */
bool has_snapshots(void);
/*
 * Asks through an open /proc/taskstats, or a socket of open_netlink(). The caller frees the records. Who is root asks for exact figures,
 * unless it is told not to.
 */
enum { NOT_EXACT = 1 << 30 };

struct snapshot take(int fd, uint32_t flags, uint64_t cookie);
struct snapshot take_by_netlink(int fd, uint32_t flags, uint64_t cookie);
/* Asks, and returns 0 or the error. */
int ask(int fd, uint32_t flags, uint64_t cookie);
int ask_by_netlink(int fd, uint32_t flags, uint64_t cookie);
int open_taskstats(void);
int open_netlink(void);
/* Receives the first answer to a dump, and no more. */
void begin_dump(int fd, uint32_t flags);
/* Has the records of tasks that exit sent to a socket. */
void begin_exits(int fd, const char *cpus);
/* Ends that, and returns how many records of tasks there were. */
int end_exits(int fd, const char *cpus, struct taskstats *records, int most);
/* The record of a task or process, or NULL. */
const char *find_record(const struct snapshot *snapshot, pid_t pid);
uint64_t field64(const char *record, int offset);
uint32_t field32(const char *record, int offset);

#endif
