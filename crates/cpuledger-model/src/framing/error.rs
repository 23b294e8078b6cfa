//! Why a frame is no interval.

/// Why a frame is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A number that no such member can have.
    #[error("the frame has a {column} out of range")]
    OutOfRange {
        /// Its column.
        column: &'static str,
    },
    /// Figures whose sums would be no number.
    #[error("the frame has figures that are too large")]
    TooLarge,
    /// The source is none of those known here.
    #[error("the frame is of a source that is not known here")]
    UnknownSource,
    /// A row lacks this.
    #[error("the frame has a row without {column}")]
    Missing {
        /// The column.
        column: &'static str,
    },
}
