//! Opening and loading the embedded BPF objects, and the facts that decide whether it can work.

use std::io;
use std::path::Path;

use libbpf_rs::{MapCore, MapMut, Object, ObjectBuilder, OpenObject};
use rustix::io::Errno;

use crate::log;

/// Where the kernel offers its own type information.
const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// Why the kernel half cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel was built without CONFIG_DEBUG_INFO_BTF, or /sys is not mounted.
    #[error(
        "this kernel offers no BTF at {KERNEL_BTF}: boot one built with CONFIG_DEBUG_INFO_BTF, or mount /sys"
    )]
    NoBtf,
    /// bpf(2) answered EPERM or EACCES.
    #[error("loading BPF programs is not permitted: run as root, or give the binary CAP_BPF and CAP_PERFMON")]
    NotPermitted,
    /// bpf(2) is missing: CONFIG_BPF_SYSCALL is off or a seccomp filter hides it.
    #[error("this kernel has no bpf(2) system call, or a seccomp filter hides it")]
    NoBpf,
    /// The kernel refused a program, a map or a call.
    #[error("the kernel refused {what}: {source}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The kernel's answer.
        source: io::Error,
        /// The verifier's last lines, or what else libbpf had to say; may be empty.
        log: Vec<String>,
    },
    /// The ledger could not take a cut.
    #[error("the ledger could not close an interval: {what}; attach it anew")]
    Stuck {
        /// What did not happen.
        what: String,
    },
}

impl Error {
    /// From an error of libbpf while it did `what`.
    pub(crate) fn from_libbpf(what: &str, error: &libbpf_rs::Error) -> Error {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(link) = cause {
            if let Some(code) = link.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
                return Error::from_errno(what, Errno::from_raw_os_error(code));
            }
            cause = link.source();
        }
        Error::Refused {
            what: what.to_owned(),
            source: io::Error::other(error.to_string()),
            log: log::last_lines(),
        }
    }

    /// From a system call that failed while it did `what`. EACCES is the verifier's refusal, EPERM the missing privilege.
    pub(crate) fn from_errno(what: &str, errno: Errno) -> Error {
        match errno {
            Errno::PERM => Error::NotPermitted,
            Errno::NOSYS => Error::NoBpf,
            errno => Error::Refused { what: what.to_owned(), source: errno.into(), log: log::last_lines() },
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

/// Opens an embedded object, lets `prepare` choose among its programs, and loads it.
pub(crate) fn load(name: &str, bytes: &[u8], prepare: impl FnOnce(&mut OpenObject)) -> Result<Object, Error> {
    if !Path::new(KERNEL_BTF).exists() {
        return Err(Error::NoBtf);
    }
    log::start();
    let what = format!("to load the BPF object `{name}`");
    let mut open = ObjectBuilder::default()
        .name(name)
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(|error| Error::from_libbpf(&what, &error))?;
    prepare(&mut open);
    open.load().map_err(|error| Error::from_libbpf(&what, &error))
}

/// A map of a loaded object; its name is a constant of this crate.
pub(crate) fn map_mut<'a>(object: &'a mut Object, name: &str) -> MapMut<'a> {
    object.maps_mut().find(|map| map.name() == name).expect("the embedded object defines this map")
}
