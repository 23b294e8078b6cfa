/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fills the records of tasks and processes of abi.h from a task_struct.
 *
 * Every pointer here carries kernel BTF, so a load through it is a plain load that yields 0 where the memory is not mapped.
 * Tasks, their signal_struct, cred and pid are freed after a grace period, and all callers hold the RCU read lock. A
 * tty_struct and an mm_struct are not: of a task that dies during the walk their figures may be those of a later owner.
 */
#ifndef CPULEDGER_READ_TASK_BPF_H
#define CPULEDGER_READ_TASK_BPF_H

#include "counters.bpf.h"

/* Offset of each CPU's per-CPU area, filled once by `prepare`; 0: there is no CPU with that number. */
u64 cpu_offset[CPULEDGER_MAX_CPUS];
u32 cpu_offsets_known;

static __always_inline s32 pid_number(struct pid *pid)
{
	return pid ? pid->numbers[0].nr : 0;
}

/* new_encode_dev() of include/linux/kdev_t.h: the form of /proc/PID/stat. */
static __always_inline u32 encode_device(u32 major, u32 minor)
{
	return (minor & 0xff) | (major << 8) | ((minor & ~0xffU) << 12);
}

static __always_inline u32 kernel_lacks(void)
{
	struct task_struct *task = NULL;
	u32 lacks = 0;

	u32 counter = CPULEDGER_LACKS_ACTIVITY;

#define COUNTER(member, of_task, of_dead_threads) counter <<= 1;
#define OPTIONAL(member, of_task, of_dead_threads)     \
	if (!bpf_core_field_exists(task->of_task))     \
		lacks |= counter;                      \
	counter <<= 1;
	CPULEDGER_ACTIVITY(COUNTER, OPTIONAL)
#undef OPTIONAL
#undef COUNTER
	if (!bpf_core_field_exists(task->cgroups))
		lacks |= CPULEDGER_LACKS_CGROUP;
	if (!cpu_offsets_known && bpf_core_field_exists(((struct mm_struct___percpu *)NULL)->rss_stat[0].counters))
		lacks |= CPULEDGER_LACKS_RSS_SUM;
	return lacks;
}

static __always_inline void read_schedule(struct task_struct *task, struct cpuledger_task *record)
{
	record->start_time_ns = task->start_boottime;
	record->flags = task->flags;
	record->state = task_state(task);
	record->exit_state = task->exit_state;
	record->exit_signal = task->exit_signal;
	record->priority = task->prio - 100;
	record->nice = task->static_prio - 120;
	record->rt_priority = task->rt_priority;
	record->policy = task->policy;
	record->processor = task_processor(task);
}

static __always_inline void read_user(struct task_struct *task, struct cpuledger_task *record)
{
	const struct cred *cred = task->real_cred;

	record->uid = cred->uid.val;
	record->euid = cred->euid.val;
}

/* A pointer as a number: the verifier forgets what it is once it has been in a map. One reader at a time runs this. */
void *volatile forgotten;

static __always_inline u64 as_number(const void *pointer)
{
	forgotten = (void *)pointer;
	return (u64)forgotten;
}

/*
 * What is rarely done for a task is a global function, which the verifier checks only once. Inside the loop that calls it, it would
 * follow each branch again and take 50 times as long. A global function takes no kernel pointers, so they travel as numbers.
 */

#ifndef CPULEDGER_WITHOUT_REST

/* The number of a task in the PID namespace of that level. */
__noinline int namespace_number(u64 pid_address, u32 level)
{
	struct pid *pid = (void *)pid_address;
	int number = 0;

	if (level <= 32) /* MAX_PID_NS_LEVEL */
		bpf_probe_read_kernel(&number, sizeof(number),
				      (void *)__builtin_preserve_access_index(&pid->numbers[0]) +
					      level * sizeof(struct upid));
	return number;
}

static __always_inline void read_namespace(struct task_struct *task, s32 tid, struct cpuledger_task_rest *record)
{
	struct pid *pid = task->thread_pid;
	u32 level = pid->level; /* 0 where the task is already released */

	record->namespace_level = level;
	record->namespace_tid = level ? namespace_number(as_number(pid), level) : tid;
}

