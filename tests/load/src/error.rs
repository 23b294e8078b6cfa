//! What can go wrong around a workload.

use std::io;
use std::path::PathBuf;

/// Why a workload could not be started, did not do as told, or could not be ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program was not found and could not be built.
    #[error("no cpuledger-load program: {0}; `cargo build -p cpuledger-load` makes it")]
    NoProgram(String),
    /// The program could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program that was tried.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The workload gave up, with this sentence.
    #[error("{0}")]
    GaveUp(String),
    /// The workload said something that the library does not understand.
    #[error("cpuledger-load {command} said {line:?}, which is not a line it should say")]
    Unexpected {
        /// The command that was run.
        command: String,
        /// The line.
        line: String,
    },
    /// The workload did not get so far in the time allowed.
    #[error("cpuledger-load {command} said nothing for {seconds} s")]
    Late {
        /// The command that was run.
        command: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The machine has no room for the requested number of tasks.
    #[error("{0}")]
    NoRoom(String),
    /// A system call or file failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl Error {
    /// An adaptor for `map_err` that says what was tried.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
        let what = what.into();
        move |source| Error::System { what, source: source.into() }
    }
}
