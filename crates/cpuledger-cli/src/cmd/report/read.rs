//! The intervals of a span, added up by as many threads as there are CPUs. Where the sum depends on the order of the intervals, one thread
//! adds them up and another reads ahead: so a report is the same on any number of CPUs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::bail;
use cpuledger_frame::{Frame, Wanted};
use cpuledger_recording::{Gap, Loss, Place, Recording, Step};
use cpuledger_report::{Accumulator, Instants};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::progress::Count;
use crate::recording::{TimeSpan, missing};

/// With fewer records a second thread is not worth its start.
const LEAST_RECORDS: u64 = 512;

/// More threads wait for the disk.
const MOST_THREADS: usize = 8;

/// Intervals that the thread which reads ahead hands over at once. Three times as many are in memory.
const BATCH: usize = 8;

/// Requests to end. The first request ends it in order, the second at once.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    has_come: Arc<AtomicBool>,
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on SIGINT and SIGTERM are requests.
    pub fn watch() -> Interrupt {
        let own = Interrupt { has_come: Arc::default(), at_once: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            // In this order a second signal ends it. Without handlers the first one does.
            let _ = flag::register_conditional_shutdown(signal, 1, Arc::clone(&own.at_once));
            let _ = flag::register(signal, Arc::clone(&own.at_once));
            let _ = flag::register(signal, Arc::clone(&own.has_come));
        }
        own
    }

    /// Whether there was one.
    pub fn has_come(&self) -> bool {
        self.has_come.load(Ordering::Relaxed)
    }

    /// There is nothing more to be put in order.
    pub fn end_at_once(&self) {
        self.at_once.store(true, Ordering::Relaxed);
    }
}

/// What was read.
pub struct Read {
    pub accumulator: Accumulator,
    pub losses: Vec<Loss>,
    pub gaps: Vec<Gap>,
}

/// What one thread has read.
struct Part {
    accumulator: Accumulator,
    lost: Lost,
}

/// What it could not read.
#[derive(Default)]
struct Lost {
    losses: Vec<Loss>,
    /// Whether the first of its records is lost, and the last.
    begins_lost: bool,
    ends_lost: bool,
}

/// What all threads look at.
#[derive(Clone, Copy)]
struct Work<'a> {
    span: TimeSpan,
    count: &'a Count,
    interrupt: &'a Interrupt,
}

/// A part of the records: from the one up to the other.
struct Range {
    from: Place,
    to: Option<Place>,
}

/// Adds up the intervals of a span. `empty` says by what.
pub fn accumulate(
    path: &Path,
    recording: &mut Recording,
    span: TimeSpan,
    empty: &Accumulator,
    interrupt: &Interrupt,
) -> anyhow::Result<Read> {
    let cpus = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let is_ordered = empty.depends_on_order();
    let ranges = ranges(recording, span, if is_ordered { 1 } else { cpus });
    let (mut losses, gaps) = missing(recording, span)?;
    let mut readers: Vec<Recording> = Vec::new();
    for _ in 1..ranges.1.len() {
        readers.extend(again(path, recording, &ranges.1)?);
    }
    let (records, ranges) = if readers.len() + 1 < ranges.1.len() {
        // It has changed meanwhile: places are of the one that is open.
        let to = ranges.1.last().and_then(|range| range.to);
        (ranges.0, ranges.1.into_iter().take(1).map(|range| Range { to, ..range }).collect())
    } else {
        ranges
    };
    let count = Count::default();
    let work = Work { span, count: &count, interrupt };
    let parts: Vec<anyhow::Result<Part>> = thread::scope(|scope| {
        let shown = count.show(scope, records);
        let mut ranges = ranges.into_iter();
        let first = ranges.next();
        let threads: Vec<_> = readers
            .iter_mut()
            .zip(ranges)
            .map(|(reader, range)| {
                let empty = empty.clone();
                scope.spawn(move || add_up(reader, &range, work, empty))
            })
            .collect();
        let mut parts = Vec::new();
        if let Some(range) = first {
            let add_up = if is_ordered && cpus > 1 { add_up_behind } else { add_up };
            parts.push(add_up(recording, &range, work, empty.clone()));
        }
        parts.extend(
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread has failed"))),
        );
        drop(shown);
        parts
    });
    let accumulator = merged(parts, &mut losses)?;
    if interrupt.has_come() {
        bail!("interrupted; nothing was written");
    }
    Ok(Read { accumulator: accumulator.unwrap_or_else(|| empty.clone()), losses, gaps })
}

/// The sum of the parts, in their order. What they lost is appended.
fn merged(parts: Vec<anyhow::Result<Part>>, losses: &mut Vec<Loss>) -> anyhow::Result<Option<Accumulator>> {
    let mut accumulator: Option<Accumulator> = None;
    let mut is_open = false;
    for part in parts {
        let Part { accumulator: more, lost: Lost { losses: lost, begins_lost, ends_lost } } = part?;
        let mut lost = lost.into_iter();
        // A loss that crosses two parts is one.
        if is_open
            && begins_lost
            && let Some((last, first)) = losses.last_mut().zip(lost.next())
        {
            last.extend(&first);
        }
        losses.extend(lost);
        is_open = ends_lost;
        match &mut accumulator {
            Some(own) => own.merge(more),
            None => accumulator = Some(more),
        }
    }
    Ok(accumulator)
}

