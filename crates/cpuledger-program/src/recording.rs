//! A recording as commands read it.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::bail;
use cpuledger_proc::count::count_of;
use cpuledger_recording::{Cause, Loss, Recording, When};

use crate::{output, when};

/// Opens a recording that has intervals.
///
/// # Errors
/// No recording, none that this version reads, or none with an interval.
pub fn open(path: &Path) -> anyhow::Result<Recording> {
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => bail!(
            "{}: there is no recording: no such file or directory; `cpuledger record` makes one",
            path.display()
        ),
        Err(error) => {
            return Err(refused(cpuledger_recording::Error::Io { path: path.into(), source: error }));
        }
    }
    let opened = match Recording::open(path) {
        Err(cpuledger_recording::Error::NoRecording { .. }) => None,
        opened => Some(opened.map_err(refused)?),
    };
    let with_intervals = opened.and_then(|mut recording| recording.first().map(|_| recording));
    match with_intervals {
        Some(recording) => Ok(recording),
        None => bail!("{}: there is no recording, or none with an interval in it", path.display()),
    }
}

/// Says which files in its directories are none of it, in one sentence.
pub fn note_foreign(recording: &Recording) {
    let foreign = recording.foreign();
    let Some(first) = foreign.first() else { return };
    let others = match foreign.len() - 1 {
        0 => String::new(),
        others => format!(" and {} like it", count_of(others as u64, "file")),
    };
    output::warn(&format!("{}{others}: no part of the recording; nothing is read of that", first.display()));
}

/// An error of reading, with what helps where the kernel does not permit it.
fn refused(error: cpuledger_recording::Error) -> anyhow::Error {
    use cpuledger_recording::Error;
    let is_refused =
        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied);
    let error = anyhow::Error::from(error);
    if is_refused {
        error.context("this user may not read the recording: its owner may, its group and root")
    } else {
        error
    }
}

/// Whether it is a part of the recording that cannot be read. What was never written is no part of it.
pub fn is_damage(loss: &Loss) -> bool {
    loss.intervals > 0 && loss.cause != Cause::NotWritten
}

/// From when to when it is, in words.
pub fn extent(span_realtime_ns: Option<(u64, u64)>) -> String {
    let (since_ns, until_ns) = span_realtime_ns.unwrap_or_default();
    format!("from {} to {}", when::written_exactly(since_ns), when::written_exactly(until_ns))
}

/// What the calendar showed at an instant; of what counts from the end of the recording, if the calendar was not set since.
pub fn realtime_ns(recording: &mut Recording, when: When) -> Option<u64> {
    match when {
        When::Realtime(ns) => Some(ns),
        When::BeforeEnd(ns) => {
            let last = recording.last()?;
            Some(recording.entry(last)?.end_realtime_ns.saturating_sub(ns))
        }
    }
}

/// What is to be said where the calendar was set back, so that intervals of a span are not all that it seems to be.
pub fn repeated(intervals: u64) -> Option<String> {
    let plural = if intervals == 1 { "interval has a time" } else { "intervals have times" };
    (intervals > 0).then(|| {
        format!(
            "{intervals} {plural} that earlier ones have too: the clock was set back, and all are counted"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_recorded_a_sentence_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().to_owned(), folder.path().join("missing")] {
            let error = open(&path).expect_err("nothing is there").to_string();
            assert!(error.contains("there is no recording"), "{error}");
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "no recording").expect("a file");
        let error = open(&file).expect_err("it is none").to_string();
        assert!(error.contains("there is no recording"), "{error}");
    }
}
