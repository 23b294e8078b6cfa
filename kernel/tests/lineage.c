// SPDX-License-Identifier: GPL-2.0-only
/*
 * The accounting parent inherits the time of the dead, all of it, whatever SIGCHLD says. The references are the clocks of the
 * dead, which each says as its last act, or which are read while it is a zombie.
 */
#include "guest.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"
#include "taskstats.h"

#define MEMBERS 40
#define BURN_US 30000
/* What a member may use after its last word. */
#define SLACK_NS 15000000ULL

/* Shared by the members of a family. */
static struct family {
	volatile pid_t pid[MEMBERS];
	volatile uint64_t said[MEMBERS];
	volatile int go;
} *family;

static uint64_t init_had;

static struct taskstats stats_of(pid_t pid)
{
	struct taskstats stats;

	if (!read_taskstats(pid, &stats))
		fail("%d has no record", pid);
	return stats;
}

static uint64_t inherited(pid_t pid)
{
	return stats_of(pid).exited_children_runtime;
}

/* What init has inherited of the tests before. It has reaped the last one, whose last switch may be to come on another CPU: that brings some more. */
static uint64_t settled_of_init(void)
{
	uint64_t before, now = inherited(1);

	do {
		before = now;
		usleep(20000);
		now = inherited(1);
	} while (now != before);
	return now;
}

static bool begin(void)
{
	struct taskstats mine;

	if (!has_patch(5))
		return false;
	must(read_taskstats(getpid(), &mine) >= offsetof(struct taskstats, exited_children_steal) + 8);
	family = mmap(NULL, sizeof(*family), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(family != MAP_FAILED);
	if (mine.ac_acct_ppid != 1 || mine.exited_children_runtime)
		fail("begins with parent %u and %llu ns", mine.ac_acct_ppid, (unsigned long long)mine.exited_children_runtime);
	init_had = settled_of_init();
	return true;
}

/* The last act of a member. */
static void burn_and_exit(int member)
{
	burn_us(BURN_US);
	family->said[member] = process_ns(0);
	syscall(SYS_exit_group, 0);
}

static void await_go(int step)
{
	while (family->go < step)
		usleep(1000);
}

/* A member that runs a function, or burns and exits. It is killed with the process that made it, unless that is to die first. */
static pid_t member(int number, void (*run)(int))
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		family->pid[number] = getpid();
		alarm(60);
		if (run)
			run(number);
		burn_and_exit(number);
	}
	family->pid[number] = pid;
	return pid;
}

static pid_t pid_of(int number)
{
	while (!family->pid[number])
		usleep(1000);
	return family->pid[number];
}

static void await_accounting_parent(pid_t pid, pid_t parent)
{
	for (int i = 0; i < 5000; i++) {
		if (stats_of(pid).ac_acct_ppid == (uint32_t)parent)
			return;
		usleep(1000);
	}
	fail("the accounting parent of %d is %u, not %d", pid, stats_of(pid).ac_acct_ppid, parent);
}

/* Waits until a process has inherited all that these members said, and checks that it is not much more. Init gets none. */
static void must_inherit(pid_t pid, uint64_t before, int first, int last)
{
	uint64_t least = 0, got = 0;

	for (int number = first; number <= last; number++) {
		while (!family->said[number])
			usleep(1000);
		least += family->said[number];
	}
	for (int i = 0; i < 3000 && got < least; i++) {
		usleep(1000);
		got = inherited(pid) - before;
	}
	usleep(50000);
	got = inherited(pid) - before;
	if (got < least || got > least + (last - first + 1) * SLACK_NS)
		fail("%d has inherited %llu ns, members %d to %d said %llu", pid, (unsigned long long)got, first, last,
		     (unsigned long long)least);
	if (inherited(1) != init_had)
		fail("init has got %llu ns", (unsigned long long)(inherited(1) - init_had));
}

