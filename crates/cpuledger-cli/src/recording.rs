//! A recording as commands read it: which of its tiers answers a question, and its intervals in a span of time.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use cpuledger_recording::{Gap, Loss, Place, Record, Recording, Step};

/// A part of CLOCK_REALTIME, in nanoseconds since 1970. An interval is in it if its middle is: so of two spans that meet, each
/// interval is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpan {
    /// Its begin.
    pub since_ns: u64,
    /// Its end, which is not in it any more.
    pub until_ns: u64,
}

impl TimeSpan {
    /// All of time.
    pub const ALL: TimeSpan = TimeSpan { since_ns: 0, until_ns: u64::MAX };

    /// Whether an interval of these ends is in it.
    pub fn has(self, start_ns: u64, end_ns: u64) -> bool {
        (self.since_ns..self.until_ns).contains(&u64::midpoint(start_ns, end_ns))
    }

    fn covers(self, other: TimeSpan) -> bool {
        self.since_ns <= other.since_ns && self.until_ns >= other.until_ns
    }

    fn common(self, other: TimeSpan) -> TimeSpan {
        TimeSpan { since_ns: self.since_ns.max(other.since_ns), until_ns: self.until_ns.min(other.until_ns) }
    }
}

/// One tier of a recording.
#[derive(Debug)]
pub struct OpenTier {
    /// The length of its intervals; 0: as they came.
    pub length: Duration,
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub recording: Recording,
    /// Of when it has intervals.
    pub span: TimeSpan,
}

/// The tiers of a recording that have intervals, the finest first.
///
/// # Errors
/// No recording, none that this version reads, or none with an interval.
pub fn open(path: &Path) -> anyhow::Result<Vec<OpenTier>> {
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
    let mut paths = if path.is_dir() { Recording::tiers(path).map_err(refused)? } else { Vec::new() };
    if paths.is_empty() {
        // A segment, or the directory of one tier.
        paths.push((Duration::ZERO, path.to_owned()));
    }
    let mut tiers = Vec::new();
    for (length, path) in paths {
        let mut recording = match Recording::open(&path) {
            Ok(recording) => recording,
            Err(cpuledger_recording::Error::NoRecording { .. }) => continue,
            Err(error) => return Err(refused(error)),
        };
        if let Some((since_ns, until_ns)) = recording.span_realtime_ns() {
            let span = TimeSpan { since_ns, until_ns };
            tiers.push(OpenTier { length, path, recording, span });
        }
    }
    if tiers.is_empty() {
        bail!("{}: there is no recording, or none with an interval in it", path.display());
    }
    Ok(tiers)
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

/// The finest of the tiers that covers as much of a span as all of them do together. At the end a tier may lack what its last
/// interval waits for.
pub fn finest(mut tiers: Vec<OpenTier>, span: TimeSpan) -> OpenTier {
    let whole = tiers.iter().fold(TimeSpan { since_ns: u64::MAX, until_ns: 0 }, |whole, tier| TimeSpan {
        since_ns: whole.since_ns.min(tier.span.since_ns),
        until_ns: whole.until_ns.max(tier.span.until_ns),
    });
    let wanted = span.common(whole);
    let lag = |tier: &OpenTier| u64::try_from(tier.length.as_nanos()).unwrap_or(u64::MAX);
    let covers = |tier: &OpenTier| {
        // An interval that a tier has in the middle of the begin is as good as one that begins there.
        let reach = TimeSpan {
            since_ns: tier.span.since_ns.saturating_sub(lag(tier) / 2),
            until_ns: tier.span.until_ns.saturating_add(lag(tier)),
        };
        reach.covers(wanted)
    };
    let shared_ns = |tier: &OpenTier| {
        let common = tier.span.common(wanted);
        common.until_ns.saturating_sub(common.since_ns)
    };
    let place = tiers.iter().position(covers);
    // Where none does, the one that has most of it.
    let place = place.or_else(|| (0..tiers.len()).rev().max_by_key(|place| shared_ns(&tiers[*place])));
    tiers.swap_remove(place.unwrap_or(0))
}

/// How much has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Records that have been read, or were found to be lost.
    pub done: u64,
    /// Of how many.
    pub of: u64,
}

/// The intervals of a span, one after the other.
#[derive(Debug)]
pub struct Frames<'a> {
    recording: &'a mut Recording,
    next: Option<Place>,
    span: TimeSpan,
    first_sequence: u64,
    progress: Progress,
    losses: Vec<Loss>,
}

