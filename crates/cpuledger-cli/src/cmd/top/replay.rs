//! A recording in the place of the machine: what of it is asked for, and where that begins.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::bail;
use cpuledger::source::replay::{RecordedFacts, Replay, Spot};
use cpuledger::source::service;
use cpuledger_client::Error;
use cpuledger_proc::count::count_of;
use cpuledger_program::exit::Failure;
use cpuledger_program::place;
use cpuledger_program::recording;
use cpuledger_program::when::{self, Named};
use cpuledger_recording::{Recording, Span, When};

use crate::privileges;

/// A time that is written has no parts of a second: the instant may be up to a second later.
const WRITTEN_NS: u64 = 1_000_000_000;

/// Open files beside those of a recording.
const OTHER_FILES: u64 = 256;

/// What of which recording is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// A directory or a file.
    pub path: PathBuf,
    /// The instant that is shown first; `None`: the first interval.
    pub at: Option<Named>,
    /// What is shown of it.
    pub span: Span,
}

impl Asked {
    /// Checks what the options say: a path, `--at`, `--since` and `--until`.
    ///
    /// # Errors
    /// A sentence about the first that is wrong.
    pub fn parse(
        path: Option<&Path>,
        [at, since, until]: [Option<&str>; 3],
    ) -> Result<Option<Asked>, Failure> {
        let options = [("--at", at), ("--since", since), ("--until", until)];
        let Some(path) = path else {
            return match options.iter().find(|(_, text)| text.is_some()) {
                Some((name, _)) => {
                    Err(Failure::Usage(format!("{name} is a time in a recording; it needs --replay")))
                }
                None => Ok(None),
            };
        };
        if at.is_some() && since.is_some() {
            return Err(Failure::Usage(
                "--at and --since say both where to begin; drop one of them".to_owned(),
            ));
        }
        let [at, since, until] = options.map(|(name, text)| {
            let parse =
                |text| when::parse(text).map_err(|sentence| Failure::Usage(format!("{name}: {sentence}")));
            text.map(parse).transpose()
        });
        let span = Span {
            since: since?.map_or(Span::ALL.since, |since| since.when),
            until: until?.map_or(Span::ALL.until, |until| until.when),
        };
        if span.is_empty() {
            return Err(Failure::Usage("--until has to be a later time than --since".to_owned()));
        }
        Ok(Some(Asked { path: path.to_owned(), at: at?, span }))
    }
}

/// What a look at a recording that is being written has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refreshed {
    /// Nothing new.
    Same,
    /// It has later intervals. Spots from before are valid.
    Longer,
    /// What is older was deleted: spots from before are not valid any more.
    Moved,
}

/// A recording that is shown.
#[derive(Debug)]
pub struct Recorded {
    path: PathBuf,
    /// Its intervals.
    pub replay: Replay,
}

/// Where a way begins, and what is to be said of that.
#[derive(Debug)]
pub struct Begin {
    /// The interval.
    pub spot: Spot,
    /// What the user may not expect.
    pub notice: Option<String>,
}

/// What is recorded of the time before a screen that shows what comes from the machine.
#[derive(Debug, Default)]
pub struct Behind {
    /// `None`: nothing that can be read.
    pub recorded: Option<Recorded>,
    /// Why a recording that is there cannot be read, in a sentence.
    pub unread: Option<String>,
}

impl Behind {
    /// In the directory that this screen records to, in that of the service, and in those that `cpuledger record` takes if none is named.
    pub fn find(own: Option<&Path>) -> Behind {
        let usual = [service::recording(), place::usual(), Some(place::OF_MACHINE.into())];
        let mut paths: Vec<PathBuf> = own.map(Path::to_path_buf).into_iter().collect();
        for path in usual.into_iter().flatten() {
            // Where nothing was recorded yet, there is nothing to be said.
            if !paths.contains(&path) && path.exists() {
                paths.push(path);
            }
        }
        let mut behind = Behind::default();
        let mut recordings: Option<Result<(PathBuf, Recording), cpuledger_recording::Error>> = None;
        for path in paths {
            let opened = match recording::open(&path) {
                Ok(opened) => opened,
                Err(error) => {
                    behind.unread = behind.unread.or_else(|| unread(&path, &error));
                    continue;
                }
            };
            recordings = Some(match recordings.take() {
                None => Ok((path, opened)),
                Some(Ok((first, others))) => Recording::with(others, opened).map(|all| (first, all)),
                Some(failed) => failed,
            });
        }
        match recordings {
            Some(Ok((path, all))) => behind.recorded = Some(Recorded { path, replay: Replay::of(all) }),
            Some(Err(error)) => behind.unread = behind.unread.or_else(|| Some(error.to_string())),
            None => {}
        }
        behind
    }
}

