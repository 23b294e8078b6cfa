//! Where a source that goes by numbers of the kernel may be used.

use crate::error::Error;
use crate::facts;
use crate::source::SourceKind;

/// Programs report numbers of the initial PID namespace: from inside another one they would name other tasks. And their clocks
/// are the kernel's: those of a time namespace tell other times.
pub(super) fn check_namespace(source_kind: SourceKind) -> Result<(), Error> {
    let reason = match facts::has_initial_pid_namespace() {
        Ok(true) => match hindrance(source_kind) {
            Some(reason) => reason.to_owned(),
            None => return Ok(()),
        },
        Ok(false) => "it numbers tasks as the initial PID namespace does, and this is another one; \
             run it on the host, or in a container with the PID namespace of the host"
            .to_owned(),
        Err(error) => format!(
            "it numbers tasks as the initial PID namespace does, and without /proc/self/ns/pid ({error}) \
             nothing tells whether this is that one; mount procfs on /proc"
        ),
    };
    Err(Error::Unusable { source_kind, reason })
}

/// What is in the way of a source where tasks have the kernel's numbers: it is told here, for the kernel answers with no more than
/// EPERM or ENOENT.
fn hindrance(source_kind: SourceKind) -> Option<&'static str> {
    // Netlink tells ages, not instants, and has a sentence of its own about user namespaces.
    if source_kind == SourceKind::Netlink {
        return None;
    }
    if facts::has_kernel_clocks() == Some(false) {
        return Some(
            "it tells times by the clocks of the kernel, and this time namespace has others; run it outside of that",
        );
    }
    if facts::is_initial_user_namespace() == Some(false) {
        return Some(
            "capabilities of this user namespace do not count for BPF; run it as root of the host, outside a user namespace",
        );
    }
    if !facts::has_sysfs() {
        return Some(
            "no sysfs is mounted on /sys, where the kernel tells its types (BTF) and CPUs; mount it: \
             mount -t sysfs sysfs /sys",
        );
    }
    None
}
