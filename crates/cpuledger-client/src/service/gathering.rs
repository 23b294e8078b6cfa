//! Frames on their way to an interval of the wanted length.

use std::collections::VecDeque;

use cpuledger_model::exit::EXITS_LIMIT;
use cpuledger_model::frame::{Column, Frame, Section};

/// What is complete.
#[derive(Debug)]
pub(super) enum Whole {
    /// An interval.
    Frame(Box<Frame>),
    /// Between these times there were no frames.
    Gap([u64; 2]),
}

/// What has come and was not handed out.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    waiting: VecDeque<Frame>,
    /// Neighbours, merged.
    merged: Option<Box<Frame>>,
    /// The length of the last of them.
    last_ns: u64,
    /// Where the interval ended that was handed out last.
    end_ns: Option<u64>,
    /// Where the frame ended that came last.
    come_ns: u64,
}

impl Gathering {
    /// What is handed out next begins at `end_ns`.
    pub(super) fn begin_at(&mut self, end_ns: u64) {
        self.end_ns = Some(end_ns);
    }

    /// Where the frame ended that came last; 0: none has.
    pub(super) fn come_ns(&self) -> u64 {
        self.come_ns
    }

    /// A frame has come. Those that came before are in the ring of a service that was restarted, too: they are passed over.
    pub(super) fn add(&mut self, frame: Frame) {
        let figure = |column| frame.figure(column).unwrap_or(0);
        if figure(Column::START_NS) >= self.come_ns {
            self.come_ns = figure(Column::END_NS);
            self.waiting.push_back(frame);
        }
    }

    /// The next interval of that length, to half a frame. It is shorter where a frame is missing, or its list of the dead is full; or if
    /// `now` says that what there is shall do. `None`: more has to come first.
    pub(super) fn take(&mut self, wanted_ns: u64, now: bool) -> Option<Whole> {
        loop {
            let Some(merged) = &self.merged else {
                if let Some(gap) = self.begin()? {
                    return Some(Whole::Gap(gap));
                }
                continue;
            };
            let length_ns = merged.length_ns().unwrap_or(0);
            let is_full = merged.table(Section::Exited).len() >= EXITS_LIMIT;
            if is_full || length_ns.saturating_add(self.last_ns / 2) >= wanted_ns {
                return self.hand_out();
            }
            match self.waiting.front().map(|next| merged.merge(next)) {
                Some(Ok(longer)) => {
                    self.merged = Some(Box::new(longer));
                    self.last_ns = self.waiting.pop_front().and_then(|frame| frame.length_ns()).unwrap_or(0);
                }
                // They are no neighbours.
                Some(Err(_)) => return self.hand_out(),
                None if now => return self.hand_out(),
                None => return None,
            }
        }
    }

    /// Takes the first frame, or tells what is missing before it. `None`: there is no frame.
    fn begin(&mut self) -> Option<Option<[u64; 2]>> {
        let first = self.waiting.front()?;
        let start_ns = first.figure(Column::START_NS).unwrap_or(0);
        let end_ns = self.end_ns.unwrap_or(start_ns);
        if start_ns > end_ns {
            self.end_ns = Some(start_ns);
            return Some(Some([end_ns, start_ns]));
        }
        let first = self.waiting.pop_front()?;
        // What begins before is part of what another source has told already.
        if start_ns == end_ns {
            self.last_ns = first.length_ns().unwrap_or(0);
            self.merged = Some(Box::new(first));
        }
        Some(None)
    }

    fn hand_out(&mut self) -> Option<Whole> {
        let frame = self.merged.take()?;
        self.end_ns = frame.figure(Column::END_NS);
        Some(Whole::Frame(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(start_ns: u64, end_ns: u64) -> Frame {
        let mut frame = Frame::new();
        let source = frame.intern(b"ledger");
        frame.set_figure(Column::SOURCE, Some(source));
        frame.set_figure(Column::START_NS, Some(start_ns));
        frame.set_figure(Column::END_NS, Some(end_ns));
        frame
    }

    fn gathering(frames: &[(u64, u64)]) -> Gathering {
        let mut gathering = Gathering::default();
        frames.iter().for_each(|&(start_ns, end_ns)| gathering.add(frame(start_ns, end_ns)));
        gathering
    }

    /// The times of what is handed out; gaps are marked.
    fn taken(gathering: &mut Gathering, wanted_ns: u64, now: bool) -> Option<(u64, u64, bool)> {
        Some(match gathering.take(wanted_ns, now)? {
            Whole::Frame(frame) => {
                let figure = |column| frame.figure(column).expect("it has times");
                (figure(Column::START_NS), figure(Column::END_NS), false)
            }
            Whole::Gap([start_ns, end_ns]) => (start_ns, end_ns, true),
        })
    }

    #[test]
    fn neighbours_are_merged_up_to_the_wanted_length() {
        let mut gathering = gathering(&[(5, 15), (15, 25), (25, 35), (35, 45)]);
        assert_eq!(taken(&mut gathering, 30, false), Some((5, 35, false)));
        assert_eq!(taken(&mut gathering, 30, false), None, "10 of 30");
        gathering.add(frame(45, 54));
        gathering.add(frame(54, 64));
        assert_eq!(taken(&mut gathering, 30, false), Some((35, 64, false)), "to half a frame");
        gathering.add(frame(64, 74));
        assert_eq!(taken(&mut gathering, 30, true), Some((64, 74, false)), "what there is");
        assert_eq!(taken(&mut gathering, 30, true), None);
    }

    #[test]
    fn what_has_come_before_is_passed_over() {
        let mut gathering = gathering(&[(5, 15), (15, 25), (5, 15), (15, 25), (25, 35), (35, 47)]);
        assert_eq!(taken(&mut gathering, 30, false), Some((5, 35, false)));
        assert_eq!(taken(&mut gathering, 12, false), Some((35, 47, false)));
        assert_eq!(taken(&mut gathering, 12, true), None);
    }

    #[test]
    fn a_missing_frame_ends_an_interval_and_is_told() {
        let mut gathering = gathering(&[(5, 15), (25, 35), (35, 45)]);
        assert_eq!(taken(&mut gathering, 20, false), Some((5, 15, false)));
        assert_eq!(taken(&mut gathering, 20, false), Some((15, 25, true)));
        assert_eq!(taken(&mut gathering, 20, false), Some((25, 45, false)));
    }

    #[test]
    fn what_another_source_has_told_is_not_told_again() {
        let mut gathering = gathering(&[(5, 15), (15, 25), (25, 35)]);
        gathering.begin_at(18);
        assert_eq!(taken(&mut gathering, 10, false), Some((18, 25, true)));
        assert_eq!(taken(&mut gathering, 10, false), Some((25, 35, false)));
    }
}
