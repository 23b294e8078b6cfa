//! What a recording does not have.

use std::fmt;
use std::path::PathBuf;

/// Why intervals are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// They were not written: the writer was paused, or was ended.
    NotWritten,
    /// Bytes of the file are not those that were written.
    Damaged,
    /// The file ends before its end: the writer was ended, or is just writing.
    CutOff,
}

impl Cause {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Cause::NotWritten => "not written",
            Cause::Damaged => "damaged",
            Cause::CutOff => "cut off",
        }
    }
}

/// Intervals that the recording does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Why.
    pub cause: Cause,
    /// How many.
    pub intervals: u64,
    /// Whether it may be more.
    pub is_least: bool,
    /// End of the last interval before, CLOCK_REALTIME.
    pub from_realtime_ns: Option<u64>,
    /// Begin of the first interval behind, CLOCK_REALTIME.
    pub to_realtime_ns: Option<u64>,
    /// The file, where there is one.
    pub file: PathBuf,
}

impl Loss {
    /// Adds what is lost behind it without a record in between.
    pub fn extend(&mut self, behind: &Loss) {
        self.intervals = self.intervals.saturating_add(behind.intervals);
        self.is_least |= behind.is_least;
        self.to_realtime_ns = behind.to_realtime_ns;
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = self.cause.words();
        let least = if self.is_least { "at least " } else { "" };
        let plural = if self.intervals == 1 { "interval is" } else { "intervals are" };
        write!(formatter, "{}: {least}{} {plural} lost: {why}", self.file.display(), self.intervals)
    }
}

/// Time of which the recording has nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// End of the last interval before, CLOCK_REALTIME.
    pub from_realtime_ns: u64,
    /// Begin of the first interval behind, CLOCK_REALTIME.
    pub to_realtime_ns: u64,
    /// Whether the machine was booted in between.
    pub is_boot: bool,
}