static void a_child_that_is_waited_for(void)
{
	uint64_t before, clock;
	pid_t pid;

	if (!begin())
		return;
	before = inherited(getpid());
	pid = member(0, NULL);
	must(stats_of(pid).ac_acct_ppid == (uint32_t)getpid());
	await_state(pid, pid, 'Z');
	usleep(50000);
	clock = process_ns(pid);
	must(inherited(getpid()) == before);
	wait_for(pid);
	if (inherited(getpid()) - before != clock)
		fail("%llu ns of %llu", (unsigned long long)(inherited(getpid()) - before), (unsigned long long)clock);
	must_inherit(getpid(), before, 0, 0);
}

static void children_without_sigchld(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };
	uint64_t before;

	if (!begin())
		return;
	before = inherited(getpid());
	signal(SIGCHLD, SIG_IGN);
	member(0, NULL);
	member(1, NULL);
	must_inherit(getpid(), before, 0, 1);
	must(!sigaction(SIGCHLD, &action, NULL));
	member(2, NULL);
	must_inherit(getpid(), before, 0, 2);
	must(wait(NULL) == -1);
}

static void a_vforked_child(void)
{
	uint64_t before;
	pid_t pid;

	if (!begin())
		return;
	before = inherited(getpid());
	pid = vfork();
	if (!pid)
		burn_and_exit(0);
	wait_for(pid);
	must_inherit(getpid(), before, 0, 0);
}

static void orphan(int number)
{
	await_go(1);
	burn_and_exit(number);
}

static void leave_an_orphan(int number)
{
	member(number + 1, orphan);
	burn_and_exit(number);
}

static void a_double_fork(void)
{
	uint64_t before;

	if (!begin())
		return;
	before = inherited(getpid());
	wait_for(member(0, leave_an_orphan));
	await_accounting_parent(pid_of(1), getpid());
	must(stats_of(pid_of(1)).ac_ppid == 1);
	must_inherit(getpid(), before, 0, 0);
	family->go = 1;
	must_inherit(getpid(), before, 0, 1);
}

/* Until it is waited for, a zombie is there, and has what its children used. */
static void a_zombie_inherits(void)
{
	uint64_t before;
	pid_t pid;

	if (!begin())
		return;
	before = inherited(getpid());
	pid = member(0, leave_an_orphan);
	await_state(pid, pid, 'Z');
	await_accounting_parent(pid_of(1), pid);
	family->go = 1;
	must_inherit(pid, 0, 1, 1);
	must(inherited(getpid()) == before);
	wait_for(pid);
	must_inherit(getpid(), before, 0, 1);
}

static void have_a_child_that_leaves_an_orphan(int number)
{
	wait_for(member(number + 1, leave_an_orphan));
	await_go(2);
	burn_and_exit(number);
}