/* The cgroups of the last css_set: neighbours in the task list mostly share it. */
struct {
	u64 set;
	u64 id;
	u64 v1_cpu_id;
} cgroups;

__noinline int remember_cgroups(u64 set_address)
{
	struct css_set *set = (void *)set_address;
	struct cgroup_subsys_state *state = NULL;

	cgroups.set = set_address;
	cgroups.id = BPF_CORE_READ(set, dfl_cgrp, kn, id);
	cgroups.v1_cpu_id = 0;
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return 0;
	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)__builtin_preserve_access_index(&set->subsys[0]) +
				      bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) * sizeof(void *));
	cgroups.v1_cpu_id = BPF_CORE_READ(state, cgroup, kn, id);
	return 0;
}

static __always_inline void read_cgroup(struct task_struct *task, struct cpuledger_task_rest *record)
{
	u64 set;

	if (!bpf_core_field_exists(task->cgroups))
		return;
	set = as_number(task->cgroups);
	if (set != cgroups.set)
		remember_cgroups(set);
	record->cgroup_id = cgroups.id;
	record->cgroup_v1_cpu_id = cgroups.v1_cpu_id;
}

static __always_inline void forget_cgroups(void)
{
	cgroups.set = 0;
}

#else

static __always_inline void forget_cgroups(void)
{
}

#endif

/*
 * `untrusted` is the same task through a pointer that the verifier does not trust, where there is one. Pointers are loaded
 * through it, because for each load of a pointer through a trusted one the verifier searches all kernel types by name.
 */
static __always_inline void read_task(struct task_struct *task, struct task_struct *untrusted, u32 groups,
				      struct cpuledger_task *record)
{
	__builtin_memcpy(record->comm, task->comm, sizeof(record->comm));
	read_cpu_time(task, &record->cpu_time);
	if (groups & CPULEDGER_READ_DETAIL) {
		read_schedule(task, record);
		read_user(untrusted, record);
	}
}

#ifndef CPULEDGER_WITHOUT_REST

static __always_inline void read_credentials(struct task_struct *task, struct cpuledger_task_rest *record)
{
	const struct cred *cred = task->real_cred;

	record->suid = cred->suid.val;
	record->fsuid = cred->fsuid.val;
	record->gid = cred->gid.val;
	record->egid = cred->egid.val;
	record->sgid = cred->sgid.val;
	record->fsgid = cred->fsgid.val;
}

static __always_inline u16 trace_of(struct task_struct *task)
{
	const struct cred *cred = task->real_cred;
	u64 level = cred->user_ns->level, of_other = cred->user_ns->owner.val ^ cred->uid.val;
	u64 is_guarded = 1 ^ is_dumpable(task, is_not_zero(as_number(task->mm)));

	return is_guarded * CPULEDGER_TRACE_GUARDED |
	       is_not_zero(permitted_capabilities(cred)) * CPULEDGER_TRACE_CAPABLE |
	       is_not_zero(level) * CPULEDGER_TRACE_OUTSIDE |
	       is_not_zero((level ^ 1) | of_other) * CPULEDGER_TRACE_OF_OTHER;
}

/* The rest of a task. `untrusted` as above; `tid` was read by the caller. */
static __always_inline void read_rest(struct task_struct *task, struct task_struct *untrusted, s32 tid, u32 groups,
				      struct cpuledger_task_rest *record)
{
	if (groups & CPULEDGER_READ_DETAIL) {
		read_activity(task, &record->activity);
		read_credentials(untrusted, record);
		read_namespace(untrusted, tid, record);
		record->trace = trace_of(untrusted);
	}
	if (groups & CPULEDGER_READ_CGROUP)
		read_cgroup(untrusted, record);
}

#endif

/*
 * What the kernel keeps of the dead threads of a process. It sets every counter, to 0 where the kernel keeps no sum: the record may hold
 * that of an earlier walk.
 */
static __always_inline void read_dead_threads(struct signal_struct *signal, struct cpuledger_counters *group)
{
	group->cpu_time.runtime_ns = signal->sum_sched_runtime;
	group->cpu_time.tick_user_ns = signal->utime;
	group->cpu_time.tick_system_ns = signal->stime;
	group->cpu_time.shown_user_ns = signal->prev_cputime.utime;
	group->cpu_time.shown_system_ns = signal->prev_cputime.stime;
#define COUNTER(member, of_task, of_dead_threads) group->activity.member = signal->of_dead_threads;
#define OPTIONAL(member, of_task, of_dead_threads) \
	group->activity.member = bpf_core_field_exists(signal->of_dead_threads) ? signal->of_dead_threads : 0;
	CPULEDGER_ACTIVITY(COUNTER, OPTIONAL)
#undef OPTIONAL
#undef COUNTER
}

