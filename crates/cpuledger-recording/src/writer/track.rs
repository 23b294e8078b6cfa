//! One tier in the making: its directory, its open segment, and what is closed.

use std::io;
use std::time::Duration;

use cpuledger_model::frame::{Column, Frame, Section};
use rustix::time::ClockId;

use crate::error::Error;
use crate::extent::Extent;
use crate::folder::{Folder, Name, State};
use crate::layout::{Header, MOST_RECORDS, cut_boot_id};
use crate::segment::{NotOpened, Segment};

use super::boots::{Boots, End};
use super::deleted::Deleted;
use super::lost::Lost;
use super::merged::Merged;
use super::open_segment::OpenSegment;
use super::options::{Options, Tier};
use super::times::{clock_ns, times_of};

/// A segment has at least this many records, unless it is too long: each stands alone, and begins with all names.
const LEAST_RECORDS: usize = 60;

/// What a limit keeps is at least this many segments.
const SEGMENTS: u64 = 8;

fn boot_id_of(frame: &Frame) -> &[u8] {
    frame.text_of(Section::Interval, Column::BOOT_ID, 0).unwrap_or_default()
}

/// A segment that is not written any more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closed {
    pub(super) name: Name,
    pub(super) bytes: u64,
    /// `None`: it has no record.
    end: Option<End>,
    /// How long its intervals are together, if this writer wrote them.
    length_ns: u64,
}

#[derive(Debug)]
pub(super) struct Track {
    pub(super) folder: Folder,
    pub(super) keep_ns: Option<u64>,
    pub(super) length_ns: u64,
    segment_length_ns: u64,
    segment_bytes: u64,
    host: Vec<u8>,
    /// The oldest first.
    pub(super) closed: Vec<Closed>,
    boots: Boots,
    open: Option<OpenSegment>,
    merged: Option<Merged>,
    /// Number of the next record.
    sequence: u64,
    /// What identifies the recording, once it has a segment.
    recording: Option<u64>,
    /// Bytes that were added.
    pub(super) written: u64,
    /// What was merged and could not be written, until it is asked for.
    pub(super) lost: Option<Lost>,
}

