//! The three files of a segment.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use cpuledger_model::frame::{Frame, Wanted};
use cpuledger_model::make;
use cpuledger_program::export::Format;
use cpuledger_recording::{Entry, Header, Loss, Place, Recording, Step};
use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};

use crate::error::{Error, io_of_arrow};
use crate::file_name::{FileName, SegmentId, in_path};
use crate::format::Writer;
use crate::output::{Name, Output, Plan, Unfinished};
use crate::progress::Progress;
use crate::schema::{Table, wanted};
use crate::summary::Summary;
use crate::table::Rows;

/// Rows that are written at once.
const BATCH_ROWS: usize = 32 * 1024;

/// The day of an instant, UTC.
pub(crate) fn date(realtime_ns: u64) -> Date {
    let time = Timestamp::from_nanosecond(i128::from(realtime_ns)).unwrap_or_default();
    time.to_zoned(TimeZone::UTC).date()
}

/// A table of one day.
struct TableFile {
    rows: Rows,
    writer: Writer,
    file: Unfinished,
}

impl TableFile {
    fn add(&mut self, frame: &Frame, entry: &Entry) -> Result<(), Error> {
        self.rows.add(frame, entry);
        if self.rows.len() >= BATCH_ROWS { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Error> {
        let batch = self.rows.take().map_err(io_of_arrow);
        batch.and_then(|batch| self.writer.write(&batch)).map_err(Error::of(self.file.path()))
    }

    /// Completes it, but for its name.
    fn finish(mut self) -> Result<Unfinished, Error> {
        self.write()?;
        self.writer.finish().map_err(Error::of(self.file.path()))?;
        Ok(self.file)
    }
}

/// Begin and end of these intervals, CLOCK_MONOTONIC in milliseconds.
fn span_ms<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> Option<Range<u64>> {
    let start_ns = entries.clone().map(|entry| entry.start_ns).min()?;
    let end_ns = entries.map(|entry| entry.end_ns).max()?;
    Some(start_ns / 1_000_000..end_ns / 1_000_000)
}

/// Numbers of records, as they follow one another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<RangeInclusive<u64>>);

impl Numbers {
    fn has(&self, number: u64) -> bool {
        let behind = self.0.partition_point(|range| *range.start() <= number);
        behind > 0 && *self.0[behind - 1].end() >= number
    }
}

impl FromIterator<u64> for Numbers {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Numbers {
        let mut all: Vec<u64> = numbers.into_iter().collect();
        all.sort_unstable();
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for number in all {
            match ranges.last_mut() {
                Some(last) if number.saturating_sub(*last.end()) <= 1 => *last = *last.start()..=number,
                _ => ranges.push(number..=number),
            }
        }
        Numbers(ranges)
    }
}

/// Their days, UTC.
fn dates_of<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<Date> {
    let mut dates: Vec<Date> = entries.map(|entry| date(entry.start_realtime_ns())).collect();
    dates.sort_unstable();
    dates.dedup();
    dates
}

/// Where a segment is, and what of it is wanted.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) header: Option<Header>,
    /// What identifies its tier of the recording.
    pub(crate) id: u64,
    /// The numbers of the records.
    pub(crate) wanted: Numbers,
    /// Those of all its records, but for what another tier has the time of.
    pub(crate) offered: Numbers,
}

/// What a segment has whose intervals are wanted, or a part of them. Its file is closed: a recording may have very many.
pub(crate) struct Outline {
    source: Source,
    format: Format,
    name: Name,
    /// The days of its intervals that are wanted.
    dates: Vec<Date>,
    /// Of all its intervals.
    segment_dates: Vec<Date>,
    intervals: u64,
}

impl Outline {
    /// `None`: nothing of it is there any more.
    pub(crate) fn of(source: Source, format: Format) -> Result<Option<Outline>, Error> {
        let (_, entries) = read_entries(&source.path)?;
        let Some(segment_ms) = span_ms(entries.iter().map(|(_, entry)| entry)) else { return Ok(None) };
        let first_sequence = entries.first().map_or(0, |(_, first)| first.sequence);
        let header = source.header.clone().unwrap_or(make!(Header { first_sequence }));
        let segment = SegmentId {
            boot: in_path(&header.boot_id),
            tier: header.tier_name(),
            recording: source.id,
            sequence: header.first_sequence,
        };
        let file = FileName { segment, span_ms: 0..0, is_part: false, ending: format.ending().into() };
        let name = Name { host: header.host, file, segment_ms };
        let segment_dates = dates_of(entries.iter().map(|(_, entry)| entry));
        let mut outline = Outline { source, format, name, dates: Vec::new(), segment_dates, intervals: 0 };
        outline.choose(&entries, |outline, entry| outline.source.wanted.has(entry.sequence));
        Ok(Some(outline))
    }

