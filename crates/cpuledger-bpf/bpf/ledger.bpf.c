// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ledger: each switch books the time since the previous switch to the task that ran, in the interval it belongs to.
 *
 * On each CPU the run segments [start, end) between two switches leave no gap. So the booked times add up to the elapsed time,
 * to the nanosecond. A cut ends an interval at the same instant T on all CPUs. The reader publishes T ahead of time. After T
 * each CPU is closed once, with a compare-and-swap of `run`. Either its next switch closes it, and splits its segment at T; or the
 * reader does, which moves the start of the segment to T and books what lies before.
 */
#include "blame.bpf.h"
#include "counters.bpf.h"
#include "list.bpf.h"
#include "off.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

static __always_inline void book_slot(struct cpuledger_cpu *cpu, struct cpuledger_slot *slot, u32 number,
				      const struct segment *segment)
{
	if (!starts_after_cut(segment)) {
		slot->wall_ns[segment->interval & 1] += before_cut(segment);
		touch(slot, number, segment->interval);
	}
	if (ends_after_cut(segment)) {
		slot->wall_ns[(segment->interval + 1) & 1] += after_cut(segment);
		touch(slot, number, segment->interval + 1);
		if (!starts_after_cut(segment))
			cpu->at_cut[segment->interval & 1] = number;
	}
}

/* After the cut the accumulators of the closed interval are the reader's: even adding 0 could restore what it has emptied. */
static __always_inline void book_cpu(u64 *by_parity, const struct segment *segment)
{
	if (!starts_after_cut(segment))
		by_parity[segment->interval & 1] += before_cut(segment);
	if (ends_after_cut(segment))
		by_parity[(segment->interval + 1) & 1] += after_cut(segment);
}

/*
 * Makes the slot of a task; NONE if there is none. From its fork on a task waits for a CPU. The accumulators keep what the last owner left:
 * the reader has yet to read it.
 */
static __noinline u32 make_slot(struct task_struct *task)
{
	u32 number = take_slot();
	struct cpuledger_slot *slot = slot_at(number);
	struct task_struct *walked = as_walked(task), *parent = parent_process(task);

	if (number < CPULEDGER_SLOT_FIRST || !slot)
		return CPULEDGER_SLOT_NONE;
	slot->task = (u64)task;
	slot->exit_interval = 0;
	slot->tid = task->pid;
	slot->pid = task->tgid;
	slot->flags = 0;
	slot->exit_code = 0;
	slot->start_time_ns = task->start_boottime;
	if (wants_blame)
		open_blame(number);
	/* The leader of a released thread may be freed, and its memory in use by another task. */
	slot->process_start_time_ns = walked->group_leader->tgid == walked->tgid ? walked->group_leader->start_boottime :
										    walked->start_boottime;
	slot->parent_start_time_ns = parent ? parent->start_boottime : 0;
	slot->first_runtime_ns = task->se.sum_exec_runtime;
	slot->parent_pid = parent ? parent->tgid : 0;
	slot->grandparent_pid = 0;
	read_users(walked, slot);
	if (slot->first_runtime_ns) {
		/* It has run before: what the reader counts from. */
		read_cpu_time(task, &slot->last.cpu_time);
		read_activity(task, &slot->last.activity);
	}
	__builtin_memcpy(slot->comm, task->comm, sizeof(slot->comm));
	/* Last: from here on the reader takes what is in the slot for this task. */
	if (tells_off(task))
		open_off(number, task->start_time, slot->first_runtime_ns ? CPULEDGER_OFF_UNSEEN : CPULEDGER_OFF_WAITS, run_delay(task));
	if (index_insert(task->pid, number))
		return number;
	give_slot_or_lose_it(number);
	return CPULEDGER_SLOT_NONE;
}

/*
 * Moves the time of a dead task to another slot, as the time of a thread or of a child, and gives its own slot back. Only the time
 * of one interval moves, so that nothing is added to a slot in an interval that does not list it.
 */
