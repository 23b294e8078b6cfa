//! Where a source that goes by numbers of the kernel may be used.

use cpuledger_model::source_kind::SourceKind;

use crate::error::{Error, remedy_of_procfs};
use crate::facts;

/// Programs report numbers of the initial PID namespace: from inside another one they would name other tasks. And their clocks
/// are the kernel's: those of a time namespace tell other times.
pub(super) fn check_namespace(source_kind: SourceKind) -> Result<(), Error> {
    let reason = match facts::has_initial_pid_namespace() {
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
    if facts::has_kernel_clocks() == Some(false) {
        return Some(
            "this source needs the kernel's clocks, but this time namespace shifts them; run cpuledger outside it",
        );
    }
    if source_kind == SourceKind::Service {
        return None; // its programs are loaded
    }
    if facts::is_initial_user_namespace() == Some(false) {
        return Some(
            "the capabilities of a user namespace do not suffice for BPF; run cpuledger as the host's root, outside the user namespace",
        );
    }
    if !facts::has_sysfs() {
        return Some(
            "no sysfs is mounted on /sys, where the kernel describes its types (BTF) and CPUs; mount it: \
             mount -t sysfs sysfs /sys",
        );
    }
    None
}
