/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs in the guest share. A test is a function that returns if all holds, and calls fail() otherwise.
 */
#ifndef GUEST_H
#define GUEST_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct test {
	const char *name;
	void (*run)(void);
};

/* Lists that end with an empty entry, one of each file. */
extern const struct test index_tests[], time_tests[], snapshot_tests[];
extern const struct test steal_tests[], lineage_tests[], dead_tests[], exec_tests[];
extern const struct test namespace_tests[], balance_tests[], exit_tests[];

/* Prints why a test fails, and ends its process. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
/* Fails with the text of errno if the condition does not hold. */
#define must(condition) ((condition) ? (void)0 : fail("%s:%d: %s: %m", __FILE__, __LINE__, #condition))

/* Writes a text into a file, such as a sysctl. */
void write_file(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads a small file whole. */
void read_file(const char *path, char *text, size_t size);

/* A child process. It is killed with its parent. */
pid_t child(void (*run)(void *), void *argument);
/* Kills a child, and waits for it. */
void end(pid_t pid);
/* Waits for a child that ends by itself, and fails if it fails. */
void wait_for(pid_t pid);
/* Waits until the state of a task, as in its stat file, is the given letter. */
void await_state(pid_t pid, pid_t tid, char state);

/* Adds threads to the calling process that sleep until it ends, and returns the first one's id. They have no stack. */
pid_t add_sleepers(unsigned int count);
/* The same, or as many as there are numbers for. */
void try_sleepers(unsigned int count);
/* A process with that many threads, which stops itself. */
void sleep_with_threads(void *count);
/* A thread that ends at once. */
void *nothing(void *argument);
/* Stays on a CPU, and uses all of it. */
void stay_on(int cpu);
__attribute__((noreturn)) void loop_on(void *cpu);
/* A child that sends back what it gets, and two switches to it and back. There is one at a time. */
pid_t start_echo(void);
void end_echo(pid_t pid);
void switch_twice(void);
/* Uses about that much CPU time. */
void burn_us(uint64_t us);
/* The monotonic clock, and that of a process, in nanoseconds. */
uint64_t now_ns(void);
uint64_t process_ns(pid_t pid);
/* A number of a stat file, by its place in proc(5). */
uint64_t stat_field(const char *path, int place);

/* Programs that tests exec. */
__attribute__((noreturn)) void exec_in_turn(int left, int leader_us);
__attribute__((noreturn)) void exec_at_once(int left);

/* Fails if a process is not the sum of its threads after so many have died while others looked at them. */
void look_at_those_who_die(int mortals);
/* Runs the tables and prints their lines. */
void print_tables(unsigned int most_threads);
void print_snapshot_tables(unsigned int most_threads);
void print_prices(void);
void print_others(void);
/* Prints what the kernel says of its locks, if it says so. */
void print_lock_statistics(void);
/* Puts load on all that the series touches, for as many seconds as `guest_seconds` says, and prints what held. */
void run_stress(void);
/* Runs the kernel's own tests, which the host has put into /selftests. */
void run_selftests(void);
/* Prints the time that one of `rounds` calls takes, the least of five attempts. */
void measure(const char *table, const char *column, unsigned int row, void (*run)(void), unsigned int rounds);

#endif
