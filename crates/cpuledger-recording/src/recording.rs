//! A recording, for reading: by time, or one record after the other.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpuledger_frame::{Column, Frame, Wanted};

use crate::error::Error;
use crate::folder::{Folder, Name, State};
use crate::length;
use crate::loss::{Cause, Gap, Loss};
use crate::segment::{Entry, Header, NotOpened, NotRead, Segment, Summary};
use crate::source::ReadAt;

/// Where a record is in a recording, until a [`Recording::refresh`] says that it is not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    segment: usize,
    record: usize,
}

/// A recorded interval.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Record {
    /// Where it is.
    pub place: Place,
    /// Its number and times.
    pub entry: Entry,
    /// The interval.
    pub frame: Frame,
}

/// What a step forward has met.
#[derive(Debug, Clone)]
pub enum Step {
    /// An interval, and the place of the next.
    Record(Box<Record>, Option<Place>),
    /// Intervals that cannot be read, and the place of the next that may be.
    Loss(Loss, Option<Place>),
}

struct Part {
    name: Option<Name>,
    path: PathBuf,
    segment: Segment,
}

/// The segments of one tier, or one file. Segments that are being written may be read too.
pub struct Recording {
    folder: Option<Folder>,
    parts: Vec<Part>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.parts.iter().map(|part| &part.path)).finish()
    }
}

fn io_error(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.into(), source }
}

fn open_part(name: Option<Name>, path: PathBuf, source: Box<dyn ReadAt + Send>) -> Result<Part, Error> {
    match Segment::open(source) {
        Ok(segment) => Ok(Part { name, path, segment }),
        Err(NotOpened::Newer(version)) => Err(Error::Newer { path, version }),
        Err(NotOpened::Io(error)) => Err(io_error(&path, error)),
    }
}

