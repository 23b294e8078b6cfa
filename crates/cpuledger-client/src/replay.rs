//! Intervals of a recording: in the order in which they were recorded, forwards and backwards, and by time.
//!
//! What was not recorded, or cannot be read any more, is an interval without books.

use std::path::Path;
use std::sync::Arc;

use cpuledger_model::boottime::Boottime;
use cpuledger_model::exit::EXITS_LIMIT;
use cpuledger_model::frame::{Column, Frame, Section};
use cpuledger_model::framing::{self, CgroupIds, CgroupNames, FrameError, RowUnit};
use cpuledger_model::interval::Interval;
use cpuledger_model::source_kind::SourceKind;
use cpuledger_recording::{Entry, Place, Recording, Span, When};

use crate::balance;
use crate::error::Error;
use crate::gap::tell_gap_of;

/// Where an interval begins in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    place: Place,
    /// That of the record, else the gap before it.
    is_record: bool,
}

/// What a recording says of an interval beside its books.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedFacts {
    /// Where it was found.
    pub spot: Option<Spot>,
    /// What comes behind it.
    pub next: Option<Spot>,
    /// Its begin, CLOCK_REALTIME.
    pub start_realtime_ns: u64,
    /// Its end, CLOCK_REALTIME.
    pub end_realtime_ns: u64,
    /// Begin and end, CLOCK_MONOTONIC.
    pub times_ns: [u64; 2],
    /// Its end by the clock of starts, where that is known.
    pub end: Option<Boottime>,
    /// Identifier of the boot, where that is known.
    pub boot_id: Option<String>,
    /// Whether nothing was recorded in it; then the number of intervals that are lost, as far as their numbers tell.
    pub gap: Option<u64>,
    /// What cgroups are called at its end, where they were recorded.
    pub cgroups: Vec<(CgroupIds, CgroupNames)>,
    /// Units of rows of processes, where the path of the cgroup does not say them.
    pub units: Vec<RowUnit>,
    /// Whether the machine was booted since the interval before. The time in between is in no interval, for no clock of the kernel spans it.
    pub begins_boot: bool,
}

/// The share of the machine that was used in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// In thousandths of the capacity.
    Used(u32),
    /// There are no books.
    Gap,
}

/// An interval without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Glance {
    /// How much was used.
    pub share: Share,
    /// Begin and end, CLOCK_MONOTONIC.
    pub times_ns: [u64; 2],
    /// Its begin, CLOCK_REALTIME.
    pub start_realtime_ns: u64,
    /// Its end, CLOCK_REALTIME.
    pub end_realtime_ns: u64,
    /// What comes behind it.
    pub next: Option<Spot>,
}

/// A recording, read as intervals of a length.
#[derive(Debug)]
pub struct Replay {
    recording: Recording,
    /// 0: as they were recorded.
    length_ns: u64,
    /// What is read of it.
    span: Span,
    /// Whether intervals come without rows.
    is_without_rows: bool,
}

/// Neighbours, merged.
struct Merged {
    frame: Frame,
    /// The last of them.
    last: Entry,
    place: Place,
}

impl Replay {
    /// Of the recording in a directory or in one file.
    ///
    /// # Errors
    /// When there is none that can be read.
    pub fn open(path: &Path) -> Result<Replay, Error> {
        Ok(Replay::of(Recording::open(path)?))
    }

    /// Of an open one.
    pub fn of(recording: Recording) -> Replay {
        Replay { recording, length_ns: 0, span: Span::ALL, is_without_rows: false }
    }

    /// From now on, neighbours are merged to intervals of that length, to half a record; 0: as they were recorded.
    pub fn set_length(&mut self, length_ns: u64) {
        self.length_ns = length_ns;
    }

    /// Only intervals of this span are read.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// The earliest and the latest that CLOCK_REALTIME was in all that was recorded. `None`: it has no interval.
    pub fn span_realtime_ns(&mut self) -> Option<(u64, u64)> {
        self.recording.span_realtime_ns()
    }

