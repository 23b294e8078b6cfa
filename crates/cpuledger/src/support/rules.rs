//! Rules: what a fact that does not hold means for a source, and what each source sees.

use cpuledger_model::source_kind::SourceKind;

use crate::facts::names;

/// Stands in remedies for the file of the program.
pub(super) const FILE: &str = "FILE";

/// What a fact that does not hold means for a source.
pub(super) struct Rule {
    /// Which fact.
    pub(super) fact: &'static str,
    /// Whether the source fails without it; else it only sees less.
    pub(super) is_needed: bool,
    /// Why it is not usable.
    pub(super) reason: &'static str,
    /// What helps.
    pub(super) remedy: &'static str,
}

/// The rules of each source; of several that apply the first is told.
pub(super) fn explanations(kind: SourceKind) -> impl Iterator<Item = &'static Rule> {
    let (rules, more): (&[Rule], &[Rule]) = match kind {
        SourceKind::Service => (OF_SERVICE, &[]),
        SourceKind::Ledger => (OF_BPF, OF_LEDGER),
        SourceKind::Walk => (OF_BPF, &[]),
        SourceKind::Netlink => (OF_NETLINK, &[]),
        SourceKind::Procfs => (OF_PROCFS, &[]),
    };
    rules.iter().chain(more)
}

const PIDS_OF_THE_HOST: Rule = Rule {
    fact: names::INITIAL_PID_NAMESPACE,
    is_needed: true,
    reason: "this source uses the pids of the host's PID namespace, but cpuledger runs in another one",
    remedy: "run cpuledger on the host, or in a container with the PID namespace of the host",
};

const KERNEL_CLOCKS: Rule = Rule {
    fact: names::KERNEL_CLOCKS,
    is_needed: true,
    reason: "this source needs the kernel's clocks, but this time namespace shifts them",
    remedy: "run cpuledger outside the time namespace, or set the namespace's offsets to 0",
};

const OF_SERVICE: &[Rule] = &[
    Rule {
        fact: names::SERVICE_LISTENS,
        is_needed: true,
        reason: "no `cpuledger serve` listens at its socket",
        remedy: "start it as root: cpuledger serve",
    },
    PIDS_OF_THE_HOST,
    KERNEL_CLOCKS,
];

const OF_BPF: &[Rule] = &[
    PIDS_OF_THE_HOST,
    KERNEL_CLOCKS,
    Rule {
        fact: names::SYSFS_MOUNTED,
        is_needed: true,
        reason: "no sysfs is mounted on /sys, where the kernel describes its types (BTF) and CPUs",
        remedy: "mount it: mount -t sysfs sysfs /sys",
    },
    Rule {
        fact: names::BTF,
        is_needed: true,
        reason: "this kernel has no BTF at /sys/kernel/btf/vmlinux",
        remedy: "boot a kernel built with CONFIG_DEBUG_INFO_BTF",
    },
    Rule {
        fact: names::INITIAL_USER_NAMESPACE,
        is_needed: true,
        reason: "loading BPF programs is not permitted: the capabilities of a user namespace do not suffice",
        remedy: "run cpuledger as the host's root, outside the user namespace",
    },
    Rule {
        fact: names::CAP_BPF,
        is_needed: true,
        reason: "loading BPF programs is not permitted: CAP_BPF is missing",
        remedy: "run cpuledger as root, or give the binary the capabilities: setcap cap_bpf,cap_perfmon=ep FILE",
    },
    Rule {
        fact: names::CAP_PERFMON,
        is_needed: true,
        reason: "loading BPF programs is not permitted: CAP_PERFMON is missing",
        remedy: "run cpuledger as root, or give the binary the capabilities: setcap cap_bpf,cap_perfmon=ep FILE",
    },
    Rule {
        fact: names::LOCKDOWN_PERMITS_READING,
        is_needed: true,
        reason: "the kernel is locked down for confidentiality, so BPF programs may not read its memory",
        remedy: "boot with lockdown=integrity, or without lockdown",
    },
    // Behind those without which nothing works.
    Rule {
        fact: names::CAP_SYS_PTRACE,
        is_needed: false,
        reason: "CAP_SYS_PTRACE is missing",
        remedy: "CAP_SYS_PTRACE is missing, so block I/O of other users' processes, and what accounts have of them, is hidden: to see it, \
                 run cpuledger as root, or give the binary that capability, too: setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep FILE",
    },
];