impl Recording {
    /// Of a segment, of a directory of segments, or of a directory with tiers: of these the one with the shortest intervals that has any.
    ///
    /// # Errors
    /// When there is none, when it is of a newer version, or when reading fails.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        if path.is_file() {
            let file = File::open(path).map_err(|error| io_error(path, error))?;
            let part = open_part(None, path.into(), Box::new(file))?;
            return Ok(Recording { folder: None, parts: vec![part] });
        }
        let mut paths: Vec<PathBuf> = Recording::tiers(path)?.into_iter().map(|(_, path)| path).collect();
        paths.push(path.into());
        for path in paths {
            let folder = Folder::open(&path).map_err(|error| io_error(&path, error))?;
            let mut recording = Recording { folder: Some(folder), parts: Vec::new() };
            recording.refresh()?;
            if !recording.parts.is_empty() {
                return Ok(recording);
            }
        }
        Err(Error::NoRecording { path: path.into() })
    }

    /// Of the bytes of one segment.
    ///
    /// # Errors
    /// When they are of a newer version.
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Recording, Error> {
        let part = open_part(None, PathBuf::new(), Box::new(bytes))?;
        Ok(Recording { folder: None, parts: vec![part] })
    }

    /// The tiers in a directory, by the length of their intervals: the shortest first.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn tiers(path: &Path) -> Result<Vec<(Duration, PathBuf)>, Error> {
        let names = Folder::open(path).and_then(|folder| folder.names());
        let names = names.map_err(|error| io_error(path, error))?;
        let tier = |name: &String| Some((length::of_name(name)?, path.join(name)));
        let mut tiers: Vec<_> = names.iter().filter_map(tier).collect();
        tiers.sort();
        Ok(tiers)
    }

    /// Takes what was written since, and forgets what was deleted. Returns whether places from before are valid still: they are, unless
    /// a segment was deleted.
    ///
    /// # Errors
    /// When reading fails: then it has what could be read. To this process a new segment may be closed, because it has given up privileges.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let Some(folder) = &self.folder else {
            let refresh =
                |part: &mut Part| part.segment.refresh().map_err(|error| io_error(&part.path, error));
            return self.parts.iter_mut().try_for_each(refresh).map(|()| true);
        };
        let sequences =
            |parts: &[Part]| parts.iter().map(|part| part.name.map(|name| name.sequence)).collect::<Vec<_>>();
        let before = sequences(&self.parts);
        let names = folder.segments().map_err(|error| io_error(&folder.path, error))?;
        let mut old = std::mem::take(&mut self.parts);
        let mut failed = None;
        for name in names {
            let path = folder.path.join(name.text());
            let same = |part: &Part| part.name.is_some_and(|own| own.sequence == name.sequence);
            if let Some(place) = old.iter().position(same) {
                let mut part = old.swap_remove(place);
                if (part.name != Some(name) || name.state == State::Open)
                    && let Err(error) = part.segment.refresh()
                {
                    failed = failed.or(Some(io_error(&path, error)));
                }
                self.parts.push(Part { name: Some(name), path, segment: part.segment });
                continue;
            }
            let opened = folder.read(&name.text()).map_err(|error| io_error(&path, error));
            let opened = opened
                .and_then(|file| file.map(|file| open_part(Some(name), path, Box::new(file))).transpose());
            match opened {
                Ok(Some(part)) => self.parts.push(part),
                // It may have been deleted or renamed by now; then the next refresh finds it.
                Ok(None) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(sequences(&self.parts).starts_with(&before))
    }

    /// What identifies it, whatever was deleted of it. An older version did not record that: there it is when the oldest segment was made.
    pub fn id(&self) -> Option<u64> {
        Header::recording_of(self.parts.iter().filter_map(|part| part.segment.header()))
    }

    /// Whether a writer has it, so that its last segment may become longer. What a writer was killed in does not.
    ///
    /// # Errors
    /// When its directory cannot be read.
    pub fn is_being_written(&self) -> Result<bool, Error> {
        let Some(path) = self.parts.first().and_then(|part| part.path.parent()) else { return Ok(false) };
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Folder::open(path).and_then(|folder| folder.is_locked()).map_err(|error| io_error(path, error))
    }

    /// Its segments, in the order of time.
    pub fn segments(&self) -> impl Iterator<Item = (&Path, &Segment)> {
        self.parts.iter().map(|part| (part.path.as_path(), &part.segment))
    }

    /// The first record.
    pub fn first(&mut self) -> Option<Place> {
        self.place_from(0)
    }

    /// The last record.
    pub fn last(&mut self) -> Option<Place> {
        self.place_before(self.parts.len())
    }

    /// The next record.
    pub fn next(&mut self, place: Place) -> Option<Place> {
        if place.record + 1 < self.records(place.segment) {
            return Some(Place { record: place.record + 1, ..place });
        }
        self.place_from(place.segment + 1)
    }

    /// The record before.
    pub fn previous(&mut self, place: Place) -> Option<Place> {
        match place.record.checked_sub(1) {
            Some(record) => Some(Place { record, ..place }),
            None => self.place_before(place.segment),
        }
    }

    /// The record whose interval has this instant or, if none has, the first behind it. Where that clock was set back, it is one of
    /// those that may be meant.
    pub fn at_realtime(&mut self, realtime_ns: u64) -> Option<Place> {
        let (mut low, mut high) = (0, self.parts.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            // A segment without records is before anything.
            if self.summary(middle).is_none_or(|summary| summary.end_realtime_ns <= realtime_ns) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = self.parts.get_mut(low)?;
        let entries = found.segment.entries().ok()?;
        let record = entries.partition_point(|entry| entry.end_realtime_ns <= realtime_ns);
        if record < entries.len() {
            return Some(Place { segment: low, record });
        }
        self.place_from(low + 1)
    }

    /// The number and the times of a record.
    pub fn entry(&mut self, place: Place) -> Option<Entry> {
        self.parts.get_mut(place.segment)?.segment.entries().ok()?.get(place.record).copied()
    }

    /// Identifier of the boot of a record, where its segment tells it.
    pub fn boot_id(&self, place: Place) -> Option<&[u8]> {
        Some(self.parts.get(place.segment)?.segment.header()?.boot_id.as_slice())
    }

    /// Begin and end of all that was recorded, CLOCK_REALTIME.
    pub fn span_realtime_ns(&mut self) -> Option<(u64, u64)> {
        let summaries: Vec<Summary> = (0..self.parts.len()).filter_map(|part| self.summary(part)).collect();
        Some((summaries.first()?.start_realtime_ns, summaries.last()?.end_realtime_ns))
    }

    /// Number of records.
    pub fn len(&mut self) -> u64 {
        (0..self.parts.len()).filter_map(|part| self.summary(part)).map(|summary| summary.records).sum()
    }

    /// Whether it has no record.
    pub fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// The record at this place.
    ///
    /// # Errors
    /// When reading fails. A damaged record is no error.
    pub fn read(&mut self, place: Place) -> Result<Option<Record>, Error> {
        let Some(entry) = self.entry(place) else { return Ok(None) };
        let part = &mut self.parts[place.segment];
        match part.segment.read(place.record) {
            Ok(frame) => Ok(is_of(&frame, &entry).then_some(Record { place, entry, frame })),
            Err(NotRead::Damaged) => Ok(None),
            Err(NotRead::Io(error)) => Err(io_error(&part.path, error)),
        }
    }

    /// What is wanted of the frame at this place, into the memory of a frame. Returns whether there is one that is not damaged.
    ///
    /// # Errors
    /// When reading fails.
    pub fn read_into(&mut self, place: Place, wanted: &Wanted, frame: &mut Frame) -> Result<bool, Error> {
        let Some(entry) = self.entry(place) else { return Ok(false) };
        let part = &mut self.parts[place.segment];
        match part.segment.read_into(place.record, wanted, frame) {
            Ok(()) => Ok(is_of(frame, &entry)),
            Err(NotRead::Damaged) => Ok(false),
            Err(NotRead::Io(error)) => Err(io_error(&part.path, error)),
        }
    }

    /// The record at this place, or the loss that begins there.
    ///
    /// # Errors
    /// When reading fails.
    pub fn step(&mut self, place: Place) -> Result<Step, Error> {
        self.step_before(place, None)
    }

    /// Likewise, of the records before `end` only: a loss that goes on there is told up to there.
    ///
    /// # Errors
    /// When reading fails.
    pub fn step_before(&mut self, place: Place, end: Option<Place>) -> Result<Step, Error> {
        if let Some(record) = self.read(place)? {
            let next = self.next(place);
            return Ok(Step::Record(Box::new(record), next));
        }
        let from = self.previous(place).and_then(|before| self.entry(before));
        let (mut intervals, mut next) = (1, self.next(place));
        while let Some(behind) = next {
            if end.is_some_and(|end| behind >= end) || self.read(behind)?.is_some() {
                break;
            }
            intervals += 1;
            next = self.next(behind);
        }
        let to = next.and_then(|behind| self.entry(behind));
        let loss = Loss {
            cause: Cause::Damaged,
            intervals,
            is_least: false,
            from_realtime_ns: from.map(|entry| entry.end_realtime_ns),
            to_realtime_ns: to.map(|entry| entry.start_realtime_ns()),
            file: self.parts[place.segment].path.clone(),
        };
        Ok(Step::Loss(loss, next))
    }

    /// What is missing by the numbers of the records, and at the ends of segments, without reading the records.
    ///
    /// # Errors
    /// When reading fails.
    pub fn losses(&mut self) -> Result<Vec<Loss>, Error> {
        let mut losses = Vec::new();
        let mut last: Option<Entry> = None;
        // The loss at the end of a segment, of which the next segment tells how many intervals it is.
        let mut at_end: Option<Loss> = None;
        for part in &mut self.parts {
            let failed = |error| io_error(&part.path, error);
            let damaged = part.segment.damaged().map_err(failed)?.to_vec();
            let is_complete = part.segment.is_complete().map_err(failed)?;
            let entries = part.segment.entries().map_err(failed)?;
            let mut damaged = damaged.into_iter().peekable();
            for entry in entries {
                let mut is_damaged = false;
                while damaged.next_if(|(at, _)| *at < entry.offset).is_some() {
                    is_damaged = true;
                }
                let missing =
                    last.map_or(0, |last| entry.sequence.saturating_sub(last.sequence.saturating_add(1)));
                let cut_off = at_end.take();
                let least = u64::from(is_damaged).max(cut_off.as_ref().map_or(0, |loss| loss.intervals));
                if missing.max(least) > 0 {
                    let own = if is_damaged { Cause::Damaged } else { Cause::NotWritten };
                    losses.push(Loss {
                        cause: cut_off.as_ref().map_or(own, |loss| loss.cause),
                        intervals: missing.max(least),
                        is_least: missing < least,
                        from_realtime_ns: last.map(|last| last.end_realtime_ns),
                        to_realtime_ns: Some(entry.start_realtime_ns()),
                        file: cut_off.map_or_else(|| part.path.clone(), |loss| loss.file),
                    });
                }
                last = Some(*entry);
            }
            let is_damaged = damaged.peek().is_some();
            let is_closed = part.name.is_none_or(|name| name.state == State::Closed);
            if is_damaged || (is_closed && !is_complete) {
                at_end = Some(Loss {
                    cause: Cause::CutOff,
                    intervals: u64::from(is_damaged),
                    is_least: true,
                    from_realtime_ns: last.map(|last| last.end_realtime_ns),
                    to_realtime_ns: None,
                    file: part.path.clone(),
                });
            }
        }
        losses.extend(at_end);
        Ok(losses)
    }

    /// The times of which there is nothing.
    ///
    /// # Errors
    /// When reading fails.
    pub fn gaps(&mut self) -> Result<Vec<Gap>, Error> {
        let mut gaps = Vec::new();
        let (mut last, mut last_boot): (Option<Entry>, Option<Vec<u8>>) = (None, None);
        for part in &mut self.parts {
            let boot = part.segment.header().map(|header| header.boot_id.clone());
            let entries = part.segment.entries().map_err(|error| io_error(&part.path, error))?;
            let is_other_boot = boot.is_some() && last_boot.is_some() && boot != last_boot;
            for (index, entry) in entries.iter().enumerate() {
                if let Some(before) = last {
                    let is_boot = index == 0 && is_other_boot;
                    if is_boot || before.end_ns != entry.start_ns {
                        gaps.push(Gap {
                            from_realtime_ns: before.end_realtime_ns,
                            to_realtime_ns: entry.start_realtime_ns(),
                            is_boot,
                        });
                    }
                }
                last = Some(*entry);
            }
            if !entries.is_empty() {
                last_boot = boot;
            }
        }
        Ok(gaps)
    }

    fn records(&mut self, part: usize) -> usize {
        let part = self.parts.get_mut(part);
        part.and_then(|part| part.segment.entries().ok()).map_or(0, <[Entry]>::len)
    }

    fn summary(&mut self, part: usize) -> Option<Summary> {
        self.parts.get_mut(part)?.segment.summary().ok()?
    }

    fn place_from(&mut self, segment: usize) -> Option<Place> {
        let segment = (segment..self.parts.len()).find(|segment| self.records(*segment) > 0)?;
        Some(Place { segment, record: 0 })
    }

    fn place_before(&mut self, segment: usize) -> Option<Place> {
        let segment = (0..segment).rev().find(|segment| self.records(*segment) > 0)?;
        let record = self.records(segment) - 1;
        Some(Place { segment, record })
    }
}

/// Whether the frame is of the times that its record says.
fn is_of(frame: &Frame, entry: &Entry) -> bool {
    let times = [Column::START_NS, Column::END_NS].map(|column| frame.figure(column));
    times == [Some(entry.start_ns), Some(entry.end_ns)]
}
