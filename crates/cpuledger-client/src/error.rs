//! The error of the library: what failed, where, and the remedy, in one sentence.

use std::io;

use cpuledger_model::source_kind::SourceKind;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
}

/// What helps where there is no service, as the end of a sentence.
pub const REMEDY_OF_SERVICE: &str = "; start it with `systemctl start cpuledger`, or as root with `cpuledger serve`; CPULEDGER_SOCKET names another socket";

/// What helps against this answer of procfs, as the end of a sentence.
pub fn remedy_of_procfs(error: &io::Error) -> &'static str {
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