    /// Wants those of its intervals that are meant.
    fn choose(&mut self, all: &[(Place, Entry)], is_meant: impl Fn(&Outline, &Entry) -> bool) {
        let entries = all.iter().map(|(_, entry)| entry);
        let wanted: Vec<&Entry> = entries.filter(|entry| is_meant(self, entry)).collect();
        self.source.wanted = wanted.iter().map(|entry| entry.sequence).collect();
        self.name.file.span_ms = span_ms(wanted.iter().copied()).unwrap_or_default();
        self.name.file.is_part = wanted.len() < all.len();
        self.intervals = wanted.len() as u64;
        self.dates = dates_of(wanted.into_iter());
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// The days that its segment may have files of, each with the machine.
    pub(crate) fn days(&self) -> impl Iterator<Item = (Vec<u8>, Date)> {
        self.segment_dates.iter().map(|date| (self.name.host.clone(), *date))
    }

    pub(crate) fn intervals(&self) -> u64 {
        self.intervals
    }

    /// Whether all that is wanted of it, and that the tables have not from elsewhere, is in the output. If that has a part of the segment
    /// which is partly of the same time, all of that part is wanted, too: the new files replace it.
    ///
    /// # Errors
    /// When it must not come there, or cannot be read.
    pub(crate) fn is_done(&mut self, output: &Output, plan: &Plan) -> Result<bool, Error> {
        let taken = output.taken(&self.name, plan);
        if taken.iter().any(|taken| overlap(taken, &self.name.file.span_ms)) {
            let (_, entries) = read_entries(&self.source.path)?;
            self.choose(&entries, |outline, entry| {
                outline.source.wanted.has(entry.sequence) && !is_in(entry, &taken)
            });
        }
        output.check(&self.name, plan)?;
        if self.is_there(output) {
            return Ok(true);
        }
        loop {
            let crossing = output.crossing(&self.name);
            if crossing.is_empty() {
                return Ok(self.is_there(output));
            }
            let (_, entries) = read_entries(&self.source.path)?;
            let before = self.intervals;
            self.choose(&entries, |Outline { source, .. }, entry| {
                let is_offered = source.offered.has(entry.sequence) && !is_in(entry, &taken);
                source.wanted.has(entry.sequence) || is_offered && is_in(entry, &crossing)
            });
            if self.intervals == before {
                return Ok(self.is_there(output));
            }
        }
    }

    fn is_there(&self, output: &Output) -> bool {
        self.dates.iter().all(|date| output.has(*date, &self.name))
    }

    /// Writes its files.
    pub(crate) fn write(self, output: &Output, progress: &Progress) -> Result<Summary, Error> {
        let Outline { source, format, name, dates, .. } = self;
        let (recording, mut places) = read_entries(&source.path)?;
        places.retain(|(_, entry)| source.wanted.has(entry.sequence));
        Part { recording, name, format, places, dates }.write(output, progress)
    }
}

/// Whether both have time in common.
fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Whether one of these spans has time of an interval, CLOCK_MONOTONIC in milliseconds.
fn is_in(entry: &Entry, spans: &[Range<u64>]) -> bool {
    let own = entry.start_ns / 1_000_000..entry.end_ns / 1_000_000;
    spans.iter().any(|span| overlap(span, &own))
}

/// A segment, and its intervals.
fn read_entries(path: &Path) -> Result<(Recording, Vec<(Place, Entry)>), Error> {
    let mut recording = Recording::open(path)?;
    let (mut entries, mut next) = (Vec::new(), recording.first());
    while let Some(place) = next {
        next = recording.next(place);
        entries.extend(recording.entry(place).map(|entry| (place, entry)));
    }
    Ok((recording, entries))
}

/// A segment that is open, as it is being written.
struct Part {
    recording: Recording,
    name: Name,
    format: Format,
    /// Its intervals that are wanted.
    places: Vec<(Place, Entry)>,
    /// Their days.
    dates: Vec<Date>,
}

impl Part {
    fn write(mut self, output: &Output, progress: &Progress) -> Result<Summary, Error> {
        let mut summary = Summary::default();
        let mut days = self.begin(output, progress)?;
        let (wanted, mut frame, mut was_lost) = (wanted(), Frame::new(), false);
        for (place, entry) in std::mem::take(&mut self.places) {
            if progress.is_stopped() {
                return Err(Error::Stopped);
            }
            let rows = match read(&mut self.recording, place, &wanted, &mut frame, &mut was_lost)? {
                Met::Frame => {
                    let mut files = days.get_mut(&date(entry.start_realtime_ns())).into_iter().flatten();
                    files.try_for_each(|file| file.add(&frame, &entry))?;
                    summary.add(&frame)
                }
                Met::Loss(loss) => {
                    summary.losses.push(loss);
                    0
                }
                Met::Nothing => 0,
            };
            progress.add(1, rows);
        }
        let files = days.into_values().flatten().map(TableFile::finish);
        let files = files.collect::<Result<Vec<Unfinished>, Error>>()?;
        summary.files = files.len() as u64;
        for file in files {
            if progress.is_stopped() {
                return Err(Error::Stopped);
            }
            if let Some(path) = file.unfinished_path() {
                progress.drop_unfinished(path);
            }
            file.publish(|| progress.is_stopped())?;
        }
        Ok(summary)
    }