__noinline int move_slot(u32 number, u32 into, u64 interval, int is_thread)
{
	struct cpuledger_slot_rest *rest = rest_at(number), *target = rest_at(into);
	struct cpuledger_slot *slot = slot_at(number);
	struct cpuledger_cpu *cpu = this_cpu();

	if (!slot || !rest || !target || !cpu)
		return 0;
	/* Listed first: what is added must not wait for the next interval of that parity. */
	list_slot(into, interval);
	if (is_thread) {
		move_time(slot->wall_ns, target->folded_threads_ns, interval);
		move_time(rest->folded_threads_ns, target->folded_threads_ns, interval);
		__sync_fetch_and_add(&cpu->folded_threads, 1);
	} else {
		move_time(slot->wall_ns, target->folded_children_ns, interval);
		move_time(rest->folded_threads_ns, target->folded_children_ns, interval);
		/* The slot of a thread that stands for its process was counted as one of a thread. */
		if (!(slot->flags & CPULEDGER_SLOT_COLLECTS) || slot->flags & CPULEDGER_SLOT_EXITED)
			__sync_fetch_and_add(&cpu->folded_processes, 1);
	}
	move_time(rest->folded_children_ns, target->folded_children_ns, interval);
	clear_off(number, interval);
	if (wants_blame)
		move_blame(number, into, interval);
	slot->tid = 0;
	slot->exit_interval = 0;
	if (!give_slot(number))
		slot->exit_interval = interval;
	return 0;
}

/*
 * A task has died, and its process lives on although its leader has no slot: the leader has died, has not run yet, or an exec has
 * replaced it. Until the cut this slot stands for the process, so that all its dead tasks together hold one slot. A leader's
 * slot keeps its name.
 */
__noinline int collect(u32 number, u64 interval)
{
	struct cpuledger_slot_rest *rest = rest_at(number);
	struct cpuledger_slot *slot = slot_at(number);
	struct cpuledger_cpu *cpu = this_cpu();

	if (!slot || !rest || !cpu)
		return 0;
	if (slot->tid == slot->pid) {
		slot->flags |= CPULEDGER_SLOT_COLLECTS;
	} else {
		move_time(slot->wall_ns, rest->folded_threads_ns, interval);
		clear_off(number, interval);
		__sync_fetch_and_add(&cpu->folded_threads, 1);
		slot->flags = (slot->flags & CPULEDGER_SLOT_PARENT_KNOWN) | CPULEDGER_SLOT_COLLECTS;
		slot->tid = slot->pid;
		slot->start_time_ns = slot->process_start_time_ns;
	}
	/* This comes last: any CPU that finds the slot in the index may give it back. */
	index_insert(slot->pid, number);
	return 0;
}

/*
 * When slots run low, the time of a dead task moves to the slot of its process. If the process is dead too, it moves to the slot of
 * its heir, or else of the process that inherits its orphans, which is an ancestor too. The identity is lost, the time is not. If
 * none of them has a slot, the dead task keeps its own until the reader frees it.
 */
__noinline int fold_slot(u32 number, u64 interval, u32 reaper)
{
	struct cpuledger_slot *slot = slot_at(number);
	u32 into = 0, heir;

	if (!slot)
		return 0;
	/* The end of a leader has to be reported once: the thread that takes its place by an exec continues its figures. */
	if (slot->tid != slot->pid)
		into = find_leader(slot->pid, slot->process_start_time_ns);
	/* Even if the process is dead, its leader has not had its last switch: the time goes with the leader's. */
	if (into)
		return move_slot(number, into, interval, true);
	into = find_process(slot->pid, slot->process_start_time_ns, interval);
	if (!(slot->flags & CPULEDGER_SLOT_PROCESS_DEAD))
		return into ? move_slot(number, into, interval, true) : collect(number, interval);
	heir = find_heir(number, interval);
	if (!heir)
		heir = reaper;
	if (!heir)
		return 0;
	/* Several tasks may see themselves as the last one: exactly one of them takes the slot out of the index. */
	if (into && index_remove(slot->pid, into))
		move_slot(into, heir, interval, false);
	return move_slot(number, heir, interval, false);
}

static __noinline u32 make_slot_of_leader(struct task_struct *leader);

/* The slot of the process that the kernel calls the parent of a dead one; 0: it has none. */
static __always_inline u32 find_reaper(struct task_struct *dead)
{
	struct task_struct *leader = parent_process(dead);
	u32 number;

	if (!leader)
		return 0;
	/* It is its own leader; read as its group_leader, the address is a number. */
	number = find_slot_of(BPF_CORE_READ(leader, pid), (u64)BPF_CORE_READ(leader, group_leader));
	/* It has not run since the ledger was attached: a thread of it makes the children. One that has exited would never give its slot back. */
	if (!number && !leader->exit_state)
		number = make_slot_of_leader(leader);
	return number < CPULEDGER_SLOT_FIRST ? 0 : number;
}

