//! The error of the library: what failed, where, and the remedy, in one sentence.

use std::io;

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
    /// The source cannot see what it was asked for from here.
    #[error("the source `{source_kind}` cannot be used here: {reason}")]
    Unusable {
        /// Which source.
        source_kind: SourceKind,
        /// Why, and the remedy.
        reason: String,
    },
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] cpuledger_recording::Error),
    /// A frame of the recording is no interval.
    #[error("cannot replay: {0}")]
    Replay(String),
    /// There is no descriptor to be had for requests that end an interval.
    #[error("cannot make an eventfd: {0}; raise the limit of open files")]
    Eventfd(io::Error),
    /// There is no source at all.
    #[error("no source is usable")]
    NoSource,
}

impl Error {
    /// Why, for a sentence that names the source already.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Error::Unusable { reason, .. } => reason,
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

/// What helps against this answer of procfs, as the end of a sentence.
pub(crate) fn remedy_of_procfs(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return "; mount procfs on /proc",
        _ => {}
    }
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => "; raise the limit of open files",
        Some(rustix::io::Errno::NOMEM) => "; free some memory",
        _ => "",
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
