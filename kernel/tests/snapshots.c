// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots of many tasks say what /proc says of each, and those since a cookie leave out no task that ran, and hardly any other.
 * The references are the files of /proc, and what the tasks of a test were told to do.
 */
#include "taskstats.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIELD_PPID = 4, FIELD_USER = 14, FIELD_SYSTEM = 15, FIELD_START = 22 };

#define SLEEPERS 300
/* Of how many tasks a CPU keeps that they ran. */
#define RING 8191
#define TICK_NS 10000000

/* A snapshot of the tests takes 300 us at most, unless its reader loses the CPU. */
#define SNAPSHOT_NS 500000
#define SNAPSHOT_ATTEMPTS 20

/* The numbers in a folder of /proc, at most `room`. */
static int list(const char *path, pid_t *numbers, int room)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	int count = 0;

	must(directory);
	while ((entry = readdir(directory)))
		if (atoi(entry->d_name) > 0 && count < room)
			numbers[count++] = atoi(entry->d_name);
	closedir(directory);
	return count;
}

/* The same set, whatever the order. */
static void must_be_same(const struct snapshot *snapshot, pid_t *numbers, int count, const char *what)
{
	for (int i = 0; i < count; i++)
		if (!find_record(snapshot, numbers[i]))
			fail("%s: %d is not in the snapshot", what, numbers[i]);
	if (snapshot->count != (size_t)count)
		fail("%s: %zu records, /proc has %d", what, snapshot->count, count);
}

static void *burn_some(void *argument)
{
	burn_us((uintptr_t)argument);
	return NULL;
}

/* Uses time in several threads, one of which is gone. The others stay, and all is stopped. */
static void use_and_stop(void *argument)
{
	pthread_t thread;

	(void)argument;
	must(!pthread_create(&thread, NULL, burn_some, (void *)30000));
	must(!pthread_join(thread, NULL));
	add_sleepers(20);
	burn_us(20000);
	raise(SIGSTOP);
}

static void must_agree(const char *record, const char *folder, uint64_t runtime)
{
	const char *series = getenv("guest_series");
	bool has_dead = series && atoi(series) >= 5;
	char path[80];
	uint64_t ticks;

	snprintf(path, sizeof(path), "%s/stat", folder);
	/* With patch 5, the last instants of the dead are in the record alone. */
	if (field64(record, RUNTIME) < runtime || field64(record, RUNTIME) > runtime + (has_dead ? 1000000 : 0))
		fail("%s: runtime %llu, not %llu", folder, (unsigned long long)field64(record, RUNTIME),
		     (unsigned long long)runtime);
	must(field32(record, PPID) == stat_field(path, FIELD_PPID));
	must(field64(record, START_BOOTTIME) / TICK_NS == stat_field(path, FIELD_START));
	must(field64(record, START_TIME) <= now_ns());
	/* /proc fits both to the runtime. */
	ticks = stat_field(path, FIELD_USER) + stat_field(path, FIELD_SYSTEM);
	must(ticks * TICK_NS <= runtime + TICK_NS && runtime <= (ticks + 3) * TICK_NS);
	must(field64(record, UTIME) + field64(record, STIME) <= runtime + 200000000);
}

