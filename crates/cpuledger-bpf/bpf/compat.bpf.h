/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every kernel member that is spelled differently across kernels, and every kernel function that may be missing.
 * Callers see one name. Each flavour names the version and commit that changed it.
 */
#ifndef CPULEDGER_COMPAT_BPF_H
#define CPULEDGER_COMPAT_BPF_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* 5.14, 2f064a59a11f: task_struct.state became __state, an unsigned int. */
struct task_struct___state_5_14 {
	unsigned int __state;
};
struct task_struct___state_old {
	long state;
};

/* 5.16, bcf9033e5449: task_struct.cpu moved to thread_info.cpu on all with THREAD_INFO_IN_TASK. */
struct thread_info___cpu_5_16 {
	u32 cpu;
};
struct task_struct___cpu_5_16 {
	struct thread_info___cpu_5_16 thread_info;
};
struct task_struct___cpu_old {
	unsigned int cpu;
};

/* 5.5, cf25e24db61c: real_start_time became start_boottime. */
struct task_struct___boottime {
	u64 start_boottime;
};

/* 5.16, e6d9a2b8f9c3 series: tty_struct.pgrp moved into ctrl. */
struct tty_struct___ctrl {
	struct {
		struct pid *pgrp;
	} ctrl;
};
struct tty_struct___pgrp {
	struct pid *pgrp;
};

/* 6.2, f1a7941243c1: mm_struct.rss_stat became percpu counters. */
struct percpu_counter {
	s64 count;
	s32 *counters;
};
struct mm_struct___percpu {
	struct percpu_counter rss_stat[CPULEDGER_MM_COUNTERS];
};
struct mm_rss_stat___old {
	s64 count[CPULEDGER_MM_COUNTERS];
};
struct mm_struct___atomic {
	struct mm_rss_stat___old rss_stat;
};

/* 5.17, e32cf5dfbe22: struct kthread is found through worker_private, before through set_child_tid. */
struct task_struct___worker_private {
	void *worker_private;
};
struct task_struct___set_child_tid {
	void *set_child_tid;
};
/* 5.17, d6986ce24fc0: names longer than comm are kept in full. */
struct kthread___full_name {
	char *full_name;
};

#pragma clang attribute pop

/* 6.7, c68a78ffe2cb: the open-coded task iterator. */
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));
enum cpuledger_task_iterator { CPULEDGER_ALL_PROCESSES = 0, CPULEDGER_ALL_THREADS = 1, CPULEDGER_PROCESS_THREADS = 2 };
extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __ksym __weak;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
/* 6.2, 9bb00b2895cb */
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;
/* 6.2, 3f0e6f2b41d3 */
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;

/* x86, arm64 keep it elsewhere: arch/x86/kernel/setup_percpu.c. The offset of this CPU's per-CPU area. */
extern const unsigned long this_cpu_off __ksym __weak;

static __always_inline u32 task_state(struct task_struct *task)
{
	struct task_struct___state_5_14 *current_flavour = (void *)task;

	if (bpf_core_field_exists(current_flavour->__state))
		return current_flavour->__state;
	return ((struct task_struct___state_old *)task)->state;
}

static __always_inline u32 task_processor(struct task_struct *task)
{
	struct task_struct___cpu_5_16 *current_flavour = (void *)task;

	if (bpf_core_field_exists(current_flavour->thread_info.cpu))
		return current_flavour->thread_info.cpu;
	return ((struct task_struct___cpu_old *)task)->cpu;
}

static __always_inline u64 task_start_boottime_ns(struct task_struct *task)
{
	return ((struct task_struct___boottime *)task)->start_boottime;
}

static __always_inline struct pid *tty_foreground_group(struct tty_struct *tty)
{
	struct tty_struct___ctrl *current_flavour = (void *)tty;

	if (bpf_core_field_exists(current_flavour->ctrl))
		return current_flavour->ctrl.pgrp;
	return ((struct tty_struct___pgrp *)tty)->pgrp;
}

static __always_inline struct kthread *task_kthread(struct task_struct *task)
{
	struct task_struct___worker_private *current_flavour = (void *)task;

	if (bpf_core_field_exists(current_flavour->worker_private))
		return current_flavour->worker_private;
	return ((struct task_struct___set_child_tid *)task)->set_child_tid;
}

#endif
