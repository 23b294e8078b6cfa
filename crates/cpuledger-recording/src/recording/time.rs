//! Records by time. The calendar may have shown an instant never, once, or more often: of records whose clock says so, all are meant.

use crate::extent::{Extent, slack_ns};
use crate::order::Stretch;
use crate::recording::{Place, Recording};
use crate::segment::Entry;
use crate::span::{Instant, Span, When};

impl Recording {
    /// The earliest and the latest that CLOCK_REALTIME was in what is recorded.
    pub fn span_realtime_ns(&mut self) -> Option<(u64, u64)> {
        let extents = self.order.boots.iter().flatten().map(|boot| boot.extent);
        let whole = extents.reduce(Extent::with)?;
        Some((whole.start_realtime_ns, whole.end_realtime_ns))
    }

    /// The records of a span, in the order of the recording.
    pub fn select(&mut self, span: &Span) -> Vec<Place> {
        let mut places = Vec::new();
        while let Some(place) = self.next_in(span, places.last().copied()) {
            places.push(place);
        }
        places
    }

    /// Likewise, in these records.
    pub fn realtime_of(&mut self, places: &[Place]) -> Option<(u64, u64)> {
        let extents = places.iter().filter_map(|place| Some(self.entry(*place)?.extent()));
        let whole = extents.reduce(Extent::with)?;
        Some((whole.start_realtime_ns, whole.end_realtime_ns))
    }

    /// The first record of a span, or the first behind another.
    pub fn next_in(&mut self, span: &Span, behind: Option<Place>) -> Option<Place> {
        let begin = behind
            .map_or(Place { stretch: 0, record: 0 }, |behind| Place { record: behind.record + 1, ..behind });
        for stretch in begin.stretch..self.order.stretches.len() {
            if !self.may_have(stretch, span) {
                continue;
            }
            let from = self.order.stretches[stretch].from;
            let from = if stretch == begin.stretch { from.max(begin.record) } else { from };
            let mut places = (from..self.end(stretch)).map(|record| Place { stretch, record });
            if let Some(place) = places.find(|place| self.is_in(*place, span)) {
                return Some(place);
            }
        }
        None
    }

    /// The last record of a span, or the last before another.
    pub fn previous_in(&mut self, span: &Span, before: Option<Place>) -> Option<Place> {
        let end = before.map_or(self.order.stretches.len(), |before| before.stretch + 1);
        for stretch in (0..end.min(self.order.stretches.len())).rev() {
            if !self.may_have(stretch, span) {
                continue;
            }
            let to =
                before.filter(|before| before.stretch == stretch).map_or(usize::MAX, |before| before.record);
            let records = self.order.stretches[stretch].from..self.end(stretch).min(to);
            let mut places = records.rev().map(|record| Place { stretch, record });
            if let Some(place) = places.find(|place| self.is_in(*place, span)) {
                return Some(place);
            }
        }
        None
    }

    /// How long before the end of the recording a record ends.
    pub fn before_end_ns(&mut self, place: Place) -> Option<u64> {
        let entry = self.entry(place)?;
        Some(self.age_ns(self.order.stretches[place.stretch].boot, entry.end_ns))
    }

    /// Whether a record is in a span.
    pub fn is_in(&mut self, place: Place, span: &Span) -> bool {
        let Some(entry) = self.entry(place) else { return false };
        let realtime_ns = u64::midpoint(entry.start_realtime_ns(), entry.end_realtime_ns);
        let boot = self.order.stretches[place.stretch].boot;
        let age_ns = self.age_ns(boot, entry.end_ns).saturating_add(entry.length_ns() / 2);
        span.has(Instant { realtime_ns, age_ns })
    }

    /// Whether a stretch may have records of a span, as far as its segment says so in short.
    fn may_have(&mut self, stretch: usize, span: &Span) -> bool {
        let boot = self.order.stretches[stretch].boot;
        let Some(extent) = self.extent(stretch) else { return false };
        let begin =
            Instant { realtime_ns: extent.start_realtime_ns, age_ns: self.age_ns(boot, extent.start_ns) };
        let end = Instant { realtime_ns: extent.end_realtime_ns, age_ns: self.age_ns(boot, extent.end_ns) };
        span.has_begun(end) && span.goes_on(begin)
    }

    /// That of its segment.
    fn extent(&mut self, stretch: usize) -> Option<Extent> {
        let part = self.order.stretches.get(stretch)?.part;
        self.parts[part].extent()
    }

    /// How long before the end of the recording an instant of a boot is.
    pub(super) fn age_ns(&self, boot: usize, ns: u64) -> u64 {
        let boot = self.order.boots.get(boot).copied().flatten();
        boot.map_or(0, |boot| boot.age_ns.saturating_add(boot.extent.end_ns.saturating_sub(ns)))
    }

