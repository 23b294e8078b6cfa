//! Why a frame is no interval.

use std::fmt;

/// Why a frame is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// A number that no such member can have.
    OutOfRange {
        /// Its column.
        column: &'static str,
    },
    /// Figures whose sums would be no number.
    TooLarge,
    /// The source is none of those known here.
    UnknownSource,
    /// A row lacks this.
    Missing {
        /// The column.
        column: &'static str,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::OutOfRange { column } => write!(formatter, "the frame has a {column} out of range"),
            FrameError::TooLarge => formatter.write_str("the frame has figures that are too large"),
            FrameError::UnknownSource => {
                formatter.write_str("the frame is of a source that is not known here")
            }
            FrameError::Missing { column } => write!(formatter, "the frame has a row without {column}"),
        }
    }
}

impl std::error::Error for FrameError {}
