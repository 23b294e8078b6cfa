/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel types the programs use, members in any order: CO-RE finds each by name in the BTF
 * of the running kernel. Members that kernels spell differently are in compat.bpf.h.
 */
#ifndef CPULEDGER_KERNEL_H
#define CPULEDGER_KERNEL_H

#include "abi_status.h"

typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define NULL ((void *)0)
#define true 1
#define false 0

/* include/uapi/linux/bpf.h */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
	BPF_F_MMAPABLE = 1U << 10,
	BPF_F_INNER_MAP = 1U << 12,
	BPF_NOEXIST = 1,
	BPF_RB_NO_WAKEUP = 1,
};

/* include/linux/sched.h */
enum {
	MAX_RT_PRIO = 100, /* include/linux/sched/prio.h: tasks of the fair class have this or more */
	TASK_RUNNING = 0,
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_DEAD = 0x80,
	TASK_NOLOAD = 0x400,
	TASK_RTLOCK_WAIT = 0x1000, /* 5.15, 5f220be21418: a lock that sleeps on PREEMPT_RT */
	TASK_FROZEN = 0x8000,	   /* 6.1, f5d39b020809 */
	PF_WQ_WORKER = 0x20,
	PF_KTHREAD = 0x00200000,
};

/* include/linux/pid.h */
enum cpuledger_pid_type { CPULEDGER_PIDTYPE_TGID = 1, CPULEDGER_PIDTYPE_PGID = 2, CPULEDGER_PIDTYPE_SID = 3 };

/* include/uapi/asm-generic/resource.h */
enum cpuledger_resource { CPULEDGER_RLIMIT_RSS = 5, CPULEDGER_RLIMIT_SIGPENDING = 11, CPULEDGER_RLIMITS = 16 };

/* include/linux/user_namespace.h: the value differs by configuration, CO-RE knows it. */
enum rlimit_type { UCOUNT_RLIMIT_SIGPENDING = 2 };

/* include/linux/mm_types_task.h */
enum cpuledger_mm_counter { CPULEDGER_MM_FILE, CPULEDGER_MM_ANONYMOUS, CPULEDGER_MM_SWAP, CPULEDGER_MM_SHMEM, CPULEDGER_MM_COUNTERS };

/* include/linux/cgroup-defs.h: the value differs by configuration, CO-RE knows it. */
enum cgroup_subsys_id { cpu_cgrp_id = 1 };

/* include/linux/sched/coredump.h */
enum task_dumpable { TASK_DUMPABLE_OWNER = 1 };

/* include/linux/blk_types.h */
enum { REQ_OP_MASK = 0xff, REQ_OP_READ = 0, REQ_OP_DISCARD = 3 };

/* include/linux/page-flags.h: numbers of bits; the values differ by configuration, CO-RE knows them. */
enum pageflags { PG_uptodate = 3, PG_swapcache = 10, PG_swapbacked = 17 };

/* include/linux/blk-mq.h: numbers of bits; the values differ, CO-RE knows them. Before 6.12, 5f89154e8e9e, they were macros. */
enum rqf_flags { __RQF_FLUSH_SEQ = 1, __RQF_IO_STAT = 2 };
enum { OLD_RQF_FLUSH_SEQ = 4, OLD_RQF_IO_STAT = 13 };

/* Steps of a CPU on its way online or offline; by name, as each kernel numbers them anew. */
enum cpuhp_state { CPUHP_TEARDOWN_CPU = 1 };

/* include/linux/socket.h */
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, MSG_PEEK = 0x2, MSG_ERRQUEUE = 0x2000 };

