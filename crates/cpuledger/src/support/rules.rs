//! Rules: what a fact that does not hold means for a source, and what each source sees.

use crate::facts::names;
use crate::source::SourceKind;

/// What a fact that does not hold means for a source.
pub(super) struct Rule {
    /// Which fact.
    pub(super) fact: &'static str,
    /// Whether the source fails without it; else it only sees less.
    pub(super) is_needed: bool,
    /// Why it is not usable.
    pub(super) reason: &'static str,
    /// What helps.
    pub(super) mend: &'static str,
}

/// The rules of each source; of several that apply the first is told.
pub(super) fn explanations(kind: SourceKind) -> impl Iterator<Item = &'static Rule> {
    let (rules, more): (&[Rule], &[Rule]) = match kind {
        SourceKind::Ledger => (OF_BPF, OF_LEDGER),
        SourceKind::Walk => (OF_BPF, &[]),
        SourceKind::Netlink => (OF_NETLINK, &[]),
        SourceKind::Procfs => (OF_PROCFS, &[]),
    };
    rules.iter().chain(more)
}

const OF_BPF: &[Rule] = &[
    Rule {
        fact: names::INITIAL_PID_NAMESPACE,
        is_needed: true,
        reason: "it numbers tasks as the initial PID namespace does, and this is another one",
        mend: "run it on the host, or in a container with the PID namespace of the host",
    },
    Rule {
        fact: names::KERNEL_CLOCKS,
        is_needed: true,
        reason: "it tells times by the clocks of the kernel, and this time namespace has others",
        mend: "run it outside the time namespace, or with offsets of 0",
    },
    Rule {
        fact: names::SYSFS_MOUNTED,
        is_needed: true,
        reason: "no sysfs is mounted on /sys, where the kernel tells its types (BTF) and CPUs",
        mend: "mount it: mount -t sysfs sysfs /sys",
    },
    Rule {
        fact: names::BTF,
        is_needed: true,
        reason: "this kernel offers no BTF at /sys/kernel/btf/vmlinux",
        mend: "boot a kernel built with CONFIG_DEBUG_INFO_BTF",
    },
    Rule {
        fact: names::INITIAL_USER_NAMESPACE,
        is_needed: true,
        reason: "loading BPF programs is not permitted: capabilities of this user namespace do not count for it",
        mend: "run it as root of the host, outside a user namespace",
    },
    Rule {
        fact: names::CAP_BPF,
        is_needed: true,
        reason: "loading BPF programs is not permitted: CAP_BPF is missing",
        mend: "run it as root, or give the binary the capabilities: setcap cap_bpf,cap_perfmon=ep FILE",
    },
    Rule {
        fact: names::CAP_PERFMON,
        is_needed: true,
        reason: "loading BPF programs is not permitted: CAP_PERFMON is missing",
        mend: "run it as root, or give the binary the capabilities: setcap cap_bpf,cap_perfmon=ep FILE",
    },
    Rule {
        fact: names::LOCKDOWN_PERMITS_READING,
        is_needed: true,
        reason: "the kernel is locked down for confidentiality, so that no program may read its memory",
        mend: "boot with lockdown=integrity, or without lockdown",
    },
];

/// On top of what all programs need.
const OF_LEDGER: &[Rule] = &[Rule {
    fact: names::BPF_ATOMICS,
    is_needed: true,
    reason: "BPF atomics are missing: this kernel is older than Linux 5.12, which brought them",
    mend: "boot Linux 5.12 or later; until then the walk sees all but what only a switch shows",
}];

const OF_NETLINK: &[Rule] = &[
    Rule {
        fact: names::PROCFS_MOUNTED,
        is_needed: true,
        reason: "no procfs is mounted on /proc, and taskstats list nobody",
        mend: "mount it: mount -t proc proc /proc",
    },
    Rule {
        fact: names::INITIAL_PID_NAMESPACE,
        is_needed: true,
        reason: "it numbers tasks as the initial PID namespace does, and this is another one",
        mend: "run it on the host, or in a container with the PID namespace of the host",
    },
    Rule {
        fact: names::INITIAL_USER_NAMESPACE,
        is_needed: true,
        reason: "reading taskstats is not permitted: capabilities of this user namespace do not count for it",
        mend: "run it as root of the host, outside a user namespace",
    },
    Rule {
        fact: names::CAP_NET_ADMIN,
        is_needed: true,
        reason: "reading taskstats is not permitted: CAP_NET_ADMIN is missing",
        mend: "run it as root, or give the binary the capability: setcap cap_net_admin=ep FILE",
    },
    Rule {
        fact: names::EXIT_REPORTS,
        is_needed: false,
        reason: "the kernel reports exits to the initial network namespace only",
        mend: "to see deaths, run it with the network namespace of the host",
    },
    Rule {
        fact: names::DELAY_ACCOUNTING,
        is_needed: false,
        reason: "delay accounting is off",
        mend: "to see time spent waiting for block I/O and swap, turn on delay accounting: \
               sysctl kernel.task_delayacct=1 (for tasks that start after that)",
    },
];

const OF_PROCFS: &[Rule] = &[
    Rule {
        fact: names::PROCFS_MOUNTED,
        is_needed: true,
        reason: "no procfs is mounted on /proc",
        mend: "mount it: mount -t proc proc /proc",
    },
    Rule {
        fact: names::SHOWS_EVERY_PROCESS,
        is_needed: false,
        reason: "hidepid hides the processes of others",
        mend: "to see all processes, run it as root, or remount: mount -o remount,hidepid=0 /proc",
    },
];

/// What a source sees and what it misses, by the facts that do not hold.
pub(super) fn sight(kind: SourceKind, fails: impl Fn(&str) -> bool) -> (&'static str, &'static str) {
    match kind {
        SourceKind::Ledger => (
            "every switch of every CPU: all CPU time between two cuts to the nanosecond, that of the dead included",
            "tasks that did not run, unless --all asks a walk for them",
        ),
        SourceKind::Walk => (
            "every task at one instant, times in nanoseconds, and the final figures of those that die between two walks",
            "what running tasks have used since the last tick, and whose time it is when a parent dies before its child",
        ),
        SourceKind::Netlink => (
            if fails(names::EXIT_REPORTS) {
                "every task, one after another, runtimes in nanoseconds"
            } else {
                "every task, one after another, runtimes in nanoseconds, and the last figures of those that die in between"
            },
            if fails(names::EXIT_REPORTS) {
                "state, memory, tasks that die in between, and without delay accounting waiting for I/O"
            } else if fails(names::DELAY_ACCOUNTING) {
                "state, memory, what a task uses while it dies, deaths when more come than are read, and waiting for I/O: \
                 delay accounting is off"
            } else {
                "state, memory, what a task uses while it dies, and deaths when more come than are read"
            },
        ),
        SourceKind::Procfs => (
            if fails(names::SHOWS_EVERY_PROCESS) {
                "the processes of this user, one after another; runtimes in nanoseconds, user and system time in ticks"
            } else {
                "every process, one after another; runtimes in nanoseconds, user and system time in ticks"
            },
            if fails(names::CAP_SYS_PTRACE) {
                "what is born and dies between two looks, how long processes with several threads waited, and block I/O of others"
            } else {
                "what is born and dies between two looks, and how long processes with several threads waited"
            },
        ),
    }
}
