//! Users that try to harm the service.

use std::path::Path;
use std::time::Duration;

use crate::Error;
use crate::running::{Running, number};

const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// What a [`Hostile`] user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Keeps listings.
    Listings,
    /// Keeps rings.
    Rings,
    /// Sends no calls, halves of calls, and calls whose answers it does not read.
    Garbage,
    /// Asks for the shortest intervals.
    Intervals,
    /// Subscribes, and stops.
    Stopped,
}

impl Harm {
    /// Each of them.
    pub const ALL: [Harm; 5] = [Harm::Listings, Harm::Rings, Harm::Garbage, Harm::Intervals, Harm::Stopped];

    /// As a word.
    pub fn name(self) -> &'static str {
        match self {
            Harm::Listings => "listings",
            Harm::Rings => "rings",
            Harm::Garbage => "garbage",
            Harm::Intervals => "intervals",
            Harm::Stopped => "stopped",
        }
    }
}

/// A user at work. Dropping it ends it.
#[derive(Debug)]
pub struct Hostile {
    running: Running,
    harm: Harm,
}

/// What it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harmed {
    /// Calls that the service has taken.
    pub calls: u64,
    /// What it has kept at the end: descriptors or connections.
    pub kept: u64,
}

impl Hostile {
    /// Begins, at this socket and as this user. It takes root.
    ///
    /// # Errors
    /// [`Error::GaveUp`] with the program's reason.
    pub fn start(socket: &Path, uid: u32, harm: Harm) -> Result<Hostile, Error> {
        let uid = uid.to_string();
        let arguments: [&std::ffi::OsStr; 7] = [
            "hostile".as_ref(),
            "--socket".as_ref(),
            socket.as_ref(),
            "--uid".as_ref(),
            uid.as_ref(),
            "--act".as_ref(),
            harm.name().as_ref(),
        ];
        let mut running = Running::start(arguments)?;
        match running.expect_line(ANSWER_LIMIT)?.as_str() {
            "ready" => Ok(Hostile { running, harm }),
            line => Err(running.unexpected(line)),
        }
    }

    /// Ends it, and returns what it has done; `None`: it has stopped itself, and cannot say.
    ///
    /// # Errors
    /// [`Error::GaveUp`] or [`Error::System`].
    pub fn stop(mut self) -> Result<Option<Harmed>, Error> {
        if self.harm == Harm::Stopped {
            return Ok(None);
        }
        self.running.release();
        let line = self.running.expect_line(ANSWER_LIMIT)?;
        let harmed = line
            .strip_prefix("done ")
            .and_then(|line| Some(Harmed { calls: number(line, "calls")?, kept: number(line, "kept")? }));
        harmed.map(Some).ok_or_else(|| self.running.unexpected(&line))
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        // One that is stopped hears nothing else.
        if let Err(error) = self.running.kill() {
            eprintln!("a hostile user is left behind: {error}");
        }
    }
}
