/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tasks do while they are on no CPU.
 *
 * When a task leaves the CPU, `off` of its slot gets the time and the state. When it comes back, what lies in the running interval is
 * booked to that state; what lies in earlier ones was their reader's to tell. Before it came back the task may have waited for a CPU: how
 * long, the kernel knows without a hook at the wake-up. That part is at the end. The reader tells what a task does at the cut: it is the
 * rest of the time that the task was alive. So a hook books nothing in an interval after its cut. Instead it leaves in `at_cut`
 * what it overwrites.
 */
#ifndef CPULEDGER_OFF_BPF_H
#define CPULEDGER_OFF_BPF_H

#include "cut.bpf.h"
#include "segment.bpf.h"

/* Whether the kernel tells how long a task waits for a CPU, and user space wants to know. The latter sets it before it loads this. */
const volatile u32 wants_off SEC(".rodata.off") = 1;

static __always_inline bool tells_off(struct task_struct *task)
{
	return wants_off && bpf_core_field_exists(task->sched_info.last_queued) && bpf_core_field_exists(task->se.cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->rq);
}

static __always_inline u64 run_delay(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

static __always_inline u64 off_word(u64 since_ns, u32 state)
{
	return since_ns << CPULEDGER_OFF_SHIFT | (state + 1);
}

/* 1 if any bit is set. The verifier follows both sides of a branch by themselves, so there is none. */
static __always_inline u32 is_any(u64 bits)
{
	barrier_var(bits);
	return -bits >> 63;
}

/* What a task does that leaves the CPU: facts that tell it. */
enum off_fact {
	OFF_IS_RUNNABLE = 1 << 0,
	OFF_IS_STOPPED = 1 << 1,
	OFF_IS_BLOCKED = 1 << 2,
	OFF_IS_FOR_IO = 1 << 3,
	OFF_IS_FROZEN = 1 << 4,
	OFF_FACTS = 1 << 5,
};

#define OFF_STATE(facts)                                                  \
	((facts) & OFF_IS_RUNNABLE ? CPULEDGER_OFF_WAITS :                \
	 (facts) & OFF_IS_STOPPED  ? CPULEDGER_OFF_STOPPED :              \
	 (facts) & OFF_IS_BLOCKED  ? ((facts) & OFF_IS_FOR_IO ? CPULEDGER_OFF_IO : CPULEDGER_OFF_BLOCKED) : \
	 (facts) & OFF_IS_FROZEN   ? CPULEDGER_OFF_STOPPED : CPULEDGER_OFF_SLEEPS)
#define OFF_4_STATES(facts) OFF_STATE(facts), OFF_STATE((facts) + 1), OFF_STATE((facts) + 2), OFF_STATE((facts) + 3)
#define OFF_16_STATES(facts) OFF_4_STATES(facts), OFF_4_STATES((facts) + 4), OFF_4_STATES((facts) + 8), OFF_4_STATES((facts) + 12)

static const u8 off_states[OFF_FACTS] SEC(".rodata.states") = { OFF_16_STATES(0), OFF_16_STATES(16) };

/*
 * What a task does that leaves the CPU; `state` is what the scheduler has decided by. The task may have been woken since, which the
 * CPU that it leaves lets happen. If a signal keeps it runnable, its own state says so (before 6.14 `state` does not).
 */
static __always_inline u32 off_state_of(struct task_struct *task, bool preempt, u32 state)
{
	u32 is_awake = (1 ^ is_any(state)) | (1 ^ is_any(task_state(task))) | preempt;
	u32 is_load = 1 ^ is_any(state & TASK_NOLOAD);
	u32 facts = is_awake | is_any(state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN)) << 1;

	facts |= (is_any(state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT)) & is_load) << 2;
	facts |= BPF_CORE_READ_BITFIELD(task, in_iowait) << 3;
	if (bpf_core_field_exists(task->frozen))
		facts |= BPF_CORE_READ_BITFIELD(task, frozen) << 4;
	return off_states[facts & (OFF_FACTS - 1)];
}

/*
 * How long a task has waited for a CPU in its life, now that it comes back to one. The kernel adds up the last time only after this hook.
 */
static __always_inline u64 waited(struct task_struct *task)
{
	u64 queued = task->sched_info.last_queued;

	return queued ? run_delay(task) + as_walked(task)->se.cfs_rq->rq->clock - queued : run_delay(task);
}

/* A task is on no CPU before it comes onto one: the instant, or the one at which it left another CPU if that is later. */
static __always_inline u64 not_before_off(struct task_struct *task, u32 number, u64 instant_ns, u64 now_ns)
{
	struct cpuledger_slot_off *off;
	u64 since_ns;

	if (!tells_off(task) || number < CPULEDGER_SLOT_FIRST)
		return instant_ns;
	off = off_at(number);
	since_ns = off ? off->off >> CPULEDGER_OFF_SHIFT : 0;
	if (since_ns > now_ns)
		since_ns = now_ns;
	return since_ns > instant_ns ? since_ns : instant_ns;
}

