//! Standard output as the commands write it: whole buffers, errors that say what failed.

use std::io::{self, Write};

use anyhow::Context;

/// Writes a finished buffer to standard output.
///
/// # Errors
/// When it cannot be written: a full disk, a closed pipe.
pub fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).context("cannot write to standard output")
}
