//! A recording that is being written: what it gets meanwhile.

use std::time::{Duration, Instant};

use super::{Arrival, Point, Timeline};
use crate::cmd::top::replay::Refreshed;

/// Between two looks whether there is more.
const PAUSE: Duration = Duration::from_millis(250);

/// Intervals that are gone through one by one; beyond that the last is shown.
const MOST_STEPS: usize = 100;

impl Timeline {
    /// How long it takes until the next look; `None`: what is shown is not the last of a recording.
    pub(super) fn patience_to_follow(&self) -> Option<Duration> {
        let here = self.here.as_ref()?;
        let is_at_end = matches!(here.point, Point::Recorded(_)) && here.next.is_none() && !self.is_live;
        is_at_end.then(|| PAUSE.saturating_sub(self.looked.elapsed()))
    }

    /// Looks whether there is more, and shows it if that is wanted.
    pub(super) fn follow(&mut self) -> anyhow::Result<Arrival> {
        let end_ns = self.here.as_ref().map(|here| here.end_ns);
        let said = self.refresh()?.map(Err);
        let Some(begin) = self.here.as_ref().map(|here| here.point).filter(|_| self.is_following) else {
            return Ok(Arrival { frame: None, said });
        };
        let mut point = begin;
        for _ in 0..MOST_STEPS {
            match self.behind(point)? {
                Some(next) => point = next,
                None => break,
            }
        }
        if self.behind(point)?.is_some()
            && let Some(recorded) = &mut self.recorded
            && let Some(last) = recorded.replay.last()?
        {
            point = Point::Recorded(last);
        }
        // One of merged intervals may have grown.
        if point == begin && self.glance(point)?.map(|(_, end_ns, _)| end_ns) == end_ns {
            return Ok(Arrival { frame: None, said });
        }
        self.cells.retain(|(of, _)| *of != begin);
        let shown = self.show(point)?;
        Ok(Arrival { said: said.or(shown.said), ..shown })
    }

    /// Takes what was recorded since. Returns why some of it cannot be read, when that was not so at the last look.
    pub(super) fn refresh(&mut self) -> anyhow::Result<Option<anyhow::Error>> {
        self.looked = Instant::now();
        let Some(recorded) = &mut self.recorded else { return Ok(None) };
        let (refreshed, failed) = recorded.refresh();
        match refreshed {
            Refreshed::Same => {}
            Refreshed::Longer => {
                self.is_whole[1] = false;
                self.look_behind()?;
            }
            Refreshed::Moved => {
                self.cells.clear();
                self.is_whole = [false; 2];
                self.search = None;
                if let (Some(point), Some(here)) = (self.find_again()?, &mut self.here) {
                    here.point = point;
                }
                self.look_behind()?;
            }
        }
        let had_failed = std::mem::replace(&mut self.has_failed, failed.is_some());
        Ok(failed.filter(|_| !had_failed).map(Into::into))
    }

    /// What comes behind the interval that is shown, now.
    fn look_behind(&mut self) -> anyhow::Result<()> {
        let Some(Point::Recorded(spot)) = self.here.as_ref().map(|here| here.point) else { return Ok(()) };
        let next = self.behind_glance(spot)?;
        if let Some(here) = &mut self.here {
            here.next = next;
        }
        Ok(())
    }

    /// Finds the recorded interval that is shown at its new place; it is the first one, if it was deleted. `None`: none is shown.
    pub(super) fn find_again(&mut self) -> anyhow::Result<Option<Point>> {
        let (Some(here), Some(recorded)) = (&self.here, &mut self.recorded) else { return Ok(None) };
        if !matches!(here.point, Point::Recorded(_)) {
            return Ok(None);
        }
        let (boot_id, begin_ns) = &here.begin;
        let spot = recorded.replay.in_boot(boot_id.as_deref().unwrap_or_default(), *begin_ns)?;
        let spot = spot.map_or_else(|| recorded.replay.first(), |spot| Ok(Some(spot)))?;
        Ok(spot.map(Point::Recorded))
    }
}