/* The last switch of a task, or of its old tid: keeps its final values for the reader. */
static __noinline int retire(struct task_struct *prev, u32 number, const struct segment *segment)
{
	struct cpuledger_slot *slot = slot_at(number);
	struct task_struct *walked = as_walked(prev), *parent = parent_process(prev);
	u32 flags;

	if (!slot)
		return 0;
	flags = slot->flags | (task_state(prev) == TASK_DEAD ? CPULEDGER_SLOT_EXITED : CPULEDGER_SLOT_RENUMBERED);
	if (walked->signal->live.counter <= 0)
		flags |= CPULEDGER_SLOT_PROCESS_DEAD;
	slot->flags = flags;
	slot->exit_code = prev->exit_code;
	read_users(walked, slot);
	keep_last_cgroups(number);
	slot->ppid_or_next_free = parent ? parent->tgid : 0;
	/* A parent that lives is the heir even if it has no slot, and not the one above it. */
	if (has_parent(slot, parent))
		slot->grandparent_pid = 0;
	slot->end_ns_or_batch = segment->end_ns;
	/* The switch may count from before a fork that has just been. */
	slot->lifetime_ns = segment->end_ns > prev->start_time ? segment->end_ns - prev->start_time : 0;
	read_cpu_time(prev, &slot->last.cpu_time);
	read_activity(prev, &slot->last.activity);
	__builtin_memcpy(slot->comm, prev->comm, sizeof(slot->comm));
	slot->task = 0;
	index_remove(slot->tid, number);
	/* A thread that has exec'd and has not left the CPU since dies as the leader it has become. */
	if (flags & CPULEDGER_SLOT_EXITED && prev->pid == prev->tgid) {
		slot->tid = prev->pid;
		slot->start_time_ns = prev->start_boottime;
	}
	slot->exit_interval = segment->interval + ends_after_cut(segment);
	/* After the cut the reader may be reading the list of this interval, so the slot must not change. */
	if (*(volatile u32 *)&control.is_low && !ends_after_cut(segment))
		fold_slot(number, segment->interval, find_reaper(prev));
	return 0;
}

/*
 * Other CPUs may do the same for another thread of the process: of two slots, the one that the index finds first stays. It is one of
 * this very task: after an exec by a thread, the former leader has the same pid and start until its last switch.
 */
static __noinline u32 make_slot_of_leader(struct task_struct *leader)
{
	u32 number = make_slot(leader), first;
	struct cpuledger_slot *slot = slot_at(number);

	if (number < CPULEDGER_SLOT_FIRST || !slot)
		return number;
	first = find_slot_of(slot->tid, slot->task);
	if (!first || first == number)
		return number;
	index_remove(slot->tid, number);
	give_slot_or_lose_it(number);
	return first;
}

/*
 * The slot of a task that has none under its tid. If another thread execs while a dying leader is off the CPU, the leader comes back
 * with the tid of that thread. Its slot is then still listed under the tid of the leader.
 */
static __always_inline u32 find_former_or_make(struct cpuledger_cpu *cpu, struct task_struct *task)
{
	u32 number = 0;

	if (task->pid != task->tgid) {
		cpu->task = (u64)task; /* read back, it is a number */
		number = find_slot_of(task->tgid, *(volatile u64 *)&cpu->task);
		if (number)
			return number;
		/* The last free slots are for leaders: a leader's slot can hold the time of all threads of its process. */
		if (*(volatile s64 *)&control.free_count <= control.slots_of_leaders) {
			note_no_slot();
			return CPULEDGER_SLOT_NONE;
		}
		return make_slot(task);
	}
	return make_slot_of_leader(task);
}

/*
 * What `current` holds for a thread that found no slot: the slot of its leader, so that at least its process has the time. If
 * the leader has no slot either, the time is unattributed.
 */
static __noinline u32 slot_of_leader(struct cpuledger_cpu *cpu, struct task_struct *task, u32 parity)
{
	u32 number;

	if (task->pid == task->tgid || !as_walked(task)->sighand)
		return CPULEDGER_SLOT_NONE;
	number = find_leader(task->tgid, as_walked(task)->group_leader->start_boottime);
	/* A leader that has exited may have had its last switch: nothing would give its slot back. */
	if (!number && !as_walked(task)->group_leader->exit_state)
		number = make_slot_of_leader(task->group_leader);
	if (number < CPULEDGER_SLOT_FIRST)
		return CPULEDGER_SLOT_NONE;
	cpu->current_pid[parity & 1] = task->tgid;
	return number | CPULEDGER_CURRENT_OF_LEADER;
}

