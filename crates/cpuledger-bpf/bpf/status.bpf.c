// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that /proc/PID/{stat,statm,status} show, of every task, in one walk over the kernel's task list: one system call
 * into mapped records. It needs the open-coded task iterator (6.7) and is one RCU read-side section.
 *
 * What tasks share is recorded once and referenced: a process, its memory, credentials, and the places where tasks may
 * run. Credentials and places are those of the task before, mostly; memory is that of the process before it. All that is
 * done for a task is in global functions, which the verifier checks once each, and not again in the loop.
 */
#include "buffers.bpf.h"
#include "cpu_offsets.bpf.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

RECORDS(task_records, cpuledger_status_task);
RECORDS(process_records, cpuledger_status_process);
RECORDS(memory_records, cpuledger_status_memory);
RECORDS(credentials_records, cpuledger_status_credentials);
RECORDS(placement_records, cpuledger_status_placement);

/* The record of that index; NULL where it does not fit. */
static __always_inline void *record_of(void *records, u32 index)
{
	return bpf_map_lookup_elem(records, &index);
}

/* What the task before had. One reader at a time runs this. */
u64 last_memory;
u32 last_memory_index;
u64 last_credentials;
u32 last_credentials_index;
struct cpuledger_status_placement last_placement;

/* struct k_sigaction is four words on every architecture this runs on: asserted before it is relied on. */
u64 signal_actions[64 * 4];

static __always_inline void read_handlers(struct sighand_struct *sighand, struct cpuledger_status_process *record)
{
	u64 ignored = 0, caught = 0;

	record->ignored_signals = record->caught_signals = 0;
	if (bpf_core_field_size(sighand->action) != sizeof(signal_actions)) {
		record->marks |= CPULEDGER_STATUS_BEYOND;
		return;
	}
	bpf_core_read(signal_actions, sizeof(signal_actions), &sighand->action);
	/* Without a branch: 64 of them are too many for the verifier. SIG_DFL is 0, SIG_IGN is 1. */
	for (u32 i = 0; i < 64; i++) {
		u64 handler = signal_actions[i * 4], other = handler ^ 1;
		u64 is_set = (handler | -handler) >> 63, is_other = (other | -other) >> 63;

		ignored |= (is_other ^ 1) << i;
		caught |= (is_set & is_other) << i;
	}
	record->ignored_signals = ignored;
	record->caught_signals = caught;
}

/* The number of `of` in that PID namespace of `pid`; 0 where it has none. */
static __always_inline s32 number_at(struct pid *of, struct pid *pid, u32 level)
{
	struct upid theirs = {}, ours = {};

	if (!of || of->level < level)
		return 0;
	bpf_probe_read_kernel(&theirs, sizeof(theirs),
			      (void *)__builtin_preserve_access_index(&of->numbers[0]) + level * sizeof(struct upid));
	bpf_probe_read_kernel(&ours, sizeof(ours),
			      (void *)__builtin_preserve_access_index(&pid->numbers[0]) + level * sizeof(struct upid));
	return theirs.ns == ours.ns ? theirs.nr : 0;
}

/* The numbers of a process in the PID namespaces inside the initial one. */
__noinline int read_numbers_of_process(u64 address, u32 index)
{
	struct task_struct *leader = CAST(address, task_struct);
	struct cpuledger_status_process *record = record_of(&process_records, index);
	struct signal_struct *signal = leader->signal;
	struct pid *pid = leader->thread_pid;

	if (!record)
		return 0;
	for (u32 level = 1; level < CPULEDGER_STATUS_LEVELS && level <= pid->level; level++) {
		record->namespace_pids[level] = number_at(signal->pids[CPULEDGER_PIDTYPE_TGID], pid, level);
		record->namespace_pgids[level] = number_at(signal->pids[CPULEDGER_PIDTYPE_PGID], pid, level);
		record->namespace_sids[level] = number_at(signal->pids[CPULEDGER_PIDTYPE_SID], pid, level);
	}
	return 0;
}