static uint64_t thread_runtime(const char *folder)
{
	char path[80], text[128];

	snprintf(path, sizeof(path), "%s/schedstat", folder);
	read_file(path, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

static void snapshots_say_what_proc_says(void)
{
	int fd, sockets, count;
	pid_t pid, numbers[4096];
	struct snapshot snapshot;
	char folder[64];

	if (!has_snapshots())
		return;
	pid = child(use_and_stop, NULL);
	must(waitpid(pid, NULL, WUNTRACED) == pid);
	usleep(100000);
	fd = open_taskstats();
	sockets = open_netlink();
	for (int by_netlink = 0; by_netlink < 2; by_netlink++) {
		snapshot = by_netlink ? take_by_netlink(sockets, 0, 0) : take(fd, 0, 0);
		count = list("/proc", numbers, 4096);
		must_be_same(&snapshot, numbers, count, "processes");
		snprintf(folder, sizeof(folder), "/proc/%d", pid);
		must_agree(find_record(&snapshot, pid), folder, process_ns(pid));
		must(field32(find_record(&snapshot, pid), TGID) == (uint32_t)pid);
		must(process_ns(pid) > 50000000);

		snapshot = by_netlink ? take_by_netlink(sockets, OF_THREADS, 0) : take(fd, OF_THREADS, 0);
		snprintf(folder, sizeof(folder), "/proc/%d/task", pid);
		count = list(folder, numbers, 4096);
		must(count == 21);
		for (int i = 0; i < count; i++) {
			const char *record = find_record(&snapshot, numbers[i]);

			must(record && field32(record, TGID) == (uint32_t)pid);
			snprintf(folder, sizeof(folder), "/proc/%d/task/%d", pid, numbers[i]);
			must_agree(record, folder, thread_runtime(folder));
		}
	}
	end(pid);
}

/* A child that uses time whenever a byte comes, and answers when it is done. */
static int to_child[2], from_child[2];

static void on_demand(void *argument)
{
	char byte;

	(void)argument;
	while (read(to_child[0], &byte, 1) == 1) {
		burn_us(3000);
		must(write(from_child[1], &byte, 1) == 1);
	}
}

static void demand(void)
{
	char byte = 0;

	must(write(to_child[1], &byte, 1) == 1 && read(from_child[0], &byte, 1) == 1);
}

/* A thread does what the leader does not. */
static void *thread_on_demand(void *argument)
{
	on_demand(argument);
	return NULL;
}

static void with_busy_thread(void *argument)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, thread_on_demand, argument));
	for (;;)
		pause();
}

/* A thread that ends, so that only its process can tell of it. */
static void *end_on_demand(void *argument)
{
	char byte;

	must(read(to_child[0], &byte, 1) == 1);
	burn_us(3000);
	return argument;
}

static void with_mortal_thread(void *argument)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, end_on_demand, argument));
	pthread_detach(thread);
	for (;;)
		pause();
}

static void many_threads(void *argument)
{
	(void)argument;
	add_sleepers(SLEEPERS);
	for (;;)
		pause();
}

static void sleep_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		pause();
}

static pid_t start_child(void (*run)(void *))
{
	pid_t pid;

	must(!pipe(to_child) && !pipe(from_child));
	pid = child(run, NULL);
	usleep(200000);
	return pid;
}

static pid_t idle_child(void (*run)(void *))
{
	pid_t pid = child(run, NULL);

	usleep(100000);
	return pid;
}

/* What ran is there, and what slept is not: a few tasks of the kernel run between. */
static void judge_active(const struct snapshot *snapshot, pid_t ran, pid_t slept)
{
	if (!find_record(snapshot, ran))
		fail("%d has run, and is not among the %zu", ran, snapshot->count);
	if (find_record(snapshot, slept))
		fail("%d has slept, and is there", slept);
	if (snapshot->count > 40)
		fail("%zu tasks are said to have run", snapshot->count);
	for (size_t i = 0; i < snapshot->count; i++)
		for (size_t j = 0; j < i; j++)
			must(field32(snapshot->records + i * snapshot->header.record_size, PID) !=
			     field32(snapshot->records + j * snapshot->header.record_size, PID));
}

static void only_what_ran_is_there(void)
{
	pid_t worker, sleepers, sleeper;
	uint64_t old, cookie, before;
	struct snapshot snapshot;
	int fd, sockets;

	if (!has_snapshots())
		return;
	fd = open_taskstats();
	sockets = open_netlink();
	worker = start_child(on_demand);
	sleeper = idle_child(sleep_for_ever);
	sleepers = idle_child(many_threads);
	old = take(fd, 0, 0).header.cookie;
	usleep(20000);
	snapshot = take(fd, 0, old);
	must(!find_record(&snapshot, worker));
	for (int round = 0; round < 20; round++) {
		bool by_netlink = round % 2;
		uint32_t flags = round % 3 ? OF_THREADS : 0;

		usleep(10000);
		cookie = take(fd, flags, 0).header.cookie;
		before = process_ns(worker);
		demand();
		usleep(10000);
		snapshot = by_netlink ? take_by_netlink(sockets, flags, cookie) : take(fd, flags, cookie);
		judge_active(&snapshot, worker, sleeper);
		must(!find_record(&snapshot, sleepers));
		must(field64(find_record(&snapshot, worker), RUNTIME) >= before + 3000000);
		must(field64(find_record(&snapshot, worker), RUNTIME) == process_ns(worker));
		/* Another reader's cookie still holds. */
		snapshot = take(fd, flags, old);
		judge_active(&snapshot, worker, sleeper);
	}
	end(sleepers);
	end(sleeper);
	end(worker);
}