    /// Number of records of all that was recorded.
    pub fn records(&mut self) -> u64 {
        self.recording.len()
    }

    /// How long before the end of all that was recorded an interval begins, or the gap before it ends.
    pub fn begin_before_end_ns(&mut self, spot: Spot) -> Option<u64> {
        let length_ns = self.recording.entry(spot.place)?.length_ns();
        Some(self.recording.before_end_ns(spot.place)?.saturating_add(length_ns))
    }

    /// The machine that was recorded, by its name; `None`: that is not known.
    pub fn host(&self) -> Option<Vec<u8>> {
        let header = self.recording.segments().find_map(|(_, segment)| segment.header())?;
        Some(header.host.clone()).filter(|host| !host.is_empty())
    }

    /// Number of files.
    pub fn segments(&self) -> usize {
        self.recording.segments().count()
    }

    /// Keeps all of it open, so that it can be read when this process may not open files of others any more. Returns of how many segments
    /// there are too many open files.
    pub fn keep_open(&mut self) -> usize {
        self.recording.keep_open()
    }

    /// Takes what was recorded since. Returns whether spots from before are valid still.
    ///
    /// # Errors
    /// When reading fails.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        Ok(self.recording.refresh()?)
    }

    /// The first interval.
    ///
    /// # Errors
    /// When reading fails.
    pub fn first(&mut self) -> Result<Option<Spot>, Error> {
        let Some(place) = self.recording.next_in(&self.span, None) else { return Ok(None) };
        let begins_behind = self.begins_behind(place, self.span.since);
        self.spot(place, begins_behind).map(Some)
    }

    /// The last interval.
    ///
    /// # Errors
    /// When reading fails.
    pub fn last(&mut self) -> Result<Option<Spot>, Error> {
        self.last_before(None)
    }

    fn last_before(&mut self, place: Option<Place>) -> Result<Option<Spot>, Error> {
        let span = self.span;
        let last = self.whole(place, |recording, place| recording.previous_in(&span, place))?;
        last.map(|place| self.begin_of(place)).transpose()
    }

    /// The intervals that have this instant, or that are the first behind it: the calendar may have shown it more than once.
    ///
    /// # Errors
    /// When reading fails.
    pub fn at(&mut self, when: When) -> Result<Vec<Spot>, Error> {
        let mut spots = Vec::new();
        for place in self.recording.at(when) {
            let begins_behind = self.begins_behind(place, when);
            spots.push(self.spot(place, begins_behind)?);
        }
        Ok(spots)
    }

    /// The interval of a boot that has this instant, CLOCK_MONOTONIC, or the first behind it.
    ///
    /// # Errors
    /// When reading fails.
    pub fn in_boot(&mut self, boot_id: &str, ns: u64) -> Result<Option<Spot>, Error> {
        let Some(place) = self.recording.in_boot(boot_id.as_bytes(), ns) else { return Ok(None) };
        let begins_behind = self.recording.entry(place).is_some_and(|entry| entry.start_ns > ns);
        self.spot(place, begins_behind).map(Some)
    }

    /// That of a record which begins behind an instant that is wanted, or not: then the gap before it has that, if there is one.
    fn spot(&mut self, place: Place, begins_behind: bool) -> Result<Spot, Error> {
        let is_in_gap = begins_behind && self.gap_before(place)?.is_some();
        Ok(Spot { place, is_record: !is_in_gap })
    }

    fn begins_behind(&mut self, place: Place, when: When) -> bool {
        match when {
            When::Realtime(ns) => {
                self.recording.entry(place).is_some_and(|entry| entry.start_realtime_ns() > ns)
            }
            When::BeforeEnd(ns) => self.begin_before_end_ns(record(place)).is_some_and(|begin| begin < ns),
        }
    }

    /// The interval that ends where this one begins.
    ///
    /// # Errors
    /// When reading fails.
    pub fn previous(&mut self, spot: Spot) -> Result<Option<Spot>, Error> {
        if spot.is_record {
            let begins_behind = self.begins_behind(spot.place, self.span.since);
            let begin = self.spot(spot.place, begins_behind)?;
            if !begin.is_record {
                return Ok(Some(begin));
            }
        }
        self.last_before(Some(spot.place))
    }

    /// From now on, intervals come without rows, which are in [`Interval::frame`].
    pub fn leave_out_rows(&mut self) {
        self.is_without_rows = true;
    }

    /// Reads the interval at a spot. `None`: there is none any more.
    ///
    /// # Errors
    /// When reading fails.
    pub fn read(&mut self, spot: Spot, into: &mut Interval) -> Result<Option<RecordedFacts>, Error> {
        if spot.is_record {
            if let Some(merged) = self.merged(spot.place)? {
                let told = self.told(spot, &merged);
                if self.is_without_rows {
                    framing::read_without_rows(&merged.frame, into).map_err(not_replayed)?;
                    into.frame = Some(Arc::new(merged.frame));
                } else {
                    framing::read(&merged.frame, into).map_err(not_replayed)?;
                    balance::check(into);
                }
                into.is_replayed = true;
                return Ok(Some(told));
            }
            let Some(behind) = self.whole_behind(spot.place)? else { return Ok(None) };
            // It is damaged, and so is what comes before that one.
            let spot = self.spot(behind, true)?;
            return self.read(spot, into);
        }
        let Some((before, times)) = self.gap_before(spot.place)? else {
            return self.read(record(spot.place), into);
        };
        let end = self.recording.read(spot.place)?.and_then(|record| begin_of_frame(&record.frame));
        let source = self.source_of(before, into)?;
        let online_cpus = into.online_cpus;
        tell_gap_of(source, times, online_cpus, into);
        into.is_replayed = true;
        let (entry, last) = (self.recording.entry(spot.place), self.recording.entry(before));
        let Some((entry, last)) = entry.zip(last) else { return Ok(None) };
        // Numbers are those of a tier.
        let is_same_tier = self.recording.tier(spot.place) == self.recording.tier(before);
        Ok(Some(RecordedFacts {
            spot: Some(spot),
            next: Some(record(spot.place)).filter(|_| self.recording.is_in(spot.place, &self.span)),
            times_ns: times,
            start_realtime_ns: last.end_realtime_ns,
            end_realtime_ns: entry.start_realtime_ns(),
            end,
            boot_id: self.boot_id(spot),
            gap: Some(if is_same_tier {
                entry.sequence.saturating_sub(last.sequence).saturating_sub(1)
            } else {
                0
            }),
            ..RecordedFacts::default()
        }))
    }

    /// What is lost from this spot on, of which [`Replay::read`] has nothing: how many intervals, and from when to when, CLOCK_REALTIME.
    pub fn lost_from(&mut self, spot: Spot) -> Option<(u64, [u64; 2])> {
        let first = self.recording.entry(spot.place)?;
        let mut lost = (1, [first.start_realtime_ns(), first.end_realtime_ns]);
        let mut place = spot.place;
        while let Some(next) =
            self.recording.next(place).filter(|next| self.recording.is_in(*next, &self.span))
        {
            lost.0 += 1;
            lost.1[1] = self.recording.entry(next)?.end_realtime_ns;
            place = next;
        }
        Some(lost)
    }

    /// How much of the machine was used, without the rows. `None`: there is no interval any more.
    ///
    /// # Errors
    /// When reading fails.
    pub fn glance(&mut self, spot: Spot) -> Result<Option<Glance>, Error> {
        let begin = |replay: &mut Replay, place: Place| {
            let entry = replay.recording.entry(place);
            entry.map_or((0, 0), |entry| (entry.start_ns, entry.start_realtime_ns()))
        };
        let gap = |begin: (u64, u64), end: (u64, u64), place| Glance {
            share: Share::Gap,
            times_ns: [begin.0, end.0],
            start_realtime_ns: begin.1,
            end_realtime_ns: end.1,
            next: Some(record(place)),
        };
        if !spot.is_record {
            let end = begin(self, spot.place);
            let before = self.gap_before(spot.place)?.and_then(|(before, _)| self.recording.entry(before));
            let begin = before.map_or(end, |before| (before.end_ns, before.end_realtime_ns));
            return Ok(Some(gap(begin, end, spot.place)));
        }
        let Some(merged) = self.merged(spot.place)? else {
            let Some(behind) = self.whole_behind(spot.place)? else { return Ok(None) };
            let [begin, end] = [spot.place, behind].map(|place| begin(self, place));
            return Ok(Some(gap(begin, end, behind)));
        };
        let figure = |column| u128::from(merged.frame.figure(column).unwrap_or(0));
        let capacity = figure(Column::CAPACITY_NS).max(1);
        let used = (figure(Column::ATTRIBUTED_NS) * 1000 / capacity).min(1000) as u32;
        let told = self.told(spot, &merged);
        let share = Share::Used(used);
        let RecordedFacts { times_ns, start_realtime_ns, end_realtime_ns, next, .. } = told;
        Ok(Some(Glance { share, times_ns, start_realtime_ns, end_realtime_ns, next }))
    }

    fn told(&mut self, spot: Spot, merged: &Merged) -> RecordedFacts {
        let first = self.recording.entry(spot.place);
        let next = self.recording.next_in(&self.span, Some(merged.place));
        let begins_boot = match self.recording.previous(spot.place) {
            Some(before) => !self.recording.is_same_boot(before, spot.place),
            None => false,
        };
        RecordedFacts {
            spot: Some(spot),
            next: next.map(|place| Spot { place, is_record: self.is_adjoining(place) }),
            times_ns: [first.map_or(0, |entry| entry.start_ns), merged.last.end_ns],
            start_realtime_ns: first.map_or(0, |entry| entry.start_realtime_ns()),
            end_realtime_ns: merged.last.end_realtime_ns,
            end: merged.frame.figure(Column::END_BOOTTIME_NS).map(Boottime::from_ns),
            boot_id: self.boot_id(spot),
            gap: None,
            cgroups: framing::cgroups(&merged.frame),
            units: framing::units(&merged.frame),
            begins_boot,
        }
    }

    /// The record at a place, merged with its neighbours behind it up to the wanted length. `None`: it is damaged.
    fn merged(&mut self, place: Place) -> Result<Option<Merged>, Error> {
        let Some(first) = self.recording.read(place)? else { return Ok(None) };
        let (mut frame, mut last, mut place) = (first.frame, first.entry, place);
        let begin_ns = last.start_ns;
        while let Some(behind) = self.recording.next(place) {
            let length_ns = last.end_ns.saturating_sub(begin_ns);
            let is_full = frame.table(Section::Exited).len() >= EXITS_LIMIT;
            let is_long = length_ns.saturating_add(last.length_ns() / 2) >= self.length_ns;
            if is_full || is_long || !self.are_neighbours(place, behind) {
                break;
            }
            let Some(record) = self.recording.read(behind)? else { break };
            let Ok(longer) = frame.merge(&record.frame) else { break };
            (frame, last, place) = (longer, record.entry, behind);
        }
        Ok(Some(Merged { frame, last, place }))
    }

    /// Whether a record goes on where the one before ends, and both are read.
    fn are_neighbours(&mut self, before: Place, behind: Place) -> bool {
        let follows = self.recording.entry(before).zip(self.recording.entry(behind));
        follows.is_some_and(|(before, behind)| behind.follows(&before))
            && self.recording.is_same_boot(before, behind)
            && [before, behind].into_iter().all(|place| self.recording.is_in(place, &self.span))
    }

    /// Whether there is no gap before a record, as far as the times of the one before tell.
    fn is_adjoining(&mut self, place: Place) -> bool {
        let Some(before) = self.recording.previous(place) else { return true };
        let times = self.recording.entry(before).zip(self.recording.entry(place));
        let is_gap = times.is_some_and(|(before, own)| before.end_ns < own.start_ns);
        !is_gap || !self.recording.is_same_boot(before, place)
    }

    /// The begin of the interval of the wanted length that ends with this record.
    fn begin_of(&mut self, last: Place) -> Result<Spot, Error> {
        let mut place = last;
        let Some(end_ns) = self.recording.entry(last).map(|entry| entry.end_ns) else {
            return Ok(record(last));
        };
        while let Some(entry) = self.recording.entry(place) {
            let length_ns = end_ns.saturating_sub(entry.start_ns);
            if length_ns.saturating_add(entry.length_ns() / 2) >= self.length_ns {
                break;
            }
            let Some(before) = self.recording.previous(place) else { break };
            if !self.are_neighbours(before, place) || !self.is_whole(before)? {
                break;
            }
            place = before;
        }
        Ok(record(place))
    }

    /// The record before the gap before a place, and the times of the gap, CLOCK_MONOTONIC.
    fn gap_before(&mut self, place: Place) -> Result<Option<(Place, [u64; 2])>, Error> {
        let Some(before) = self.whole_before(place)? else { return Ok(None) };
        let (Some(last), Some(first)) = (self.recording.entry(before), self.recording.entry(place)) else {
            return Ok(None);
        };
        let has_gap = last.end_ns < first.start_ns && self.recording.is_same_boot(before, place);
        Ok(has_gap.then_some((before, [last.end_ns, first.start_ns])))
    }

    fn whole_before(&mut self, place: Place) -> Result<Option<Place>, Error> {
        self.whole(Some(place), |recording, place| recording.previous(place?))
    }

    fn whole_behind(&mut self, place: Place) -> Result<Option<Place>, Error> {
        self.whole(Some(place), |recording, place| recording.next(place?))
    }

    /// The first record on a way that can be read.
    fn whole(
        &mut self,
        from: Option<Place>,
        step: impl Fn(&mut Recording, Option<Place>) -> Option<Place>,
    ) -> Result<Option<Place>, Error> {
        let mut place = step(&mut self.recording, from);
        while let Some(found) = place
            && !self.is_whole(found)?
        {
            place = step(&mut self.recording, place);
        }
        Ok(place)
    }

    fn is_whole(&mut self, place: Place) -> Result<bool, Error> {
        Ok(self.recording.read(place)?.is_some())
    }

    /// Where the numbers of a record came from; `into` has its interval then.
    fn source_of(&mut self, place: Place, into: &mut Interval) -> Result<SourceKind, Error> {
        if let Some(record) = self.recording.read(place)? {
            framing::read(&record.frame, into).map_err(not_replayed)?;
        }
        Ok(into.source)
    }

    /// Identifier of the boot of an interval, where that is known.
    pub fn boot_id(&self, spot: Spot) -> Option<String> {
        let id = self.recording.boot_id(spot.place).filter(|id| !id.is_empty())?;
        Some(String::from_utf8_lossy(id).into_owned())
    }
}

/// Its begin by the clock of starts.
fn begin_of_frame(frame: &Frame) -> Option<Boottime> {
    let end_ns = frame.figure(Column::END_BOOTTIME_NS)?;
    Some(Boottime::from_ns(end_ns.checked_sub(frame.length_ns()?)?))
}

fn not_replayed(error: FrameError) -> Error {
    Error::Replay(error.to_string())
}

fn record(place: Place) -> Spot {
    Spot { place, is_record: true }
}
