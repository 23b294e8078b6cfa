//! The segments of a recording, one or several at a time.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use cpuledger_recording::{Place, Recording};

use crate::destination::Destination;
use crate::error::Error;
use crate::options::Options;
use crate::output::{Output, Plan};
use crate::progress::Progress;
use crate::rights::Rights;
use crate::segment::{Numbers, Outline, Source};
use crate::summary::Summary;

/// Segments at a time, at most: each takes up to some hundred megabytes.
const MOST_THREADS: usize = 4;

/// Writes the segments of a recording as tables in a directory, but for the one that a writer has. What is there already is not written again.
///
/// # Errors
/// When the recording cannot be read, the output not be written, or the export was asked to end. Files are whole or not there.
pub fn export(from: &Path, to: &Path, options: &Options, progress: &Progress) -> Result<Summary, Error> {
    export_to(from, &Destination::Folder(to.into()), options, progress)
}

/// Likewise, to a directory or a store of objects.
///
/// # Errors
/// Likewise; and when the store cannot be reached, or refuses access.
pub fn export_to(
    from: &Path,
    to: &Destination,
    options: &Options,
    progress: &Progress,
) -> Result<Summary, Error> {
    let mut recording = Recording::open(from)?;
    let places = recording.select(&options.span);
    let (losses, gaps) = recording.missing(&options.span)?;
    let repeated = recording.repeated(&places, &options.span);
    let mut summary = Summary { losses, gaps, repeated, ..Summary::default() };
    let is_being_written = recording.is_being_written()?;
    let segments = segments_of(&mut recording, &places);
    let paths: Vec<PathBuf> = segments.iter().map(|segment| segment.path.clone()).collect();
    let rights = Rights::of(&paths)?;
    let mut outlines = Vec::new();
    for segment in segments {
        if is_being_written && segment.path.extension().is_some_and(|ending| ending == "open") {
            summary.segments_open += 1;
        } else {
            outlines.extend(Outline::of(segment, options.format)?);
        }
    }
    let segments = outlines.iter().map(|outline| outline.name().file.segment.clone()).collect();
    let plan = Plan { segments, tiers: recording.ids() };
    drop((recording, places));
    let days = outlines.iter().flat_map(Outline::days).collect();
    let output = Output::open(to, rights, &days)?;
    let (mut wanted, mut intervals) = (Vec::new(), 0);
    for mut outline in outlines {
        if outline.is_done(&output, &plan)? {
            summary.segments_there += 1;
        } else {
            intervals += outline.intervals();
            wanted.push(outline);
        }
    }
    progress.set_total(intervals);
    summary.merge(write_all(wanted, &output, progress)?);
    Ok(summary)
}

/// The segments that have these records, which are in the order of the recording. A segment may have others in between, of which another tier has
/// the time.
fn segments_of(recording: &mut Recording, places: &[Place]) -> Vec<Source> {
    let mut segments: Vec<(Source, [Vec<u64>; 2])> = Vec::new();
    let mut wanted = places.iter().peekable();
    for place in recording.beside(places) {
        let is_wanted = wanted.next_if_eq(&&place).is_some();
        let Some(entry) = recording.entry(place) else { continue };
        let Some((path, header)) = recording.segment(place) else { continue };
        let known = segments.iter().rposition(|(segment, _)| segment.path == path);
        let known = known.unwrap_or_else(|| {
            let (path, header) = (path.into(), header.cloned());
            let id = recording.id(place).unwrap_or(0);
            let (wanted, offered) = (Numbers::default(), Numbers::default());
            segments.push((Source { path, header, id, wanted, offered }, Default::default()));
            segments.len() - 1
        });
        let [wanted, offered] = &mut segments[known].1;
        wanted.extend(is_wanted.then_some(entry.sequence));
        offered.push(entry.sequence);
    }
    let with_numbers = |(segment, numbers): (Source, [Vec<u64>; 2])| {
        let [wanted, offered] = numbers.map(Numbers::from_iter);
        Source { wanted, offered, ..segment }
    };
    segments.into_iter().map(with_numbers).collect()
}

/// Several at a time; after an error no other is begun.
fn write_all(outlines: Vec<Outline>, output: &Output, progress: &Progress) -> Result<Summary, Error> {
    let threads =
        thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(outlines.len());
    let queue = Mutex::new(outlines.into_iter());
    let result = Mutex::new(Ok(Summary::default()));
    let work = || {
        loop {
            let Some(outline) = lock(&queue).next() else { return };
            let done = outline.write(output, progress);
            let mut result = lock(&result);
            match (done, &mut *result) {
                (Ok(summary), Ok(all)) => all.merge(summary),
                (Err(error), Ok(_)) => *result = Err(error),
                (_, Err(_)) => {}
            }
            if result.is_err() {
                progress.stop();
                return;
            }
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
