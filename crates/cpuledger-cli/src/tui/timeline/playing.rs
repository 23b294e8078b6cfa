//! Playing: which interval is shown at which time.

use cpuledger::source::replay::Share;

use super::super::play::Play;
use super::super::travel::Cell;
use super::{Arrival, Point, Timeline};

/// Clocks that are read one after the other may differ by that much where none was set.
const SLACK_NS: u64 = 1_000_000_000;

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
        let (is_gap, mut point, mut end_ns) = (here.is_gap, here.point, Some(here.end_ns));
        let (mut next, mut was_set) = (self.behind(point)?, false);
        while let Some(behind) = next {
            let times = self.glance(behind)?;
            point = behind;
            // Where the clock was set, it goes on from there.
            was_set = times
                .zip(end_ns)
                .is_some_and(|((begin_ns, ..), end_ns)| begin_ns.abs_diff(end_ns) > SLACK_NS);
            end_ns = times.map(|(_, end_ns, _)| end_ns);
            // Intervals that are over already are not shown, except for the last.
            let is_over = !is_gap && !was_set && end_ns.is_some_and(|end_ns| end_ns <= at_ns);
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
        if is_gap || was_set {
            self.play_from_here();
        }
        Ok(arrival)
    }

    /// Begin and end, CLOCK_REALTIME, and what the time line shows.
    pub(super) fn glance(&mut self, point: Point) -> anyhow::Result<Option<(u64, u64, Cell)>> {
        let (spot, recorded) = match (point, &mut self.recorded) {
            (Point::Past(number), _) => return Ok(self.past.glance(number)),
            (Point::Recorded(spot), Some(recorded)) => (spot, recorded),
            (Point::Recorded(_), None) => return Ok(None),
        };
        let cell = |share: Share| match share {
            Share::Used(share) => Cell::Used { share, user: None },
            Share::Gap => Cell::Gap,
        };
        let glance = recorded.replay.glance(spot)?;
        Ok(glance.map(|glance| (glance.start_realtime_ns, glance.end_realtime_ns, cell(glance.share))))
    }
}