static void threads_tell_of_their_process(void)
{
	void (*const kinds[])(void *) = { with_busy_thread, with_mortal_thread };
	pid_t sleeper;
	int fd;

	if (!has_snapshots())
		return;
	fd = open_taskstats();
	sleeper = idle_child(many_threads);
	for (int kind = 0; kind < 2; kind++) {
		pid_t worker = start_child(kinds[kind]);
		uint64_t cookie = take(fd, 0, 0).header.cookie, before = process_ns(worker);
		struct snapshot snapshot;

		usleep(20000);
		cookie = take(fd, 0, cookie).header.cookie;
		must(write(to_child[1], "", 1) == 1);
		usleep(200000);
		snapshot = take(fd, 0, cookie);
		judge_active(&snapshot, worker, sleeper);
		must(field64(find_record(&snapshot, worker), RUNTIME) >= before + 3000000);
		snapshot = take(fd, OF_THREADS, cookie);
		/* The leader has slept. That a thread of it died is told of it, too. */
		must(!!find_record(&snapshot, worker) == (kind == 1));
		end(worker);
	}
	end(sleeper);
}

/*
 * Tasks run on while records are written. Where the reader loses its CPU after the cut, the records have what ran in its place, and the
 * header has not: so it asks again.
 */
static struct snapshot take_at_once(int fd, uint64_t cookie)
{
	for (int i = 0; i < SNAPSHOT_ATTEMPTS; i++) {
		uint64_t begin = now_ns();
		struct snapshot snapshot = take(fd, 0, cookie);

		if (now_ns() - begin <= SNAPSHOT_NS)
			return snapshot;
		free(snapshot.records);
	}
	fail("each of %d snapshots takes longer than %d us", SNAPSHOT_ATTEMPTS, SNAPSHOT_NS / 1000);
}

/* With a loop for each CPU, what all processes used between two snapshots is the time between, on each CPU. */
static void no_time_is_missing(void)
{
	pid_t loops[2];
	struct snapshot first, second;
	uint64_t sum = 0, capacity;
	bool has_taken;
	int fd;

	if (!has_snapshots())
		return;
	fd = open_taskstats();
	for (int i = 0; i < 2; i++)
		loops[i] = child(loop_on, &i);
	usleep(500000);
	first = take_at_once(fd, 0);
	for (int round = 0; round < 5; round++) {
		usleep(400000);
		second = take_at_once(fd, first.header.cookie);
		capacity = sysconf(_SC_NPROCESSORS_ONLN) * (second.header.time - first.header.time);
		/*
		 * An emulator runs one CPU after the other, and its clock goes on meanwhile. If that is in an interrupt, the interrupt
		 * has the time. It is missing where no field tells of it.
		 */
		has_taken = second.header.record_size > STEAL;
		sum = 0;
		for (size_t i = 0; i < second.count; i++) {
			const char *now = second.records + i * second.header.record_size;
			const char *then = find_record(&first, field32(now, PID));

			sum += field64(now, RUNTIME) - (then ? field64(then, RUNTIME) : 0);
			for (int taken = IRQ; has_taken && taken <= STEAL; taken += STEAL - IRQ)
				sum += field64(now, taken) - (then ? field64(then, taken) : 0);
		}
		if ((has_taken && sum < capacity - capacity / 1000) || sum > capacity + capacity / 1000)
			fail("%llu of %llu ns", (unsigned long long)sum, (unsigned long long)capacity);
		first = take_at_once(fd, 0);
	}
	for (int i = 0; i < 2; i++)
		end(loops[i]);
}

