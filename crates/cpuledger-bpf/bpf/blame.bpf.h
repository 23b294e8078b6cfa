/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blame: how long each task waited for a CPU, and which task had the CPU meanwhile.
 *
 * A task that waits adds its time to two sums: to its own, `suffered_ns`, and to that of the task that has the CPU, `caused_ns`. For the second no hook
 * looks at a list of waiters. What all that came to a CPU have waited there up to t is W(t) = area + waiters * t, where each that comes adds 1 and
 * -t, and each that leaves -1 and +t. At a switch, the growth of W since the last switch is what the task that leaves has caused. The same
 * instants are in both sums, so they are equal, to the nanosecond.
 *
 * The kernel holds the lock of a run queue at each event of it: a wake-up (on any CPU), a switch, and a migration away from it. It does not hold that of the
 * queue to which a task migrates. Such a task is not among the `waiters` of its new CPU. When it gets that, or leaves it, all of its wait there is
 * that of the task that has the CPU then.
 *
 * The task clock of a run queue stands still while the task that has the CPU is interrupted, and while the hypervisor has the CPU. Between two events the
 * number of waiters is the same, so what interrupts have caused there is that number times by how much that clock fell behind.
 *
 * A cut divides all of this by value. The first event of a CPU after a cut T leaves W(T) for the reader. A task that leaves its place after T, and came before, leaves
 * that. So a hook books nothing in an interval after its cut. The reader only reads, and waits for hooks that may have begun before the cut.
 */
#ifndef CPULEDGER_BLAME_BPF_H
#define CPULEDGER_BLAME_BPF_H

#include "cut.bpf.h"
#include "list.bpf.h"
#include "off.bpf.h"
#include "pairs.bpf.h"
#include "segment.bpf.h"
#include <bpf/bpf_tracing.h>

#ifndef CPULEDGER_WANTS_BLAME
#define CPULEDGER_WANTS_BLAME 0
#endif

/* Whether user space wants this. It says so before it loads the programs. */
const volatile u32 wants_blame SEC(".rodata.blame") = CPULEDGER_WANTS_BLAME;

/* User space sets the number of entries of these before it loads them: one each, where nobody wants this. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_slot_blame);
} slot_blames SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpuledger_cpu_blame);
} cpu_blames SEC(".maps");

/* The slots of the tasks that began to wait in an interval; as `listed`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} waiters SEC(".maps");

static __always_inline struct cpuledger_slot_blame *blame_at(u32 number)
{
	return bpf_map_lookup_elem(&slot_blames, &number);
}

static __always_inline struct cpuledger_cpu_blame *cpu_blame_at(u32 number)
{
	return bpf_map_lookup_elem(&cpu_blames, &number);
}

static __always_inline bool waits(const struct cpuledger_slot_blame *blame)
{
	return blame->wait & CPULEDGER_WAIT_IS;
}

/* Since when it waits, or does not. */
static __always_inline u64 since(const struct cpuledger_slot_blame *blame)
{
	return blame->wait >> CPULEDGER_WAIT_SHIFT;
}

/* An event begins or ends. An exchange, so that it comes before all that follows, and after all before it. */
static __always_inline void turn_sequence(struct cpuledger_cpu_blame *cpu)
{
	__sync_lock_test_and_set(&cpu->sequence, cpu->sequence + 1);
}

/* The class that waits at a place; without pairs that has none. */
static __always_inline u32 class_at(u32 place)
{
	return place >> CPULEDGER_PLACE_CLASS_SHIFT & (CPULEDGER_CLASSES - 1);
}

/* An instant, but not before the last event of the CPU, nor before `since_ns`, nor so long ago that the reader may have looked. */
static __always_inline u64 not_before_event(const struct cpuledger_cpu_blame *cpu, u64 since_ns, u64 instant_ns, u64 now_ns)
{
	if (instant_ns + CPULEDGER_BLAME_LAG_NS < now_ns)
		instant_ns = now_ns - CPULEDGER_BLAME_LAG_NS;
	if (instant_ns < cpu->last_ns)
		instant_ns = cpu->last_ns;
	return instant_ns < since_ns ? since_ns : instant_ns;
}

