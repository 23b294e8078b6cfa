//! Why an export ends, as one sentence.

use std::io;
use std::path::{Path, PathBuf};

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// Why an export ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] cpuledger_recording::Error),
    /// A file or directory of the output.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A store of objects.
    #[error("{store}: {sentence}")]
    Store {
        /// Its address.
        store: String,
        /// What went wrong, and what helps.
        sentence: String,
    },
    /// The directory has tables of another tier: sums over both would count the same time twice.
    #[error("{}: it has intervals of the tier {found}, and these are of {wanted}: export them to another directory", path.display())]
    OtherTier {
        /// The directory.
        path: PathBuf,
        /// The tier that is there.
        found: String,
        /// That of the recording.
        wanted: String,
    },
    /// The directory has the same time of the same machine from another recording.
    #[error("{}: it has the same time from another recording, and sums over both would count it twice: export to another directory", path.display())]
    OtherRecording {
        /// The directory.
        path: PathBuf,
    },
    /// The directory has files whose names do not say of which recording and time they are.
    #[error("{}: it is of an older version, whose names do not say from which recording it is: export to another directory", path.display())]
    OlderNames {
        /// One of them.
        path: PathBuf,
    },
    /// Another export writes there.
    #[error("{}: another export writes there", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// It was asked to end.
    #[error("the export was ended: what is complete stays, and the same command goes on from there")]
    Stopped,
}

impl Error {
    /// Of this file.
    pub(crate) fn of(path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { path: path.into(), source }
    }
}

/// What the writers of formats say.
pub(crate) fn io_of_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

/// Likewise.
pub(crate) fn io_of_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}