impl Track {
    pub(super) fn open(folder: Folder, tier: Tier, options: &Options, host: Vec<u8>) -> Result<Track, Error> {
        let ns = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let TakenOver { closed, boots, sequence, recording } = take_over(&folder)?;
        let keep_ns = tier.keep.map(ns);
        // Segments are deleted as a whole. They are short enough that a limit means what it says.
        let part = |limit: Option<u64>, of: u64| limit.map_or(u64::MAX, |limit| limit / (SEGMENTS * of));
        Ok(Track {
            folder,
            keep_ns,
            length_ns: ns(tier.length),
            segment_length_ns: ns(options.segment_length).min(part(keep_ns, 1)),
            segment_bytes: options.segment_bytes.min(part(options.most_bytes, options.tiers.len() as u64)),
            host,
            closed,
            boots,
            open: None,
            merged: (!tier.length.is_zero()).then(|| Merged::new(ns(tier.length))),
            sequence,
            recording,
            written: 0,
            lost: None,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        let closed: u64 = self.closed.iter().map(|closed| closed.bytes).sum();
        closed + self.open.as_ref().map_or(0, |open| open.bytes)
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.folder.path.clone();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem => {
                Error::Paused { path, source }
            }
            // The limit of the size of files: what is said of a frame has no number.
            io::ErrorKind::FileTooLarge if source.raw_os_error().is_some() => Error::Paused { path, source },
            io::ErrorKind::FileTooLarge => Error::Frame("it is too long".into()),
            _ => Error::Io { path, source },
        }
    }

    /// Whether its directory and its open segment are where they were.
    pub(super) fn is_in_place(&self) -> bool {
        self.folder.is_in_place() && self.open.as_ref().is_none_or(|open| open.is_in(&self.folder))
    }

    /// Forgets what others have deleted or moved; `None`: this writer had nothing there.
    pub(super) fn forget_deleted(&mut self) -> Option<Deleted> {
        let is_in_place = self.folder.is_in_place();
        let open = self.open.take_if(|open| !is_in_place || !open.is_in(&self.folder));
        let path = match &open {
            Some(open) if is_in_place => self.folder.path.join(open.name(State::Open)),
            _ => self.folder.path.clone(),
        };
        let mut length_ns = open.map_or(0, |open| open.length_ns());
        self.closed.retain(|closed| {
            let is_there = is_in_place && self.folder.has_name(&closed.name.text());
            length_ns += if is_there { 0 } else { closed.length_ns };
            is_there
        });
        (length_ns > 0).then_some(Deleted { path, length_ns })
    }

    /// Goes on in another directory, with what is there already.
    pub(super) fn go_on_in(&mut self, folder: Folder) -> Result<(), Error> {
        let TakenOver { closed, boots, sequence, recording } = take_over(&folder)?;
        self.folder = folder;
        self.closed = closed;
        self.boots = boots;
        self.sequence = self.sequence.max(sequence);
        self.recording = recording.or(self.recording);
        Ok(())
    }

    /// Takes note of an interval that is to be appended.
    pub(super) fn meet(&mut self, frame: &Frame, times: &Extent) {
        self.boots.take(Some(cut_boot_id(boot_id_of(frame))), *times);
    }

    /// How old the oldest closed segment is. One without records was written before the next that has some; `None`: none has any.
    pub(super) fn age_ns(&self) -> Option<u64> {
        let end = self.closed.iter().find_map(|closed| closed.end)?;
        Some(self.boots.age_ns(end))
    }

    pub(super) fn append(&mut self, frame: &Frame) -> Result<(), Error> {
        let times = times_of(frame)?;
        match &mut self.merged {
            None => self.write(frame),
            Some(merged) => {
                let mut result = Ok(());
                for (frame, frames) in merged.add(frame, &times).into_iter().flatten() {
                    let written = self.write_merged(&frame, frames);
                    result = result.and(written);
                }
                result
            }
        }
    }

    /// Leaves out the numbers of intervals that are not written. What is merged has another number for each minute: there the times of
    /// its neighbours tell.
    pub(super) fn skip(&mut self, intervals: u64) {
        if self.merged.is_none() {
            self.sequence = self.sequence.saturating_add(intervals);
        }
    }

    /// Writes what is of that many frames, or notes that it is lost: the caller knows of the last one alone.
    fn write_merged(&mut self, frame: &Frame, frames: u64) -> Result<(), Error> {
        let written = self.write(frame);
        if written.is_err() {
            let path = self.folder.path.clone();
            let lost = self.lost.get_or_insert(Lost { path, intervals: 0, length_ns: 0 });
            lost.intervals = lost.intervals.saturating_add(frames);
            lost.length_ns = lost.length_ns.saturating_add(frame.length_ns().unwrap_or(0));
        }
        written
    }

    /// Writes a frame. One that cannot be written leaves its number out.
    fn write(&mut self, frame: &Frame) -> Result<(), Error> {
        let times = times_of(frame)?;
        let sequence = self.sequence;
        self.sequence = self.sequence.saturating_add(1);
        let boot_id = cut_boot_id(boot_id_of(frame)).to_vec();
        if self.open.as_ref().is_some_and(|open| self.is_full(open, &boot_id, &times)) {
            self.close_open()?;
        }
        let (open, before) = match self.open.take() {
            Some(open) => {
                let before = open.bytes;
                (self.open.insert(open), before)
            }
            None => {
                let now_ns = clock_ns(ClockId::Realtime);
                let header = Header {
                    first_sequence: sequence,
                    tier_ns: self.length_ns,
                    realtime_ns: now_ns,
                    monotonic_ns: clock_ns(ClockId::Monotonic),
                    boottime_ns: clock_ns(ClockId::Boottime),
                    boot_id,
                    host: self.host.clone(),
                    recording: *self.recording.get_or_insert(now_ns),
                };
                let created = OpenSegment::create(&self.folder, &header);
                (self.open.insert(created.map_err(|error| self.failed(error))?), 0)
            }
        };
        let written = open.append(frame, sequence, &times);
        self.written += open.bytes - before;
        written.map_err(|error| self.failed(error))
    }

    fn is_full(&self, open: &OpenSegment, boot_id: &[u8], times: &Extent) -> bool {
        let length_ns = open.first().map_or(0, |first| times.end_ns.saturating_sub(first.start_ns));
        open.boot_id != boot_id
            || open.bytes >= self.segment_bytes
            || open.records() >= MOST_RECORDS as usize
            // Where it is not known, it is another boot if the clock begins anew.
            || (boot_id.is_empty() && open.last().is_some_and(|last| times.start_ns < last.end_ns))
            || (open.records() >= LEAST_RECORDS && length_ns > self.segment_length_ns)
    }

    fn close_open(&mut self) -> Result<(), Error> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let (sequence, bytes) = (open.sequence, open.bytes);
        let end = open.last().and_then(|last| self.boots.end_of(&open.boot_id, last.end_ns));
        let length_ns = open.length_ns();
        let closed = open.close(&self.folder);
        let (state, bytes) = match &closed {
            Ok(0) => return Ok(()),
            Ok(all) => {
                self.written += all - bytes;
                (State::Closed, *all)
            }
            Err(_) => (State::CutOff, bytes),
        };
        self.closed.push(Closed { name: Name { sequence, state }, bytes, end, length_ns });
        closed.map(drop).map_err(|error| self.failed(error))
    }

