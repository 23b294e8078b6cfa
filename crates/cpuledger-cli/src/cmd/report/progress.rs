//! How far a long work has come, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Scope};
use std::time::Duration;

/// Work that takes less is not told of.
const FIRST: Duration = Duration::from_millis(500);

/// Between two lines.
const EVERY: Duration = Duration::from_millis(200);

/// Counts intervals; says so while it lives.
#[derive(Debug, Default)]
pub struct Count {
    done: AtomicU64,
}

impl Count {
    /// One more.
    pub fn add(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Says on standard error how far the count has come, if that is a terminal, until the sender is dropped.
    pub fn show<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, of: u64) -> Option<mpsc::Sender<()>> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let (sender, ended) = mpsc::channel();
        let show = move || {
            let mut wait = FIRST;
            let mut was_shown = false;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                (wait, was_shown) = (EVERY, true);
                let done = self.done.load(Ordering::Relaxed);
                let _ =
                    write!(io::stderr(), "\r{done} of {of} intervals, {} %\x1b[K", done * 100 / of.max(1));
            }
            if was_shown {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        };
        // Without a thread it is not said.
        thread::Builder::new().spawn_scoped(scope, show).ok()?;
        Some(sender)
    }
}
