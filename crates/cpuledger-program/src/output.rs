//! Standard output as the commands write it: whole buffers, errors that say what failed.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Context;
pub use cpuledger_proc::count::count_of;
use cpuledger_proc::escape::append_sentence;
use rustix::io::Errno;

use crate::closed::stdout_was_closed;
use crate::colors::Colors;

/// Writes a finished buffer to standard output.
///
/// # Errors
/// When it cannot be written: a full disk, a closed pipe, a descriptor that is not open for writing.
pub fn write(bytes: &[u8]) -> anyhow::Result<()> {
    write_all(bytes).context("cannot write to standard output")
}

/// Says something on standard error that does not end the command.
pub fn warn(sentence: &str) {
    complain(&format!("cpuledger: {sentence}"));
}

/// Writes a line to standard error, in which the words of arguments, names and files may stand: no control of them reaches the
/// terminal. Every sentence goes this way.
pub fn complain(sentence: &str) {
    let mut line = Vec::new();
    append_sentence(&mut line, sentence);
    line.push(b'\n');
    // If standard error is closed, only the exit code says it.
    let _ = io::stderr().write_all(&line);
}

/// As much as an ordinary user may give a pipe, unless the administrator has chosen otherwise.
const PIPE_BYTES: usize = 1024 * 1024;

/// Widens standard output, where it is a pipe: for much output, so that writer and reader need not take turns by 64 KiB.
pub fn widen() {
    // Where it is no pipe or may not be, it stays as it is.
    let _ = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdout(), PIPE_BYTES);
}

/// Not through `std::io::Stdout`: that takes EBADF for success.
fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    if stdout_was_closed() && !bytes.is_empty() {
        return Err(Errno::BADF.into());
    }
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

/// Colour is for terminals that have it and whose user has not declined it.
pub fn has_color() -> bool {
    io::stdout().is_terminal() && Colors::of_terminal() != Colors::None
}
