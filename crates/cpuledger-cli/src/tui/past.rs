//! The intervals that the screen has seen, for stepping back: of ten minutes, and not more than a number of bytes.

use std::collections::VecDeque;

use anyhow::Context;
use cpuledger::Interval;
use cpuledger::framing::{self, Circumstances};
use cpuledger_model::frame::Frame as Encoded;
use cpuledger_names::names::Names;

use super::frame::{Around, Frame};
use super::travel::Cell;

/// How far back it goes.
const MOST_NS: u64 = 600_000_000_000;

/// The memory of all frames, encoded; what is read around them is little.
const MOST_BYTES: usize = 32 << 20;

/// An interval.
#[derive(Debug)]
struct Kept {
    frame: Vec<u8>,
    cell: Cell,
    start_ns: u64,
    end_ns: u64,
    start_realtime_ns: u64,
    around: Around,
}

/// The last intervals.
#[derive(Debug, Default)]
pub struct Past {
    kept: VecDeque<Kept>,
    bytes: usize,
    /// The number of the first that is kept.
    first: u64,
    encoded: Encoded,
}

impl Past {
    /// Keeps an interval, and forgets those for which there is no room any more. What did not run is not kept.
    pub fn add(&mut self, frame: &Frame) {
        let Frame { interval, .. } = frame;
        if interval.is_since_boot() {
            return;
        }
        let encoded = match &interval.frame {
            Some(frame) => frame,
            None => {
                framing::write(interval, &Circumstances::default(), &mut self.encoded);
                &self.encoded
            }
        };
        let mut bytes = Vec::new();
        // One that is too long for a frame cannot be kept.
        if encoded.encode(&mut bytes).is_err() || bytes.len() > MOST_BYTES {
            return;
        }
        bytes.shrink_to_fit();
        self.bytes += bytes.len();
        self.kept.push_back(Kept {
            frame: bytes,
            cell: frame.cell(),
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            start_realtime_ns: frame.around.end_realtime_ns.saturating_sub(interval.length_ns()),
            around: frame.around.clone(),
        });
        let is_old = |kept: &Kept| interval.end_ns.saturating_sub(kept.end_ns) > MOST_NS;
        while self.bytes > MOST_BYTES || self.kept.front().is_some_and(is_old) {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.frame.len();
            self.first += 1;
        }
    }

    /// The number of the oldest interval.
    pub fn oldest(&self) -> Option<u64> {
        (!self.kept.is_empty()).then_some(self.first)
    }

    /// The number of the newest interval.
    pub fn newest(&self) -> Option<u64> {
        Some(self.first + (self.kept.len() as u64).checked_sub(1)?)
    }

    /// The number behind this one, if there is an interval.
    pub fn behind(&self, number: u64) -> Option<u64> {
        self.newest().filter(|newest| number < *newest).map(|_| number + 1)
    }

    /// The number of the interval that has this instant, CLOCK_REALTIME, or of the first behind it. `None`: there is none.
    pub fn at(&self, realtime_ns: u64) -> Option<u64> {
        let has_it =
            |kept: &Kept| (kept.start_realtime_ns..kept.around.end_realtime_ns).contains(&realtime_ns);
        let place = self.kept.iter().position(has_it);
        // Where the clock was set, an earlier one may end later.
        let place =
            place.or_else(|| self.kept.iter().position(|kept| kept.around.end_realtime_ns > realtime_ns))?;
        Some(self.first + place as u64)
    }

    /// The boot of an interval, and its begin, CLOCK_MONOTONIC.
    pub fn begin(&self, number: u64) -> Option<(Option<&str>, u64)> {
        let kept = self.find(number)?;
        Some((kept.around.boot_id.as_deref(), kept.start_ns))
    }

    /// Begin and end of an interval, CLOCK_REALTIME, and what the time line shows of it.
    pub fn glance(&self, number: u64) -> Option<(u64, u64, Cell)> {
        self.find(number).map(|kept| (kept.start_realtime_ns, kept.around.end_realtime_ns, kept.cell))
    }