/* The sum of the instants that a word has, which are near this one. */
static __always_inline u64 sum_of_gone(u64 word, u64 near_ns)
{
	u64 sum = (word & CPULEDGER_GONE_COUNT) * near_ns;

	/* Of the sums with these low bits, the one next to what it would be if all were found now. */
	return sum + ((s64)(((word >> CPULEDGER_GONE_SHIFT) - sum) << CPULEDGER_GONE_SHIFT) >> CPULEDGER_GONE_SHIFT);
}

/* Takes off those that the kernel has not shown to leave this CPU. */
static __always_inline void take_gone(struct cpuledger_cpu_blame *cpu)
{
	u64 word = __sync_lock_test_and_set(&cpu->gone, 0);

	cpu->area += sum_of_gone(word, cpu->last_ns);
	cpu->waiters -= word & CPULEDGER_GONE_COUNT;
}

/* Likewise where each class has a word: both books take it at the same event. */
__noinline int take_gone_classes(u32 key)
{
	struct cpuledger_cpu_blame *cpu = cpu_blame_at(key);
	struct cpuledger_cpu_pairs *pairs = pairs_at(key);
	u64 set;

	if (!cpu || !pairs)
		return 0;
	set = __sync_lock_test_and_set(&pairs->gone, 0);
	for (u32 i = 0; i < CPULEDGER_CLASSES && set; i++) {
		u32 class = first_class(set);
		u64 word = __sync_lock_test_and_set(&pairs->of[class].gone, 0), sum = sum_of_gone(word, cpu->last_ns);

		set &= set - 1;
		cpu->area += sum;
		cpu->waiters -= word & CPULEDGER_GONE_COUNT;
		change_class(key, class, -(s64)(word & CPULEDGER_GONE_COUNT), sum);
	}
	return 0;
}

static __always_inline bool has_gone(const struct cpuledger_cpu_blame *cpu, u32 key)
{
	struct cpuledger_cpu_pairs *pairs;

	if (!wants_pairs)
		return cpu->gone;
	pairs = pairs_at(key);
	return pairs && *(volatile u64 *)&pairs->gone;
}

/* The task of a slot, which waits for another CPU as far as was seen, does not. The lock of that CPU's queue is not held. */
static __always_inline void leave_elsewhere(u32 place, u64 now_ns)
{
	struct cpuledger_cpu_blame *cpu = cpu_blame_at(place >> CPULEDGER_PLACE_SHIFT), *own = cpu_blame_at(bpf_get_smp_processor_id());

	if (cpu && (place & CPULEDGER_PLACE_HOW) == CPULEDGER_PLACE_QUEUED) {
		if (wants_pairs)
			leave_class_elsewhere(place >> CPULEDGER_PLACE_SHIFT, class_at(place), now_ns);
		else
			__sync_fetch_and_add(&cpu->gone, now_ns << CPULEDGER_GONE_SHIFT | 1);
	}
	if (own)
		__sync_fetch_and_add(&own->amended, 1);
}

/* Whether the kernel tells for how long tasks that had a CPU did not execute: enum cpuledger_taken. */
static __always_inline u64 kernel_tells(void)
{
	struct rq *queue = NULL;

	if (!has_queue_clock(NULL))
		return 0;
	return (bpf_core_field_exists(queue->prev_irq_time) ? CPULEDGER_TAKEN_INTERRUPTS : 0) |
	       (bpf_core_field_exists(queue->prev_steal_time_rq) ? CPULEDGER_TAKEN_STOLEN : 0);
}

/* What it tells of the queue that this task is on, at an event of that. The lock of the queue is held. */
static __always_inline void look_at_taken(struct cpuledger_cpu_blame *cpu, struct task_struct *task)
{
	struct rq *queue;

	if (!kernel_tells())
		return;
	queue = queue_of(task);
	cpu->taken_ns = queue->clock - queue->clock_task;
	if (!bpf_core_field_exists(queue->prev_steal_time_rq))
		cpu->interrupted_ns = cpu->taken_ns;
	else if (bpf_core_field_exists(queue->prev_irq_time))
		cpu->interrupted_ns = queue->prev_irq_time;
}