static void parts_make_the_whole(void)
{
	static char buffer[1 << 20];
	pid_t sleepers;
	size_t whole = 0, size, records = 0;
	ssize_t got;
	int fd;

	if (!has_snapshots())
		return;
	sleepers = idle_child(many_threads);
	fd = open_taskstats();
	must(read(fd, buffer, sizeof(buffer)) < 0 && errno == ENODATA);
	size = take(fd, 0, 0).header.record_size;
	whole = take(fd, OF_THREADS, 0).count;
	must(whole > SLEEPERS && !ask(fd, OF_THREADS, 0));
	must(read(fd, buffer, sizeof(struct header) - 1) < 0 && errno == EINVAL);
	must(read(fd, buffer, sizeof(struct header) + size - 1) == sizeof(struct header));
	must(read(fd, buffer, size - 1) < 0 && errno == EINVAL);
	for (int room = 1; (got = read(fd, buffer, room * size + 3)) > 0; room = room % 7 + 1) {
		must(got <= (ssize_t)(room * size) && !(got % size));
		records += got / size;
	}
	must(!got);
	if (records + 2 < whole || records > whole + 2)
		fail("%zu records in parts, %zu at once", records, whole);
	must(ask(fd, 8, 0) == EINVAL && ask(fd, 0, 1ULL << 60) == EINVAL);
	must(ask_by_netlink(open_netlink(), 8, 0) == EINVAL);
	must(write(fd, buffer, 15) < 0 && errno == EINVAL);
	/* A longer request is that of a later kernel: what it has more may be 0 only. */
	memset(buffer, 0, 64);
	must(write(fd, buffer, 64) == 64);
	buffer[63] = 1;
	must(write(fd, buffer, 64) < 0 && errno == E2BIG);
	end(sleepers);
}

/* As stat has it, and no finer. */
static void must_be_rounded(const char *record)
{
	static const int times[] = { START_TIME, START_BOOTTIME, UTIME, STIME };
	static const int in_us[] = { ELAPSED_US, USER_US, SYSTEM_US };

	for (int i = 0; i < 4; i++)
		must(field64(record, times[i]) % TICK_NS == 0);
	for (int i = 0; i < 3; i++)
		must(field64(record, in_us[i]) % (TICK_NS / 1000) == 0);
	must(!field32(record, EXIT_CODE));
}

static void without_privileges(void *argument)
{
	struct snapshot snapshot;
	int fd;

	(void)argument;
	must(!setgid(1000) && !setuid(1000));
	must(!prctl(PR_SET_DUMPABLE, 1));
	fd = open_taskstats();
	snapshot = take(fd, 0, 0);
	must(find_record(&snapshot, 1) && find_record(&snapshot, getppid()));
	must(!snapshot.header.cookie && ask(fd, EXACT, 0) == EPERM && ask(fd, 0, 1) == EINVAL);
	for (size_t i = 0; i < snapshot.count; i++)
		must_be_rounded(snapshot.records + i * snapshot.header.record_size);
	must(field64(find_record(&snapshot, getpid()), MOST_MEMORY) == 0);
	must(!strcmp(find_record(&snapshot, 1) + COMM, "init"));
	must(ask(fd, WITH_DETAIL, 0) == EINVAL && ask(fd, EXACT | WITH_DETAIL, 0) == EPERM);
	must(ask_by_netlink(open_netlink(), 0, 0) == EPERM);
	/* What the mount hides, it hides here. */
	close(fd);
	fd = open("/tmp/hidden/taskstats", O_RDWR);
	must(fd >= 0);
	snapshot = take(fd, 0, 0);
	must(snapshot.count == 1 && field32(snapshot.records, PID) == (uint32_t)getpid());
	must(field32(snapshot.records, UID) == 1000);
}

/* A descriptor shows what its opener may see, also to another one. */
static void an_opener_decides(void)
{
	struct snapshot snapshot;
	int fd;

	must(!setegid(1000) && !seteuid(1000));
	fd = open("/tmp/hidden/taskstats", O_RDWR);
	must(!seteuid(0) && !setegid(0));
	must(fd >= 0);
	snapshot = take(fd, NOT_EXACT, 0);
	if (find_record(&snapshot, 1))
		fail("the reader sees %zu processes, which the opener does not", snapshot.count);
	must(ask(fd, WITH_DETAIL, 0) == EPERM && ask(fd, 0, 1) == EPERM);
	must(ask(open_taskstats(), NOT_EXACT, 1) == EINVAL);
	close(fd);
}

static void some_may_see_less(void)
{
	struct snapshot snapshot;
	int fd;

	if (!has_snapshots())
		return;
	fd = open_taskstats();
	snapshot = take(fd, WITH_DETAIL, 0);
	must(field64(find_record(&snapshot, getpid()), MOST_MEMORY) > 0);
	must(mkdir("/tmp/hidden", 0755) == 0 || errno == EEXIST);
	must(!mount("proc", "/tmp/hidden", "proc", 0, "hidepid=2"));
	wait_for(child(without_privileges, NULL));
	an_opener_decides();
	must(!umount("/tmp/hidden"));
}

