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

/*
 * Members that exist under two names are both in kernel.h and asked for with bpf_core_field_exists; a flavour of its own
 * is needed only where one name has two types.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* 6.2, f1a7941243c1: mm_struct.rss_stat became percpu counters. */
struct percpu_counter {
	s64 count;
	s32 *counters;
};
struct mm_struct___percpu {
	struct percpu_counter rss_stat[CPULEDGER_MM_COUNTERS];
};
struct atomic_long___old {
	s64 counter;
};
struct mm_rss_stat___old {
	struct atomic_long___old count[CPULEDGER_MM_COUNTERS];
};
struct mm_struct___atomic {
	struct mm_rss_stat___old rss_stat;
};
/* 6.18: mm_struct.flags became a bitmap. */
typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;
struct mm_struct___bitmap {
	mm_flags_t flags;
};
/* 6.18: page.flags became a struct. */
typedef struct {
	unsigned long f;
} memdesc_flags_t;
struct page___struct {
	memdesc_flags_t flags;
};
/* Before 6.3, f122a08b197d: capabilities were two words. */
struct kernel_cap_struct___words {
	u32 cap[2];
};
struct cred___words {
	struct kernel_cap_struct___words cap_permitted;
};

#pragma clang attribute pop

/* 6.7, c68a78ffe2cb: the open-coded task iterator. */
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));
enum cpuledger_task_iterator { CPULEDGER_ALL_PROCESSES = 0, CPULEDGER_ALL_THREADS = 1, CPULEDGER_PROCESS_THREADS = 2 };
/*
 * Functions of the kernel are called by numbers that user space replaces. As `__ksym` they would make libbpf read all types of the kernel,
 * and search them by name for each function: half of the time of a load. Where the kernel lacks one, it refuses programs that reach its call.
 */
#define KERNEL_FUNCTION(result, name, number, ...) static result (*const name)(__VA_ARGS__) = (void *)number

KERNEL_FUNCTION(int, bpf_iter_task_new, CPULEDGER_CALLS_ITER_TASK_NEW, struct bpf_iter_task *it, struct task_struct *task,
		unsigned int flags);
KERNEL_FUNCTION(struct task_struct *, bpf_iter_task_next, CPULEDGER_CALLS_ITER_TASK_NEXT, struct bpf_iter_task *it);
KERNEL_FUNCTION(void, bpf_iter_task_destroy, CPULEDGER_CALLS_ITER_TASK_DESTROY, struct bpf_iter_task *it);
/* 6.2, 9bb00b2895cb */
KERNEL_FUNCTION(void, bpf_rcu_read_lock, CPULEDGER_CALLS_RCU_READ_LOCK, void);
KERNEL_FUNCTION(void, bpf_rcu_read_unlock, CPULEDGER_CALLS_RCU_READ_UNLOCK, void);
/* 6.2, a35b9af4ec2c. libbpf has a declaration of its full name, as `__ksym`. */
KERNEL_FUNCTION(void *, rdonly_cast, CPULEDGER_CALLS_RDONLY_CAST, const void *object, u32 btf_id);
/* 6.2, 3f0e6f2b41d3 and its release. */
KERNEL_FUNCTION(struct task_struct *, bpf_task_from_pid, CPULEDGER_CALLS_TASK_FROM_PID, s32 pid);
KERNEL_FUNCTION(void, bpf_task_release, CPULEDGER_CALLS_TASK_RELEASE, struct task_struct *task);

/*
 * User space sets these before loading: libbpf searches only a part of the kernel's types, so it does not know their numbers.
 */
const volatile struct cpuledger_kernel_types kernel_types SEC(".rodata.types") = {};

/* The object of this kernel type at an address that is a number, or a pointer that the verifier takes for something else. */
#define CAST(address, type) ((struct type *)rdonly_cast((void *)(address), kernel_types.type))

/* The start of a per-CPU array map, as kernel/bpf/arraymap.c keeps it. */
struct bpf_array {
	void *pptrs[1];
} __attribute__((preserve_access_index));

/*
 * The same task, for reading pointers. For each pointer that is read through a trusted one (6.2), the verifier searches all kernel
 * types by name. Reading them with a helper instead costs more at run time.
 */
static __always_inline struct task_struct *as_walked(struct task_struct *task)
{
	return kernel_types.has_rdonly_cast ? CAST(task, task_struct) : task;
}