/* Books what those that wait have waited because of interrupts and the hypervisor, in the last `most_ns` before this event. The rest is the task's. */
static __always_inline void book_taken(struct cpuledger_cpu_blame *cpu, u32 key, u64 most_ns)
{
	u64 taken_ns = cpu->taken_ns - cpu->told_taken_ns, interrupted_ns = cpu->interrupted_ns - cpu->told_interrupted_ns;
	u64 parity = cpu->interval & 1;

	if (!taken_ns || !most_ns)
		return;
	cpu->told_taken_ns = cpu->taken_ns;
	cpu->told_interrupted_ns = cpu->interrupted_ns;
	if (!cpu->waiters)
		return;
	if (taken_ns > most_ns)
		taken_ns = most_ns;
	if (interrupted_ns > taken_ns)
		interrupted_ns = taken_ns;
	cpu->told += cpu->waiters * taken_ns;
	if (wants_pairs)
		book_taken_classes(key, taken_ns, interrupted_ns, parity);
	cpu->interrupts_ns[parity] += cpu->waiters * interrupted_ns;
	cpu->stolen_ns[parity] += cpu->waiters * (taken_ns - interrupted_ns);
}

/*
 * An event of a CPU at this instant. The first one after a cut leaves for the reader what the task that had the CPU at the cut has caused up to then, and has
 * not been booked: since the last switch, or since the cut before.
 */
static __always_inline void go_to(struct cpuledger_cpu_blame *cpu, u32 key, u64 instant_ns, u64 interval, u64 cut_ns)
{
	u64 last_ns = cpu->last_ns, start_ns, waited_ns, from;

	interval += instant_ns >= cut_ns;
	cpu->last_ns = instant_ns;
	if (has_gone(cpu, key)) {
		if (wants_pairs)
			take_gone_classes(key);
		else
			take_gone(cpu);
	}
	if (cpu->interval == interval) {
		book_taken(cpu, key, instant_ns - last_ns);
		return;
	}
	start_ns = interval_start(interval);
	waited_ns = cpu->area + cpu->waiters * start_ns;
	from = cpu->interval == interval - 1 ? cpu->told : cpu->area + cpu->waiters * interval_start(interval - 1);
	cpu->cut_caused_ns = waited_ns - from;
	if (wants_pairs)
		cut_classes(key, start_ns, cpu->interval == interval - 1 ? 0 : interval_start(interval - 1));
	cpu->cut_running = cpu->running;
	cpu->cut_waiters = cpu->waiters;
	cpu->told = waited_ns;
	cpu->interval = interval;
	cpu->kernel_tells = kernel_tells();
	/* What does not fit behind the cut stays with the task that had the CPU before it. */
	book_taken(cpu, key, instant_ns - (last_ns < start_ns ? start_ns : last_ns));
}

/* Puts a slot on the list of waiters of an interval, once. The CPU that the hook runs on has places there. */
static __always_inline void list_waiter(struct cpuledger_slot_blame *blame, u32 number, u64 interval)
{
	struct cpuledger_cpu_blame *own;

	if (blame->mark == (u32)interval)
		return;
	own = cpu_blame_at(bpf_get_smp_processor_id());
	if (!own)
		return;
	blame->mark = interval;
	set_place(&waiters, next_place(&own->list_place[interval & 1], &control.waiting[interval & 1], interval), interval, number);
}

/* Likewise, where a wake-up may interrupt it: it takes a run of places for this one. */
static __always_inline void list_waiter_apart(struct cpuledger_slot_blame *blame, u32 number, u64 interval)
{
	u64 *reserved = &control.waiting[interval & 1];

	if (blame->mark == (u32)interval)
		return;
	blame->mark = interval;
	set_place(&waiters, __sync_fetch_and_add(reserved, CPULEDGER_LIST_BATCH), interval, number);
}