    /// Writes what is merged so far, and closes the segment.
    pub(super) fn close(&mut self) -> Result<(), Error> {
        let rest = self.merged.as_mut().and_then(Merged::take);
        let written = rest.map_or(Ok(()), |(rest, frames)| self.write_merged(&rest, frames));
        self.close_open().and(written)
    }
}

/// What other writers have left.
struct TakenOver {
    closed: Vec<Closed>,
    boots: Boots,
    /// The number of the next record.
    sequence: u64,
    /// What identifies the recording, if it has begun.
    recording: Option<u64>,
}

/// What was not closed gets the name of what was cut off.
fn take_over(folder: &Folder) -> Result<TakenOver, Error> {
    let failed = |error: io::Error| Error::Io { path: folder.path.clone(), source: error };
    let (mut all, mut headers, mut boots, mut next) = (Vec::new(), Vec::new(), Boots::default(), 0);
    for mut name in folder.segments().map_err(failed)? {
        next = next.max(name.sequence.saturating_add(1));
        let Some(file) = folder.read(&name.text()).map_err(failed)? else { continue };
        let bytes = file.metadata().map_err(failed)?.len();
        let mut end = None;
        match Segment::open(Box::new(file)) {
            Ok(mut segment) => {
                let summary = segment.summary().map_err(failed)?;
                // What neither begins as a segment nor has a record is another's: it stays as it is.
                if summary.is_none() && !segment.has_magic().map_err(failed)? {
                    continue;
                }
                if let Some(summary) = summary {
                    // Of what was cut off, at least one was begun behind what is whole.
                    let torn =
                        u64::from(!segment.is_closed() && !segment.damaged().map_err(failed)?.is_empty());
                    next = next.max(summary.last_sequence.saturating_add(1 + torn));
                    let boot_id = segment.header().map(|header| &header.boot_id[..]);
                    end = Some(boots.take(boot_id, summary.extent));
                }
                headers.extend(segment.header().cloned());
            }
            // Its numbers are not known, so none can follow.
            Err(NotOpened::Newer(version)) => {
                return Err(Error::Newer { path: folder.path.join(name.text()), version });
            }
            Err(NotOpened::Io(error)) => return Err(failed(error)),
        }
        if name.state == State::Open {
            let cut_off = Name { state: State::CutOff, ..name };
            folder.rename(&name.text(), &cut_off.text()).map_err(failed)?;
            name = cut_off;
        }
        all.push(Closed { name, bytes, end, length_ns: 0 });
    }
    let recording = Header::recording_of(headers.iter());
    Ok(TakenOver { closed: all, boots, sequence: next, recording })
}
