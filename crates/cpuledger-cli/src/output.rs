//! Standard output as the commands write it: whole buffers, errors that say what failed.

use std::io::{self, ErrorKind, IsTerminal};

use anyhow::Context;
use rustix::io::Errno;

/// Writes a finished buffer to standard output.
///
/// # Errors
/// When it cannot be written: a full disk, a closed pipe, a descriptor that is not open for writing.
pub fn write(bytes: &[u8]) -> anyhow::Result<()> {
    write_all(bytes).context("cannot write to standard output")
}

/// Not through `std::io::Stdout`: that takes EBADF for success.
fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Colour is for terminals whose user has not declined it (<https://no-color.org>).
pub fn has_color() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
