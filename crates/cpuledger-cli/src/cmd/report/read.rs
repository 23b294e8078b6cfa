//! The intervals of a span, added up by as many threads as there are CPUs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::bail;
use cpuledger_frame::Frame;
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

/// Requests to end. The first request ends it in order, the second at once.
#[derive(Debug, Clone)]
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
    losses: Vec<Loss>,
    /// Whether the first of its records is lost, and the last.
    begins_lost: bool,
    ends_lost: bool,
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
    let ranges = ranges(recording, span);
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
    let parts: Vec<anyhow::Result<Part>> = thread::scope(|scope| {
        let shown = count.show(scope, records);
        let mut ranges = ranges.into_iter();
        let first = ranges.next();
        let threads: Vec<_> = readers
            .iter_mut()
            .zip(ranges)
            .map(|(reader, range)| {
                let (count, empty) = (&count, empty.clone());
                scope.spawn(move || read_range(reader, &range, span, empty, count, interrupt))
            })
            .collect();
        let mut parts = Vec::new();
        if let Some(range) = first {
            parts.push(read_range(recording, &range, span, empty.clone(), &count, interrupt));
        }
        parts.extend(
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread has failed"))),
        );
        drop(shown);
        parts
    });
    let mut accumulator: Option<Accumulator> = None;
    let mut is_open = false;
    for part in parts {
        let Part { accumulator: more, losses: lost, begins_lost, ends_lost } = part?;
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
    if interrupt.has_come() {
        bail!("interrupted; nothing was written");
    }
    Ok(Read { accumulator: accumulator.unwrap_or_else(|| empty.clone()), losses, gaps })
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
fn ranges(recording: &mut Recording, span: TimeSpan) -> (u64, Vec<Range>) {
    let (places, next) = places(recording, span);
    let records = places.len() as u64;
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS) as u64;
    let parts = (records / LEAST_RECORDS).clamp(1, threads) as usize;
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

fn read_range(
    recording: &mut Recording,
    range: &Range,
    span: TimeSpan,
    mut accumulator: Accumulator,
    count: &Count,
    interrupt: &Interrupt,
) -> anyhow::Result<Part> {
    let mut losses = Vec::new();
    let (mut begins_lost, mut ends_lost) = (false, false);
    let wanted = accumulator.wanted();
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
        ends_lost = false;
        if recording.read_into(place, &wanted, &mut frame)? {
            accumulator.add(&frame, when);
            next = recording.next(place);
            continue;
        }
        match recording.step_before(place, range.to)? {
            Step::Record(record, behind) => {
                accumulator.add(&record.frame, when);
                next = behind;
            }
            Step::Loss(loss, behind) => {
                begins_lost |= place == range.from;
                ends_lost = true;
                losses.push(loss);
                next = behind;
            }
        }
    }
    Ok(Part { accumulator, losses, begins_lost, ends_lost })
}