__noinline int read_numbers_of_task(u64 address, u32 index)
{
	struct task_struct *task = CAST(address, task_struct);
	struct cpuledger_status_task *record = record_of(&task_records, index);
	struct pid *pid = task->thread_pid;

	if (!record)
		return 0;
	for (u32 level = 1; level < CPULEDGER_STATUS_LEVELS && level <= pid->level; level++)
		record->namespace_tids[level] = number_at(pid, pid, level);
	return 0;
}

/* A leader opens a process. */
__noinline int open_process(u64 address, struct cpuledger_status_walk *walk)
{
	struct task_struct *leader = CAST(address, task_struct);
	struct signal_struct *signal = leader->signal;
	struct cpuledger_status_process *record;
	u32 index;

	if (!walk)
		return 0;
	index = walk->processes++;
	/* A memory of this address may have been freed and made again for another process. */
	last_memory = 0;
	record = record_of(&process_records, index);
	if (!record)
		return 0;
	read_process(leader, NULL, CPULEDGER_READ_KTHREAD_NAME, false, &record->process);
	record->process.task_index = walk->tasks;
	record->process.totals_known = walk->scope == CPULEDGER_WALK_PROCESSES;
	record->marks = 0;
	record->dumps_core = signal->core_state != NULL;
	record->namespace_pids[0] = record->process.pid;
	record->namespace_pgids[0] = record->process.pgid;
	record->namespace_sids[0] = record->process.sid;
	if (leader->thread_pid->level)
		read_numbers_of_process(address, index);
	record->shared_pending_signals = signal->shared_pending.signal.sig[0];
	read_handlers(leader->sighand, record);
	record->queued_signals_limit = signal->rlim[CPULEDGER_RLIMIT_SIGPENDING].rlim_cur;
	record->resident_limit = signal->rlim[CPULEDGER_RLIMIT_RSS].rlim_cur;
	record->guest_ns = signal->gtime;
	record->children_guest_ns = signal->cgtime;
	record->signal_flags = signal->flags;
	record->group_exit_code = signal->group_exit_code;
	return 0;
}

/* A task is added to the open process. */
__noinline int add_to_process(u64 address, s32 pid, u32 index)
{
	struct task_struct *task = CAST(address, task_struct);
	struct cpuledger_status_process *record = record_of(&process_records, index);

	if (!record || record->process.pid != pid)
		return 0;
	add_thread(&record->process.group, task, CPULEDGER_READ_DETAIL);
	record->guest_ns += task->gtime;
	return 0;
}

static __always_inline void read_addresses(struct mm_struct *mm, struct cpuledger_status_memory *record)
{
	record->code_start = mm->start_code;
	record->code_end = mm->end_code;
	record->stack_start = mm->start_stack;
	record->data_start = mm->start_data;
	record->data_end = mm->end_data;
	record->heap_start = mm->start_brk;
	record->arguments_start = mm->arg_start;
	record->arguments_end = mm->arg_end;
	record->environment_start = mm->env_start;
	record->environment_end = mm->env_end;
}

static __always_inline void read_resident(struct mm_struct *mm, u32 cpus, struct cpuledger_status_memory *record)
{
	struct rss_sum sum = {};

	read_rss(mm, &sum);
	record->resident_coarse = not_negative(sum.pages[CPULEDGER_MM_FILE]) +
				  not_negative(sum.pages[CPULEDGER_MM_ANONYMOUS]) +
				  not_negative(sum.pages[CPULEDGER_MM_SHMEM]);
	if (sum.counters[0] && cpu_offsets_known)
		bpf_loop(cpus, add_rss_of_cpu, &sum, 0);
	record->file = not_negative(sum.pages[CPULEDGER_MM_FILE]);
	record->anonymous = not_negative(sum.pages[CPULEDGER_MM_ANONYMOUS]);
	record->shmem = not_negative(sum.pages[CPULEDGER_MM_SHMEM]);
	record->swap = not_negative(sum.pages[CPULEDGER_MM_SWAP]);
}

