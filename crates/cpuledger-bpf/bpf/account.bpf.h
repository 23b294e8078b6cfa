/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What hooks of accounts need of the ledger: the interval that their CPU is in, and the slot of the running task. They list no slots, and change
 * nothing of the ledger.
 */
#ifndef CPULEDGER_ACCOUNT_BPF_H
#define CPULEDGER_ACCOUNT_BPF_H

#include "slots.bpf.h"

/* The interval of a CPU by its `run`. */
static __always_inline u64 interval_of(u64 run)
{
	u64 interval = *(volatile u64 *)&control.interval;
	u64 cut = *(volatile u64 *)&control.cut[interval & (CPULEDGER_CUTS - 1)];
	bool is_closed = cut & CPULEDGER_CUT_CONFIRMED && run >> CPULEDGER_RUN_SHIFT >= cut >> CPULEDGER_CUT_SHIFT;

	return interval + is_closed;
}

/* The slot of the running task, or that of its leader if it has none; IDLE: neither has one. */
static __always_inline u32 slot_of_current(struct cpuledger_cpu *cpu, u64 run)
{
	u32 current = cpu->current[run & CPULEDGER_RUN_PARITY], number = current & ~CPULEDGER_CURRENT_OF_LEADER;
	struct cpuledger_slot *slot = slot_at(number);
	u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (run & CPULEDGER_RUN_OUT || number < CPULEDGER_SLOT_FIRST || !slot)
		return CPULEDGER_SLOT_IDLE;
	if (current & CPULEDGER_CURRENT_OF_LEADER)
		/* The leader may have died since this thread was switched in. */
		return (u32)slot->tid == pid && (u32)slot->pid == pid && !slot->exit_interval ? number : CPULEDGER_SLOT_IDLE;
	/* The kernel may have hidden a switch. */
	return slot->task == bpf_get_current_task() ? number : CPULEDGER_SLOT_IDLE;
}

/*
 * Counts a hook that begins or ends. What it books lies between both, also for a reader on arm64: only an addition whose result is used is in order with
 * the accesses around it.
 */
static __always_inline void count_in_order(u64 *count)
{
	u64 before = __sync_fetch_and_add(count, 1);

	barrier_var(before);
}

#endif