static __always_inline void book_off(struct cpuledger_slot_off *off, u32 state, u64 parity, u64 ns)
{
	if (ns && state < CPULEDGER_OFF_STATES)
		off->ns[state][parity & 1] += ns;
}

/* Leaves for the reader what a task did at the cut: it came back after that, for the first time: it had left before. */
static __always_inline void note_at_cut(struct cpuledger_slot_off *off, u64 interval, u64 word)
{
	off->at_cut = word;
	/* An exchange, so that the reader finds what is before it, and this before what is written next. */
	__sync_lock_test_and_set(&off->cut_interval, interval);
}

/*
 * The task of this slot comes onto the CPU at `now_ns`, in the interval that ends at `cut_ns` or after that. It has waited for a CPU for
 * `waited_ns` in its life.
 */
static __always_inline void end_off_of(struct cpuledger_slot_off *off, u64 now_ns, u64 waited_ns, u64 interval, u64 cut_ns)
{
	u64 since_ns, from_ns, wait_ns;
	u32 state;

	if (!off || !off->off)
		return;
	since_ns = off->off >> CPULEDGER_OFF_SHIFT;
	state = (off->off & CPULEDGER_OFF_MASK) - 1;
	waited_ns -= off->run_delay_ns;
	if (state == CPULEDGER_OFF_WAITS || waited_ns > now_ns - since_ns)
		wait_ns = since_ns;
	else
		wait_ns = now_ns - waited_ns;
	from_ns = interval_start(interval);
	if (now_ns >= cut_ns) {
		if (since_ns < cut_ns)
			note_at_cut(off, interval, off_word(wait_ns, state));
		interval++;
		from_ns = cut_ns;
	}
	if (from_ns < since_ns)
		from_ns = since_ns;
	if (wait_ns < from_ns)
		wait_ns = from_ns;
	book_off(off, state, interval, wait_ns - from_ns);
	book_off(off, CPULEDGER_OFF_WAITS, interval, now_ns - wait_ns);
	off->off = 0;
}

/*
 * Global functions, which the verifier checks once and not for each path of a switch.
 */

/* Likewise, where it is rare. */
__noinline int end_off(u32 number, u64 now_ns, u64 waited_ns, u64 interval, u64 cut_ns)
{
	end_off_of(off_at(number), now_ns, waited_ns, interval, cut_ns);
	return 0;
}

/* From `first_ns` on a slot tells what its task does: this, since then. */
__noinline int open_off(u32 number, u64 first_ns, u32 state, u64 waited_ns)
{
	struct cpuledger_slot_rest *rest = rest_at(number);
	struct cpuledger_slot_off *off = off_at(number);

	if (!rest || !off)
		return 0;
	off->off = off_word(first_ns, state);
	off->run_delay_ns = waited_ns;
	off->cut_interval = 0;
	/* An exchange, so that it comes last: the reader may look at a slot that its last owner has listed. */
	__sync_lock_test_and_set(&rest->first_ns, first_ns);
	return 0;
}

/* The kernel has not shown when the task of this slot left the CPU: it is known until this run segment began. */
__noinline int lose_sight(u32 number, u64 start_ns)
{
	struct cpuledger_slot_off *off = off_at(number);

	if (off && !off->off)
		off->off = off_word(start_ns, CPULEDGER_OFF_UNSEEN);
	return 0;
}

/* Forgets what was booked for a task whose identity is lost. */
__noinline int clear_off(u32 number, u64 interval)
{
	struct cpuledger_slot_rest *rest = rest_at(number);
	struct cpuledger_slot_off *off = off_at(number);

	if (rest)
		rest->first_ns = 0;

	for (u32 state = 0; off && state < CPULEDGER_OFF_STATES; state++)
		off->ns[state][interval & 1] = 0;
	return 0;
}

/* The task that the switch has brought in. Its wait ends with the segment, which may be later than the switch, at `instant_ns`. */
static __always_inline void come_on(struct task_struct *task, u32 number, const struct segment *segment, u64 instant_ns)
{
	if (tells_off(task) && number >= CPULEDGER_SLOT_FIRST)
		end_off_of(off_at(number), segment->end_ns, waited(task) + segment->end_ns - instant_ns, segment->interval,
			   segment->cut_ns);
}

/* The task that has left the CPU, and lives on. If no hook has seen how it came, the reader finds a rest of which nothing is known. */
static __always_inline void go_off(struct task_struct *task, u32 number, u32 state, const struct segment *segment)
{
	struct cpuledger_slot_off *off;

	if (!tells_off(task))
		return;
	off = off_at(number);
	if (!off)
		return;
	off->run_delay_ns = run_delay(task);
	off->off = off_word(segment->end_ns, state);
}

#endif
