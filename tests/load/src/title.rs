//! A process with very long arguments.

use std::time::Duration;

use crate::Error;
use crate::running::{Running, number};

const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// A process whose arguments are MiB of escape sequences, line breaks and JSON. Dropping it ends it.
#[derive(Debug)]
pub struct LongArguments {
    running: Running,
}

impl LongArguments {
    /// Starts it. Needs root, or a kernel with checkpoint/restore.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn start(mib: usize) -> Result<LongArguments, Error> {
        let mut running = Running::start(["title", "--mib", &mib.to_string()])?;
        let line = running.expect_line(ANSWER_LIMIT)?;
        match number::<i32>(&line, "pid") {
            Some(pid) if pid == running.pid() => Ok(LongArguments { running }),
            _ => Err(running.unexpected(&line)),
        }
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.running.pid()
    }
}
