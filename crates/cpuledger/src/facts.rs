//! Facts: what the kernel, the mounts and the privileges of this process are.

use std::fs;

use cpuledger_client::namespace::{
    has_initial_pid_namespace, has_kernel_clocks, has_sysfs, is_initial_user_namespace,
};
use cpuledger_proc::machine::lockdown;
pub use cpuledger_proc::task::mountinfo::Hiding;
use cpuledger_proc::task::mountinfo::hiding;
use cpuledger_proc::task::status::is_numbered_as;
use rustix::thread::{CapabilitySet, capabilities};

use cpuledger_model::field::{Field, FieldSet};

/// What facts are called; the rules ask for them by name.
pub mod names {
    /// `cpuledger serve` listens at its socket.
    pub const SERVICE_LISTENS: &str = "service_listens";
    /// The kernel offers its type information.
    pub const BTF: &str = "btf";
    /// A sysfs is mounted on /sys.
    pub const SYSFS_MOUNTED: &str = "sysfs_mounted";
    /// CAP_BPF or CAP_SYS_ADMIN is effective.
    pub const CAP_BPF: &str = "cap_bpf";
    /// CAP_PERFMON or CAP_SYS_ADMIN is effective.
    pub const CAP_PERFMON: &str = "cap_perfmon";
    /// The kernel has the BPF atomics that the ledger is kept with.
    pub const BPF_ATOMICS: &str = "bpf_atomics";
    /// This is the user namespace whose capabilities count for BPF.
    pub const INITIAL_USER_NAMESPACE: &str = "initial_user_namespace";
    /// The kernel reports deaths here: it does so in the initial network namespace.
    pub const EXIT_REPORTS: &str = "exit_reports";
    /// CAP_NET_ADMIN is effective.
    pub const CAP_NET_ADMIN: &str = "cap_net_admin";
    /// `kernel.task_delayacct` is on: time spent waiting for I/O is counted.
    pub const DELAY_ACCOUNTING: &str = "delay_accounting";
    /// This is the PID namespace whose numbers a walk reports.
    pub const INITIAL_PID_NAMESPACE: &str = "initial_pid_namespace";
    /// CLOCK_MONOTONIC and CLOCK_BOOTTIME are those of the kernel, by which programs tell times.
    pub const KERNEL_CLOCKS: &str = "kernel_clocks";
    /// Kernel lockdown lets programs read kernel memory.
    pub const LOCKDOWN_PERMITS_READING: &str = "lockdown_permits_reading";
    /// A procfs is mounted on /proc.
    pub const PROCFS_MOUNTED: &str = "procfs_mounted";
    /// No hidepid hides processes of others from us.
    pub const SHOWS_EVERY_PROCESS: &str = "shows_every_process";
    /// The kernel keeps account of waiting and block I/O, which some builds leave out.
    pub const SCHEDSTAT: &str = "schedstat";
    /// Likewise.
    pub const IO_ACCOUNTING: &str = "io_accounting";
    /// CAP_SYS_PTRACE is effective: block I/O of every user's processes may be read.
    pub const CAP_SYS_PTRACE: &str = "cap_sys_ptrace";
}

pub use cpuledger_bpf::{Fact, own_file};

/// What the service depends on.
pub fn of_service(listens: bool) -> Vec<Fact> {
    vec![
        Fact { name: names::SERVICE_LISTENS, holds: Some(listens) },
        Fact { name: names::INITIAL_PID_NAMESPACE, holds: has_initial_pid_namespace().ok() },
        Fact { name: names::KERNEL_CLOCKS, holds: has_kernel_clocks() },
    ]
}

/// What the walk depends on.
pub fn of_walk() -> Vec<Fact> {
    let mut facts = cpuledger_bpf::facts();
    facts.extend([
        Fact { name: names::SYSFS_MOUNTED, holds: Some(has_sysfs()) },
        Fact { name: names::INITIAL_USER_NAMESPACE, holds: is_initial_user_namespace() },
        Fact { name: names::INITIAL_PID_NAMESPACE, holds: has_initial_pid_namespace().ok() },
        Fact { name: names::KERNEL_CLOCKS, holds: has_kernel_clocks() },
        Fact {
            name: names::LOCKDOWN_PERMITS_READING,
            holds: fs::read_to_string("/sys/kernel/security/lockdown")
                .ok()
                .map(|text| lockdown::permits_reading(&text)),
        },
        Fact { name: names::CAP_SYS_PTRACE, holds: has_sys_ptrace() },
    ]);
    facts
}

