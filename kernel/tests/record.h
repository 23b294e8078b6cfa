/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of taskstats, as the last kernel of the series declares them: the build puts its header before those of the system.
 * A kernel with fewer patches gives shorter records, whose last fields are 0 here.
 */
#ifndef GUEST_RECORD_H
#define GUEST_RECORD_H

#include <linux/taskstats.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The record of a task. Returns its length, 0 if there is no such task. */
size_t read_taskstats(pid_t tid, struct taskstats *stats);

/*
 * Whether this kernel has what a patch of the series brings, as the host says by `guest_series=NUMBER` on the kernel's command line.
 * If not, prints that, and the test is over.
 */
bool has_patch(unsigned int number);

#endif