/* Adds every counter of a thread to those of its process. A walk by tid leaves that to user space: `sum_threads` of records.rs. */
static __always_inline void add_thread(struct cpuledger_counters *group, struct task_struct *task, u32 groups)
{
	group->cpu_time.runtime_ns += task->se.sum_exec_runtime;
	group->cpu_time.tick_user_ns += task->utime;
	group->cpu_time.tick_system_ns += task->stime;
#ifndef CPULEDGER_WITHOUT_REST
	if (!(groups & CPULEDGER_READ_DETAIL))
		return;
#define COUNTER(member, of_task, of_dead_threads) group->activity.member += task->of_task;
#define OPTIONAL(member, of_task, of_dead_threads)        \
	if (bpf_core_field_exists(task->of_task))         \
		COUNTER(member, of_task, of_dead_threads)
	CPULEDGER_ACTIVITY(COUNTER, OPTIONAL)
#undef OPTIONAL
#undef COUNTER
#endif
}

static __always_inline void read_tty(struct signal_struct *signal, struct cpuledger_process *record)
{
	struct tty_struct *tty = signal->tty;

	record->tty_device = 0;
	record->tty_pgid = -1;
	if (!tty)
		return;
	record->tty_device = encode_device(tty->driver->major, tty->driver->minor_start + tty->index);
	record->tty_pgid = pid_number(tty_foreground_group(tty));
}

static __always_inline void read_session(struct signal_struct *signal, struct cpuledger_process *record)
{
	record->pgid = pid_number(signal->pids[CPULEDGER_PIDTYPE_PGID]);
	record->sid = pid_number(signal->pids[CPULEDGER_PIDTYPE_SID]);
	read_tty(signal, record);
}

/* The RSS counters of one process while the part of each CPU is added. */
struct rss_sum {
	void *counters[CPULEDGER_MM_COUNTERS];
	s64 pages[CPULEDGER_MM_COUNTERS];
};

static long add_rss_of_cpu(u64 cpu, struct rss_sum *sum)
{
	s32 part;

	if (cpu >= CPULEDGER_MAX_CPUS)
		return 1;
	if (!cpu_offset[cpu])
		return 0;
	for (int i = 0; i < CPULEDGER_MM_COUNTERS; i++) {
		part = 0;
		bpf_probe_read_kernel(&part, sizeof(part), sum->counters[i] + cpu_offset[cpu]);
		sum->pages[i] += part;
	}
	return 0;
}

/* One counter; `which` must be a constant, for CO-RE knows the size of an element only where the index is one. */
#define READ_RSS_COUNTER(mm, which, sum)                                                                               \
	({                                                                                                             \
		struct mm_struct___percpu *percpu = (void *)(mm);                                                      \
		struct mm_struct___atomic *atomic = (void *)(mm);                                                      \
                                                                                                                       \
		if (bpf_core_field_exists(percpu->rss_stat[0].counters)) {                                             \
			(sum)->pages[which] = percpu->rss_stat[which].count;                                           \
			(sum)->counters[which] = percpu->rss_stat[which].counters;                                     \
		} else {                                                                                               \
			bpf_core_read(&(sum)->pages[which], sizeof(s64), &atomic->rss_stat.count[which].counter);      \
		}                                                                                                      \
	})

/* RSS in pages: all of it before 6.2, then the global parts. */
static __always_inline void read_rss(struct mm_struct *mm, struct rss_sum *sum)
{
	READ_RSS_COUNTER(mm, CPULEDGER_MM_FILE, sum);
	READ_RSS_COUNTER(mm, CPULEDGER_MM_ANONYMOUS, sum);
	READ_RSS_COUNTER(mm, CPULEDGER_MM_SWAP, sum);
	READ_RSS_COUNTER(mm, CPULEDGER_MM_SHMEM, sum);
}

