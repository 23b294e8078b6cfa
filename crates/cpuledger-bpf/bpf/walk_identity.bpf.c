// SPDX-License-Identifier: GPL-2.0-only
/* The same without memory. */
#define CPULEDGER_WITHOUT_MEMORY
#include "walk_memory.bpf.c"
