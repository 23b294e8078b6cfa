//! A recording in the place of the machine: what of it is asked for, and its tiers as one row of intervals.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::bail;
use cpuledger::Error;
use cpuledger::interval::Interval;
use cpuledger::snapshot::Snapshot;
use cpuledger::source::replay::{self, Replay, Share, Spot, Told};
use cpuledger::source::service;

use crate::exit::Failure;
use crate::record::place;
use crate::recording::{self, TimeSpan};
use crate::when;

/// What of which recording is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// A directory or a file.
    pub path: PathBuf,
    /// The instant that is shown first, CLOCK_REALTIME; `None`: the first interval.
    pub at_ns: Option<u64>,
    /// What is shown of it.
    pub span: TimeSpan,
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
        let [at_ns, since_ns, until_ns] = options.map(|(name, text)| {
            let parse =
                |text| when::parse(text).map_err(|sentence| Failure::Usage(format!("{name}: {sentence}")));
            text.map(parse).transpose()
        });
        let span = TimeSpan { since_ns: since_ns?.unwrap_or(0), until_ns: until_ns?.unwrap_or(u64::MAX) };
        if span.since_ns >= span.until_ns {
            return Err(Failure::Usage("--until has to be a later time than --since".to_owned()));
        }
        Ok(Some(Asked { path: path.to_owned(), at_ns: at_ns?, span }))
    }
}

/// An interval of a recording, and in which tier it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    tier: usize,
    spot: Spot,
}

/// An interval without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    /// How much was used.
    pub share: Share,
    /// Its begin, CLOCK_REALTIME.
    pub start_realtime_ns: u64,
    /// Its end, CLOCK_REALTIME.
    pub end_realtime_ns: u64,
    /// What comes behind it.
    pub next: Option<Moment>,
}

/// What a look at a recording that is being written has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refreshed {
    /// Nothing new.
    Same,
    /// It has later intervals. Moments from before are valid.
    Longer,
    /// What is older was deleted: moments from before are not valid any more.
    Moved,
}

/// One tier.
#[derive(Debug)]
struct Tier {
    replay: Replay,
    span: TimeSpan,
}

/// The tiers of a recording, the finest first. Of each time it is the finest that has it which is read.
#[derive(Debug)]
pub struct Tiers {
    path: PathBuf,
    tiers: Vec<Tier>,
    until_ns: u64,
}

