//! How a recording is written.

use std::time::Duration;

/// Frames of one length, and for how long they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tier {
    /// Shorter frames are merged to this length; 0: frames as they come.
    pub length: Duration,
    /// Segments whose last frame is older than this are deleted.
    pub keep: Option<Duration>,
}

impl Tier {
    /// Frames of this length, kept for that long or, if that is not stated, for ever.
    pub fn new(length: Duration, keep: Option<Duration>) -> Tier {
        Tier { length, keep }
    }
}

/// How a recording is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The tiers. Each has a directory of its own.
    pub tiers: Vec<Tier>,
    /// A segment has frames of at most this time, and of at least 60 frames.
    pub segment_length: Duration,
    /// A segment that is longer than this is closed.
    pub segment_bytes: u64,
    /// All segments together have at most this length: the oldest are deleted.
    pub most_bytes: Option<u64>,
    /// The file system has at least this much free: the oldest segments are deleted and, if that is not enough, recording pauses.
    pub least_free_bytes: Option<u64>,
    /// Name of the machine; that of the kernel, if there is none.
    pub host: Option<String>,
}

impl Default for Options {
    /// Frames as they come, in segments of an hour, for ever.
    fn default() -> Options {
        Options {
            tiers: vec![Tier { length: Duration::ZERO, keep: None }],
            segment_length: Duration::from_secs(3600),
            segment_bytes: 64 << 20,
            most_bytes: None,
            least_free_bytes: None,
            host: None,
        }
    }
}
