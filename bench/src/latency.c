/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The least a process and a thread cost, in the manner of lmbench's lat_proc and lat_ctx: prints the nanoseconds of each
 * time.
 *
 * usage: latency fork|exec|thread|pipe|tcp|udp|unix TIMES
 *        latency read TIMES DISK
 *        latency            ends at once: what `exec` starts
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void *nothing(void *argument)
{
	return argument;
}

static void fork_exit_wait(void)
{
	pid_t pid = fork();

	if (pid < 0 || (pid == 0 && (_exit(0), 1)) || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static char *self;

/* As lmbench's "exec": fork, exec of a small program, exit, wait. */
static void fork_exec_wait(void)
{
	char *const nothing_to_do[] = { self, NULL };
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		execv(self, nothing_to_do);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

static void create_join(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		exit(1);
}

static int to_other[2], to_us[2];

static void start_other(void)
{
	cpu_set_t first;
	char byte;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(0, sizeof(first), &first) || pipe(to_other) || pipe(to_us))
		exit(1);
	if (fork())
		return;
	close(to_other[1]);
	while (read(to_other[0], &byte, 1) == 1 && write(to_us[1], &byte, 1) == 1)
		;
	_exit(0);
}

static void round_trip(void)
{
	char byte = 0;

	if (write(to_other[1], &byte, 1) != 1 || read(to_us[0], &byte, 1) != 1)
		exit(1);
}

static int ours, others;

/* Two sockets of the loopback device, each connected with the other. */
static void connect_both(int type)
{
	struct sockaddr_in at[2] = { { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof(at[0]);
	int listener = socket(AF_INET, type, 0), on = 1;

	at[1] = at[0];
	ours = socket(AF_INET, type, 0);
	if (bind(listener, (void *)&at[0], length) || getsockname(listener, (void *)&at[0], &length))
		exit(1);
	if (type == SOCK_STREAM && listen(listener, 1))
		exit(1);
	if (type == SOCK_DGRAM && bind(ours, (void *)&at[1], length))
		exit(1);
	if (connect(ours, (void *)&at[0], length) || getsockname(ours, (void *)&at[1], &length))
		exit(1);
	others = type == SOCK_STREAM ? accept(listener, NULL, NULL) : listener;
	if (type == SOCK_DGRAM && connect(others, (void *)&at[1], length))
		exit(1);
	if (type == SOCK_STREAM) {
		setsockopt(ours, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(others, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
}

/* The partner is on the same CPU, as that of the pipe. */
static void start_partner(void)
{
	cpu_set_t first;
	char byte;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(0, sizeof(first), &first))
		exit(1);
	if (fork()) {
		close(others);
		return;
	}
	close(ours);
	/* A partner without a connection does not see the end of the other. */
	alarm(60);
	while (recv(others, &byte, 1, 0) == 1 && byte && send(others, &byte, 1, 0) == 1)
		;
	_exit(0);
}

static void answered(void)
{
	char byte = 1;

	if (send(ours, &byte, 1, 0) != 1 || recv(ours, &byte, 1, 0) != 1)
		exit(1);
}

static int start_sockets(const char *mode)
{
	int pair[2];

	if (!strcmp(mode, "tcp")) {
		connect_both(SOCK_STREAM);
	} else if (!strcmp(mode, "udp")) {
		connect_both(SOCK_DGRAM);
	} else if (!strcmp(mode, "unix") && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		ours = pair[0];
		others = pair[1];
	} else {
		return 0;
	}
	start_partner();
	return 1;
}

enum { BLOCK = 4096 };

static int disk;
static off_t blocks;

static void open_disk(const char *path)
{
	disk = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	blocks = lseek(disk, 0, SEEK_END) / BLOCK;
	if (disk < 0 || blocks <= 0)
		exit(1);
}

static void read_block(void)
{
	static char block[BLOCK] __attribute__((aligned(BLOCK)));

	if (pread(disk, block, BLOCK, random() % blocks * BLOCK) != BLOCK)
		exit(1);
}

int main(int argc, char **argv)
{
	void (*work)(void) = fork_exit_wait;
	double begin;
	long times;

	if (argc == 1)
		return 0;
	if (argc != 3 && argc != 4)
		return 2;
	self = argv[0];
	times = atol(argv[2]);
	if (!strcmp(argv[1], "exec"))
		work = fork_exec_wait;
	if (!strcmp(argv[1], "thread"))
		work = create_join;
	if (!strcmp(argv[1], "pipe")) {
		work = round_trip;
		start_other();
	}
	if (!strcmp(argv[1], "read") && argc == 4) {
		work = read_block;
		open_disk(argv[3]);
	}
	if (start_sockets(argv[1]))
		work = answered;
	begin = now_ns();
	for (long i = 0; i < times; i++)
		work();
	printf("%.0f\n", (now_ns() - begin) / times);
	if (work == answered)
		(void)!send(ours, "", 1, 0);
	return 0;
}