/* A counter may be below zero for a moment. */
static __always_inline u64 not_negative(s64 pages)
{
	return pages < 0 ? 0 : pages;
}

static __always_inline void read_resident_memory(struct mm_struct *mm, const struct cpuledger_walk *walk, bool sums_rss,
						 struct cpuledger_process *record)
{
	struct rss_sum sum = {};

	read_rss(mm, &sum);
	if (sums_rss && sum.counters[0] && cpu_offsets_known)
		bpf_loop(walk->cpus, add_rss_of_cpu, &sum, 0);
	record->rss_file_pages = not_negative(sum.pages[CPULEDGER_MM_FILE]);
	record->rss_anonymous_pages = not_negative(sum.pages[CPULEDGER_MM_ANONYMOUS]);
	record->rss_shmem_pages = not_negative(sum.pages[CPULEDGER_MM_SHMEM]);
	record->swap_pages = not_negative(sum.pages[CPULEDGER_MM_SWAP]);
}

static __always_inline void read_memory(struct task_struct *leader, const struct cpuledger_walk *walk, u32 groups,
					bool sums_rss, struct cpuledger_process *record)
{
	struct mm_struct *mm = leader->mm;

	record->has_mm = mm && !(leader->flags & PF_KTHREAD);
	record->vsize_pages = record->locked_pages = record->swap_pages = 0;
	record->rss_file_pages = record->rss_anonymous_pages = record->rss_shmem_pages = 0;
	if (!record->has_mm)
		return;
	if (groups & CPULEDGER_READ_MEMORY) {
		record->vsize_pages = mm->total_vm;
		record->locked_pages = mm->locked_vm;
	}
	if (groups & CPULEDGER_READ_RSS)
		read_resident_memory(mm, walk, sums_rss, record);
}

/*
 * proc_task_name() of fs/proc/array.c: kernel threads have longer names than comm. Of a worker `name` is that of the
 * workqueue it rescues, if it is a rescuer.
 */
static __always_inline void read_kthread_name(struct task_struct *leader, struct cpuledger_process *record)
{
	struct kthread *kthread;
	struct workqueue_struct *rescued;
	struct worker *worker;
	const char *name;

	record->name[0] = 0;
	record->worker_description[0] = 0;
	record->is_worker = 0;
	if (!(leader->flags & PF_KTHREAD))
		return;
	kthread = task_kthread(leader);
	if (leader->flags & PF_WQ_WORKER) {
		worker = BPF_CORE_READ(kthread, data);
		record->is_worker = BPF_CORE_READ(worker, pool) != NULL;
		record->worker_is_busy = BPF_CORE_READ(worker, current_work) != NULL;
		bpf_core_read_str(record->worker_description, sizeof(record->worker_description), &worker->desc);
		rescued = BPF_CORE_READ(worker, rescue_wq);
		if (rescued)
			bpf_core_read_str(record->name, sizeof(record->name), &rescued->name);
	} else if (bpf_core_field_exists(kthread->full_name)) {
		name = BPF_CORE_READ(kthread, full_name);
		if (name)
			bpf_probe_read_kernel_str(record->name, sizeof(record->name), name);
	}
}

/* `sums_rss`, a constant, says whether the kernel has bpf_loop (5.17, e6f2dd0f8067), which adds the RSS of each CPU. */
static __always_inline void read_process(struct task_struct *leader, const struct cpuledger_walk *walk, u32 groups,
					 bool sums_rss, struct cpuledger_process *record)
{
	struct signal_struct *signal = leader->signal;

	record->pid = leader->tgid;
	record->ppid = leader->real_parent->tgid;
	record->threads = signal->nr_threads;
	record->live = signal->live.counter;
	record->flags = leader->flags;
	record->children_user_ns = signal->cutime;
	record->children_system_ns = signal->cstime;
	record->children_minor_faults = signal->cmin_flt;
	record->children_major_faults = signal->cmaj_flt;
	read_dead_threads(signal, &record->group);
	read_session(signal, record);
	if (groups & (CPULEDGER_READ_MEMORY | CPULEDGER_READ_RSS))
		read_memory(leader, walk, groups, sums_rss, record);
	if (groups & CPULEDGER_READ_KTHREAD_NAME)
		read_kthread_name(leader, record);
}

#endif