/// What is recorded of the time before a screen that shows what comes from the machine.
#[derive(Debug, Default)]
pub struct Behind {
    /// `None`: nothing that can be read.
    pub tiers: Option<Tiers>,
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
        for path in paths {
            match (Tiers::open(&path, u64::MAX), &mut behind.tiers) {
                (Ok(more), Some(tiers)) => tiers.tiers.extend(more.tiers),
                (Ok(tiers), none) => *none = Some(tiers),
                (Err(error), _) => behind.unread = behind.unread.or_else(|| unread(&path, &error)),
            }
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

impl Tiers {
    /// Opens all of them. Nothing is read behind `until_ns`, CLOCK_REALTIME.
    ///
    /// # Errors
    /// When there is no recording, or none that can be read.
    pub fn open(path: &Path, until_ns: u64) -> anyhow::Result<Tiers> {
        let tiers = recording::open(path)?.into_iter().map(|tier| {
            let mut replay = Replay::of(tier.recording);
            replay.set_end(until_ns);
            Tier { replay, span: tier.span }
        });
        Ok(Tiers { path: path.to_owned(), tiers: tiers.collect(), until_ns })
    }

    /// From now on, neighbours are merged to intervals of that length; 0: as they were recorded.
    pub fn set_length(&mut self, length_ns: u64) {
        self.tiers.iter_mut().for_each(|tier| tier.replay.set_length(length_ns));
    }

    /// Takes what was recorded since, as far as it can be read. Beside that, why the rest cannot.
    pub fn refresh(&mut self) -> (Refreshed, Option<Error>) {
        let before = self.span().until_ns;
        let (mut is_valid, mut failed) = (true, None);
        for tier in &mut self.tiers {
            match tier.replay.refresh() {
                Ok(still) => is_valid &= still,
                Err(error) => failed = failed.or(Some(error)),
            }
            if let Some((since_ns, until_ns)) = tier.replay.span_realtime_ns() {
                tier.span = TimeSpan { since_ns, until_ns };
            }
        }
        let refreshed = match is_valid {
            false => Refreshed::Moved,
            true if self.span().until_ns > before => Refreshed::Longer,
            true => Refreshed::Same,
        };
        (refreshed, failed)
    }

    /// Begin and end of all that was recorded, CLOCK_REALTIME.
    pub fn span(&self) -> TimeSpan {
        let nothing = TimeSpan { since_ns: u64::MAX, until_ns: 0 };
        self.tiers.iter().fold(nothing, |span, tier| TimeSpan {
            since_ns: span.since_ns.min(tier.span.since_ns),
            until_ns: span.until_ns.max(tier.span.until_ns),
        })
    }

    /// Where what is asked for begins.
    ///
    /// # Errors
    /// When there is nothing, with a sentence that says what there is.
    pub fn begin(&mut self, asked: &Asked) -> anyhow::Result<Moment> {
        let span = self.span();
        let path = self.path.display().to_string();
        let [since, until] = [span.since_ns, span.until_ns].map(when::written);
        if let Some(at_ns) = asked.at_ns
            && !(span.since_ns..span.until_ns).contains(&at_ns)
        {
            bail!(
                "{path}: {} is not in the recording, which is from {since} to {until}",
                when::written(at_ns)
            );
        }
        let from_ns = asked.at_ns.unwrap_or(asked.span.since_ns).max(span.since_ns);
        let begin = if asked.span.until_ns > span.since_ns { self.at(from_ns)? } else { None };
        match begin {
            Some(begin) => Ok(begin),
            None => {
                bail!("{path}: nothing is recorded of that time; the recording is from {since} to {until}")
            }
        }
    }

    /// The first interval.
    ///
    /// # Errors
    /// When reading fails.
    pub fn first(&mut self) -> Result<Option<Moment>, Error> {
        self.at(self.span().since_ns)
    }

    /// The last interval.
    ///
    /// # Errors
    /// When reading fails.
    pub fn last(&mut self) -> Result<Option<Moment>, Error> {
        let mut latest: Option<(u64, Moment)> = None;
        for (tier, of) in self.tiers.iter_mut().enumerate() {
            if latest.is_none_or(|(until_ns, _)| of.span.until_ns > until_ns)
                && let Some(spot) = of.replay.last()?
            {
                latest = Some((of.span.until_ns, Moment { tier, spot }));
            }
        }
        Ok(latest.map(|(_, moment)| moment))
    }

    /// The interval that has this instant, CLOCK_REALTIME, or the first behind it.
    ///
    /// # Errors
    /// When reading fails.
    pub fn at(&mut self, realtime_ns: u64) -> Result<Option<Moment>, Error> {
        let has = |tier: &Tier| (tier.span.since_ns..tier.span.until_ns).contains(&realtime_ns);
        let is_behind = |tier: &Tier| tier.span.since_ns > realtime_ns;
        let tier = self.tiers.iter().position(has).or_else(|| self.tiers.iter().position(is_behind));
        let Some(tier) = tier else { return Ok(None) };
        Ok(self.tiers[tier].replay.at(realtime_ns)?.map(|spot| Moment { tier, spot }))
    }

    /// Reads an interval, and tells what comes behind it. `None`: it is not there any more.
    ///
    /// # Errors
    /// When reading fails.
    pub fn read(
        &mut self,
        moment: Moment,
        snapshot: &mut Snapshot,
        into: &mut Interval,
    ) -> Result<Option<(Told, Option<Moment>)>, Error> {
        let Some(told) = self.tiers[moment.tier].replay.read(moment.spot, snapshot, into)? else {
            return Ok(None);
        };
        let next = self.next(moment.tier, told.next, told.end_realtime_ns)?;
        Ok(Some((told, next)))
    }

    /// How much of the machine was used in an interval, without its rows.
    ///
    /// # Errors
    /// When reading fails.
    pub fn glance(&mut self, moment: Moment) -> Result<Option<Glance>, Error> {
        let Some(glance) = self.tiers[moment.tier].replay.glance(moment.spot)? else { return Ok(None) };
        let next = self.next(moment.tier, glance.next, glance.end_realtime_ns)?;
        let replay::Glance { share, start_realtime_ns, end_realtime_ns, .. } = glance;
        Ok(Some(Glance { share, start_realtime_ns, end_realtime_ns, next }))
    }

    /// The interval before.
    ///
    /// # Errors
    /// When reading fails.
    pub fn previous(&mut self, moment: Moment) -> Result<Option<Moment>, Error> {
        let own = &mut self.tiers[moment.tier];
        if let Some(spot) = own.replay.previous(moment.spot)? {
            return Ok(Some(Moment { spot, ..moment }));
        }
        // A tier of longer intervals may go back further.
        let begin_ns = own.span.since_ns;
        for (tier, of) in self.tiers.iter_mut().enumerate().skip(moment.tier + 1) {
            if of.span.since_ns < begin_ns {
                return Ok(of.replay.at(begin_ns - 1)?.map(|spot| Moment { tier, spot }));
            }
        }
        Ok(None)
    }

    /// What comes next in a tier, or in a finer one that has the time behind `end_ns`.
    fn next(&mut self, tier: usize, next: Option<Spot>, end_ns: u64) -> Result<Option<Moment>, Error> {
        if end_ns >= self.until_ns {
            return Ok(None);
        }
        let has = |of: &Tier| (of.span.since_ns..of.span.until_ns).contains(&end_ns);
        if let Some(finer) = self.tiers[..tier].iter().position(has)
            && let Some(spot) = self.tiers[finer].replay.at(end_ns)?
        {
            return Ok(Some(Moment { tier: finer, spot }));
        }
        Ok(next.map(|spot| Moment { tier, spot }))
    }
}

/// What is to be said of an interval that is none, or is of another boot than the one before.
pub fn notice(told: &Told) -> Option<String> {
    let [start, end] = [told.start_realtime_ns, told.end_realtime_ns].map(when::written);
    match told.gap {
        Some(0) => Some(format!("nothing was recorded from {start} to {end}")),
        Some(1) => Some(format!("1 interval is lost, from {start} to {end}")),
        Some(lost) => Some(format!("{lost} intervals are lost, from {start} to {end}")),
        None => told.begins_boot.then(|| format!("the machine was booted before {start}")),
    }
}