/* Its thread execs: the pid is then that of a task that was noted by another number. */
static void exec_by_a_thread(void *argument)
{
	char byte;

	(void)argument;
	must(read(to_child[0], &byte, 1) == 1);
	exec_in_turn(1, 60000);
}

static void an_exec_by_a_thread_is_found(void)
{
	struct snapshot snapshot;
	uint64_t cookie;
	pid_t pid;
	int fd;

	if (!has_snapshots())
		return;
	fd = open_taskstats();
	for (uint32_t flags = 0; flags <= OF_THREADS; flags++) {
		pid = start_child(exec_by_a_thread);
		cookie = take(fd, 0, 0).header.cookie;
		must(write(to_child[1], "", 1) == 1);
		usleep(500000);
		await_state(pid, pid, 'S');
		snapshot = take(fd, flags, cookie);
		if (!find_record(&snapshot, pid))
			fail("flags %u: it has run, and is not among the %zu", flags, snapshot.count);
		end(pid);
	}
}

/* More than a CPU has room for: then the marks of all tasks are looked at, and say the same. */
static void many_that_ran_are_not_too_many(void)
{
	pid_t worker, sleeper;
	struct snapshot snapshot;
	uint64_t cookie;
	int fd;

	if (!has_snapshots())
		return;
	fd = open_taskstats();
	worker = start_child(on_demand);
	sleeper = idle_child(many_threads);
	for (uint32_t flags = 0; flags <= OF_THREADS; flags++) {
		cookie = take(fd, 0, 0).header.cookie;
		demand();
		for (int i = 0; i < 2 * RING; i++) {
			pthread_t thread;

			must(!pthread_create(&thread, NULL, nothing, NULL) && !pthread_join(thread, NULL));
		}
		usleep(50000);
		snapshot = take(fd, flags, cookie);
		judge_active(&snapshot, worker, sleeper);
		must(find_record(&snapshot, getpid()));
	}
	end(sleeper);
	end(worker);
}

/* Processes and threads that come and go, and an exec by a thread now and then. */
static void storm(void *argument)
{
	pthread_t thread;

	for (;;) {
		pid_t pid = fork();

		must(!pthread_create(&thread, NULL, burn_some, (void *)50));
		if (!pid) {
			pthread_detach(thread);
			_exit(0);
		}
		must(!pthread_join(thread, NULL));
		if (!argument)
			must(waitpid(pid, NULL, 0) == pid);
	}
}

static void ask_on_and_on(void *argument)
{
	int fd = open_taskstats(), sockets = open_netlink();
	uint64_t cookie = 1, until = now_ns() + 4000000000ULL;
	struct snapshot snapshot;

	(void)argument;
	for (int i = 0; now_ns() < until; i++) {
		if (i % 3)
			snapshot = take(fd, i % 2 ? OF_THREADS : 0, cookie);
		else
			snapshot = take_by_netlink(sockets, i % 2 ? OF_THREADS | WITH_DETAIL : 0, i % 4 ? cookie : 0);
		must(snapshot.header.cookie >= cookie && snapshot.count);
		cookie = snapshot.header.cookie;
		free(snapshot.records);
	}
}

static void a_storm_does_no_harm(void)
{
	pid_t storms[2], readers[2];

	if (!has_snapshots())
		return;
	signal(SIGCHLD, SIG_DFL);
	for (int i = 0; i < 2; i++)
		storms[i] = child(storm, NULL);
	for (int i = 0; i < 2; i++)
		readers[i] = child(ask_on_and_on, NULL);
	for (int i = 0; i < 2; i++)
		wait_for(readers[i]);
	for (int i = 0; i < 2; i++)
		end(storms[i]);
}

const struct test snapshot_tests[] = {
	{ "snapshot: says what /proc says", snapshots_say_what_proc_says },
	{ "snapshot: since a cookie, only what ran", only_what_ran_is_there },
	{ "snapshot: threads tell of their process", threads_tell_of_their_process },
	{ "snapshot: an exec by a thread is found", an_exec_by_a_thread_is_found },
	{ "snapshot: many that ran are not too many", many_that_ran_are_not_too_many },
	{ "snapshot: no time of the CPUs is missing", no_time_is_missing },
	{ "snapshot: parts make the whole", parts_make_the_whole },
	{ "snapshot: some may see less", some_may_see_less },
	{ "snapshot: a storm does no harm", a_storm_does_no_harm },
	{ 0 },
};
