//! Why the kernel half cannot be used, in a sentence that says what helps.

use std::io;

use cpuledger_model::accounts::Account;
use rustix::io::Errno;

use crate::facts::{KERNEL_BTF, missing_capabilities, own_file};
use crate::log;

/// Why the kernel half cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel was built without CONFIG_DEBUG_INFO_BTF, or /sys is not mounted.
    #[error(
        "this kernel has no BTF at {KERNEL_BTF}: boot a kernel built with CONFIG_DEBUG_INFO_BTF, or mount /sys"
    )]
    NoBtf,
    /// bpf(2) answered EPERM, and the caller has not the privileges.
    #[error("{}", not_permitted(missing, ""))]
    NotPermitted {
        /// Which capabilities are missing.
        missing: &'static str,
    },
    /// bpf(2) is missing: CONFIG_BPF_SYSCALL is off or a seccomp filter hides it.
    #[error(
        "this kernel has no bpf(2) system call, or a seccomp filter hides it: use --source procfs, or allow bpf(2)"
    )]
    NoBpf,
    /// The kernel refused a program, a map or a call.
    #[error("the kernel refused {what}: {source}{}{}", complaint_of(log), remedy_of(source))]
    Refused {
        /// What was asked for.
        what: String,
        /// The kernel's answer.
        source: io::Error,
        /// The verifier's last lines, or what else libbpf had to say; may be empty.
        log: Vec<String>,
    },
    /// A walk did not hold what there is.
    #[error("the walk failed: {what}")]
    Incomplete {
        /// What was in the way.
        what: String,
    },
    /// The kernel lacks the instructions that the ledger needs.
    #[error(
        "this kernel has no BPF atomics, which the ledger needs and Linux 5.12 added: use another source"
    )]
    NoAtomics,
    /// The ledger cannot be attached as it was asked for, or from here.
    #[error("cannot attach the ledger: {what}")]
    Unattachable {
        /// What is in the way.
        what: String,
    },
    /// The ledger cannot keep an account.
    #[error("the ledger keeps no account of {account}: {what}")]
    NoAccount {
        /// Which.
        account: Account,
        /// What is in the way.
        what: String,
    },
    /// The ledger keeps an account without a part of it.
    #[error("the account of {account} has no {part}: {what}")]
    NoPart {
        /// Which.
        account: Account,
        /// What of it.
        part: &'static str,
        /// What is in the way.
        what: String,
    },
    /// The ledger could not close an interval, so it is poisoned: only a new one has books that balance.
    #[error("the ledger could not close an interval: {what}; restart cpuledger")]
    Poisoned {
        /// What did not happen.
        what: String,
    },
}

impl Error {
    /// From an error of libbpf while it did `what`.
    pub(crate) fn from_libbpf(what: &str, error: &libbpf_rs::Error) -> Error {
        match errno_of(error) {
            Some(errno) => Error::from_errno(what, errno),
            None => Error::Refused {
                what: what.to_owned(),
                source: io::Error::other(error.to_string()),
                log: log::last_lines(),
            },
        }
    }

    /// From a read or the like that failed while it did `what`.
    pub(crate) fn from_io(what: &str, source: io::Error) -> Error {
        Error::Refused { what: what.to_owned(), source, log: Vec::new() }
    }

    /// From a system call that failed while it did `what`. EACCES is the verifier's refusal; EPERM is the missing
    /// privilege, or with privilege the refusal of a lock-down or a seccomp filter.
    pub(crate) fn from_errno(what: &str, errno: Errno) -> Error {
        let missing = if errno == Errno::PERM { missing_capabilities() } else { None };
        if let Some(missing) = missing {
            return Error::NotPermitted { missing };
        }
        let log = log::last_lines();
        // libbpf opens a file to see whether the kernel has global data. Where it cannot, it leaves those maps out.
        let has_no_map =
            errno == Errno::INVAL && log.iter().any(|line| line.contains("not pointing to valid bpf_map"));
        match errno {
            Errno::NOSYS => Error::NoBpf,
            _ if has_no_map => Error::from_io(what, Errno::MFILE.into()),
            errno => Error::Refused { what: what.to_owned(), source: errno.into(), log },
        }
    }

    /// The verifier's last lines; empty where it said nothing.
    pub fn log(&self) -> &[String] {
        match self {
            Error::Refused { log, .. } => log,
            _ => &[],
        }
    }
}

/// That loading is not permitted, and what helps: `instead` first, the command to copy last.
pub fn not_permitted(missing: &str, instead: &str) -> String {
    format!(
        "loading BPF programs is not permitted: {missing}; {instead}run cpuledger as root, or give the binary the \
         capabilities: setcap cap_bpf,cap_perfmon=ep {}",
        own_file()
    )
}

/// The errno behind an error of libbpf-rs, which keeps it to itself: only the text of the innermost cause tells it.
fn errno_of(error: &libbpf_rs::Error) -> Option<Errno> {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let text = cause.to_string();
    let (_, code) = text.rsplit_once("(os error ")?;
    Some(Errno::from_raw_os_error(code.strip_suffix(')')?.parse().ok()?))
}

/// What the verifier has complained of, with a colon before it: the line before its closing summary. Empty where it said nothing.
fn complaint_of(log: &[String]) -> String {
    let summary = log.iter().rposition(|line| line.starts_with("processed ") && line.contains(" insns"));
    let complaint = summary.and_then(|summary| log.get(summary.checked_sub(1)?));
    let complaint = complaint.filter(|line| !line.ends_with("-- BEGIN PROG LOAD LOG --"));
    complaint.map_or_else(String::new, |line| format!(": {}", line.escape_debug()))
}

/// What helps against this answer, as the end of a sentence.
fn remedy_of(answer: &io::Error) -> &'static str {
    match Errno::from_io_error(answer) {
        Some(Errno::MFILE) => "; raise the limit of open files (ulimit -n)",
        Some(Errno::NFILE) => "; raise the machine's limit of open files: sysctl fs.file-max",
        Some(Errno::NOMEM) => "; free some memory, or raise the memory limit (ulimit -l, or the cgroup's)",
        Some(Errno::PERM) => "; a seccomp filter or the kernel's lockdown is in the way",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errno_is_found_behind_context() {
        use libbpf_rs::ErrorExt;
        let error =
            libbpf_rs::Error::from(io::Error::from_raw_os_error(38)).context("outer").context("outermost");
        assert_eq!(errno_of(&error), Some(Errno::NOSYS));
        assert!(matches!(Error::from_libbpf("to test", &error), Error::NoBpf));
    }

    #[test]
    fn the_verifier_has_complained_before_its_summary() {
        let log = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let said = log(&[
            "7: (61) r1 = *(u32 *)(r0 +8)",
            "invalid access to map value, value_size=4 off=8 size=4",
            "processed 7 insns (limit 1000000) max_states_per_insn 0",
            "-- END PROG LOAD LOG --",
        ]);
        assert_eq!(complaint_of(&said), ": invalid access to map value, value_size=4 off=8 size=4");
        assert_eq!(complaint_of(&said[2..]), "");
        let refused_early =
            ["libbpf: prog 'walk': -- BEGIN PROG LOAD LOG --", "processed 0 insns (limit 1000000)"];
        assert_eq!(complaint_of(&log(&refused_early)), "");
        assert_eq!(complaint_of(&log(&["libbpf: failed to load object"])), "");
    }
}
