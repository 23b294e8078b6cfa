//! How far a long work has come, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Scope};
use std::time::Duration;

/// Work that takes less is not told of.
const FIRST: Duration = Duration::from_millis(500);

/// Between two lines.
const EVERY: Duration = Duration::from_millis(200);

/// Shows a line on standard error, again and again, if that is a terminal, until the sender is dropped.
pub fn show<'scope>(
    scope: &'scope Scope<'scope, '_>,
    line: impl Fn() -> String + Send + 'scope,
) -> Option<mpsc::Sender<()>> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let (sender, ended) = mpsc::channel();
    let show = move || {
        let mut wait = FIRST;
        while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = EVERY;
            // Nothing depends on it.
            let _ = io::stderr().write_all(format!("\r{}\x1b[K", line()).as_bytes());
        }
        if wait == EVERY {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    };
    // Without a thread it is not said.
    thread::Builder::new().spawn_scoped(scope, show).ok()?;
    Some(sender)
}
