//! What can go wrong, as one sentence.

use std::io;
use std::path::PathBuf;

/// What an error means to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Nothing can be written now. The interval is lost; the next may be written again.
    Paused,
    /// Another writer has the directory.
    InUse,
    /// What was found is no recording, or one of a newer version.
    NotReadable,
    /// The frame cannot be recorded.
    Frame,
    /// A system call has failed.
    Io,
}

/// Why something was not done. It is one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// See [`Kind::Paused`].
    #[error("{}: recording pauses: {source}", path.display())]
    Paused {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Likewise, because the file system has to keep room for others.
    #[error("{}: recording pauses: {free_bytes} bytes are free, and {least_bytes} are to stay so", path.display())]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// What the file system has free.
        free_bytes: u64,
        /// What it is to have.
        least_bytes: u64,
    },
    /// See [`Kind::InUse`].
    #[error("{}: another process records here", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A segment that this version does not understand.
    #[error("{}: it was written by a newer version (format {version})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u16,
    },
    /// There is nothing to read.
    #[error("{}: there is no recording", path.display())]
    NoRecording {
        /// Where.
        path: PathBuf,
    },
    /// A frame that has no times.
    #[error("an interval without start and end cannot be recorded")]
    NoTimes,
    /// A frame that cannot be encoded or merged, or is too long.
    #[error("the interval cannot be recorded: {0}")]
    Frame(String),
    /// A system call has failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// What it means to the caller.
    pub fn kind(&self) -> Kind {
        match self {
            Error::Paused { .. } | Error::NoRoom { .. } => Kind::Paused,
            Error::InUse { .. } => Kind::InUse,
            Error::Newer { .. } | Error::NoRecording { .. } => Kind::NotReadable,
            Error::NoTimes | Error::Frame(_) => Kind::Frame,
            Error::Io { .. } => Kind::Io,
        }
    }
}
