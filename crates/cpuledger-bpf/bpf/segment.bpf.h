/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A part of the time of a CPU, and where the cut divides it.
 */
#ifndef CPULEDGER_SEGMENT_BPF_H
#define CPULEDGER_SEGMENT_BPF_H

#include "compat.bpf.h"

/* A run segment: the time between two switches of a CPU. What lies before `cut_ns` is of `interval`, the rest of the next one. */
struct segment {
	u64 start_ns;
	u64 end_ns;
	u64 interval;
	u64 cut_ns;
};

static __always_inline bool starts_after_cut(const struct segment *segment)
{
	return segment->start_ns >= segment->cut_ns;
}

static __always_inline bool ends_after_cut(const struct segment *segment)
{
	return segment->end_ns > segment->cut_ns || starts_after_cut(segment);
}

static __always_inline u64 before_cut(const struct segment *segment)
{
	if (starts_after_cut(segment))
		return 0;
	return (segment->end_ns < segment->cut_ns ? segment->end_ns : segment->cut_ns) - segment->start_ns;
}

static __always_inline u64 after_cut(const struct segment *segment)
{
	if (!ends_after_cut(segment))
		return 0;
	return segment->end_ns - (starts_after_cut(segment) ? segment->start_ns : segment->cut_ns);
}

#endif