/*
 * The memory of a task, if it is not that of the one before in the process. An mm_struct is not kept by RCU: what was read
 * is good only if the task still has it afterwards.
 */
__noinline int open_memory(u64 task_address, struct cpuledger_status_walk *walk)
{
	struct task_struct *task = CAST(task_address, task_struct);
	struct mm_struct *mm = task->mm, *afterwards = NULL;
	struct cpuledger_status_memory *record;

	if (!walk)
		return 0;
	last_memory_index = walk->memories++;
	record = record_of(&memory_records, last_memory_index);
	if (!record)
		return 0;
	record->marks = 0;
	record->virtual_peak = mm->hiwater_vm;
	record->virtual_now = mm->total_vm;
	record->locked = mm->locked_vm;
	record->pinned = mm->pinned_vm.counter;
	record->resident_peak = mm->hiwater_rss;
	read_resident(mm, walk->cpus, record);
	record->data = mm->data_vm;
	record->stack = mm->stack_vm;
	record->executable = mm->exec_vm;
	record->page_table_bytes = bpf_core_field_exists(mm->pgtables_bytes) ? mm->pgtables_bytes.counter : 0;
	record->hugetlb = bpf_core_field_exists(mm->hugetlb_usage) ? mm->hugetlb_usage.counter : 0;
	record->flags = memory_flags(mm);
	if (bpf_core_field_exists(mm->context.untag_mask)) {
		record->marks |= CPULEDGER_STATUS_HAS_UNTAG;
		record->untag_mask = mm->context.untag_mask;
	}
	read_addresses(mm, record);
	bpf_core_read(&afterwards, sizeof(afterwards), &task->mm);
	if (afterwards == mm)
		last_memory = as_number(mm);
	else
		record->marks |= CPULEDGER_STATUS_BEYOND;
	return 0;
}

/* Credentials never change, and are kept by RCU: those of one address are the same throughout a walk. */
__noinline int open_credentials(u64 address, struct cpuledger_status_walk *walk)
{
	struct cred *cred = CAST(address, cred);
	struct cpuledger_status_credentials *record;
	struct group_info *groups = cred->group_info;
	u32 count;

	if (!walk)
		return 0;
	last_credentials = address;
	last_credentials_index = walk->credentials++;
	record = record_of(&credentials_records, last_credentials_index);
	if (!record)
		return 0;
	record->uid = cred->uid.val;
	record->euid = cred->euid.val;
	record->suid = cred->suid.val;
	record->fsuid = cred->fsuid.val;
	record->gid = cred->gid.val;
	record->egid = cred->egid.val;
	record->sgid = cred->sgid.val;
	record->fsgid = cred->fsgid.val;
	record->inheritable = cred->cap_inheritable.val;
	record->permitted = cred->cap_permitted.val;
	record->effective = cred->cap_effective.val;
	record->bounding = cred->cap_bset.val;
	record->ambient = cred->cap_ambient.val;
	record->queued_signals = 0;
	bpf_probe_read_kernel(&record->queued_signals, sizeof(u64),
			      (void *)__builtin_preserve_access_index(&cred->ucounts->rlimit[0]) +
				      bpf_core_enum_value(enum rlimit_type, UCOUNT_RLIMIT_SIGPENDING) * sizeof(u64));
	record->marks = 0;
	count = groups->ngroups;
	record->group_count = count;
	if (count > CPULEDGER_STATUS_GROUPS) {
		record->marks |= CPULEDGER_STATUS_BEYOND;
		return 0;
	}
	bpf_core_read(record->groups, count * sizeof(u32), &groups->gid);
	return 0;
}

/* Reads as much of a mask as there is, and as a record holds. */
#define READ_MASK(into, mask)                                                                                          \
	bpf_core_read(into, bpf_core_field_size(mask) < sizeof(into) ? bpf_core_field_size(mask) : sizeof(into), &(mask))