/* Books the time of a living thread without a slot to its leader's. Several CPUs may do so at once. */
static __noinline int book_to_process(struct cpuledger_cpu *cpu, struct task_struct *prev, u32 number,
				      const struct segment *segment)
{
	struct cpuledger_slot_rest *rest = rest_at(number);
	struct cpuledger_slot *slot = slot_at(number);

	/* The leader may have died since this thread was switched in. */
	if (!slot || !rest || slot->tid != prev->tgid || slot->pid != prev->tgid || slot->exit_interval) {
		book_cpu(cpu->no_slot_ns, segment);
		return 0;
	}
	if (!starts_after_cut(segment)) {
		list_slot(number, segment->interval);
		__sync_fetch_and_add(&rest->folded_threads_ns[segment->interval & 1], before_cut(segment));
	}
	if (ends_after_cut(segment)) {
		list_slot(number, segment->interval + 1);
		__sync_fetch_and_add(&rest->folded_threads_ns[(segment->interval + 1) & 1], after_cut(segment));
	}
	return 0;
}

/*
 * A task that came by a hidden switch had the CPU after its birth at the earliest: until then it was that of the last task that was seen
 * to come.
 */
static __noinline int book_before_birth(struct cpuledger_cpu *cpu, u32 seen, struct segment *segment, u64 born_ns)
{
	struct cpuledger_slot *slot = slot_at(seen);
	struct segment before = *segment;

	if (!slot)
		return 0;
	before.end_ns = born_ns < segment->end_ns ? born_ns : segment->end_ns;
	segment->start_ns = before.end_ns;
	if (seen == CPULEDGER_SLOT_IDLE)
		book_cpu(cpu->idle_ns, &before);
	else
		book_slot(cpu, slot, seen, &before);
	return 0;
}

/*
 * The slot of the task that leaves the CPU. It is the task that the last switch brought in, unless the kernel has not run this
 * hook for a switch in between. Then the time of both tasks goes to the one that leaves now, from its birth on.
 */
static __always_inline u32 slot_of_prev(struct cpuledger_cpu *cpu, struct task_struct *prev, u32 seen, struct segment *segment)
{
	struct cpuledger_slot *slot = slot_at(seen);
	u32 number;

	if (seen & CPULEDGER_CURRENT_OF_LEADER)
		return seen;
	if (seen == CPULEDGER_SLOT_NONE || !slot)
		return CPULEDGER_SLOT_NONE;
	if (seen == CPULEDGER_SLOT_IDLE ? !prev->pid : slot->task == (u64)prev)
		return seen;
	__sync_fetch_and_add(&cpu->missed, 1);
	if (prev->pid && prev->start_time > segment->start_ns)
		book_before_birth(cpu, seen, segment, prev->start_time);
	if (wants_off && seen != CPULEDGER_SLOT_IDLE) {
		/* What it did before it came is booked, and this segment is not. */
		list_slot(seen, segment->interval + starts_after_cut(segment));
		lose_sight(seen, segment->start_ns);
	}
	if (!prev->pid)
		return CPULEDGER_SLOT_IDLE;
	number = find_slot(prev);
	if (!number)
		number = find_former_or_make(cpu, prev);
	/* It gets all of this segment: its time off the CPU ends where that begins. What it has waited is over. */
	if (tells_off(prev) && number >= CPULEDGER_SLOT_FIRST)
		end_off(number, segment->start_ns, run_delay(prev), segment->interval, segment->cut_ns);
	return number;
}

/* An exec has made this thread the leader of its process: from here on the slot that it gets as such tells what it does. */
static __noinline int go_on_as_leader(struct cpuledger_cpu *cpu, struct task_struct *task, u32 state, u64 now_ns)
{
	u32 number = find_former_or_make(cpu, task);

	if (tells_off(task) && number >= CPULEDGER_SLOT_FIRST)
		open_off(number, now_ns, state, run_delay(task));
	return 0;
}

