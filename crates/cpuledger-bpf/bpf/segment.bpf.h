/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A part of the time of a CPU, when it ends, and where the cut divides it.
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

/* By how much the clocks of the scheduler and of the hooks may drift apart: 61 parts of a million. Clocks that are kept right stay within. */
#define DRIFT_SHIFT 14
/* If it seems longer since the scheduler has read its clock, one of the clocks has jumped. */
#define LAG_LIMIT_NS 1000000ULL
#define NO_AGE (~0ULL)

/* Whether the clock of the scheduler can be read. */
static __always_inline bool has_queue_clock(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq) && bpf_core_field_exists(((struct cfs_rq *)0)->rq);
}

/* The queue that a task is on. */
static __always_inline struct rq *queue_of(struct task_struct *task)
{
	return as_walked(task)->se.cfs_rq->rq;
}

/*
 * How long ago the scheduler has read the clock of a CPU, which is now that much behind; more than LAG_LIMIT_NS: it is not known. The clocks have
 * different origins, whose difference is the least that was seen, at `seen_at_ns`.
 */
static __always_inline u64 clock_age(u64 least_ns, u64 seen_at_ns, u64 lag_ns, u64 now_ns)
{
	/* What is less is a large number here. */
	return least_ns ? lag_ns - (least_ns + ((now_ns - seen_at_ns) >> DRIFT_SHIFT)) : NO_AGE;
}

/*
 * When this switch to `next` is for the scheduler, which charges tasks by its own clock. It has read that at the beginning of the switch or,
 * where the CPU was idle, already at the wake-up: some microseconds before `now_ns`. This is the same on both sides of a run segment, so its
 * length is the scheduler's.
 */
static __always_inline u64 switch_instant(struct cpuledger_cpu *cpu, struct task_struct *next, u64 now_ns)
{
	u64 lag_ns, age_ns;

	if (!has_queue_clock(next))
		return now_ns;
	lag_ns = now_ns - queue_of(next)->clock;
	age_ns = clock_age(cpu->lag_ns, cpu->lag_at_ns, lag_ns, now_ns);
	if (age_ns > LAG_LIMIT_NS) {
		cpu->lag_ns = lag_ns;
		cpu->lag_at_ns = now_ns;
		return now_ns;
	}
	return now_ns - age_ns;
}

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