/// Why there is nothing of a directory; `None`: nothing is recorded there.
fn unread(path: &Path, error: &anyhow::Error) -> Option<String> {
    use cpuledger_recording::Error as OfRecording;
    let path = path.display();
    match error.downcast_ref::<OfRecording>() {
        Some(OfRecording::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            Some(format!(
                "what was recorded before may not be read by this user: sudo ptop --replay {path} shows it"
            ))
        }
        other => other.map(ToString::to_string),
    }
}

impl Recorded {
    /// Opens it. Nothing is read that is not in the span.
    ///
    /// # Errors
    /// When there is no recording, or none that can be read.
    pub fn open(path: &Path, span: Span) -> anyhow::Result<Recorded> {
        let recording = recording::open(path)?;
        recording::note_foreign(&recording);
        let mut replay = Replay::of(recording);
        replay.set_span(span);
        Ok(Recorded { path: path.to_owned(), replay })
    }

    /// Keeps all of it open, before root is given up. Returns what is to be said if these are too many files.
    pub fn keep_open(&mut self) -> Option<String> {
        privileges::allow_open_files(OTHER_FILES + self.replay.segments() as u64);
        let closed = self.replay.keep_open();
        (closed > 0).then(|| {
            let files = count_of(closed as u64, "file");
            format!("the oldest {files} of the recording can only be read as root: raise the limit of open files (ulimit -n)")
        })
    }

    /// Takes what was recorded since, as far as it can be read. Beside that, why the rest cannot.
    pub fn refresh(&mut self) -> (Refreshed, Option<Error>) {
        let before = self.replay.records();
        let (is_valid, failed) = match self.replay.refresh() {
            Ok(is_valid) => (is_valid, None),
            Err(error) => (true, Some(error)),
        };
        let refreshed = match is_valid {
            false => Refreshed::Moved,
            true if self.replay.records() > before => Refreshed::Longer,
            true => Refreshed::Same,
        };
        (refreshed, failed)
    }

    /// Where what is asked for begins.
    ///
    /// # Errors
    /// When there is nothing, with a sentence that says what there is.
    pub fn begin(&mut self, asked: &Asked) -> anyhow::Result<Begin> {
        if let Some(at) = asked.at {
            return match self.at(at)? {
                Ok(begin) => Ok(begin),
                Err(sentence) => bail!("{}: {sentence}", self.path.display()),
            };
        }
        match self.replay.first()? {
            Some(spot) => Ok(Begin { spot, notice: None }),
            None => bail!(
                "{}: nothing is recorded of that time; the recording is {}",
                self.path.display(),
                recording::extent(self.replay.span_realtime_ns())
            ),
        }
    }

    /// The interval that has this instant, or the first behind it. What is not in the recording is a sentence.
    ///
    /// # Errors
    /// When reading fails.
    pub fn at(&mut self, at: Named) -> Result<Result<Begin, String>, Error> {
        let (since_ns, until_ns) = self.replay.span_realtime_ns().unwrap_or_default();
        let mut spots = Vec::new();
        for when in at.all() {
            let is_there = match when {
                When::Realtime(ns) => ns < until_ns && since_ns < ns.saturating_add(WRITTEN_NS),
                When::BeforeEnd(_) => true,
            };
            if is_there {
                spots.extend(self.replay.at(when)?);
            }
        }
        if let (When::Realtime(ns), true) = (at.when, spots.is_empty())
            && (until_ns..until_ns.saturating_add(WRITTEN_NS)).contains(&ns)
        {
            spots.extend(self.replay.last()?);
        }
        let Some(spot) = spots.first().copied() else {
            let extent = recording::extent(Some((since_ns, until_ns)));
            let at = match at.when {
                When::Realtime(ns) => when::written(ns),
                When::BeforeEnd(_) => "it".to_owned(),
            };
            return Ok(Err(format!("{at} is not in the recording, which is {extent}")));
        };
        let notice = (spots.len() > 1).then(|| {
            format!(
                "the recording has this time {} times, as the clock was set back; this is the first",
                spots.len()
            )
        });
        Ok(Ok(Begin { spot, notice }))
    }
}

/// What is to be said of an interval that is none, or is of another boot than the one before.
pub fn notice(told: &RecordedFacts) -> Option<String> {
    let times = [told.start_realtime_ns, told.end_realtime_ns];
    let [start, end] = times.map(when::written);
    match told.gap {
        Some(0) => Some(format!("nothing was recorded from {start} to {end}")),
        Some(lost) => Some(lost_sentence(lost, times)),
        None => told.begins_boot.then(|| format!("the machine was booted before {start}")),
    }
}

/// `2 intervals are lost, from … to …`, CLOCK_REALTIME.
pub fn lost_sentence(intervals: u64, times: [u64; 2]) -> String {
    let [start, end] = times.map(when::written);
    let verb = if intervals == 1 { "is" } else { "are" };
    format!("{} {verb} lost, from {start} to {end}", count_of(intervals, "interval"))
}