/// The records that begin before the end of the span, and the first behind them.
fn places(recording: &mut Recording, span: TimeSpan) -> (Vec<Place>, Option<Place>) {
    let mut places = Vec::new();
    let mut next = recording.at_realtime(span.since_ns);
    while let Some(place) = next
        && recording.entry(place).is_some_and(|entry| entry.start_realtime_ns() < span.until_ns)
    {
        places.push(place);
        next = recording.next(place);
    }
    (places, next)
}

/// How many records a span has.
pub fn records(recording: &mut Recording, span: TimeSpan) -> u64 {
    places(recording, span).0.len() as u64
}

/// The records of the span: how many, and a part for each thread.
fn ranges(recording: &mut Recording, span: TimeSpan, threads: usize) -> (u64, Vec<Range>) {
    let (places, next) = places(recording, span);
    let records = places.len() as u64;
    let parts = (records / LEAST_RECORDS).clamp(1, threads as u64) as usize;
    let begin = |part: usize| part * places.len() / parts;
    let range = |part: usize| {
        let to = if part + 1 == parts { next } else { places.get(begin(part + 1)).copied() };
        Some(Range { from: *places.get(begin(part))?, to })
    };
    (records, (0..parts).filter_map(range).collect())
}

/// The same recording once more; `None`: it has changed.
fn again(path: &Path, recording: &mut Recording, ranges: &[Range]) -> anyhow::Result<Option<Recording>> {
    let mut other = Recording::open(path)?;
    let places = ranges.iter().flat_map(|range| [Some(range.from), range.to]).flatten();
    let is_same = places.into_iter().all(|place| recording.entry(place) == other.entry(place));
    Ok(is_same.then_some(other))
}

/// Adds up the records of a range.
fn add_up(
    recording: &mut Recording,
    range: &Range,
    work: Work<'_>,
    mut accumulator: Accumulator,
) -> anyhow::Result<Part> {
    let wanted = accumulator.wanted();
    let lost = read_range(recording, range, work, &wanted, |frame, when| accumulator.add(frame, when))?;
    Ok(Part { accumulator, lost })
}

/// Likewise, while another thread reads ahead.
fn add_up_behind(
    recording: &mut Recording,
    range: &Range,
    work: Work<'_>,
    mut accumulator: Accumulator,
) -> anyhow::Result<Part> {
    let wanted = accumulator.wanted();
    let (full, batches) = mpsc::sync_channel::<Batch>(1);
    let (used, empty) = mpsc::channel::<Batch>();
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut batch = Batch::default();
            // Nothing is received any more if the other thread has failed, which is told there.
            let lost = read_range(recording, range, work, &wanted, |frame, when| {
                batch.take(frame, when);
                if batch.filled == BATCH {
                    let next = empty.try_recv().unwrap_or_default();
                    let _ = full.send(std::mem::replace(&mut batch, next));
                }
            });
            let _ = full.send(batch);
            lost
        });
        for mut batch in batches {
            for (frame, when) in &batch.intervals[..batch.filled] {
                accumulator.add(frame, *when);
            }
            batch.filled = 0;
            let _ = used.send(batch);
        }
        let lost = reader.join().unwrap_or_else(|_| bail!("a thread has failed"))?;
        Ok(Part { accumulator, lost })
    })
}

/// Intervals that were read ahead. The memory of their frames is used again.
#[derive(Default)]
struct Batch {
    intervals: Vec<(Frame, Instants)>,
    filled: usize,
}

impl Batch {
    /// Takes the frame, and leaves another one.
    fn take(&mut self, frame: &mut Frame, when: Instants) {
        if self.filled == self.intervals.len() {
            self.intervals.push((Frame::new(), when));
        }
        let (own, own_when) = &mut self.intervals[self.filled];
        std::mem::swap(own, frame);
        *own_when = when;
        self.filled += 1;
    }
}

/// Reads the records of a range, and hands over each interval.
fn read_range(
    recording: &mut Recording,
    range: &Range,
    Work { span, count, interrupt }: Work<'_>,
    wanted: &Wanted,
    mut take: impl FnMut(&mut Frame, Instants),
) -> anyhow::Result<Lost> {
    let mut lost = Lost::default();
    let mut frame = Frame::new();
    let mut next = Some(range.from);
    while let Some(place) = next.filter(|place| range.to.is_none_or(|to| *place < to)) {
        if interrupt.has_come() {
            break;
        }
        count.add();
        let Some(entry) = recording.entry(place) else { break };
        let when =
            Instants { start_realtime_ns: entry.start_realtime_ns(), end_realtime_ns: entry.end_realtime_ns };
        if !span.has(when.start_realtime_ns, when.end_realtime_ns) {
            next = recording.next(place);
            continue;
        }
        lost.ends_lost = false;
        if recording.read_into(place, wanted, &mut frame)? {
            take(&mut frame, when);
            next = recording.next(place);
            continue;
        }
        match recording.step_before(place, range.to)? {
            Step::Record(mut record, behind) => {
                take(&mut record.frame, when);
                next = behind;
            }
            Step::Loss(loss, behind) => {
                lost.begins_lost |= place == range.from;
                lost.ends_lost = true;
                lost.losses.push(loss);
                next = behind;
            }
        }
    }
    Ok(lost)
}
