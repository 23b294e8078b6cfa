//! A recording, for reading: by time, or one record after the other.

mod missing;
mod time;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cpuledger_model::frame::{Column, Frame, Wanted};

use crate::error::Error;
use crate::files::SegmentFile;
use crate::folder::{Folder, State};
use crate::length;
use crate::loss::Loss;
use crate::order::{Order, Stretch};
use crate::part::{Part, io_error};
use crate::segment::{Entry, Header, NotRead, Segment};

/// Files that a process can open still when all segments stay open.
const SPARE_FILES: usize = 64;

/// Where a record is in a recording, until a [`Recording::refresh`] says that it is not any more. Places are in the order of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    stretch: usize,
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

/// Where the segments of a tier are.
struct Tier {
    /// `None`: it is one file.
    folder: Option<Arc<Folder>>,
    length: Duration,
}

/// The segments of a directory, or a file, as one row of intervals. Segments that are being written may be read too.
///
/// Intervals are in the order in which they were recorded: boot by boot, and in each by CLOCK_MONOTONIC. Of each time it is the finest tier
/// that has it which is read.
pub struct Recording {
    /// The finest first.
    tiers: Vec<Tier>,
    parts: Vec<Part>,
    order: Order,
    /// Names of segments that no file has.
    no_files: Vec<PathBuf>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.parts.iter().map(|part| &part.path)).finish()
    }
}

