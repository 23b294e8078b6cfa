//! The intervals of a span, added up by as many threads as there are CPUs, but for those of which the sums of their segment say what is asked. Where
//! the sum depends on the order of the intervals, one thread adds them up and another reads ahead: so a report is the same on any number of CPUs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::bail;
use cpuledger_model::frame::{Frame, Wanted};
use cpuledger_program::progress;
use cpuledger_recording::{Gap, Loss, Place, Recording, Span};
use cpuledger_report::{Accumulator, Instants};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// With fewer records a second thread is not worth its start.
const LEAST_RECORDS: usize = 512;

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

/// What a thread reads, and what all of them look at.
#[derive(Clone, Copy)]
struct Work<'a> {
    places: &'a [Place],
    /// Intervals that were read.
    count: &'a AtomicU64,
    interrupt: &'a Interrupt,
}

/// Adds up the intervals at these places, which are those of a span. `empty` says by what.
pub fn accumulate(
    path: &Path,
    recording: &mut Recording,
    (span, places): (&Span, &[Place]),
    empty: &Accumulator,
    interrupt: &Interrupt,
) -> anyhow::Result<Read> {
    let cpus = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let is_ordered = empty.depends_on_order();
    let (mut losses, gaps) = recording.missing(span)?;
    let (summed, places) = with_sums(recording, places, empty);
    let mut parts = divided(&places, if is_ordered { 1 } else { cpus });
    let mut readers: Vec<Recording> = Vec::new();
    for part in parts.iter().skip(1) {
        readers.extend(again(path, recording, part)?);
    }
    if readers.len() + 1 < parts.len() {
        // It has changed meanwhile: places are of the one that is open.
        parts = vec![&places[..]];
        readers.clear();
    }
    let is_joined =
        |two: &[&[Place]]| two[0].last().and_then(|last| recording.next(*last)) == two[1].first().copied();
    let are_joined: Vec<bool> = std::iter::once(false).chain(parts.windows(2).map(is_joined)).collect();
    let (count, of) = (AtomicU64::new(0), places.len() as u64);
    let work = |places| Work { places, count: &count, interrupt };
    let parts: Vec<anyhow::Result<Part>> = thread::scope(|scope| {
        let shown = progress::show(scope, || {
            let done = count.load(Ordering::Relaxed);
            format!("{done} of {of} intervals, {} %", done * 100 / of.max(1))
        });
        let mut parts = parts.into_iter();
        let first = parts.next();
        let threads: Vec<_> = readers
            .iter_mut()
            .zip(parts)
            .map(|(reader, places)| {
                let (work, empty) = (work(places), empty.clone());
                scope.spawn(move || add_up(reader, work, empty))
            })
            .collect();
        let mut read = Vec::new();
        if let Some(places) = first {
            let add_up = if is_ordered && cpus > 1 { add_up_behind } else { add_up };
            read.push(add_up(recording, work(places), empty.clone()));
        }
        read.extend(
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread has failed"))),
        );
        drop(shown);
        read
    });
    let accumulator = merged(summed, parts, &are_joined, &mut losses)?;
    if interrupt.has_come() {
        bail!("interrupted; nothing was written");
    }
    Ok(Read { accumulator, losses, gaps })
}

/// Adds what segments of these places say that all their intervals add up to. Returns the places of the others, too.
fn with_sums(recording: &mut Recording, places: &[Place], empty: &Accumulator) -> (Accumulator, Vec<Place>) {
    let mut accumulator = empty.clone();
    if !accumulator.takes_sums() {
        return (accumulator, places.to_vec());
    }
    let (mut left, mut rest) = (Vec::new(), places);
    while let Some((place, behind)) = rest.split_first() {
        match recording.sums(rest) {
            Some((records, sums)) if accumulator.add_sums(&sums, records) => rest = &rest[records..],
            _ => {
                left.push(*place);
                rest = behind;
            }
        }
    }
    (accumulator, left)
}

/// The sum of this and the parts, in their order. What they lost is appended: one loss, where it crosses two of which the later is joined to the earlier.
fn merged(
    mut accumulator: Accumulator,
    parts: Vec<anyhow::Result<Part>>,
    are_joined: &[bool],
    losses: &mut Vec<Loss>,
) -> anyhow::Result<Accumulator> {
    let mut is_open = false;
    for (part, is_joined) in parts.into_iter().zip(are_joined) {
        let Part { accumulator: more, lost: Lost { losses: lost, begins_lost, ends_lost } } = part?;
        let mut lost = lost.into_iter();
        if is_open
            && begins_lost
            && *is_joined
            && let Some((last, first)) = losses.last_mut().zip(lost.next())
        {
            last.extend(&first);
        }
        losses.extend(lost);
        is_open = ends_lost;
        if accumulator.intervals() == 0 {
            accumulator = more;
        } else {
            accumulator.merge(more);
        }
    }
    Ok(accumulator)
}

/// A part for each thread.
fn divided(places: &[Place], threads: usize) -> Vec<&[Place]> {
    let parts = (places.len() / LEAST_RECORDS).clamp(1, threads);
    let begin = |part: usize| part * places.len() / parts;
    (0..parts).map(|part| &places[begin(part)..begin(part + 1)]).collect()
}

/// The same recording once more; `None`: it has changed.
fn again(path: &Path, recording: &mut Recording, places: &[Place]) -> anyhow::Result<Option<Recording>> {
    let mut other = Recording::open(path)?;
    let is_same = places.iter().all(|place| recording.entry(*place) == other.entry(*place));
    Ok(is_same.then_some(other))
}

/// Adds up the records at these places.
fn add_up(recording: &mut Recording, work: Work<'_>, mut accumulator: Accumulator) -> anyhow::Result<Part> {
    let wanted = accumulator.wanted();
    let lost = read_all(recording, work, &wanted, |frame, when| accumulator.add(frame, when))?;
    Ok(Part { accumulator, lost })
}

/// Likewise, while another thread reads ahead.
fn add_up_behind(
    recording: &mut Recording,
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
            let lost = read_all(recording, work, &wanted, |frame, when| {
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

/// Reads the records at these places, and hands over each interval.
fn read_all(
    recording: &mut Recording,
    Work { places, count, interrupt }: Work<'_>,
    wanted: &Wanted,
    mut take: impl FnMut(&mut Frame, Instants),
) -> anyhow::Result<Lost> {
    let mut lost = Lost::default();
    let mut frame = Frame::new();
    // The first and the last of those that cannot be read, and how many they are.
    let mut damaged: Option<(Place, Place, u64)> = None;
    for (number, &place) in places.iter().enumerate() {
        if interrupt.has_come() {
            break;
        }
        count.fetch_add(1, Ordering::Relaxed);
        let Some(entry) = recording.entry(place) else { break };
        let is_whole = recording.read_into(place, wanted, &mut frame)?;
        // What sums were taken of may be between two of them.
        if let Some((first, last, count)) = damaged
            && (is_whole || recording.next(last) != Some(place))
        {
            lost.losses.push(recording.damaged(first, last, count));
            damaged = None;
        }
        if is_whole {
            take(&mut frame, entry.instants());
            continue;
        }
        lost.begins_lost |= number == 0;
        let (first, _, intervals) = damaged.unwrap_or((place, place, 0));
        damaged = Some((first, place, intervals + 1));
    }
    lost.ends_lost = damaged.is_some();
    lost.losses.extend(damaged.map(|(first, last, count)| recording.damaged(first, last, count)));
    Ok(lost)
}
