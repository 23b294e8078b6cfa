/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of cgroups, which hooks take, and the reader takes back. */
#ifndef CPULEDGER_NUMBERS_BPF_H
#define CPULEDGER_NUMBERS_BPF_H

#include "compat.bpf.h"

/* Claims a number by its state, if it is free. The exchange alone would take the line from all other CPUs, at each event, where nothing is free. */
static __always_inline bool claim(u64 *state)
{
	return *(volatile u64 *)state == CPULEDGER_CLASS_FREE &&
	       __sync_val_compare_and_swap(state, CPULEDGER_CLASS_FREE, CPULEDGER_CLASS_CLAIMED) == CPULEDGER_CLASS_FREE;
}

#endif
