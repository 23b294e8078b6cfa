//! The user of this process, and what the kernel would let them see and take without it.
//!
//! A binary with file capabilities can do more than the user who executes it. So this module holds back what the kernel guards from
//! them, and limits what they can cost the machine.
//!
//! # What is given up, and what is held back
//!
//! `support/privilege.rs` is the one table of what each source needs; docs/privileges.md is generated from it. `top` gives up
//! everything else once its source is open (`privileges.rs` of the binary). That happens before there is a second thread, because the kernel keeps
//! capabilities by thread. The ledger keeps CAP_BPF and CAP_PERFMON: a successor is loaded when slots run low, and a walk when deaths may not
//! have been reported. Running what is loaded takes no capability.
//!
//! **Without root** (`caller.rs`), cpuledger does not show what the kernel hides from the caller, and limits what it costs the machine.
//! `source/io_access.rs` checks whether /proc/PID/io of the caller's own processes may be read; other processes are not checked.
//! `source/ledger/limits.rs` counts the ledgers of a user in the kernel's list of programs, by a bpf iterator (`programs.bpf.c`). It counts before
//! a ledger is attached, and after it, when the one with the lowest number stays.

use std::sync::OnceLock;

use rustix::thread::{CapabilitySet, capabilities};

/// The rights that matter, as they were when this was first asked: `top` gives up its own once its source is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// The real user.
    pub uid: u32,
    /// Neither root nor CAP_SYS_ADMIN: one ledger at a time, of the default size at most.
    pub is_limited: bool,
    /// CAP_SYS_PTRACE: block I/O of every user's processes, which the kernel shows to a process that may trace them.
    pub sees_all_io: bool,
}

impl Caller {
    fn new(uid: u32, effective: CapabilitySet) -> Caller {
        Caller {
            uid,
            is_limited: uid != 0 && !effective.contains(CapabilitySet::SYS_ADMIN),
            sees_all_io: effective.contains(CapabilitySet::SYS_PTRACE),
        }
    }
}

/// The caller. To be asked before privileges are given up.
pub fn caller() -> Caller {
    static CALLER: OnceLock<Caller> = OnceLock::new();
    *CALLER.get_or_init(|| {
        let sets = capabilities(None);
        let effective = sets.map_or(CapabilitySet::empty(), |sets| sets.effective);
        Caller::new(rustix::process::getuid().as_raw(), effective)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_administrators_are_not_limited() {
        let of = |uid, set| Caller::new(uid, set);
        assert!(!of(0, CapabilitySet::empty()).is_limited && !of(0, CapabilitySet::empty()).sees_all_io);
        assert!(of(1000, CapabilitySet::BPF | CapabilitySet::PERFMON).is_limited);
        assert!(!of(1000, CapabilitySet::SYS_ADMIN).is_limited);
        let tracer = of(1000, CapabilitySet::SYS_PTRACE);
        assert!(tracer.is_limited && tracer.sees_all_io);
    }
}