/* include/uapi/linux/in.h */
enum { IPPROTO_TCP = 6, IPPROTO_UDP = 17, IPPROTO_UDPLITE = 136, IPPROTO_MPTCP = 262 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct upid {
	int nr;
	void *ns; /* the size matters: an array of them is indexed by level */
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* one for each level */
};

struct kuid {
	u32 val;
};
typedef struct kuid kuid_t;

struct kgid {
	u32 val;
};
typedef struct kgid kgid_t;

typedef struct {
	u64 val; /* 6.3: before, two words */
} kernel_cap_t;

typedef struct {
	s64 counter;
} atomic64_t;
typedef atomic64_t atomic_long_t;

typedef struct {
	int counter;
} atomic_t;

struct ucounts {
	atomic_long_t rlimit[4]; /* 6.0: before, in ucount[] */
};

struct group_info {
	int ngroups;
	kgid_t gid[1]; /* as many as ngroups says */
};

struct user_namespace {
	int level; /* 0: the initial one */
	kuid_t owner;
};

struct cred {
	kuid_t uid, euid, suid, fsuid;
	kgid_t gid, egid, sgid, fsgid;
	kernel_cap_t cap_inheritable, cap_permitted, cap_effective, cap_bset, cap_ambient;
	struct user_namespace *user_ns;
	struct ucounts *ucounts;
	struct group_info *group_info;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct sighand_struct {
	struct k_sigaction action[64];
};

struct rlimit {
	unsigned long rlim_cur;
};

struct fs_struct {
	int umask;
};

struct fdtable {
	unsigned int max_fds;
};

struct files_struct {
	struct fdtable *fdt;
};

struct numa_group {
	int gid;
};

struct seccomp {
	int mode;
	atomic_t filter_count;
};

struct task_delay_info {
	u64 blkio_delay;
};

typedef struct cpumask {
	unsigned long bits[CPULEDGER_STATUS_MASK_WORDS]; /* fewer or more, by configuration */
} cpumask_t;

typedef struct {
	unsigned long bits[CPULEDGER_STATUS_MASK_WORDS];
} nodemask_t;

struct thread_struct {
	unsigned long features, features_locked; /* of x86 with shadow stacks */
};

struct prev_cputime {
	u64 utime;
	u64 stime;
};

struct task_io_accounting {
	u64 read_bytes;
	u64 write_bytes;
	u64 cancelled_write_bytes;
};

struct tty_driver {
	int major;
	int minor_start;
};

struct tty_struct {
	int index;
	struct tty_driver *driver;
	struct pid *pgrp; /* before 5.16 */
	struct {
		struct pid *pgrp;
	} ctrl;
};

struct signal_struct {
	struct {
		int counter;
	} live;
	int nr_threads;
	struct pid *pids[4];
	struct tty_struct *tty;
	u64 utime, stime, cutime, cstime;
	u64 gtime, cgtime;
	struct sigpending shared_pending;
	void *core_state;
	unsigned int flags;
	int group_exit_code;
	struct rlimit rlim[CPULEDGER_RLIMITS];
	struct prev_cputime prev_cputime;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt, cmin_flt, cmaj_flt;
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
	u64 not_summed; /* no kernel has it: of a counter of which the kernel keeps no sum over dead threads */
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

typedef struct {
	unsigned long untag_mask; /* 6.4: of x86 with CONFIG_ADDRESS_MASKING */
} mm_context_t;

struct mm_struct {
	unsigned long total_vm;
	unsigned long locked_vm;
	atomic64_t pinned_vm;
	unsigned long hiwater_rss, hiwater_vm;
	unsigned long data_vm, exec_vm, stack_vm;
	unsigned long start_code, end_code, start_data, end_data;
	unsigned long start_brk, start_stack;
	unsigned long arg_start, arg_end, env_start, env_end;
	unsigned long flags; /* before 6.18 */
	atomic_long_t pgtables_bytes;
	atomic_long_t hugetlb_usage;
	mm_context_t context;
};

struct list_head {
	struct list_head *next;
};

struct rq {
	u64 clock;
	u64 clock_task; /* it stands still while the task that has the CPU is interrupted, or the hypervisor has it */
	u64 prev_irq_time; /* with CONFIG_IRQ_TIME_ACCOUNTING: for how long it stood still because of interrupts */
	u64 prev_steal_time_rq; /* with CONFIG_PARAVIRT_TIME_ACCOUNTING */
	unsigned int nr_running;
	struct list_head cfs_tasks; /* of the fair class: se.group_node, whatever their cgroups */
};

struct cfs_rq {
	struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
	int throttle_count; /* with CONFIG_CFS_BANDWIDTH */
};

struct sched_entity {
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* likewise; of tasks of all scheduling classes */
	struct list_head group_node; /* before 6.17 with CONFIG_SMP, as cfs_tasks */
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_queued; /* by rq.clock; 0: it is not waiting for a CPU */
};

struct kthread {
	void *data;
	char *full_name; /* 5.17, d6986ce24fc0: names longer than comm are kept in full */
};

struct workqueue_struct {
	char name[24];
};

struct worker {
	struct workqueue_struct *rescue_wq;
	void *current_work;
	void *pool;
	char desc[24];
};

struct thread_info {
	u32 cpu;
};

struct task_exec_state {
	enum task_dumpable dumpable;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int cpu; /* before 5.16 */
	/* Unsigned, so that libbpf adjusts the size where the kernel has a smaller one, as 7.2 has. */
	unsigned int on_cpu; /* with CONFIG_SMP */
	unsigned int on_rq; /* 0: it is in no queue */
	unsigned int __state;
	long state; /* before 5.14 */
	unsigned int flags;
	int prio, static_prio;
	unsigned int rt_priority;
	unsigned int policy;
	int exit_state, exit_code, exit_signal;
	unsigned in_iowait : 1;
	unsigned user_dumpable : 1; /* since 2026: as `dumpable` was when it let go of its memory */
	unsigned frozen : 1; /* with CONFIG_CGROUPS: by the freezer of cgroups v2 */
	bool throttled; /* 6.18, with CONFIG_CFS_BANDWIDTH: its cgroup has used up its quota */
	int pid, tgid;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	u64 utime, stime, gtime;
	unsigned int ptrace;
	struct task_struct *parent;
	unsigned long atomic_flags;
	struct fs_struct *fs;
	struct files_struct *files;
	struct sighand_struct *sighand;
	sigset_t blocked;
	struct sigpending pending;
	struct seccomp seccomp;
	cpumask_t cpus_mask;
	nodemask_t mems_allowed;
	struct numa_group *numa_group;
	struct task_delay_info *delays;
	struct thread_struct thread;
	struct prev_cputime prev_cputime;
	unsigned long nvcsw, nivcsw;
	u64 start_time, start_boottime;
	struct kthread *worker_private;
	int *set_child_tid; /* of kernel threads before 5.17: struct kthread */
	unsigned long min_flt, maj_flt;
	const struct cred *real_cred;
	struct task_exec_state *exec_state; /* 7.2, 6b1c66c9cca9: before, `dumpable` was in mm_struct.flags */
	char comm[CPULEDGER_COMM_BYTES];
	struct signal_struct *signal;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct user_struct {
	kuid_t uid;
};

struct bpf_prog_aux {
	u32 id;
	struct user_struct *user;
	char name[CPULEDGER_PROGRAM_NAME_BYTES];
};

struct bpf_prog {
	struct bpf_prog_aux *aux;
};

struct bpf_iter__bpf_prog {
	struct bpf_iter_meta *meta;
	struct bpf_prog *prog;
};

/* include/linux/blkdev.h, include/linux/blk-mq.h, include/linux/blk_types.h, include/linux/bvec.h, include/linux/mm_types.h */
struct gendisk {
	int major;
	int first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct block_device;
struct page {
	unsigned long flags;
};
struct bio_vec {
	struct page *bv_page;
};
struct bio {
	struct bio_vec *bi_io_vec;
};
struct request {
	struct request_queue *q;
	struct bio *bio;
	u32 cmd_flags;
	u32 rq_flags;
	struct block_device *part;
};

/* include/net/sock.h */
struct sock_common {
	unsigned short skc_family;
};
struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
};

#pragma clang attribute pop

#endif