__noinline int open_placement(u64 address, struct cpuledger_status_walk *walk)
{
	struct task_struct *task = CAST(address, task_struct);
	struct cpuledger_status_placement *record;

	if (!walk)
		return 0;
	READ_MASK(last_placement.cpus, task->cpus_mask);
	if (bpf_core_field_exists(task->mems_allowed))
		READ_MASK(last_placement.nodes, task->mems_allowed);
	record = record_of(&placement_records, walk->placements++);
	if (record)
		*record = last_placement;
	return 0;
}

/* What word `i` of a mask has other than that of the task before: 0 where kernels have no such word. */
#define WORD_DIFFERS(mask, last, i) (bpf_core_field_size(mask) > (i) * sizeof(u64) ? (mask).bits[i] ^ (last)[i] : 0)
#define WORDS_DIFFER(mask, last)                                                                                       \
	(WORD_DIFFERS(mask, last, 0) | WORD_DIFFERS(mask, last, 1) | WORD_DIFFERS(mask, last, 2) |                     \
	 WORD_DIFFERS(mask, last, 3) | WORD_DIFFERS(mask, last, 4) | WORD_DIFFERS(mask, last, 5) |                     \
	 WORD_DIFFERS(mask, last, 6) | WORD_DIFFERS(mask, last, 7) | WORD_DIFFERS(mask, last, 8) |                     \
	 WORD_DIFFERS(mask, last, 9) | WORD_DIFFERS(mask, last, 10) | WORD_DIFFERS(mask, last, 11) |                   \
	 WORD_DIFFERS(mask, last, 12) | WORD_DIFFERS(mask, last, 13) | WORD_DIFFERS(mask, last, 14) |                  \
	 WORD_DIFFERS(mask, last, 15))

/* Without a branch or a call where tasks have the same place, as nearly all have. */
static __always_inline bool has_new_place(struct task_struct *task)
{
	u64 difference = WORDS_DIFFER(task->cpus_mask, last_placement.cpus);

	if (bpf_core_field_exists(task->mems_allowed))
		difference |= WORDS_DIFFER(task->mems_allowed, last_placement.nodes);
	return difference;
}

static __always_inline void read_files(struct task_struct *task, struct cpuledger_status_task *record)
{
	struct fs_struct *fs = task->fs;
	struct files_struct *files = task->files;

	record->umask = fs ? fs->umask : 0;
	if (fs)
		record->marks |= CPULEDGER_STATUS_HAS_UMASK;
	record->max_fds = files ? files->fdt->max_fds : 0;
}

static __always_inline void read_for_status(struct task_struct *task, struct cpuledger_status_task *record)
{
	read_files(task, record);
	record->numa_group = 0;
	if (bpf_core_field_exists(task->numa_group) && task->numa_group)
		record->numa_group = task->numa_group->gid;
	record->tracer_pid = task->ptrace ? task->parent->pid : 0;
	record->atomic_flags = task->atomic_flags;
	if (bpf_core_field_exists(task->seccomp.filter_count)) {
		record->seccomp_mode = task->seccomp.mode;
		record->seccomp_filters = task->seccomp.filter_count.counter;
	}
	record->voluntary_switches = task->nvcsw;
	record->involuntary_switches = task->nivcsw;
	if (bpf_core_field_exists(task->thread.features)) {
		record->thread_features = task->thread.features;
		record->locked_thread_features = task->thread.features_locked;
	}
}

static __always_inline void read_for_stat(struct task_struct *task, struct cpuledger_status_task *record)
{
	record->processor = task_processor(task);
	record->exit_signal = task->exit_signal;
	record->exit_code = task->exit_code;
	record->priority = task->prio - 100;
	record->nice = task->static_prio - 120;
	record->rt_priority = task->rt_priority;
	record->policy = task->policy;
	record->start_time_ns = task->start_boottime;
	record->guest_ns = task->gtime;
	record->block_delay_ns = 0;
	if (bpf_core_field_exists(task->delays) && task->delays)
		record->block_delay_ns = task->delays->blkio_delay;
	read_cpu_time(task, &record->cpu_time);
	record->minor_faults = task->min_flt;
	record->major_faults = task->maj_flt;
}

