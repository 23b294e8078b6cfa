// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walk without what most listings leave out: there is less to relocate and to verify, and the kernel fetches fewer lines of
 * memory for each task.
 */
#define CPULEDGER_WITHOUT_REST
#include "walk.bpf.c"