/* The task of this slot, which is of this class, begins to wait for a CPU, at the last event of this one. */
static __always_inline void begin_wait(struct cpuledger_cpu_blame *cpu, struct cpuledger_slot_blame *blame, u32 number, u32 key, u32 class, u32 how)
{
	list_waiter(blame, number, cpu->interval);
	blame->place = key << CPULEDGER_PLACE_SHIFT | class << CPULEDGER_PLACE_CLASS_SHIFT | how;
	if (how == CPULEDGER_PLACE_QUEUED) {
		cpu->waiters++;
		cpu->area -= cpu->last_ns;
		if (wants_pairs)
			change_class(key, class, 1, -cpu->last_ns);
	}
	/* Last: the reader looks at this first. */
	*(volatile u64 *)&blame->wait = cpu->last_ns << CPULEDGER_WAIT_SHIFT | CPULEDGER_WAIT_IS;
}

/* The task of this slot waits no more at its place, at the last event of this CPU, which has the number `key`. */
static __always_inline void end_wait(struct cpuledger_cpu_blame *cpu, struct cpuledger_slot_blame *blame, u32 key)
{
	u64 since_ns = since(blame), end_ns = cpu->last_ns, parity = cpu->interval & 1, from_ns = interval_start(cpu->interval);
	u32 how = blame->place & CPULEDGER_PLACE_HOW, class = class_at(blame->place);

	if (since_ns < from_ns) {
		blame->cut_since_ns = since_ns;
		/* An exchange, so that the reader finds what is before it, and this before what is written next. */
		__sync_lock_test_and_set(&blame->at_cut, (cpu->interval - 1) << CPULEDGER_BLAME_CUT_SHIFT | blame->place);
	} else {
		from_ns = since_ns;
	}
	/* Clocks of CPUs may differ. */
	if (end_ns < from_ns)
		end_ns = from_ns;
	if (end_ns > from_ns)
		__sync_fetch_and_add(&blame->suffered_ns[parity], end_ns - from_ns);
	if (how == CPULEDGER_PLACE_MOVED) {
		cpu->area += end_ns - from_ns;
		if (wants_pairs)
			change_class(key, class, 0, end_ns - from_ns);
	} else if (how == CPULEDGER_PLACE_QUOTA) {
		cpu->quota_ns[parity] += end_ns - from_ns;
		if (wants_pairs)
			book_pair(key, CPULEDGER_ROW_QUOTA, class, end_ns - from_ns, parity);
	} else if (blame->place >> CPULEDGER_PLACE_SHIFT == key) {
		cpu->waiters--;
		cpu->area += end_ns;
		if (wants_pairs)
			change_class(key, class, -1, end_ns);
	} else {
		leave_elsewhere(blame->place, end_ns);
	}
	*(volatile u64 *)&blame->wait = end_ns << CPULEDGER_WAIT_SHIFT;
}

/*
 * Global functions, which the verifier checks once and not for each path of a switch.
 */

/* A slot has a new owner, which waits nowhere. */
__noinline int open_blame(u32 number)
{
	struct cpuledger_slot_blame *blame = blame_at(number);
	u64 now_ns = bpf_ktime_get_ns(), interval, from_ns;

	if (!blame)
		return 0;
	if (waits(blame)) {
		/*
		 * The kernel has not shown how the last one left. What that has waited in this interval is under the name of the new one. What it waited
		 * after it was moved, or because of a quota, has no cause yet, and is in neither sum.
		 */
		interval = *(volatile u64 *)&control.interval;
		interval += now_ns >= read_cut(interval, now_ns);
		from_ns = interval_start(interval);
		if (from_ns < since(blame))
			from_ns = since(blame);
		if (now_ns > from_ns && (blame->place & CPULEDGER_PLACE_HOW) == CPULEDGER_PLACE_QUEUED)
			__sync_fetch_and_add(&blame->suffered_ns[interval & 1], now_ns - from_ns);
		list_waiter_apart(blame, number, interval);
		leave_elsewhere(blame->place, now_ns);
	}
	blame->wait = now_ns << CPULEDGER_WAIT_SHIFT;
	return 0;
}

