//! The error of the library: what failed, where, and the remedy, in one sentence.

use std::io;

use cpuledger_client::error::remedy_of_procfs;
use cpuledger_model::source_kind::SourceKind;

/// Why a source gives no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel half cannot be loaded or run.
    #[error(transparent)]
    Bpf(#[from] cpuledger_bpf::Error),
    /// A file of procfs that every machine has cannot be read.
    #[error("cannot read {path}: {source}{}", remedy_of_procfs(source))]
    Procfs {
        /// Which file or directory.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Taskstats cannot be asked for.
    #[error("cannot read taskstats from netlink: {source}; {}", remedy_of_netlink(source))]
    Netlink {
        /// The kernel's answer.
        source: io::Error,
    },
    /// A source cannot be used here, or a recording not read.
    #[error(transparent)]
    Client(#[from] cpuledger_client::Error),
    /// There is no descriptor to be had for requests that end an interval.
    #[error("cannot make an eventfd: {0}; raise the limit of open files")]
    Eventfd(io::Error),
    /// There is no source at all.
    #[error("no source is usable")]
    NoSource,
}

impl Error {
    /// That source cannot see what it was asked for from here: why, and the remedy.
    pub fn unusable(source_kind: SourceKind, reason: impl Into<String>) -> Error {
        cpuledger_client::Error::Unusable { source_kind, reason: reason.into() }.into()
    }

    /// Why, for a sentence that names the source already.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Error::Client(cpuledger_client::Error::Unusable { reason, .. }) => reason,
            error => error.to_string(),
        }
    }

    /// The verifier's last lines where the kernel refused a program; else empty.
    pub fn log(&self) -> &[String] {
        match self {
            Error::Bpf(error) => error.log(),
            _ => &[],
        }
    }
}

/// What helps against this answer of netlink.
fn remedy_of_netlink(error: &io::Error) -> &'static str {
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => "raise the limit of open files",
        Some(rustix::io::Errno::NOMEM | rustix::io::Errno::NOBUFS) => "free some memory",
        _ => "use another source",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procfs_is_to_be_mounted_only_where_it_is_missing() {
        let sentence = |errno: rustix::io::Errno| {
            Error::Procfs { path: "/proc/stat".to_owned(), source: errno.into() }.to_string()
        };
        assert!(sentence(rustix::io::Errno::NOENT).ends_with("; mount procfs on /proc"));
        for errno in [rustix::io::Errno::ACCESS, rustix::io::Errno::IO, rustix::io::Errno::MFILE] {
            assert!(!sentence(errno).contains("mount"), "{}", sentence(errno));
        }
    }
}