/* The subreaper is the parent of the orphan, and an ancestor that lives gets its time. */
static void a_subreaper_gets_no_time(void)
{
	uint64_t before;
	pid_t pid;

	if (!begin())
		return;
	must(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	before = inherited(getpid());
	pid = member(0, have_a_child_that_leaves_an_orphan);
	await_accounting_parent(pid_of(2), pid);
	must(stats_of(pid_of(2)).ac_ppid == (uint32_t)getpid());
	family->go = 1;
	must(waitpid(pid_of(2), NULL, 0) == pid_of(2));
	must_inherit(pid, 0, 1, 2);
	must(inherited(getpid()) == before);
	family->go = 2;
	wait_for(pid);
	must_inherit(getpid(), before, 0, 2);
}

static void make_a_sibling(int number)
{
	pid_t pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

	if (!pid) {
		family->pid[number + 1] = getpid();
		orphan(number + 1);
	}
	family->pid[number + 1] = pid;
	await_go(2);
	burn_and_exit(number);
}

static void a_sibling_by_clone(void)
{
	uint64_t before;
	pid_t pid;

	if (!begin())
		return;
	before = inherited(getpid());
	pid = member(0, make_a_sibling);
	must(stats_of(pid_of(1)).ac_acct_ppid == (uint32_t)getpid());
	family->go = 1;
	must(waitpid(pid_of(1), NULL, 0) == pid_of(1));
	must_inherit(getpid(), before, 1, 1);
	must(!inherited(pid));
	family->go = 2;
	wait_for(pid);
	must_inherit(getpid(), before, 0, 1);
}

/* Also for a sibling of an orphan: init is the parent of both, and an ancestor that lives gets the time. */
static void an_orphan_makes_a_sibling(int number)
{
	while (getppid() != 1)
		usleep(1000);
	make_a_sibling(number);
}

static void leave_one_that_makes_a_sibling(int number)
{
	member(number + 1, an_orphan_makes_a_sibling);
	burn_and_exit(number);
}

static void a_sibling_of_an_orphan(void)
{
	uint64_t before;

	if (!begin())
		return;
	before = inherited(getpid());
	wait_for(member(0, leave_one_that_makes_a_sibling));
	await_accounting_parent(pid_of(2), getpid());
	must(stats_of(pid_of(2)).ac_ppid == 1);
	family->go = 1;
	while (!family->said[2])
		usleep(1000);
	family->go = 2;
	must_inherit(getpid(), before, 0, 2);
}

/* Each lives until the one below it is an orphan, so all their heirs die, from the last to the first. */
static void chain(int number)
{
	if (number + 1 < MEMBERS) {
		member(number + 1, chain);
		await_go(MEMBERS - number);
		burn_and_exit(number);
	}
	await_go(MEMBERS + 1);
}

static void heirs_that_die_one_after_the_other(void)
{
	uint64_t before;
	pid_t leaf;

	if (!begin())
		return;
	must(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	before = inherited(getpid());
	member(0, chain);
	leaf = pid_of(MEMBERS - 1);
	for (int number = MEMBERS - 2; number > 0; number--) {
		family->go = MEMBERS - number;
		while (!family->said[number])
			usleep(1000);
	}
	family->go = MEMBERS;
	/* All but the leaf: a zombie is waited for when its parent is gone. */
	for (int i = 0; i < MEMBERS - 1; i++)
		must(wait(NULL) > 0);
	await_accounting_parent(leaf, getpid());
	family->go = MEMBERS + 1;
	must(wait(NULL) == leaf);
	must_inherit(getpid(), before, 0, MEMBERS - 1);
}

/* What a debugger does with a child changes whose child it is to wait for, and not who inherits. */
static pid_t seize(int number)
{
	pid_t tracee = pid_of(number);

	must(!ptrace(PTRACE_SEIZE, tracee, NULL, NULL));
	family->go = 1;
	return tracee;
}

static void trace_to_the_end(int number)
{
	pid_t tracee = seize(number - 1);

	must(waitpid(tracee, NULL, __WALL) == tracee);
	burn_and_exit(number);
}

/* It lets go of its child, which lives. */
static void trace_and_die(int number)
{
	seize(number - 1);
	burn_and_exit(number);
}

static void a_child_that_is_traced(void)
{
	uint64_t before;
	pid_t pid;

	if (!begin())
		return;
	before = inherited(getpid());
	pid = member(0, orphan);
	member(1, trace_to_the_end);
	must(waitpid(pid, NULL, 0) == pid);
	must(wait(NULL) > 0);
	must_inherit(getpid(), before, 0, 1);
	must(stats_of(getpid()).ac_acct_ppid == 1);
}

static void after_the_tracer(int number)
{
	await_go(2);
	burn_and_exit(number);
}

static void a_tracer_that_dies(void)
{
	uint64_t before;
	pid_t pid;

	if (!begin())
		return;
	before = inherited(getpid());
	pid = member(2, after_the_tracer);
	wait_for(member(3, trace_and_die));
	must_inherit(getpid(), before, 3, 3);
	must(stats_of(pid).ac_acct_ppid == (uint32_t)getpid());
	family->go = 2;
	wait_for(pid);
	must_inherit(getpid(), before, 2, 3);
}

/* The parent of a traced child dies: the tracer is not its heir. */
static void leave_a_traced_child(int number)
{
	member(number + 1, after_the_tracer);
	await_go(1);
	burn_and_exit(number);
}

static void a_traced_child_whose_parent_dies(void)
{
	uint64_t before;
	pid_t pid, tracee;

	if (!begin())
		return;
	before = inherited(getpid());
	pid = member(4, leave_a_traced_child);
	tracee = pid_of(5);
	must(!ptrace(PTRACE_SEIZE, tracee, NULL, NULL));
	family->go = 1;
	wait_for(pid);
	await_accounting_parent(tracee, getpid());
	family->go = 2;
	must(waitpid(tracee, NULL, __WALL) == tracee);
	must_inherit(getpid(), before, 4, 5);
}

/* It asks to be traced, and nobody waits for it. */
static void be_traced(int number)
{
	must(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	burn_and_exit(number);
}

static void have_a_traced_child(int number)
{
	signal(SIGCHLD, SIG_IGN);
	member(number + 1, be_traced);
	while (!family->said[number + 1])
		usleep(1000);
	usleep(20000);
	burn_and_exit(number);
}

static void a_child_that_asks_to_be_traced(void)
{
	uint64_t before;

	if (!begin())
		return;
	before = inherited(getpid());
	wait_for(member(6, have_a_traced_child));
	must_inherit(getpid(), before, 6, 7);
}

static void sleep_long(int number)
{
	(void)number;
	for (;;)
		pause();
}

static void leave_a_sleeper(int number)
{
	member(number + 1, sleep_long);
	await_go(1);
	burn_and_exit(number);
}

/* A child that sleeps gets another accounting parent: a reader with a cookie is told that some did. */
static void a_cookie_tells_of_new_parents(void)
{
	uint64_t cookie, next;
	pid_t pid;
	int fd;

	if (!begin())
		return;
	fd = open_taskstats();
	pid = member(8, leave_a_sleeper);
	pid_of(9);
	usleep(20000);
	cookie = take(fd, 0, 0).header.cookie;
	usleep(20000);
	if (take(fd, 0, cookie).header.reparented >= cookie)
		fail("parents have changed while nobody died");
	next = take(fd, 0, 0).header.cookie;
	must(next > cookie);
	family->go = 1;
	wait_for(pid);
	await_accounting_parent(pid_of(9), getpid());
	if (take(fd, 0, cookie).header.reparented < cookie)
		fail("the accounting parent of %d has changed, and the header does not say so", pid_of(9));
	kill(pid_of(9), SIGKILL);
}

const struct test lineage_tests[] = {
	{ "lineage: a child that is waited for, to the nanosecond", a_child_that_is_waited_for },
	{ "lineage: SIGCHLD ignored, and SA_NOCLDWAIT", children_without_sigchld },
	{ "lineage: vfork", a_vforked_child },
	{ "lineage: a double fork", a_double_fork },
	{ "lineage: a zombie inherits until it is waited for", a_zombie_inherits },
	{ "lineage: a subreaper is no accounting parent", a_subreaper_gets_no_time },
	{ "lineage: CLONE_PARENT", a_sibling_by_clone },
	{ "lineage: CLONE_PARENT by an orphan", a_sibling_of_an_orphan },
	{ "lineage: heirs that die one after the other", heirs_that_die_one_after_the_other },
	{ "lineage: a child that is traced", a_child_that_is_traced },
	{ "lineage: a tracer that dies", a_tracer_that_dies },
	{ "lineage: a traced child whose parent dies", a_traced_child_whose_parent_dies },
	{ "lineage: PTRACE_TRACEME, and SIGCHLD ignored", a_child_that_asks_to_be_traced },
	{ "lineage: a cookie tells of new parents", a_cookie_tells_of_new_parents },
	{ 0 },
};
