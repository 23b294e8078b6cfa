//! The journal: a line for each thing that an operator would ask about.

use std::io::Write as _;

/// Writes a line for the journal.
pub fn log(sentence: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "cpuledger: {sentence}");
}