    /// The files of each day, without rows.
    fn begin(
        &mut self,
        output: &Output,
        progress: &Progress,
    ) -> Result<BTreeMap<Date, Vec<TableFile>>, Error> {
        let has_one_dictionary = self.format.has_one_dictionary();
        let mut days = BTreeMap::new();
        for &date in &self.dates {
            let mut files = Vec::new();
            for table in Table::ALL {
                let file = output.create(table, date, &self.name)?;
                file.unfinished_path().into_iter().for_each(|path| progress.add_unfinished(path));
                let writer = file.file().and_then(|own| Writer::new(self.format, table, own));
                let writer = writer.map_err(Error::of(file.path()))?;
                let rows = Rows::new(table, self.name.file.segment.recording, has_one_dictionary);
                files.push(TableFile { rows, writer, file });
            }
            days.insert(date, files);
        }
        if has_one_dictionary {
            self.add_names(&mut days, progress)?;
        }
        Ok(days)
    }

    /// Reads all intervals for the names in them.
    fn add_names(
        &mut self,
        days: &mut BTreeMap<Date, Vec<TableFile>>,
        progress: &Progress,
    ) -> Result<(), Error> {
        let (wanted, mut frame) = (wanted(), Frame::new());
        for (place, _) in &self.places {
            if progress.is_stopped() {
                return Err(Error::Stopped);
            }
            if self.recording.read_into(*place, &wanted, &mut frame)? {
                for file in days.values_mut().flatten() {
                    file.rows.add_names(&frame);
                }
            }
        }
        Ok(())
    }
}

/// What is at a place.
enum Met {
    /// It is read.
    Frame,
    /// It cannot be read, nor can some behind it.
    Loss(Loss),
    /// It belongs to a loss that was told.
    Nothing,
}

fn read(
    recording: &mut Recording,
    place: Place,
    wanted: &Wanted,
    frame: &mut Frame,
    was_lost: &mut bool,
) -> Result<Met, Error> {
    if recording.read_into(place, wanted, frame)? {
        *was_lost = false;
        return Ok(Met::Frame);
    }
    if std::mem::replace(was_lost, true) {
        return Ok(Met::Nothing);
    }
    Ok(match recording.step(place)? {
        Step::Loss(loss, _) => Met::Loss(loss),
        Step::Record(record, _) => {
            *frame = record.frame;
            Met::Frame
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_as_what_follows_one_another() {
        let numbers: Numbers = [7, 5, 6, 1, u64::MAX, 6, 0].into_iter().collect();
        assert_eq!(numbers, Numbers(vec![0..=1, 5..=7, u64::MAX..=u64::MAX]));
        let has = |number: &u64| numbers.has(*number);
        assert_eq!((0..10).filter(has).collect::<Vec<u64>>(), [0, 1, 5, 6, 7]);
        assert!(numbers.has(u64::MAX) && !Numbers::default().has(0));
    }
}
