//! What can be told of a kernel without loading a program.

use std::path::Path;

/// The kernel's description of its own types.
pub(crate) const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// One thing the kernel offers or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What was looked at.
    pub name: &'static str,
    /// `None` where it could not be told.
    pub holds: Option<bool>,
}

/// What can be told of this kernel without loading a program.
pub fn facts() -> Vec<Fact> {
    let capability = |set: rustix::thread::CapabilitySet| {
        rustix::thread::capabilities(None)
            .map(|sets| sets.effective.intersects(set | rustix::thread::CapabilitySet::SYS_ADMIN))
            .ok()
    };
    vec![
        Fact { name: "btf", holds: Some(Path::new(KERNEL_BTF).exists()) },
        Fact { name: "cap_bpf", holds: capability(rustix::thread::CapabilitySet::BPF) },
        Fact { name: "cap_perfmon", holds: capability(rustix::thread::CapabilitySet::PERFMON) },
    ]
}

/// Whether this thread has what loading and attaching take.
pub(crate) fn is_privileged() -> bool {
    facts().iter().all(|fact| fact.holds != Some(false))
}