impl<'a> Frames<'a> {
    /// From the first interval of the span on.
    pub fn new(recording: &'a mut Recording, span: TimeSpan) -> Frames<'a> {
        let next = recording.at_realtime(span.since_ns);
        let first_sequence = next.and_then(|place| recording.entry(place)).map_or(0, |entry| entry.sequence);
        let last = recording.at_realtime(span.until_ns).or_else(|| recording.last());
        let last_sequence = last.and_then(|place| recording.entry(place)).map_or(0, |entry| entry.sequence);
        let of = last_sequence.saturating_sub(first_sequence).saturating_add(1);
        let progress = Progress { done: 0, of };
        Frames { recording, next, span, first_sequence, progress, losses: Vec::new() }
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// What could not be read so far.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// The next interval; `None`: that was all.
    ///
    /// # Errors
    /// When reading fails. A damaged interval is a loss and no error.
    pub fn read_next(&mut self) -> anyhow::Result<Option<Record>> {
        while let Some(place) = self.next {
            let Some(entry) = self.recording.entry(place) else { break };
            if entry.start_realtime_ns() >= self.span.until_ns {
                break;
            }
            if !self.span.has(entry.start_realtime_ns(), entry.end_realtime_ns) {
                self.next = self.recording.next(place);
                continue;
            }
            self.progress.done = entry.sequence.saturating_sub(self.first_sequence).saturating_add(1);
            match self.recording.step(place)? {
                Step::Record(record, next) => {
                    self.next = next;
                    return Ok(Some(*record));
                }
                Step::Loss(loss, next) => {
                    self.next = next;
                    self.losses.push(loss);
                }
            }
        }
        self.next = None;
        self.progress.done = self.progress.of;
        Ok(None)
    }
}

/// What of a span the recording does not have: intervals that are lost, and times of which there is nothing.
///
/// # Errors
/// When reading fails.
pub fn missing(recording: &mut Recording, span: TimeSpan) -> anyhow::Result<(Vec<Loss>, Vec<Gap>)> {
    let mut losses = recording.losses()?;
    losses.retain(|loss| {
        loss.from_realtime_ns.is_none_or(|from| from < span.until_ns)
            && loss.to_realtime_ns.is_none_or(|to| to > span.since_ns)
    });
    let mut gaps = recording.gaps()?;
    gaps.retain(|gap| gap.from_realtime_ns < span.until_ns && gap.to_realtime_ns > span.since_ns);
    Ok((losses, gaps))
}

#[cfg(test)]
mod tests {
    use cpuledger_frame::{Column, Frame};
    use cpuledger_recording::{Options, Tier, Writer};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    /// A whole minute of CLOCK_REALTIME.
    const BEGIN_NS: u64 = 1_700_000_040 * SECOND_NS;

    /// A span in seconds after the begin.
    fn span(since_s: u64, until_s: u64) -> TimeSpan {
        TimeSpan { since_ns: BEGIN_NS + since_s * SECOND_NS, until_ns: BEGIN_NS + until_s * SECOND_NS }
    }

    /// Seconds from `first_s` on, and with `minutes` also merged to minutes. The second 70 is missing.
    fn record(path: &Path, lengths: &[u64], seconds: std::ops::Range<u64>) {
        let tiers = lengths.iter().map(|length| Tier { length: Duration::from_secs(*length), keep: None });
        let mut writer =
            Writer::open(path, Options { tiers: tiers.collect(), ..Options::default() }).expect("a folder");
        for second in seconds.filter(|second| *second != 70) {
            let mut frame = Frame::new();
            for (column, ns) in [
                (Column::START_NS, second * SECOND_NS),
                (Column::END_NS, (second + 1) * SECOND_NS),
                (Column::END_REALTIME_NS, BEGIN_NS + (second + 1) * SECOND_NS),
                (Column::KNOWS_EXITS, 1),
            ] {
                frame.set_figure(column, Some(ns));
            }
            writer.append(&frame).expect("room");
        }
        writer.close().expect("room");
    }

    fn length_s(path: &Path, span: TimeSpan) -> u64 {
        finest(open(path).expect("a recording"), span).length.as_secs()
    }

    #[test]
    fn the_finest_tier_that_covers_a_span_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        record(&path, &[60], 0..240);
        assert_eq!(length_s(&path, TimeSpan::ALL), 60);
        record(&path, &[1], 180..300);
        for (since_s, until_s, expected_s) in
            [(180, 240, 1), (200, 400, 1), (0, 240, 60), (170, 240, 60), (0, 10, 60)]
        {
            assert_eq!(length_s(&path, span(since_s, until_s)), expected_s, "{since_s} to {until_s}");
        }
    }

    #[test]
    fn each_interval_is_in_one_of_two_spans_that_meet() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        record(&path, &[1], 0..100);
        let mut tier = finest(open(&path).expect("a recording"), TimeSpan::ALL);
        let mut read = |span| {
            let mut frames = Frames::new(&mut tier.recording, span);
            let mut seconds = Vec::new();
            while let Some(record) = frames.read_next().expect("it is whole") {
                seconds.push(record.entry.start_ns / SECOND_NS);
                assert!(frames.progress().done <= frames.progress().of);
            }
            assert_eq!(frames.progress().done, frames.progress().of);
            assert_eq!(frames.losses(), []);
            seconds
        };
        let half_ns = SECOND_NS / 2;
        for meet_ns in [
            BEGIN_NS + 30 * SECOND_NS,
            BEGIN_NS + 30 * SECOND_NS + half_ns,
            BEGIN_NS + 30 * SECOND_NS + half_ns + 1,
        ] {
            let mut both = read(TimeSpan { since_ns: 0, until_ns: meet_ns });
            assert_eq!(both.len(), if meet_ns > BEGIN_NS + 30 * SECOND_NS + half_ns { 31 } else { 30 });
            both.extend(read(TimeSpan { since_ns: meet_ns, until_ns: u64::MAX }));
            assert_eq!(both, (0..100).filter(|second| *second != 70).collect::<Vec<_>>());
        }
        assert!(read(span(1000, 2000)).is_empty());
        let (_, gaps) = missing(&mut tier.recording, span(60, 90)).expect("it is whole");
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].from_realtime_ns, BEGIN_NS + 70 * SECOND_NS);
        assert_eq!(missing(&mut tier.recording, span(75, 90)).expect("it is whole").1, []);
    }

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