/* The running task came without a slot, and has died. If it is a leader, a thread may have made one since, and taken its tid by an exec. */
__noinline int die_without_slot(u64 end_ns, u64 interval, u64 cut_ns)
{
	struct segment segment = { .start_ns = end_ns - 1, .end_ns = end_ns, .interval = interval, .cut_ns = cut_ns };
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpuledger_cpu *cpu = this_cpu();
	u32 number = find_slot(task);

	if (!number && task->pid != task->tgid)
		number = find_slot_of(task->tgid, bpf_get_current_task());
	if (number) {
		list_slot(number, interval + ends_after_cut(&segment));
		end_off(number, end_ns, run_delay(task), interval, cut_ns);
		retire(task, number, &segment);
	} else if (cpu) {
		__sync_fetch_and_add(&cpu->unnamed_deaths, 1);
	}
	return 0;
}

/* `state` is what the task does from now on. */
static __always_inline void book(struct cpuledger_cpu *cpu, struct task_struct *prev, u32 seen, struct segment *segment, u32 state)
{
	u32 number = slot_of_prev(cpu, prev, seen, segment);
	struct cpuledger_slot *slot;

	if (number == CPULEDGER_SLOT_IDLE) {
		book_cpu(cpu->idle_ns, segment);
		return;
	}
	if ((number == CPULEDGER_SLOT_NONE || number & CPULEDGER_CURRENT_OF_LEADER) && task_state(prev) == TASK_DEAD)
		die_without_slot(segment->end_ns, segment->interval, segment->cut_ns);
	if (number & CPULEDGER_CURRENT_OF_LEADER) {
		book_to_process(cpu, prev, number & ~CPULEDGER_CURRENT_OF_LEADER, segment);
		return;
	}
	slot = number == CPULEDGER_SLOT_NONE ? NULL : slot_at(number);
	if (!slot) {
		book_cpu(cpu->no_slot_ns, segment);
		return;
	}
	book_slot(cpu, slot, number, segment);
	if (task_state(prev) == TASK_DEAD) {
		retire(prev, number, segment);
	} else if (prev->pid != slot->tid) {
		/* After an exec a thread has the tid of its leader: its old tid ends here. */
		retire(prev, number, segment);
		go_on_as_leader(cpu, prev, state, segment->end_ns);
	} else {
		go_off(prev, number, state, segment);
	}
}

/* Books the segment of a CPU that was not in the books: no hook has seen what ran, or the CPU was offline. */
static __noinline int book_out(struct cpuledger_cpu *cpu, u64 run, const struct segment *segment)
{
	book_cpu(run & CPULEDGER_RUN_OFFLINE ? cpu->offline_ns : cpu->uncovered_ns, segment);
	return 0;
}

/* The slot of the task that is switched in, as `current` holds it. */
static __always_inline u32 slot_of_next(struct cpuledger_cpu *cpu, struct task_struct *next, u32 parity)
{
	u32 number = CPULEDGER_SLOT_IDLE;

	if (next->pid) {
		number = find_slot(next);
		if (!number)
			number = find_former_or_make(cpu, next);
	}
	if (number == CPULEDGER_SLOT_NONE)
		number = slot_of_leader(cpu, next, parity);
	return number;
}

/*
 * Ends the segment: sets `run` to `end_ns`, which is not in the future, with these bits. Returns the new word, and the old one in `seen`;
 * 0: all attempts failed.
 */
static __always_inline u64 exchange_run(struct cpuledger_cpu *cpu, u64 end_ns, u64 bits, u64 *seen, struct segment *segment)
{
	for (u32 i = 0; i < CPULEDGER_RUN_ATTEMPTS; i++) {
		u64 run = *(volatile u64 *)&cpu->run, fresh;

		segment->start_ns = run >> CPULEDGER_RUN_SHIFT;
		segment->end_ns = end_ns;
		/* The reader may have closed the CPU since, or the clock lag behind another CPU's. No word comes twice. */
		if (segment->end_ns <= segment->start_ns)
			segment->end_ns = segment->start_ns + 1;
		fresh = segment->end_ns << CPULEDGER_RUN_SHIFT | bits;
		if (__sync_val_compare_and_swap(&cpu->run, run, fresh) == run) {
			*seen = run;
			segment->interval = *(volatile u64 *)&control.interval;
			segment->cut_ns = read_cut(segment->interval, segment->end_ns);
			return fresh;
		}
	}
	__sync_fetch_and_add(&cpu->contended, 1);
	return 0;
}