/* When the switch is at which the task of this slot gets this CPU. */
__noinline u64 not_before_last(u32 key, u32 next, u64 instant_ns, u64 now_ns)
{
	struct cpuledger_slot_blame *blame = blame_at(next);
	struct cpuledger_cpu_blame *cpu = cpu_blame_at(key);

	return cpu ? not_before_event(cpu, next >= CPULEDGER_SLOT_FIRST && blame ? since(blame) : 0, instant_ns, now_ns) : instant_ns;
}

/* The same, for the task that is switched in; and looks at the clocks of the scheduler. */
static __always_inline u64 blame_instant(struct cpuledger_cpu *cpu, u32 key, struct task_struct *next, u32 number, u64 instant_ns, u64 now_ns)
{
	struct cpuledger_cpu_blame *blame = cpu_blame_at(key);

	if (!blame)
		return instant_ns;
	blame->lag_ns = cpu->lag_ns;
	blame->lag_at_ns = cpu->lag_at_ns;
	look_at_taken(blame, next);
	return not_before_last(key, number, instant_ns, now_ns);
}

/* The slots of both tasks of a switch, as one argument. */
static __always_inline u64 slots_of_switch(u32 prev, u32 next)
{
	return (u64)prev << 32 | next;
}

/* The task that had this CPU, whose slot is `prev`, has caused what was waited since it came, and was not booked. */
static __always_inline void book_caused(struct cpuledger_cpu_blame *cpu, u32 key, u32 prev)
{
	u64 parity = cpu->interval & 1, caused_ns = cpu->area + cpu->waiters * cpu->last_ns - cpu->told;
	struct cpuledger_slot_blame *blame;

	if (wants_pairs)
		book_classes(key, cpu->last_ns, parity);
	if (!caused_ns)
		return;
	cpu->told += caused_ns;
	if (cpu->running == CPULEDGER_SLOT_IDLE) {
		cpu->idle_ns[parity] += caused_ns;
		return;
	}
	blame = cpu->running == CPULEDGER_SLOT_NONE ? NULL : blame_at(cpu->running);
	if (!blame) {
		cpu->no_slot_ns[parity] += caused_ns;
		return;
	}
	__sync_fetch_and_add(&blame->caused_ns[parity], caused_ns);
	/* The kernel has not shown how it left the CPU: nothing else says that it has run. */
	if (cpu->running != prev)
		list_waiter(blame, cpu->running, cpu->interval);
}

/* The task of this slot has left this CPU, and waits for it or, where `how` is NOWHERE, does not. */
static __always_inline void leave_cpu(struct cpuledger_cpu_blame *cpu, struct cpuledger_slot_blame *blame, u32 number, u32 key, u32 class, u32 how)
{
	blame->wait = cpu->last_ns << CPULEDGER_WAIT_SHIFT;
	if (how != CPULEDGER_PLACE_NOWHERE)
		begin_wait(cpu, blame, number, key, class, how);
}

/*
 * A CPU switches between the tasks of two slots. The second may have waited. The first waits at `place` from now on; where that says LATER, the event goes on
 * until `end_switch`.
 */
__noinline int switch_blame(u32 place, u64 both, u64 end_ns, u64 interval, u64 cut_ns)
{
	u32 prev = both >> 32, next = both, key = place >> CPULEDGER_PLACE_SHIFT, how = place & CPULEDGER_PLACE_HOW;
	struct cpuledger_cpu_blame *cpu = cpu_blame_at(key);
	struct cpuledger_slot_blame *blame = blame_at(next), *of_prev = blame_at(prev);

	if (!cpu)
		return 0;
	turn_sequence(cpu);
	go_to(cpu, key, end_ns, interval, cut_ns);
	if (next >= CPULEDGER_SLOT_FIRST && blame && waits(blame))
		end_wait(cpu, blame, key);
	if (prev >= CPULEDGER_SLOT_FIRST && of_prev && waits(of_prev)) {
		/* It has come onto the CPU, and the kernel has not shown it. */
		end_wait(cpu, of_prev, key);
		cpu->amended++;
	}
	book_caused(cpu, key, prev);
	cpu->running = next;
	if (how == CPULEDGER_PLACE_LATER)
		return 0;
	if (prev >= CPULEDGER_SLOT_FIRST && of_prev)
		leave_cpu(cpu, of_prev, prev, key, class_at(place), how);
	turn_sequence(cpu);
	return 0;
}

