//! Where a source that goes by numbers of the kernel may be used.

use std::fs;
use std::io::{self, ErrorKind};

use cpuledger_model::source_kind::SourceKind;
use cpuledger_proc::task::timens_offsets::are_zero;

use crate::error::{Error, remedy_of_procfs};

/// Inode number of the initial PID namespace (`PROC_PID_INIT_INO`): the one whose numbers a walk reports.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Inode number of the initial user namespace (`PROC_USER_INIT_INO`): capabilities of another do not count for BPF.
const INITIAL_USER_NAMESPACE: &str = "user:[4026531837]";

/// Programs report numbers of the initial PID namespace: from inside another one they would name other tasks. And their clocks
/// are the kernel's: those of a time namespace tell other times.
///
/// # Errors
/// When it may not be used here, and when /proc does not tell.
pub fn check_namespace(source_kind: SourceKind) -> Result<(), Error> {
    let reason = match has_initial_pid_namespace() {
        Ok(true) => match hindrance(source_kind) {
            Some(reason) => reason.to_owned(),
            None => return Ok(()),
        },
        Ok(false) => {
            "this source uses the pids of the host's PID namespace, but cpuledger runs in another one; \
             run cpuledger on the host, or in a container with the PID namespace of the host"
                .to_owned()
        }
        Err(error) => format!(
            "this source uses the pids of the host's PID namespace, and cannot check that this is that namespace: \
             /proc/self/ns/pid: {error}{}",
            remedy_of_procfs(&error)
        ),
    };
    Err(Error::Unusable { source_kind, reason })
}

/// What is in the way of a source where tasks have the kernel's numbers: it is told here, for the kernel answers with no more than
/// EPERM or ENOENT.
fn hindrance(source_kind: SourceKind) -> Option<&'static str> {
    match source_kind {
        // Netlink tells ages, not instants, and has a sentence of its own about user namespaces. Files need no capability for BPF.
        SourceKind::Netlink | SourceKind::Procfs => return None,
        SourceKind::Service | SourceKind::Ledger | SourceKind::Walk => {}
    }
    if has_kernel_clocks() == Some(false) {
        return Some(
            "this source needs the kernel's clocks, but this time namespace shifts them; run cpuledger outside it",
        );
    }
    if source_kind == SourceKind::Service {
        return None; // its programs are loaded
    }
    if is_initial_user_namespace() == Some(false) {
        return Some(
            "the capabilities of a user namespace do not suffice for BPF; run cpuledger as the host's root, outside the user namespace",
        );
    }
    if !has_sysfs() {
        return Some(
            "no sysfs is mounted on /sys, where the kernel describes its types (BTF) and CPUs; mount it: \
             mount -t sysfs sysfs /sys",
        );
    }
    None
}

/// Whether a sysfs is mounted where the kernel's types and CPUs are looked for.
pub fn has_sysfs() -> bool {
    fs::exists("/sys/kernel").unwrap_or(false)
}

/// Whether capabilities count here; `None` where it cannot be told, as below.
pub fn is_initial_user_namespace() -> Option<bool> {
    Some(fs::read_link("/proc/self/ns/user").ok()?.as_os_str() == INITIAL_USER_NAMESPACE)
}

/// Whether this time namespace has no other clocks than the kernel; `None` where nothing tells.
pub fn has_kernel_clocks() -> Option<bool> {
    match fs::read_to_string("/proc/self/timens_offsets") {
        Ok(offsets) => Some(are_zero(&offsets)),
        // Kernels without time namespaces.
        Err(error) if error.kind() == ErrorKind::NotFound && fs::exists("/proc/self").unwrap_or(false) => {
            Some(true)
        }
        Err(_) => None,
    }
}

/// Whether tasks have the kernel's numbers here.
///
/// # Errors
/// When /proc does not tell.
pub fn has_initial_pid_namespace() -> io::Result<bool> {
    Ok(fs::read_link("/proc/self/ns/pid")?.as_os_str() == INITIAL_PID_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_run_with_the_clocks_of_the_machine() {
        assert_eq!(has_kernel_clocks(), Some(true));
    }
}
