//! The segments of a recording, one or several at a time.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use cpuledger_recording::{Gap, Header, Loss, Recording};

use crate::error::Error;
use crate::options::Options;
use crate::output::Output;
use crate::progress::Progress;
use crate::rights::Rights;
use crate::segment::Part;
use crate::summary::Summary;

/// Segments at a time, at most: each takes up to some hundred megabytes.
const MOST_THREADS: usize = 4;

/// Writes the segments of a recording as tables, but for the one that a writer has. What is there already is not written again.
///
/// # Errors
/// When the recording cannot be read, the output not be written, or the export was asked to end. Files are whole or not there.
pub fn export(from: &Path, to: &Path, options: &Options, progress: &Progress) -> Result<Summary, Error> {
    let mut recording = Recording::open(from)?;
    let mut summary = Summary {
        losses: recording.losses()?.into_iter().filter(|loss| is_in(options, loss)).collect(),
        gaps: recording.gaps()?.into_iter().filter(|gap| overlaps_gap(options, gap)).collect(),
        ..Summary::default()
    };
    let id = recording.id().unwrap_or(0);
    let mut segments: Vec<(PathBuf, Option<Header>)> = Vec::new();
    let is_being_written = recording.is_being_written()?;
    for (path, segment) in recording.segments() {
        if is_being_written && path.extension().is_some_and(|ending| ending == "open") {
            summary.segments_open += 1;
        } else {
            segments.push((path.into(), segment.header().cloned()));
        }
    }
    drop(recording);
    let paths: Vec<PathBuf> = segments.iter().map(|(path, _)| path.clone()).collect();
    let output = Output::open(to, Rights::of(&paths)?)?;
    let mut parts = Vec::new();
    let mut intervals = 0;
    for (path, header) in segments {
        let Some(part) = Part::open(&path, id, header, options)? else { continue };
        if part.is_done(&output)? {
            summary.segments_there += 1;
        } else {
            intervals += part.intervals();
            parts.push(part);
        }
    }
    progress.set_total(intervals);
    summary.merge(write_all(parts, &output, progress)?);
    Ok(summary)
}

/// Several at a time; after an error no other is begun.
fn write_all(parts: Vec<Part>, output: &Output, progress: &Progress) -> Result<Summary, Error> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(parts.len());
    let queue = Mutex::new(parts.into_iter());
    let result = Mutex::new(Ok(Summary::default()));
    let work = || {
        loop {
            let Some(part) = lock(&queue).next() else { return };
            let done = part.write(output, progress);
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

fn is_in(options: &Options, loss: &Loss) -> bool {
    options.overlaps(loss.from_realtime_ns.unwrap_or(0), loss.to_realtime_ns.unwrap_or(u64::MAX))
}

fn overlaps_gap(options: &Options, gap: &Gap) -> bool {
    options.overlaps(gap.from_realtime_ns, gap.to_realtime_ns)
}
