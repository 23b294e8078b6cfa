//! Opening and loading the embedded BPF objects, and the facts that decide whether it can work.

use std::io;
use std::path::Path;
use std::thread;

use libbpf_rs::{AsRawLibbpf, MapCore, MapMut, Object, ObjectBuilder, OpenObject, libbpf_sys};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use crate::btf::{self, KERNEL_BTF, KernelTypes};
use crate::log;
use crate::map::bytes_mut;
use crate::threads::spawn_scoped;

/// The map with the numbers of kernel types.
const TYPE_NUMBERS: &str = ".rodata.types";

/// As many files as loading an object has open at once, with two for libbpf's probes and some for a load beside it.
const FILES_TO_LOAD: usize = 26;

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
    #[error("the kernel refused {what}: {source}{}{}", complaint_of(log), mend_of(source))]
    Refused {
        /// What was asked for.
        what: String,
        /// The kernel's answer.
        source: io::Error,
        /// The verifier's last lines, or what else libbpf had to say; may be empty.
        log: Vec<String>,
    },
    /// The kernel does not know the instructions that the ledger is kept with.
    #[error(
        "this kernel has no BPF atomics, which came with Linux 5.12 and which the ledger is kept with: use another source"
    )]
    NoAtomics,
    /// The ledger cannot be attached as it was asked for, or from here.
    #[error("the ledger cannot be attached: {what}")]
    Unattachable {
        /// What is in the way.
        what: String,
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
        match errno_of(error) {
            Some(errno) => Error::from_errno(what, errno),
            None => Error::Refused {
                what: what.to_owned(),
                source: io::Error::other(error.to_string()),
                log: log::last_lines(),
            },
        }
    }

    /// From a system call that failed while it did `what`. EACCES is the verifier's refusal; EPERM is the missing
    /// privilege, or with privilege the refusal of a lock-down or a seccomp filter.
    pub(crate) fn from_errno(what: &str, errno: Errno) -> Error {
        match errno {
            Errno::PERM if !is_privileged() => Error::NotPermitted,
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
fn mend_of(answer: &io::Error) -> &'static str {
    match Errno::from_io_error(answer) {
        Some(Errno::MFILE) => "; raise the limit of open files: ulimit -n 1024",
        Some(Errno::NFILE) => "; raise the machine's limit of open files: sysctl fs.file-max",
        Some(Errno::NOMEM) => "; free some memory, or raise the limit",
        Some(Errno::PERM) => "; a seccomp filter or the kernel's lockdown is in the way",
        _ => "",
    }
}

/// Whether this thread has what loading and attaching take.
fn is_privileged() -> bool {
    facts().iter().all(|fact| fact.holds != Some(false))
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
pub(crate) fn load(
    name: &str,
    bytes: &[u8],
    prepare: impl FnOnce(&mut OpenObject) -> Result<(), Error>,
) -> Result<Object, Error> {
    room_for_files(name)?;
    let types = KernelTypes::of_this_kernel();
    let mut open = open(name, bytes, types.as_ref())?;
    prepare(&mut open)?;
    open.load().map_err(|error| Error::from_libbpf(&loading(name), &error))
}

/// The same with maps that take long to make: another thread makes them while libbpf reads the types of this kernel,
/// which takes as long, and `adopt` hands them over before the kernel sees the programs.
pub(crate) fn load_beside<T: Send>(
    name: &str,
    bytes: &[u8],
    choose: impl FnOnce(&mut OpenObject),
    make: impl Fn() -> Result<T, Error> + Sync,
    adopt: impl FnOnce(&T, &mut OpenObject) -> Result<(), Error>,
) -> Result<(Object, T), Error> {
    room_for_files(name)?;
    let (mut open, made) = thread::scope(|scope| {
        let beside = spawn_scoped(scope, &make);
        let types = KernelTypes::of_this_kernel();
        let mut open = open(name, bytes, types.as_ref())?;
        choose(&mut open);
        // SAFETY: the object is open, not loaded, and `open` is its only owner.
        let code = unsafe { libbpf_sys::bpf_object__prepare(open.as_libbpf_object().as_ptr()) };
        let made =
            beside.map_or_else(|_| make(), |beside| beside.join().expect("making maps does not panic"))?;
        match code {
            0 => Ok((open, made)),
            code => Err(Error::from_errno(&loading(name), Errno::from_raw_os_error(-code))),
        }
    })?;
    adopt(&made, &mut open)?;
    let object = open.load().map_err(|error| Error::from_libbpf(&loading(name), &error))?;
    Ok((object, made))
}

/// `types` has to live until the object is prepared or loaded.
pub(crate) fn open(name: &str, bytes: &[u8], types: Option<&KernelTypes>) -> Result<OpenObject, Error> {
    if !Path::new(KERNEL_BTF).exists() {
        return Err(Error::NoBtf);
    }
    log::start();
    let refused = |error| Error::from_libbpf(&loading(name), &error);
    let mut builder = ObjectBuilder::default();
    if let Some(types) = types {
        builder.btf_custom_path(types.path()).map_err(refused)?;
    }
    let mut open = builder.name(name).and_then(|builder| builder.open_memory(bytes)).map_err(refused)?;
    let numbers = open.maps_mut().find(|map| map.name() == TYPE_NUMBERS);
    if let Some(mut numbers) = numbers {
        let found = types.map_or_else(btf::numbers_by_libbpf, |types| Ok(types.numbers));
        numbers.set_initial_value(bytes_mut(&mut found.map_err(refused)?)).map_err(refused)?;
    }
    Ok(open)
}

/// Refuses a load that would run out of open files midway. libbpf takes a probe of its own that fails for want of a file
/// for a kernel without the feature: it leaves out what is global, and the verifier's answer then names no file at all.
fn room_for_files(name: &str) -> Result<(), Error> {
    let room = eventfd(0, EventfdFlags::CLOEXEC).and_then(|file| {
        (1..FILES_TO_LOAD).map(|_| fcntl_dupfd_cloexec(&file, 0)).collect::<Result<Vec<_>, _>>()
    });
    room.map(drop).map_err(|errno| Error::from_errno(&loading(name), errno))
}

fn loading(name: &str) -> String {
    format!("to load the BPF object `{name}`")
}

/// A map of a loaded object; its name is a constant of this crate.
pub(crate) fn map_mut<'a>(object: &'a mut Object, name: &str) -> MapMut<'a> {
    object.maps_mut().find(|map| map.name() == name).expect("the embedded object defines this map")
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