impl Recording {
    /// Of a segment, of a directory of segments, or of a directory with tiers.
    ///
    /// # Errors
    /// When there is none, when it is of a newer version, or when reading fails.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        if path.is_file() {
            let file = SegmentFile::of_path(path.into()).map_err(|error| io_error(path, error))?;
            return Ok(Recording::of_part(Part::open(0, None, path.into(), Box::new(file))?));
        }
        let mut tiers: Vec<_> = Recording::tiers(path)?;
        // The directory may be that of one tier.
        tiers.push((Duration::MAX, path.into()));
        let tiers = tiers.into_iter().map(|(length, path)| {
            let folder = Folder::open(&path).map_err(|error| io_error(&path, error))?;
            Ok(Tier { folder: Some(Arc::new(folder)), length })
        });
        let tiers = tiers.collect::<Result<_, Error>>()?;
        let mut recording =
            Recording { tiers, parts: Vec::new(), order: Order::default(), no_files: Vec::new() };
        recording.refresh()?;
        if recording.parts.is_empty() {
            return Err(Error::NoRecording { path: path.into() });
        }
        Ok(recording)
    }

    /// Of the bytes of one segment.
    ///
    /// # Errors
    /// When they are of a newer version.
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Recording, Error> {
        Ok(Recording::of_part(Part::open(0, None, PathBuf::new(), Box::new(bytes))?))
    }

    fn of_part(part: Part) -> Recording {
        let tiers = vec![Tier { folder: None, length: Duration::ZERO }];
        let mut parts = vec![part];
        let order = Order::of(&mut parts, tiers.len());
        Recording { tiers, parts, order, no_files: Vec::new() }
    }

    /// Of the tiers of both.
    ///
    /// # Errors
    /// When reading fails.
    pub fn with(mut self, other: Recording) -> Result<Recording, Error> {
        self.tiers.extend(other.tiers);
        self.tiers.sort_by_key(|tier| tier.length);
        // Segments know their tiers by numbers, which are others now.
        self.parts.clear();
        self.refresh()?;
        Ok(self)
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
        let before = self.stretches();
        let old = std::mem::take(&mut self.parts).into_iter();
        let mut old: HashMap<(usize, Option<u64>), Part> = old.map(|part| (part.key(), part)).collect();
        let mut failed = None;
        self.no_files.clear();
        for (tier, Tier { folder, .. }) in self.tiers.iter().enumerate() {
            let Some(folder) = folder else {
                if let Some(mut part) = old.remove(&(tier, None)) {
                    let refreshed = part.segment.refresh().map_err(|error| io_error(&part.path, error));
                    failed = failed.or(refreshed.err());
                    self.parts.push(part);
                }
                continue;
            };
            let names = folder.segments().map_err(|error| io_error(&folder.path, error));
            // Where the directory cannot be read, what is open stays.
            let names = names.unwrap_or_else(|error| {
                failed = failed.take().or(Some(error));
                old.values().filter(|part| part.tier == tier).filter_map(|part| part.name).collect()
            });
            for &name in &names {
                let path = folder.path.join(name.text());
                if let Some(mut part) = old.remove(&(tier, Some(name.sequence))) {
                    if (part.name != Some(name) || name.state == State::Open)
                        && let Err(error) = part.segment.refresh()
                    {
                        failed = failed.or(Some(io_error(&path, error)));
                    }
                    self.parts.push(Part { name: Some(name), path, ..part });
                    continue;
                }
                let opened = SegmentFile::of_folder(folder, name, &names);
                let opened = opened.map_err(|error| io_error(&path, error)).and_then(|found| {
                    let part = found.map(|(name, file)| {
                        Part::open(tier, Some(name), folder.path.join(name.text()), Box::new(file))
                    });
                    part.transpose()
                });
                match opened {
                    Ok(Some(part)) => self.parts.push(part),
                    // It may have been deleted by now.
                    Ok(None) => self.no_files.push(path),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        self.order = Order::of(&mut self.parts, self.tiers.len());
        let now = self.stretches();
        // The last one may have become longer.
        let is_same = |(place, (key, from, to)): (usize, &(_, usize, usize))| {
            now.get(place).is_some_and(|now| {
                let may_grow = place + 1 == before.len() && *to <= now.2;
                (*key, *from) == (now.0, now.1) && (may_grow || *to == now.2)
            })
        };
        let is_valid = before.iter().enumerate().all(is_same);
        failed.map_or(Ok(is_valid), Err)
    }

    /// Keeps its segments open, so that they can be read when this process may not open them any more. Returns of how many there are too
    /// many open files: these are the oldest, and can only be read as long as this process may open them.
    pub fn keep_open(&mut self) -> usize {
        // These stay for whatever else this process opens.
        let spare: Vec<File> = (0..SPARE_FILES).map_while(|_| File::open("/dev/null").ok()).collect();
        let failed = self.parts.iter_mut().rev().map(|part| part.segment.keep_open().is_err());
        let failed = failed.filter(|has_failed| *has_failed).count();
        drop(spare);
        failed
    }

    /// What identifies the tier of a record, whatever was deleted of it. An older version did not record that: there it is when the oldest
    /// segment was made.
    pub fn id(&self, place: Place) -> Option<u64> {
        Header::recording_of(self.headers(self.part(place)?.tier))
    }

    /// The names of its tiers, and what identifies each.
    pub fn ids(&self) -> Vec<(String, u64)> {
        let id = |tier| {
            let name = self.headers(tier).next()?.tier_name();
            Some((name, Header::recording_of(self.headers(tier))?))
        };
        (0..self.tiers.len()).filter_map(id).collect()
    }

    fn headers(&self, tier: usize) -> impl Iterator<Item = &Header> {
        self.parts.iter().filter(move |part| part.tier == tier).filter_map(|part| part.segment.header())
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

    /// What the order consists of, whatever the numbers of the segments are.
    fn stretches(&mut self) -> Vec<((usize, Option<u64>), usize, usize)> {
        let Recording { parts, order, .. } = self;
        let key = |Stretch { part, from, to, .. }: &Stretch| {
            let records = parts[*part].summary().map_or(0, |summary| summary.records as usize);
            (parts[*part].key(), *from, records.min(*to))
        };
        order.stretches.iter().map(key).collect()
    }

    /// What has the name of a segment in its directories and is none: files of others, directories, links. Nothing is read of them.
    pub fn foreign(&self) -> Vec<&Path> {
        // One that is empty may just be begun, and what is not there was one.
        let is_there =
            |path: &&PathBuf| path.symlink_metadata().is_ok_and(|found| found.len() > 0 || !found.is_file());
        let without_header = self.parts.iter().filter(|part| part.segment.header().is_none());
        let all = without_header.map(|part| &part.path).chain(&self.no_files);
        all.filter(is_there).map(PathBuf::as_path).collect()
    }

    /// Its segments: the finest tier first, and in each in the order in which they were written.
    pub fn segments(&self) -> impl Iterator<Item = (&Path, &Segment)> {
        self.parts.iter().map(|part| (part.path.as_path(), &part.segment))
    }

    /// The first record.
    pub fn first(&mut self) -> Option<Place> {
        self.place_from(0)
    }

    /// The last record.
    pub fn last(&mut self) -> Option<Place> {
        self.place_before(self.order.stretches.len())
    }

    /// The next record.
    pub fn next(&mut self, place: Place) -> Option<Place> {
        if place.record + 1 < self.end(place.stretch) {
            return Some(Place { record: place.record + 1, ..place });
        }
        self.place_from(place.stretch + 1)
    }

    /// The record before.
    pub fn previous(&mut self, place: Place) -> Option<Place> {
        let stretch = self.order.stretches.get(place.stretch)?;
        if place.record > stretch.from {
            return Some(Place { record: place.record - 1, ..place });
        }
        self.place_before(place.stretch)
    }

    /// The number and the times of a record.
    pub fn entry(&mut self, place: Place) -> Option<Entry> {
        self.part_mut(place)?.entries().get(place.record).copied()
    }

    /// The file of the segment that has a record, and what its beginning says.
    pub fn segment(&self, place: Place) -> Option<(&Path, Option<&Header>)> {
        let part = self.part(place)?;
        Some((&part.path, part.segment.header()))
    }

    /// The records of all segments that have one of these, but for those of whose time another tier is read.
    pub fn beside(&mut self, places: &[Place]) -> Vec<Place> {
        let stretches = &self.order.stretches;
        let parts = places.iter().filter_map(|place| Some(stretches.get(place.stretch)?.part));
        let parts: HashSet<usize> = parts.collect();
        let mut beside = Vec::new();
        for stretch in 0..self.order.stretches.len() {
            let Stretch { part, from, .. } = self.order.stretches[stretch];
            if parts.contains(&part) {
                beside.extend((from..self.end(stretch)).map(|record| Place { stretch, record }));
            }
        }
        beside
    }

    /// Identifier of the boot of a record, where its segment tells it.
    pub fn boot_id(&self, place: Place) -> Option<&[u8]> {
        Some(self.part(place)?.segment.header()?.boot_id.as_slice())
    }

    /// The length of the intervals of the tier that has a record; 0: they are as they came.
    pub fn tier(&self, place: Place) -> Option<Duration> {
        Some(Duration::from_nanos(self.part(place)?.segment.header()?.tier_ns))
    }

    /// Whether two records are of one boot.
    pub fn is_same_boot(&self, one: Place, other: Place) -> bool {
        let boot = |place: Place| self.order.stretches.get(place.stretch).map(|stretch| stretch.boot);
        boot(one) == boot(other)
    }

    /// Number of records.
    pub fn len(&mut self) -> u64 {
        self.stretches().iter().map(|(_, from, to)| to.saturating_sub(*from) as u64).sum()
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
        let mut frame = Frame::new();
        let is_whole = self.read_into(place, &Wanted::ALL, &mut frame)?;
        let entry = self.entry(place).filter(|_| is_whole);
        Ok(entry.map(|entry| Record { place, entry, frame }))
    }

    /// What is wanted of the frame at this place, into the memory of a frame. Returns whether there is one that is not damaged.
    ///
    /// # Errors
    /// When reading fails.
    pub fn read_into(&mut self, place: Place, wanted: &Wanted, frame: &mut Frame) -> Result<bool, Error> {
        let Some(entry) = self.entry(place) else { return Ok(false) };
        let Some(part) = self.part_mut(place) else { return Ok(false) };
        match part.segment.read_into(place.record, wanted, frame) {
            Ok(()) => Ok(is_of(frame, &entry)),
            Err(NotRead::Damaged) => Ok(false),
            Err(NotRead::Io(error)) => Err(io_error(&part.path, error)),
        }
    }

    /// If these places begin with all records of a segment: how many they are, and what their intervals add up to, if it has that. The bytes are for
    /// [`Accumulator::add_sums`](cpuledger_report::Accumulator::add_sums).
    pub fn sums(&mut self, places: &[Place]) -> Option<(usize, Vec<u8>)> {
        let first = *places.first().filter(|first| first.record == 0)?;
        let part = self.part_mut(first)?;
        let records = part.entries().len();
        let last = places.get(records.checked_sub(1)?)?;
        if *last != (Place { record: records - 1, ..first }) {
            return None;
        }
        Some((records, part.segment.sums()?))
    }

    /// The record at this place, or the loss that begins there.
    ///
    /// # Errors
    /// When reading fails.
    pub fn step(&mut self, place: Place) -> Result<Step, Error> {
        if let Some(record) = self.read(place)? {
            let next = self.next(place);
            return Ok(Step::Record(Box::new(record), next));
        }
        let (mut last, mut intervals, mut next) = (place, 1, self.next(place));
        while let Some(behind) = next {
            if self.read(behind)?.is_some() {
                break;
            }
            (last, intervals, next) = (behind, intervals + 1, self.next(behind));
        }
        Ok(Step::Loss(self.damaged(place, last, intervals), next))
    }

    fn part(&self, place: Place) -> Option<&Part> {
        self.parts.get(self.order.stretches.get(place.stretch)?.part)
    }

    fn part_mut(&mut self, place: Place) -> Option<&mut Part> {
        let part = self.order.stretches.get(place.stretch)?.part;
        self.parts.get_mut(part)
    }

    /// Where the records of a stretch end in its segment.
    fn end(&mut self, stretch: usize) -> usize {
        let Some(Stretch { part, to, .. }) = self.order.stretches.get(stretch).copied() else { return 0 };
        self.parts[part].entries().len().min(to)
    }

    fn place_from(&mut self, stretch: usize) -> Option<Place> {
        (stretch..self.order.stretches.len()).find_map(|stretch| {
            let record = self.order.stretches[stretch].from;
            (record < self.end(stretch)).then_some(Place { stretch, record })
        })
    }

    fn place_before(&mut self, stretch: usize) -> Option<Place> {
        (0..stretch).rev().find_map(|stretch| {
            let (from, end) = (self.order.stretches[stretch].from, self.end(stretch));
            (from < end).then(|| Place { stretch, record: end - 1 })
        })
    }
}

/// Whether the frame is of the times that its record says.
fn is_of(frame: &Frame, entry: &Entry) -> bool {
    let times = [Column::START_NS, Column::END_NS].map(|column| frame.figure(column));
    times == [Some(entry.start_ns), Some(entry.end_ns)]
}