/* `tid` and `pid` were read once by the caller: an exec by another thread may exchange them at any time. */
__noinline int record_status(u64 address, s32 tid, s32 pid, struct cpuledger_status_walk *walk)
{
	struct task_struct *task = CAST(address, task_struct);
	struct cpuledger_status_task *record;
	u32 index, level;
	u64 memory, credentials;

	if (!walk)
		return 0;
	index = walk->tasks++;
	record = record_of(&task_records, index);
	/* A record that does not fit still counts those it would have referred to. */
	memory = task->flags & PF_KTHREAD ? 0 : as_number(task->mm);
	if (memory && memory != last_memory)
		open_memory(address, walk);
	if (walk->reads_status) {
		credentials = as_number(task->real_cred);
		if (credentials != last_credentials)
			open_credentials(credentials, walk);
		if (!walk->placements || has_new_place(task))
			open_placement(address, walk);
	}
	if (!record)
		return 0;
	record->tid = tid;
	record->pid = pid;
	record->process_index = walk->processes - 1;
	record->memory_index = memory ? last_memory_index : CPULEDGER_STATUS_NONE;
	record->credentials_index = last_credentials_index;
	record->placement_index = walk->placements - 1;
	record->marks = 0;
	record->flags = task->flags;
	__builtin_memcpy(record->comm, task->comm, sizeof(record->comm));
	record->state = task_state(task);
	record->exit_state = task->exit_state;
	record->pending_signals = task->pending.signal.sig[0];
	record->blocked_signals = task->blocked.sig[0];
	level = task->thread_pid->level;
	record->namespace_level = level;
	record->namespace_tids[0] = tid;
	if (level)
		read_numbers_of_task(address, index);
	if (level >= CPULEDGER_STATUS_LEVELS)
		record->marks |= CPULEDGER_STATUS_BEYOND;
	if (walk->reads_status)
		read_for_status(task, record);
	if (walk->reads_stat)
		read_for_stat(task, record);
	return 0;
}

SEC("syscall")
int walk_status(struct cpuledger_status_walk *context)
{
	struct cpuledger_status_walk walk = *context;
	struct task_struct *task;
	struct bpf_iter_task iterator;
	s32 tid, pid, open_pid = 0;
	u64 address;

	walk.lacks = kernel_lacks();
	last_credentials = 0;
	last_credentials_index = 0;
	bpf_rcu_read_lock();
	walk.begin_ns = bpf_ktime_get_ns();
	bpf_iter_task_new(&iterator, NULL,
			  walk.scope == CPULEDGER_WALK_LEADERS ? CPULEDGER_ALL_PROCESSES : CPULEDGER_ALL_THREADS);
	while ((task = bpf_iter_task_next(&iterator))) {
		tid = task->pid;
		pid = task->tgid;
		/*
		 * A thread that has taken over the tid of a leader already visited, by an exec, is that leader now. Of one that
		 * is already released nothing is left to show.
		 */
		if (!tid || (tid == pid && pid == open_pid) || !task->sighand)
			continue;
		address = as_number(task);
		if (tid == pid) {
			open_pid = pid;
			open_process(address, &walk);
		} else if (pid != open_pid) {
			continue;
		}
		if (walk.scope == CPULEDGER_WALK_PROCESSES)
			add_to_process(address, pid, walk.processes - 1);
		if (tid == pid || walk.scope == CPULEDGER_WALK_TASKS)
			record_status(address, tid, pid, &walk);
	}
	bpf_iter_task_destroy(&iterator);
	walk.end_ns = bpf_ktime_get_ns();
	bpf_rcu_read_unlock();
	*context = walk;
	return 0;
}