    /// The interval with this number, as it was shown, but for what did not run.
    ///
    /// # Errors
    /// When it cannot be decoded, which no frame of this process is expected to.
    pub fn frame(&mut self, number: u64, users: &mut Names) -> anyhow::Result<Option<Frame>> {
        let mut encoded = std::mem::take(&mut self.encoded);
        let Some(kept) = self.find(number) else { return Ok(None) };
        encoded.decode_from(&kept.frame).context("a kept interval is damaged")?;
        let mut interval = Interval::default();
        framing::read(&encoded, &mut interval).context("a kept interval is damaged")?;
        learn_users(users, &interval);
        let frame = Frame::of(interval, kept.around.clone(), users.clone());
        self.encoded = encoded;
        Ok(Some(frame))
    }

    fn find(&self, number: u64) -> Option<&Kept> {
        self.kept.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

/// Asks for the names of the users of all rows.
pub fn learn_users(users: &mut Names, interval: &Interval) {
    interval.processes.iter().chain(&interval.tasks).for_each(|row| users.learn(row.task.euid));
    for exited in interval.exited.iter().flatten() {
        exited.exit.euid.into_iter().for_each(|euid| users.learn(euid));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    /// Intervals of this length, one after the other.
    fn add(past: &mut Past, count: u64, length_ns: u64) {
        for number in 0..count {
            let mut frame = fixture::frame();
            frame.interval.start_ns = number * length_ns;
            frame.interval.end_ns = (number + 1) * length_ns;
            frame.around.end_realtime_ns = 1_000_000 * length_ns + frame.interval.end_ns;
            past.add(&frame);
        }
    }

    #[test]
    fn what_was_shown_is_shown_again() {
        let mut past = Past::default();
        assert_eq!((past.oldest(), past.newest()), (None, None));
        let length_ns = fixture::frame().interval.length_ns();
        add(&mut past, 3, length_ns);
        assert_eq!((past.oldest(), past.newest()), (Some(0), Some(2)));
        let mut users = Names::of_users();
        let frame = past.frame(1, &mut users).expect("it is whole").expect("it is kept");
        let shown = fixture::frame();
        assert_eq!((frame.interval.start_ns, frame.interval.end_ns), (length_ns, 2 * length_ns));
        assert_eq!(frame.interval.attributed_ns, shown.interval.attributed_ns);
        let names = |frame: &Frame| {
            let rows = frame.interval.processes.iter().chain(&frame.interval.tasks);
            rows.map(|row| (row.task.tid, row.task.comm)).collect::<Vec<_>>()
        };
        assert_eq!(names(&frame), names(&shown));
        assert_eq!(frame.exited().len(), shown.exited().len());
        let around = |Around { born, time_of_day, cpus, .. }: Around| (born, time_of_day, cpus);
        assert_eq!(around(frame.around), around(shown.around));
        assert!(past.frame(3, &mut users).expect("nothing is wrong").is_none());
        // By time: the one that has it, or the first behind.
        let epoch = 1_000_000 * length_ns;
        assert_eq!(past.at(epoch + length_ns), Some(1));
        assert_eq!(past.at(epoch + length_ns - 1), Some(0));
        assert_eq!((past.at(0), past.at(epoch + 3 * length_ns)), (Some(0), None));
        assert!(past.frame(1, &mut users).expect("it is whole").is_some(), "as often as one likes");
    }

    #[test]
    fn ten_minutes_are_kept_and_not_more_than_a_number_of_bytes() {
        let mut past = Past::default();
        add(&mut past, 700, 1_000_000_000);
        assert_eq!((past.oldest(), past.newest()), (Some(99), Some(699)));
        assert!(past.frame(98, &mut Names::of_users()).expect("nothing is wrong").is_none());
        let bytes: usize = past.kept.iter().map(|kept| kept.frame.len()).sum();
        assert_eq!(past.bytes, bytes);
        // Frames that are shorter are as many as there is room for.
        let each = past.kept[0].frame.len();
        let mut past = Past::default();
        let count = (MOST_BYTES / each + 50) as u64;
        add(&mut past, count, 1_000_000);
        assert!(past.bytes <= MOST_BYTES && past.bytes > MOST_BYTES - 2 * each);
        assert_eq!(past.newest(), Some(count - 1));
    }
}
