//! Files of configuration: how they are read, and why one is of no use.

use std::io;
use std::path::{Path, PathBuf};

/// A file has no more bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Why the file is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// The kernel's answer.
        error: io::Error,
    },
    /// It is no YAML.
    #[error("{} is not YAML: {reason}", .path.display())]
    NoYaml {
        /// Which file.
        path: PathBuf,
        /// Where, and why.
        reason: String,
    },
    /// It has a key that this program does not know, or a value that it cannot use.
    #[error("{}: {reason}", .path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What is in a file.
///
/// # Errors
/// When it cannot be read, or is too long.
pub fn bytes(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), error };
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > MOST_BYTES {
        return Err(unreadable(io::Error::other(format!("it has more than {MOST_BYTES} bytes"))));
    }
    std::fs::read(path).map_err(unreadable)
}

/// What is wrong with a key that is none of `known`.
pub fn unknown(key: &str, known: &str) -> String {
    format!("`{key}` is not supported; {known} are")
}
