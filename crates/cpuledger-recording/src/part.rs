//! A segment as a part of a recording.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::extent::Extent;
use crate::folder::Name;
use crate::segment::{Entry, NotOpened, Segment, Summary};
use crate::source::ReadAt;

pub(crate) struct Part {
    /// Which of the tiers of the recording has it: the finest is the first.
    pub(crate) tier: usize,
    pub(crate) name: Option<Name>,
    pub(crate) path: PathBuf,
    pub(crate) segment: Segment,
}

pub(crate) fn io_error(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.into(), source }
}

impl Part {
    pub(crate) fn open(
        tier: usize,
        name: Option<Name>,
        path: PathBuf,
        source: Box<dyn ReadAt + Send>,
    ) -> Result<Part, Error> {
        match Segment::open(source) {
            Ok(segment) => Ok(Part { tier, name, path, segment }),
            Err(NotOpened::Newer(version)) => Err(Error::Newer { path, version }),
            Err(NotOpened::Io(error)) => Err(io_error(&path, error)),
        }
    }

    /// Its records; none, where they cannot be read.
    pub(crate) fn entries(&mut self) -> &[Entry] {
        self.segment.entries().unwrap_or_default()
    }

    pub(crate) fn summary(&mut self) -> Option<Summary> {
        self.segment.summary().ok()?
    }

    pub(crate) fn extent(&mut self) -> Option<Extent> {
        Some(self.summary()?.extent)
    }

    /// What it is, whatever was deleted before it.
    pub(crate) fn key(&self) -> (usize, Option<u64>) {
        (self.tier, self.name.map(|name| name.sequence))
    }
}
