//! Why bytes are no frame, or two frames cannot be merged.

use std::borrow::Cow;
use std::fmt;

/// One sentence, without a full stop, and its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Error {
    kind: ErrorKind,
    sentence: Cow<'static, str>,
}

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are of a version that this one does not understand. They may be whole.
    TooNew,
    /// The bytes are no frame.
    Damaged,
    /// The interval is too large for a frame.
    TooLarge,
    /// The frames are no neighbours that one frame can hold.
    NotMerged,
}

impl Error {
    /// Of bytes that are no frame.
    pub(crate) const fn new(sentence: &'static str) -> Error {
        Error::of(ErrorKind::Damaged, sentence)
    }

    pub(crate) const fn of(kind: ErrorKind, sentence: &'static str) -> Error {
        Error { kind, sentence: Cow::Borrowed(sentence) }
    }

    /// Of bytes that are no frame.
    pub(crate) fn with(sentence: fmt::Arguments<'_>) -> Error {
        Error::of_with(ErrorKind::Damaged, sentence)
    }

    pub(crate) fn of_with(kind: ErrorKind, sentence: fmt::Arguments<'_>) -> Error {
        Error { kind, sentence: Cow::Owned(sentence.to_string()) }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