/*
 * The process of a task's parent; NULL: it is no longer known.
 *
 * Until a task is released (release_task() in kernel/exit.c clears `sighand`), its parent cannot be freed before the hook returns. If
 * the parent dies, the task gets another one first, and a hook is a read-side section of RCU. Threads, and children of a
 * parent that ignores SIGCHLD, are released before their last switch. Then the parent may die and be freed while the task
 * waits for its last turn, and its memory may belong to another task. That task is younger than this one.
 */
static __always_inline struct task_struct *parent_process(struct task_struct *task)
{
	struct task_struct *walked = as_walked(task), *parent = walked->real_parent, *leader = parent->group_leader;

	if (walked->sighand)
		return leader;
	/* The task itself is compared: as a thread it may have an older leader. */
	return leader->tgid == parent->tgid && parent->start_boottime <= walked->start_boottime ? leader : NULL;
}

/* 5.14, 2f064a59a11f: task_struct.state became __state. */
static __always_inline u32 task_state(struct task_struct *task)
{
	return bpf_core_field_exists(task->__state) ? task->__state : (u32)task->state;
}

/*
 * Whether a task that can run may not, because its cgroup has used up its quota. 6.18, e1fad12dcb66: tasks are throttled one by one, when they return
 * to user space; before, with the queue of their cgroup.
 */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	return bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count) && bpf_core_field_exists(task->se.cfs_rq) &&
	       task->prio >= MAX_RT_PRIO && as_walked(task)->se.cfs_rq->throttle_count;
}

/* Whether a task has a CPU; while the lock of its queue is held. Kernels for one CPU do not say so: there the one that has it is `current`. */
static __always_inline bool has_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) ? task->on_cpu : task->pid == bpf_get_current_task_btf()->pid;
}

/* 5.16, bcf9033e5449: task_struct.cpu moved to thread_info.cpu wherever thread_info is in the task. */
static __always_inline u32 task_processor(struct task_struct *task)
{
	return bpf_core_field_exists(task->thread_info.cpu) ? task->thread_info.cpu : task->cpu;
}

/* 5.16: tty_struct.pgrp moved into ctrl. */
static __always_inline struct pid *tty_foreground_group(struct tty_struct *tty)
{
	return bpf_core_field_exists(tty->ctrl) ? tty->ctrl.pgrp : tty->pgrp;
}

/* 5.17, e32cf5dfbe22: struct kthread is found through worker_private, before through set_child_tid. */
static __always_inline struct kthread *task_kthread(struct task_struct *task)
{
	return bpf_core_field_exists(task->worker_private) ? task->worker_private : (void *)task->set_child_tid;
}

/* 1 or 0, without the branch that a comparison would be: in a loop, the verifier follows each twice. */
static __always_inline u64 is_not_zero(u64 number)
{
	number |= -number;
	barrier_var(number);
	return number >> 63;
}

/* The capabilities that a task has or may take, in any order. */
static __always_inline u64 permitted_capabilities(const struct cred *cred)
{
	const struct cred___words *words = (void *)cred;

	if (bpf_core_field_exists(cred->cap_permitted.val))
		return cred->cap_permitted.val;
	return words->cap_permitted.cap[0] | words->cap_permitted.cap[1];
}

/* MMF_* of a task's memory; 0: it has none. */
static __always_inline u64 memory_flags(struct mm_struct *mm)
{
	struct mm_struct___bitmap *bitmap = (void *)mm;

	return bpf_core_field_exists(bitmap->flags.__mm_flags) ? bitmap->flags.__mm_flags[0] : mm->flags;
}

/* A function of its own: else the compiler computes where the bits are before it is known that there are any. */
static __noinline u64 user_dumpable(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, user_dumpable);
}

/*
 * 1 if the memory of a task may be looked at by its user: TASK_DUMPABLE_OWNER, or SUID_DUMP_USER before. A task that has let go of its memory is asked
 * for nothing, until kernels remember it for that task (2026). `has_memory` is whether it has not.
 */
static __always_inline u64 is_dumpable(struct task_struct *task, u64 has_memory)
{
	u64 without_memory = 1;

	if (bpf_core_field_exists(task->exec_state))
		return 1 ^ is_not_zero(task->exec_state->dumpable ^ TASK_DUMPABLE_OWNER);
	if (bpf_core_field_exists(task->user_dumpable))
		without_memory = user_dumpable(task);
	return (has_memory & (1 ^ is_not_zero((memory_flags(task->mm) & 3) ^ TASK_DUMPABLE_OWNER))) | ((1 ^ has_memory) & without_memory);
}

#endif
