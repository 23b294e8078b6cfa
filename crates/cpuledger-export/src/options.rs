//! What is exported.

use cpuledger_recording::Span;

use cpuledger_program::export::Format;

/// What is exported, and how.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The format of the files.
    pub format: Format,
    /// Only intervals of this span.
    pub span: Span,
}

impl Options {
    /// All of a recording.
    pub fn all(format: Format) -> Options {
        Options { format, span: Span::ALL }
    }
}
