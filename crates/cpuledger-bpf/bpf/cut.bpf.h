/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the running interval ends.
 */
#ifndef CPULEDGER_CUT_BPF_H
#define CPULEDGER_CUT_BPF_H

#include "slots.bpf.h"

/* The end of an interval that has none yet. */
#define NO_CUT (~0ULL >> CPULEDGER_CUT_SHIFT)
#define VOID_CUT (~0ULL)

/*
 * When the running interval ends. A cut counts once it is confirmed: the reader confirms it if it was published early enough for
 * every CPU. A hook that comes after an unconfirmed cut voids it, and the reader chooses another.
 */
static __always_inline u64 read_cut(u64 interval, u64 now)
{
	u64 *place = &control.cut[interval & (CPULEDGER_CUTS - 1)];
	u64 word = *(volatile u64 *)place, seen;

	if (word && !(word & CPULEDGER_CUT_CONFIRMED) && now >= word >> CPULEDGER_CUT_SHIFT) {
		seen = __sync_val_compare_and_swap(place, word, VOID_CUT);
		word = seen == word ? VOID_CUT : seen;
	}
	return word & CPULEDGER_CUT_CONFIRMED ? word >> CPULEDGER_CUT_SHIFT : NO_CUT;
}

/* The cut of the interval before it. */
static __always_inline u64 interval_start(u64 interval)
{
	return *(volatile u64 *)&control.cut[(interval - 1) & (CPULEDGER_CUTS - 1)] >> CPULEDGER_CUT_SHIFT;
}

#endif