/* `blames` is known when this is compiled. */
static __always_inline int on_switch(bool preempt, struct task_struct *prev, struct task_struct *next, u32 prev_state, bool blames)
{
	u32 key = bpf_get_smp_processor_id(), parity, state, leaver, how = CPULEDGER_PLACE_NOWHERE, place = 0;
	struct cpuledger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);
	u64 run, fresh, now_ns, instant_ns, end_ns;
	struct segment segment;

	if (!cpu)
		return 0;
	now_ns = bpf_ktime_get_ns();
	instant_ns = switch_instant(cpu, next, now_ns);
	/* Only the hooks of this CPU change the parity. */
	parity = *(volatile u64 *)&cpu->run & CPULEDGER_RUN_PARITY;
	cpu->current[parity ^ 1] = slot_of_next(cpu, next, parity ^ 1);
	end_ns = not_before_off(next, cpu->current[(parity ^ 1) & 1], instant_ns, now_ns);
	if (blames)
		end_ns = blame_instant(cpu, key, next, cpu->current[(parity ^ 1) & 1], end_ns, now_ns);
	fresh = exchange_run(cpu, end_ns, parity ^ 1, &run, &segment);
	if (!fresh)
		return 0;
	cpu->switches++;
	state = off_state_of(prev, preempt, prev_state);
	if (blames) {
		leaver = slot_of_leaver(cpu->current[parity & 1], prev);
		how = may_change_slot(prev, leaver) ? CPULEDGER_PLACE_LATER : place_of(prev, state);
		place = key << CPULEDGER_PLACE_SHIFT;
		if (wants_pairs) {
			if (how != CPULEDGER_PLACE_NOWHERE)
				place |= class_of(prev) << CPULEDGER_PLACE_CLASS_SHIFT;
			keep_next_row(key, next, cpu->current[(parity ^ 1) & 1]);
		}
		switch_blame(place | how, slots_of_switch(leaver, cpu->current[(parity ^ 1) & 1]), segment.end_ns,
			     segment.interval, segment.cut_ns);
	}
	if (run & CPULEDGER_RUN_OUT)
		book_out(cpu, run, &segment);
	else
		book(cpu, prev, cpu->current[parity & 1], &segment, state);
	if (blames && how == CPULEDGER_PLACE_LATER)
		end_switch(place | place_of(prev, state), slot_of_leaver(cpu->current[parity & 1], prev));
	/* Read back: for the verifier it is any number, so that it looks at this once. */
	come_on(next, *(volatile u32 *)&cpu->current[(parity ^ 1) & 1], &segment, instant_ns);
	/* An exchange, so that it comes after all that was booked. */
	__sync_lock_test_and_set(&cpu->booked, fresh);
	return 0;
}

/* Two copies, of which the verifier keeps one: without blame a switch is as if there were none. */
static __always_inline int choose_switch(bool preempt, struct task_struct *prev, struct task_struct *next, u32 prev_state)
{
	return wants_blame ? on_switch(preempt, prev, next, prev_state, true) : on_switch(preempt, prev, next, prev_state, false);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(cpul_on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	return choose_switch(preempt, prev, next, prev_state);
}

/* Before 5.18, fa2c3254d7cf, the scheduler did not tell by which state it has decided. */
SEC("tp_btf/sched_switch")
int BPF_PROG(cpul_on_switch3, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return choose_switch(preempt, prev, next, task_state(prev));
}

/*
 * Brings a CPU into the books without a switch. A timer interrupt runs it in the context of the task that has the CPU. It cannot
 * interrupt a switch, nor a switch it. The timer repeats until the CPU is in the books.
 */
SEC("perf_event")
int on_entry(void *context)
{
	u32 key = bpf_get_smp_processor_id(), parity, number;
	struct cpuledger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);
	struct task_struct *task;
	u64 run, fresh;
	struct segment segment;

	if (!cpu)
		return 0;
	run = *(volatile u64 *)&cpu->run;
	if (!(run & CPULEDGER_RUN_OUT))
		return 0;
	parity = run & CPULEDGER_RUN_PARITY;
	task = bpf_get_current_task_btf();
	number = slot_of_next(cpu, task, parity ^ 1);
	cpu->current[parity ^ 1] = number;
	fresh = exchange_run(cpu, bpf_ktime_get_ns(), parity ^ 1, &run, &segment);
	if (!fresh)
		return 0;
	book_out(cpu, run, &segment);
	come_on(task, number, &segment, segment.end_ns);
	if (wants_blame)
		blame_entry(key, number);
	if (wants_pairs)
		enter_class(key, task);
	__sync_lock_test_and_set(&cpu->booked, fresh);
	return 0;
}

