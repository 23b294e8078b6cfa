//! Why bytes are no frame, or two frames cannot be merged.

use std::borrow::Cow;
use std::fmt;

/// One sentence, without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Cow<'static, str>);

impl Error {
    pub(crate) const fn new(sentence: &'static str) -> Error {
        Error(Cow::Borrowed(sentence))
    }

    pub(crate) fn with(sentence: fmt::Arguments<'_>) -> Error {
        Error(Cow::Owned(sentence.to_string()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