/// On top of what all programs need.
const OF_LEDGER: &[Rule] = &[Rule {
    fact: names::BPF_ATOMICS,
    is_needed: true,
    reason: "this kernel has no BPF atomics, which Linux 5.12 added",
    remedy: "boot Linux 5.12 or later; until then, use --source walk",
}];

const OF_NETLINK: &[Rule] = &[
    Rule {
        fact: names::PROCFS_MOUNTED,
        is_needed: true,
        reason: "no procfs is mounted on /proc, which this source needs to list tasks",
        remedy: "mount it: mount -t proc proc /proc",
    },
    PIDS_OF_THE_HOST,
    Rule {
        fact: names::INITIAL_USER_NAMESPACE,
        is_needed: true,
        reason: "reading taskstats is not permitted: the capabilities of a user namespace do not suffice",
        remedy: "run cpuledger as the host's root, outside the user namespace",
    },
    Rule {
        fact: names::CAP_NET_ADMIN,
        is_needed: true,
        reason: "reading taskstats is not permitted: CAP_NET_ADMIN is missing",
        remedy: "run cpuledger as root, or give the binary the capability: setcap cap_net_admin=ep FILE",
    },
    Rule {
        fact: names::EXIT_REPORTS,
        is_needed: false,
        reason: "the kernel reports exits only to the host's network namespace",
        remedy: "to see tasks that exit, run cpuledger in the host's network namespace",
    },
    Rule {
        fact: names::DELAY_ACCOUNTING,
        is_needed: false,
        reason: "delay accounting is off",
        remedy: "to see how long tasks wait for block I/O and swap, turn on delay accounting: \
               sysctl kernel.task_delayacct=1 (applies only to tasks started afterwards)",
    },
];

const OF_PROCFS: &[Rule] = &[
    Rule {
        fact: names::PROCFS_MOUNTED,
        is_needed: true,
        reason: "no procfs is mounted on /proc",
        remedy: "mount it: mount -t proc proc /proc",
    },
    Rule {
        fact: names::SHOWS_EVERY_PROCESS,
        is_needed: false,
        reason: "hidepid hides the processes of other users",
        remedy: "to see all processes, run cpuledger as root, or remount: mount -o remount,hidepid=0 /proc",
    },
];

/// What netlink sees and misses where the kernel has snapshots and keeps account of the dead.
pub(super) const SIGHT_WITH_ACCOUNTS: (&str, &str) = (
    "every task at one instant, times in nanoseconds, and all CPU time of the dead with the process that inherits it",
    "state, memory, idle time, and single deaths that come faster than they are read",
);

/// What a source sees and what it misses, by the facts that do not hold.
pub(super) fn sight(kind: SourceKind, fails: impl Fn(&str) -> bool) -> (&'static str, &'static str) {
    match kind {
        SourceKind::Service => (
            "what the service shows this user: every context switch, all CPU time of an interval to the nanosecond",
            "names and figures of processes that its policy holds back: their time is one row, (others)",
        ),
        SourceKind::Ledger => (
            "every context switch: all CPU time of an interval to the nanosecond, including that of tasks that exited",
            "tasks that did not run, unless --all adds a walk",
        ),
        SourceKind::Walk => (
            "every task at one instant, times in nanoseconds, and the final figures of tasks that exit between two walks",
            "what running tasks have used since the last tick, and who forked the processes that are older than its hooks",
        ),
        SourceKind::Netlink => (
            if fails(names::EXIT_REPORTS) {
                "every task, one after another, runtimes in nanoseconds"
            } else {
                "every task, one after another, runtimes in nanoseconds, and the last figures of tasks that exit"
            },
            if fails(names::EXIT_REPORTS) {
                "state, memory, tasks that exit, and (without delay accounting) time spent waiting for I/O"
            } else if fails(names::DELAY_ACCOUNTING) {
                "state, memory, what a task uses while it exits, exits that come faster than they are read, and time \
                 spent waiting for I/O (delay accounting is off)"
            } else {
                "state, memory, what a task uses while it exits, and exits that come faster than they are read"
            },
        ),
        SourceKind::Procfs => (
            if fails(names::SHOWS_EVERY_PROCESS) {
                "the processes of this user, one after another; runtimes in nanoseconds, user and system time in ticks"
            } else {
                "every process, one after another; runtimes in nanoseconds, user and system time in ticks"
            },
            if fails(names::CAP_SYS_PTRACE) {
                "what starts and ends between two reads, how long processes with several threads waited for a CPU, and block I/O of other users"
            } else {
                "what starts and ends between two reads, and how long processes with several threads waited for a CPU"
            },
        ),
    }
}