/* The end of a switch from a task that has this slot only since it is booked; 0: it has none. It waits at `place` from now on. */
__noinline int end_switch(u32 place, u32 prev)
{
	u32 key = place >> CPULEDGER_PLACE_SHIFT;
	struct cpuledger_cpu_blame *cpu = cpu_blame_at(key);
	struct cpuledger_slot_blame *blame = blame_at(prev);

	if (!cpu)
		return 0;
	if (prev >= CPULEDGER_SLOT_FIRST && blame)
		leave_cpu(cpu, blame, prev, key, class_at(place), place & CPULEDGER_PLACE_HOW);
	turn_sequence(cpu);
	return 0;
}

/* A timer has brought this CPU into the books, while the task of this slot had it. No lock is held, so this is all it says. */
__noinline int blame_entry(u32 key, u32 number)
{
	struct cpuledger_cpu_blame *cpu = cpu_blame_at(key);

	if (cpu)
		*(volatile u32 *)&cpu->running = number;
	return 0;
}

/* The slot of the task that leaves its CPU, whatever was seen to come there before. 0: it is idle, or has none. */
static __always_inline u32 slot_of_leaver(u32 seen, struct task_struct *prev)
{
	struct cpuledger_slot *slot = slot_at(seen);

	if (!prev->pid)
		return CPULEDGER_SLOT_IDLE;
	return slot && slot->task == (u64)prev ? seen : find_slot(prev);
}

/* The class of a task that waits from now on; without pairs that is 0. */
static __always_inline u32 class_of_waiter(struct task_struct *task)
{
	return wants_pairs ? class_of(task) : CPULEDGER_CLASS_OTHER;
}

/* Keeps which class the task is of that is switched in, whose slot is `number`: the one as which it has waited. */
static __always_inline void keep_next_row(u32 key, struct task_struct *next, u32 number)
{
	struct cpuledger_cpu_pairs *cpu = pairs_at(key);
	struct cpuledger_slot_blame *blame = number < CPULEDGER_SLOT_FIRST ? NULL : blame_at(number);

	if (cpu)
		cpu->next_row = blame && waits(blame) ? class_at(blame->place) : row_of(next);
}

/* Where a task waits that has left its CPU, by what it does. */
static __always_inline u32 place_of(struct task_struct *prev, u32 state)
{
	if (!prev->pid || state != CPULEDGER_OFF_WAITS || task_state(prev) == TASK_DEAD)
		return CPULEDGER_PLACE_NOWHERE;
	return is_throttled(prev) ? CPULEDGER_PLACE_QUOTA : CPULEDGER_PLACE_QUEUED;
}

/* Whether the task that leaves its CPU with this slot may have another one when the switch is booked: it has none, or an exec ends this one. */
static __always_inline bool may_change_slot(struct task_struct *prev, u32 number)
{
	struct cpuledger_slot *slot = slot_at(number);

	return prev->pid && (number < CPULEDGER_SLOT_FIRST || !slot || slot->tid != prev->pid);
}

/* Moves what a task that is folded has suffered and caused in this interval to another slot. */
__noinline int move_blame(u32 number, u32 into, u64 interval)
{
	struct cpuledger_slot_blame *blame = blame_at(number), *target = blame_at(into);
	u64 parity = interval & 1;

	if (!blame || !target)
		return 0;
	if (blame->suffered_ns[parity])
		__sync_fetch_and_add(&target->suffered_ns[parity], __sync_lock_test_and_set(&blame->suffered_ns[parity], 0));
	if (blame->caused_ns[parity])
		__sync_fetch_and_add(&target->caused_ns[parity], __sync_lock_test_and_set(&blame->caused_ns[parity], 0));
	return 0;
}