    /// The records that have an instant, or behind which no other comes before it. Of an instant of the calendar there may be several.
    pub fn at(&mut self, when: When) -> Vec<Place> {
        match when {
            When::Realtime(realtime_ns) => self.at_realtime(realtime_ns),
            When::BeforeEnd(age_ns) => self.at_age(age_ns).into_iter().collect(),
        }
    }

    /// The first record of a boot that ends later than this, CLOCK_MONOTONIC.
    pub fn in_boot(&mut self, boot_id: &[u8], ns: u64) -> Option<Place> {
        for stretch in 0..self.order.stretches.len() {
            let from = self.order.stretches[stretch].from;
            let begin = Place { stretch, record: from };
            let ends_later = self.extent(stretch).is_some_and(|extent| extent.end_ns > ns);
            if !ends_later || self.boot_id(begin) != Some(boot_id) {
                continue;
            }
            let mut places = (from..self.end(stretch)).map(|record| Place { record, ..begin });
            if let Some(place) =
                places.find(|place| self.entry(*place).is_some_and(|entry| entry.end_ns > ns))
            {
                return Some(place);
            }
        }
        None
    }

    fn at_age(&mut self, age_ns: u64) -> Option<Place> {
        for stretch in 0..self.order.stretches.len() {
            let Stretch { boot, from, .. } = self.order.stretches[stretch];
            let ends_later = self.extent(stretch).map(|extent| self.age_ns(boot, extent.end_ns) < age_ns);
            if ends_later != Some(true) {
                continue;
            }
            for record in from..self.end(stretch) {
                let place = Place { stretch, record };
                let entry = self.entry(place)?;
                if self.age_ns(boot, entry.end_ns) < age_ns {
                    return Some(place);
                }
            }
        }
        self.last()
    }

    fn at_realtime(&mut self, realtime_ns: u64) -> Vec<Place> {
        let mut search = Search { realtime_ns, ..Search::default() };
        for stretch in 0..self.order.stretches.len() {
            let Stretch { boot, from, .. } = self.order.stretches[stretch];
            let Some(extent) = self.extent(stretch) else { continue };
            if !(extent.start_realtime_ns..extent.end_realtime_ns).contains(&realtime_ns) {
                // All of it is before that instant, or behind it.
                search.meet(
                    Place { stretch, record: from },
                    extent.start_realtime_ns,
                    extent.end_realtime_ns,
                );
                search.last = None;
                continue;
            }
            for record in from..self.end(stretch) {
                let place = Place { stretch, record };
                let Some(entry) = self.entry(place) else { continue };
                search.meet_record(place, boot, entry);
            }
        }
        search.found()
    }

    /// How many of these records, which were selected by the calendar, have a time that an earlier one has, too.
    pub fn repeated(&mut self, places: &[Place], span: &Span) -> u64 {
        if !span.is_of_calendar() {
            return 0;
        }
        let mut entries: Vec<Entry> = places.iter().filter_map(|place| self.entry(*place)).collect();
        entries.sort_by_key(Entry::start_realtime_ns);
        let (mut repeated, mut end_ns) = (0, 0);
        for entry in entries {
            let slack_ns = slack_ns(entry.length_ns());
            repeated += u64::from(entry.start_realtime_ns().saturating_add(slack_ns) < end_ns);
            end_ns = end_ns.max(entry.end_realtime_ns);
        }
        repeated
    }
}

/// Looks for an instant of the calendar.
#[derive(Debug, Default)]
struct Search {
    realtime_ns: u64,
    /// The records that have it.
    having: Vec<Place>,
    /// Those before which it lies.
    behind: Vec<Place>,
    /// That which the calendar has next, and from when on.
    next: Option<(u64, Place)>,
    /// The record before, and its boot.
    last: Option<(usize, Entry)>,
    /// Whether the one before ends before the instant, or at it.
    is_behind: bool,
}

impl Search {
    fn meet_record(&mut self, place: Place, boot: usize, entry: Entry) {
        let had_it =
            |before: &Entry| (before.start_realtime_ns()..before.end_realtime_ns).contains(&self.realtime_ns);
        let has_it = had_it(&entry);
        // Clocks that are read one after the other may make neighbours overlap a little.
        let is_overlap =
            self.last.is_some_and(|(of, before)| of == boot && entry.follows(&before) && had_it(&before));
        if has_it && !is_overlap {
            self.having.push(place);
        }
        self.meet(place, entry.start_realtime_ns(), entry.end_realtime_ns);
        self.last = Some((boot, entry));
    }

    fn meet(&mut self, place: Place, start_ns: u64, end_ns: u64) {
        if self.realtime_ns < start_ns {
            if self.is_behind {
                self.behind.push(place);
            }
            if self.next.is_none_or(|(earliest_ns, _)| start_ns < earliest_ns) {
                self.next = Some((start_ns, place));
            }
        }
        self.is_behind = end_ns <= self.realtime_ns;
    }

    fn found(self) -> Vec<Place> {
        let next = self.next.map(|(_, place)| vec![place]);
        [self.having, self.behind].into_iter().find(|found| !found.is_empty()).or(next).unwrap_or_default()
    }
}