/* Notes which process inherits from this child if its parent is gone. `parents` is the slot of its parent, whose own parent `lives`. */
__noinline int know_grandparent(u32 number, u32 parents, int lives)
{
	struct cpuledger_slot *slot = slot_at(number), *parent = slot_at(parents);

	if (!slot || !parent || !parent->tid)
		return 0;
	if (lives || !parent->grandparent_pid) {
		slot->grandparent_pid = parent->parent_pid;
		slot->grandparent_start_time_ns = parent->parent_start_time_ns;
	} else {
		/* The parent's parent is gone already: the living ancestor that the parent knows is passed on. */
		slot->grandparent_pid = parent->grandparent_pid;
		slot->grandparent_start_time_ns = parent->grandparent_start_time_ns;
	}
	return 0;
}

/* The one moment at which the accounting parent is certain. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct cpuledger_slot *slot, *of_parent;
	u32 number, parents;

	/* The thread gets a slot when it first runs, if one is free then. */
	if (child->pid != child->tgid && *(volatile s64 *)&control.free_count <= control.slots_of_leaders)
		return 0;
	number = make_slot(child);
	if (number < CPULEDGER_SLOT_FIRST)
		return 0;
	slot = slot_at(number);
	if (!slot)
		return 0;
	if (tells_off(child))
		list_birth(number);
	/* The parent is the running task, whose address a helper gives as a number. */
	parents = find_slot_of(parent->pid, bpf_get_current_task());
	of_parent = slot_at(parents);
	if (child->real_parent == parent) {
		slot->flags = CPULEDGER_SLOT_PARENT_KNOWN;
		know_grandparent(number, parents, of_parent && has_parent(of_parent, parent_process(parent)));
		return 0;
	}
	/* A thread, or a child by CLONE_PARENT: its parent is that of the forking task, which the kernel may have replaced since. */
	if (!of_parent || !of_parent->tid)
		return 0;
	slot->flags = of_parent->flags & CPULEDGER_SLOT_PARENT_KNOWN;
	slot->parent_pid = of_parent->parent_pid;
	slot->parent_start_time_ns = of_parent->parent_start_time_ns;
	slot->grandparent_pid = of_parent->grandparent_pid;
	slot->grandparent_start_time_ns = of_parent->grandparent_start_time_ns;
	return 0;
}

/* exec, prctl(2), /proc/PID/comm. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	u32 number = find_slot(task);
	struct cpuledger_slot *slot = slot_at(number);

	if (number >= CPULEDGER_SLOT_FIRST && slot)
		bpf_probe_read_kernel_str(slot->comm, sizeof(slot->comm), comm);
	return 0;
}

/*
 * Runs after each step of a CPU on its way online or offline. The step that takes a CPU down ends on another CPU, when the first is
 * dead: from then on it is offline. Its last switch was to its stopper thread, and no hook sees what ran after that. A CPU that
 * comes up enters the books at its first switch, the first event that any hook sees of it.
 */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(on_hotplug, unsigned int dead_cpu, int state, int step, int result)
{
	struct cpuledger_cpu *cpu;
	u64 run, fresh;
	struct segment segment;
	u32 key = dead_cpu, number;

	if (result || step != (int)bpf_core_enum_value(enum cpuhp_state, CPUHP_TEARDOWN_CPU))
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &key);
	if (!cpu || *(volatile u64 *)&cpu->run & CPULEDGER_RUN_OFFLINE)
		return 0;
	fresh = exchange_run(cpu, bpf_ktime_get_ns(), (cpu->run & CPULEDGER_RUN_PARITY) | CPULEDGER_RUN_OFFLINE, &run, &segment);
	if (!fresh)
		return 0;
	/* Its last task goes on elsewhere, or waits until the CPU comes back. */
	number = cpu->current[run & CPULEDGER_RUN_PARITY];
	if (wants_off && !(run & CPULEDGER_RUN_OUT) && number >= CPULEDGER_SLOT_FIRST) {
		list_slot_apart(number, segment.interval + starts_after_cut(&segment));
		lose_sight(number, segment.start_ns);
	}
	book_out(cpu, run & ~CPULEDGER_RUN_OFFLINE, &segment);
	__sync_lock_test_and_set(&cpu->booked, fresh);
	return 0;
}
