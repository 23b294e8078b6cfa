//! What can be told of a kernel without loading a program.

use std::path::Path;

use serde::Serialize;

/// The kernel's description of its own types.
pub(crate) const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// One thing that is so, is not so, or could not be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

/// Which capabilities loading takes and this thread lacks, as a sentence; `None`: it lacks none.
pub(crate) fn missing_capabilities() -> Option<&'static str> {
    let lacks = |name| facts().iter().any(|fact| fact.name == name && fact.holds == Some(false));
    match (lacks("cap_bpf"), lacks("cap_perfmon")) {
        (true, true) => Some("CAP_BPF and CAP_PERFMON are missing"),
        (true, false) => Some("CAP_BPF is missing"),
        (false, true) => Some("CAP_PERFMON is missing"),
        (false, false) => None,
    }
}

/// The file of the running program, as a word for a shell: what `setcap` takes.
pub fn own_file() -> String {
    let path = std::env::current_exe().ok();
    let is_plain =
        |path: &&str| path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte));
    match path.as_deref().and_then(Path::to_str).filter(is_plain) {
        Some(path) => path.to_owned(),
        None => "\"$(command -v cpuledger)\"".to_owned(),
    }
}
