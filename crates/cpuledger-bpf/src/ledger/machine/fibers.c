/* SPDX-License-Identifier: GPL-2.0-only */
/* Contexts that take turns on one thread, and the memory that they share with the reader. */
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { FIBERS = 17, STACK_BYTES = 1024 * 1024 };

static ucontext_t scheduler, fibers[FIBERS];
static jmp_buf scheduler_jump, jumps[FIBERS]; /* swapcontext is a system call: it is used once for each */
static int has_begun[FIBERS];
static char stacks[FIBERS][STACK_BYTES] __attribute__((aligned(64)));
static void (*entries[FIBERS])(int);
static int running;

static void begin(int number)
{
	entries[number](number);
	abort(); /* none ends */
}

void fiber_make(int number, void (*entry)(int))
{
	getcontext(&fibers[number]);
	fibers[number].uc_stack.ss_sp = stacks[number];
	fibers[number].uc_stack.ss_size = STACK_BYTES;
	fibers[number].uc_link = NULL;
	entries[number] = entry;
	has_begun[number] = 0;
	makecontext(&fibers[number], (void (*)(void))begin, 1, number);
}

void fiber_run(int number)
{
	running = number;
	if (_setjmp(scheduler_jump))
		return;
	if (has_begun[number])
		_longjmp(jumps[number], 1);
	has_begun[number] = 1;
	swapcontext(&scheduler, &fibers[number]);
}

void fiber_stop(void)
{
	if (!_setjmp(jumps[running]))
		_longjmp(scheduler_jump, 1);
}

/* Maps the file, at this address unless it is NULL. */
void *map_file(void *address, int file, unsigned long bytes)
{
	void *mapped = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (address ? MAP_FIXED : 0), file, 0);

	if (mapped == MAP_FAILED)
		abort();
	return mapped;
}