/// What the ledger depends on.
pub fn of_ledger() -> Vec<Fact> {
    let mut facts = of_walk();
    facts.push(Fact { name: names::BPF_ATOMICS, holds: cpuledger_bpf::has_atomics() });
    facts
}

/// What taskstats over netlink depend on; where the source could be opened, whether deaths are reported and delay accounting is
/// on.
pub fn of_netlink(reports: Option<bool>, delays: Option<bool>) -> Vec<Fact> {
    let is_effective = |capability| capabilities(None).ok().map(|sets| sets.effective.contains(capability));
    vec![
        Fact { name: names::CAP_NET_ADMIN, holds: is_effective(CapabilitySet::NET_ADMIN) },
        Fact { name: names::INITIAL_USER_NAMESPACE, holds: is_initial_user_namespace() },
        Fact { name: names::INITIAL_PID_NAMESPACE, holds: has_initial_pid_namespace().ok() },
        Fact { name: names::PROCFS_MOUNTED, holds: Some(fs::exists("/proc/self").unwrap_or(false)) },
        Fact { name: names::EXIT_REPORTS, holds: reports },
        Fact { name: names::DELAY_ACCOUNTING, holds: delays },
    ]
}

fn has_sys_ptrace() -> Option<bool> {
    capabilities(None).ok().map(|sets| sets.effective.contains(CapabilitySet::SYS_PTRACE))
}

/// What procfs depends on; `fields` are those that the source can give, if it could be opened.
pub fn of_procfs(fields: Option<FieldSet>) -> Vec<Fact> {
    let sees_all = has_sys_ptrace();
    let hiding = procfs_hiding();
    let groups = rustix::process::getgroups().unwrap_or_default();
    let is_member =
        |gid: u32| groups.iter().chain(&[rustix::process::getegid()]).any(|group| group.as_raw() == gid);
    let claims = |field| fields.map(|fields| fields.contains(field));
    vec![
        Fact { name: names::PROCFS_MOUNTED, holds: Some(fields.is_some()) },
        Fact {
            name: names::SHOWS_EVERY_PROCESS,
            holds: hiding.and_then(|hiding| hiding.shows_all(sees_all, is_member)),
        },
        Fact { name: names::SCHEDSTAT, holds: claims(Field::RunqueueWait) },
        Fact { name: names::IO_ACCOUNTING, holds: claims(Field::ReadBytes) },
        Fact { name: names::CAP_SYS_PTRACE, holds: sees_all },
    ]
}

/// Whether /proc lists the processes of all users to us; `None` where it cannot be told.
pub fn procfs_shows_every_process() -> Option<bool> {
    let facts = of_procfs(None);
    facts.into_iter().find(|fact| fact.name == names::SHOWS_EVERY_PROCESS)?.holds
}

/// Whether /proc numbers tasks as system calls of this process do. It may be that of another PID namespace, or not mounted.
pub fn procfs_has_our_numbers() -> bool {
    fs::read("/proc/self/status").is_ok_and(|status| is_numbered_as(&status, std::process::id()))
}

/// Whether the mount of /proc hides processes, from whomever.
pub fn procfs_hides() -> bool {
    procfs_hiding().is_some_and(|hiding| hiding.is_on)
}

/// How the mount of /proc hides processes; `None` where it cannot be told.
pub fn procfs_hiding() -> Option<Hiding> {
    hiding(&fs::read("/proc/self/mountinfo").ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_kernel_half_are_those_of_the_rules() {
        let known: Vec<&str> = cpuledger_bpf::facts().iter().map(|fact| fact.name).collect();
        assert_eq!(known, [names::BTF, names::CAP_BPF, names::CAP_PERFMON]);
    }
}