/* When a task came into the queue of this CPU, for the scheduler. */
static __always_inline u64 queue_instant(const struct cpuledger_cpu_blame *cpu, struct task_struct *task, u64 now_ns)
{
	u64 age_ns;

	if (!has_queue_clock(task))
		return now_ns;
	age_ns = clock_age(cpu->lag_ns, cpu->lag_at_ns, now_ns - queue_of(task)->clock, now_ns);
	return age_ns > LAG_LIMIT_NS ? now_ns : now_ns - age_ns;
}

/* The slot of a task that may be off the CPU; if another thread has exec'd meanwhile, a dying leader has the tid of that. 0: it has none. */
static __always_inline u32 slot_of_waiter(struct task_struct *task)
{
	struct cpuledger_cpu *cpu;
	u32 number = find_slot(task);

	if (number || task->pid == task->tgid)
		return number;
	cpu = this_cpu();
	if (!cpu)
		return 0;
	cpu->task = (u64)task; /* read back, it is a number */
	return find_slot_of(task->tgid, *(volatile u64 *)&cpu->task);
}

/* A task was woken, and is in the queue of its CPU. One that has a CPU, or waits already, was only told to go on. */
static __always_inline int on_queued(struct task_struct *task)
{
	struct cpuledger_cpu_blame *cpu, *own;
	struct cpuledger_slot_blame *blame;
	u64 now_ns, interval, instant_ns;
	u32 number, key;

	if (has_cpu(task))
		return 0;
	number = slot_of_waiter(task);
	blame = blame_at(number);
	if (number < CPULEDGER_SLOT_FIRST || !blame) {
		own = cpu_blame_at(bpf_get_smp_processor_id());
		if (own)
			__sync_fetch_and_add(&own->unseen, 1);
		return 0;
	}
	if (waits(blame))
		return 0;
	key = task_processor(task);
	cpu = cpu_blame_at(key);
	if (!cpu)
		return 0;
	turn_sequence(cpu);
	now_ns = bpf_ktime_get_ns();
	instant_ns = not_before_event(cpu, since(blame), queue_instant(cpu, task, now_ns), now_ns);
	interval = *(volatile u64 *)&control.interval;
	look_at_taken(cpu, task);
	go_to(cpu, key, instant_ns, interval, read_cut(interval, instant_ns));
	begin_wait(cpu, blame, number, key, class_of_waiter(task), is_throttled(task) ? CPULEDGER_PLACE_QUOTA : CPULEDGER_PLACE_QUEUED);
	turn_sequence(cpu);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return on_queued(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return on_queued(task);
}

/* Only for one that waits, the kernel holds the lock of the queue that it leaves. Others are about to be woken. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int to)
{
	u32 number, key = task_processor(task);
	struct cpuledger_slot_blame *blame;
	struct cpuledger_cpu_blame *cpu;
	u64 now_ns, interval, instant_ns;
	bool is_for_quota;

	if (!task->on_rq || to < 0 || to == key)
		return 0;
	number = slot_of_waiter(task);
	blame = blame_at(number);
	cpu = cpu_blame_at(key);
	if (number < CPULEDGER_SLOT_FIRST || !blame || !cpu || !waits(blame))
		return 0;
	turn_sequence(cpu);
	now_ns = bpf_ktime_get_ns();
	instant_ns = not_before_event(cpu, since(blame), now_ns, now_ns);
	interval = *(volatile u64 *)&control.interval;
	look_at_taken(cpu, task);
	go_to(cpu, key, instant_ns, interval, read_cut(interval, instant_ns));
	is_for_quota = (blame->place & CPULEDGER_PLACE_HOW) == CPULEDGER_PLACE_QUOTA && is_throttled(task);
	end_wait(cpu, blame, key);
	begin_wait(cpu, blame, number, to, class_at(blame->place), is_for_quota ? CPULEDGER_PLACE_QUOTA : CPULEDGER_PLACE_MOVED);
	turn_sequence(cpu);
	return 0;
}

#endif
