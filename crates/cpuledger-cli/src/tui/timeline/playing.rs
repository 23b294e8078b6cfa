//! Playing: which interval is shown at which time.

use super::super::play::Play;
use super::{Arrival, Point, Timeline};

impl Timeline {
    pub(super) fn play_or_pause(&mut self) -> Arrival {
        if self.play.take().is_none() {
            self.play_from_here();
        }
        Arrival::default()
    }

    pub(super) fn play_from_here(&mut self) {
        let from_ns = self.here.as_ref().map(|here| here.start_ns);
        self.play = from_ns.map(Play::from);
    }

    pub(super) fn play_on(&mut self) -> anyhow::Result<Arrival> {
        let (Some(play), Some(here)) = (&self.play, &self.here) else { return Ok(Arrival::default()) };
        let at_ns = play.now(self.speed);
        // Nothing happens in a gap.
        let is_over = here.is_gap || at_ns >= here.end_ns;
        if !is_over {
            return Ok(Arrival::default());
        }
        let (is_gap, mut point) = (here.is_gap, here.point);
        let mut next = self.behind(point)?;
        while let Some(behind) = next {
            point = behind;
            // Intervals that are over already are not shown, except for the last.
            let is_over = !is_gap && self.end_of(point)?.is_some_and(|end_ns| end_ns <= at_ns);
            next = if is_over { self.behind(point)? } else { None };
        }
        if Some(point) == self.here.as_ref().map(|here| here.point) {
            self.play = None;
            if self.is_live {
                return self.return_to_now();
            }
            self.is_following = true;
            return Ok(Arrival::saying("this is the end"));
        }
        let arrival = self.show(point)?;
        if is_gap {
            self.play_from_here();
        }
        Ok(arrival)
    }

    pub(super) fn end_of(&mut self, point: Point) -> anyhow::Result<Option<u64>> {
        match (point, &mut self.tiers) {
            (Point::Past(number), _) => Ok(self.past.glance(number).map(|(_, end_ns, _)| end_ns)),
            (Point::Recorded(moment), Some(tiers)) => {
                Ok(tiers.glance(moment)?.map(|glance| glance.end_realtime_ns))
            }
            (Point::Recorded(_), None) => Ok(None),
        }
    }
}
