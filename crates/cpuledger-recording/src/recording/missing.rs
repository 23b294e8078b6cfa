//! What a recording does not have.

use std::path::Path;

use crate::error::Error;
use crate::extent::slack_ns;
use crate::folder::State;
use crate::loss::{Cause, Gap, Loss};
use crate::order::Stretch;
use crate::part::{Part, io_error};
use crate::recording::{Place, Recording};
use crate::scan::Found;
use crate::segment::Entry;
use crate::span::{Instant, Span};

/// What is missing, and between which records.
struct Between<T> {
    before: Option<Place>,
    behind: Option<Place>,
    missing: T,
}

/// What is met while one looks for losses.
#[derive(Default)]
struct Losses {
    all: Vec<Between<Loss>>,
    /// The record before.
    last: Option<(Place, Entry, usize)>,
    /// The loss at the end of a segment of a tier, of which the next segment tells how many intervals it is.
    at_end: Option<(usize, Between<Loss>)>,
}

impl Losses {
    /// Meets a record; `is_damaged`: there are bytes before it that are no record.
    fn meet(&mut self, place: Place, entry: &Entry, (tier, path): (usize, &Path), is_damaged: bool) {
        let last = self.last.replace((place, *entry, tier));
        let before = last.map(|(before, ..)| before);
        let mut cut_off = None;
        if let Some((of, loss)) = self.at_end.take() {
            if of == tier {
                cut_off = Some(loss.missing);
            } else if last.is_none_or(|(_, last, _)| last.end_ns != entry.start_ns) {
                self.all.push(loss);
            }
        }
        // Numbers are those of a tier.
        let missing = match last {
            Some((_, last, of)) if of == tier => {
                entry.sequence.saturating_sub(last.sequence.saturating_add(1))
            }
            _ => 0,
        };
        let least = u64::from(is_damaged).max(cut_off.as_ref().map_or(0, |loss| loss.intervals));
        if missing.max(least) == 0 {
            return;
        }
        let own = if is_damaged { Cause::Damaged } else { Cause::NotWritten };
        let missing = Loss {
            cause: cut_off.as_ref().map_or(own, |loss| loss.cause),
            intervals: missing.max(least),
            is_least: missing < least,
            from_realtime_ns: last.map(|(_, last, _)| last.end_realtime_ns),
            to_realtime_ns: Some(entry.start_realtime_ns()),
            file: cut_off.map_or_else(|| path.into(), |loss| loss.file),
        };
        self.all.push(Between { before, behind: Some(place), missing });
    }

    /// Meets the end of a segment that is not whole.
    fn end(&mut self, (tier, path): (usize, &Path), is_damaged: bool) {
        let missing = Loss {
            cause: Cause::CutOff,
            intervals: u64::from(is_damaged),
            is_least: true,
            from_realtime_ns: self.last.map(|(_, last, _)| last.end_realtime_ns),
            to_realtime_ns: None,
            file: path.into(),
        };
        let before = self.last.map(|(before, ..)| before);
        self.at_end = Some((tier, Between { before, behind: None, missing }));
    }
}

impl Recording {
    /// The loss of this number of neighbours, which cannot be read, from the first to the last.
    pub fn damaged(&mut self, first: Place, last: Place, intervals: u64) -> Loss {
        let before = self.previous(first).and_then(|before| self.entry(before));
        let behind = self.next(last).and_then(|behind| self.entry(behind));
        Loss {
            cause: Cause::Damaged,
            intervals,
            is_least: false,
            from_realtime_ns: before.map(|entry| entry.end_realtime_ns),
            to_realtime_ns: behind.map(|entry| entry.start_realtime_ns()),
            file: self.part(first).map(|part| part.path.clone()).unwrap_or_default(),
        }
    }

    /// What is missing by the numbers of the records, and at the ends of segments, without reading the records.
    ///
    /// # Errors
    /// When reading fails.
    pub fn losses(&mut self) -> Result<Vec<Loss>, Error> {
        Ok(self.find_losses()?.into_iter().map(|between| between.missing).collect())
    }

    /// The times of which there is nothing.
    ///
    /// # Errors
    /// When reading fails.
    pub fn gaps(&mut self) -> Result<Vec<Gap>, Error> {
        Ok(self.find_gaps()?.into_iter().map(|between| between.missing).collect())
    }

    /// What is missing in a span.
    ///
    /// # Errors
    /// When reading fails.
    pub fn missing(&mut self, span: &Span) -> Result<(Vec<Loss>, Vec<Gap>), Error> {
        let mut losses = self.find_losses()?;
        losses.retain(|loss| self.concerns(loss.before, loss.behind, span));
        let mut gaps = self.find_gaps()?;
        gaps.retain(|gap| self.concerns(gap.before, gap.behind, span));
        let losses = losses.into_iter().map(|between| between.missing).collect();
        Ok((losses, gaps.into_iter().map(|between| between.missing).collect()))
    }

    /// Whether what is missing between two records belongs to a span.
    fn concerns(&mut self, before: Option<Place>, behind: Option<Place>, span: &Span) -> bool {
        let at = |recording: &mut Recording, place: Place, is_end: bool| {
            let entry = recording.entry(place)?;
            let [realtime_ns, ns] = match is_end {
                true => [entry.end_realtime_ns, entry.end_ns],
                false => [entry.start_realtime_ns(), entry.start_ns],
            };
            let is_in = recording.is_in(place, span);
            let boot = recording.order.stretches[place.stretch].boot;
            Some((is_in, ns, boot, Instant { realtime_ns, age_ns: recording.age_ns(boot, ns) }))
        };
        let before = before.and_then(|place| at(self, place, true));
        let behind = behind.and_then(|place| at(self, place, false));
        let goes_on = before.is_none_or(|(.., end)| span.goes_on(end));
        let has_begun = behind.is_none_or(|(.., begin)| span.begins_before(begin));
        if before.is_some_and(|(is_in, ..)| is_in && goes_on)
            || behind.is_some_and(|(is_in, ..)| is_in && has_begun)
        {
            return true;
        }
        // All of the span lies in it, unless the calendar only jumped over the span.
        let was_set = before.zip(behind).is_some_and(|((_, end_ns, of, end), (_, start_ns, boot, begin))| {
            let length_ns = start_ns.saturating_sub(end_ns);
            let by_calendar_ns = begin.realtime_ns.saturating_sub(end.realtime_ns);
            of == boot && by_calendar_ns.abs_diff(length_ns) > slack_ns(length_ns)
        });
        goes_on && has_begun && !was_set
    }

    fn find_losses(&mut self) -> Result<Vec<Between<Loss>>, Error> {
        let mut found = Losses::default();
        for number in 0..self.order.stretches.len() {
            let Stretch { part, from, to, .. } = self.order.stretches[number];
            let Part { tier, name, path, segment } = &mut self.parts[part];
            let of = (*tier, &**path);
            // What is in a directory and has no header is of others.
            let is_own = name.is_none() || segment.header().is_some();
            let Found { entries, damaged, is_complete, .. } =
                segment.found().map_err(|error| io_error(path, error))?;
            let mut damaged = damaged.iter().map(|(at, _)| *at).peekable();
            let mut meets_damage = |end: u64| {
                let mut is_met = false;
                while damaged.next_if(|at| *at < end).is_some() {
                    is_met = true;
                }
                is_met
            };
            for (record, entry) in entries.iter().enumerate().take(to) {
                let is_damaged = meets_damage(entry.offset);
                if record >= from {
                    found.meet(Place { stretch: number, record }, entry, of, is_damaged);
                }
            }
            let is_damaged = meets_damage(u64::MAX);
            let is_closed = name.is_none_or(|name| name.state == State::Closed);
            if to >= entries.len() && (is_damaged || (is_own && is_closed && !*is_complete)) {
                found.end(of, is_damaged);
            }
        }
        let Losses { mut all, at_end, .. } = found;
        all.extend(at_end.map(|(_, loss)| loss));
        Ok(all)
    }

    fn find_gaps(&mut self) -> Result<Vec<Between<Gap>>, Error> {
        let mut gaps = Vec::new();
        let mut last: Option<(Place, Entry)> = None;
        for stretch in 0..self.order.stretches.len() {
            let Stretch { part, from, to, .. } = self.order.stretches[stretch];
            let Part { path, segment, .. } = &mut self.parts[part];
            let records = segment.found().map_err(|error| io_error(path, error))?.entries.len();
            for record in from..records.min(to) {
                let place = Place { stretch, record };
                let Some(entry) = self.entry(place) else { continue };
                if let Some((before, last)) = last {
                    let is_boot = !self.is_same_boot(before, place);
                    if is_boot || last.end_ns < entry.start_ns {
                        let missing = Gap {
                            from_realtime_ns: last.end_realtime_ns,
                            to_realtime_ns: entry.start_realtime_ns(),
                            is_boot,
                        };
                        gaps.push(Between { before: Some(before), behind: Some(place), missing });
                    }
                }
                last = Some((place, entry));
            }
        }
        Ok(gaps)
    }
}
