//! Frames that are merged to longer ones as they come.

use std::borrow::Cow;

use cpuledger_frame::{Frame, Section};

use super::times::Times;

/// The beginning of a longer frame.
#[derive(Debug)]
pub(super) struct Merged {
    length_ns: u64,
    /// With the number of the minute, or what the length is, that it belongs to.
    so_far: Option<(u64, Frame)>,
}

/// What is to be written, in this order.
pub(super) type Ready<'a> = [Option<Cow<'a, Frame>>; 2];

/// Tasks that exited in what is merged: with more of them it ends early, as it is in memory until it is written.
const MOST_EXITED: usize = 1 << 16;

impl Merged {
    pub(super) fn new(length_ns: u64) -> Merged {
        Merged { length_ns, so_far: None }
    }

    /// Adds a frame. A frame belongs to the minute, or what the length is, of CLOCK_REALTIME in which its middle lies: it is what
    /// other machines have, too, and no interval is divided. One that is nearly as long, or longer, stays as it is.
    pub(super) fn add<'a>(&mut self, frame: &'a Frame, times: &Times) -> Ready<'a> {
        let length_ns = times.end_ns - times.start_ns;
        if length_ns > self.length_ns / 4 * 3 {
            return [self.take().map(Cow::Owned), Some(Cow::Borrowed(frame))];
        }
        let number = |realtime_ns: u64| realtime_ns / self.length_ns.max(1);
        let own = number(times.end_realtime_ns.saturating_sub(length_ns / 2));
        let (earlier, now) = match self.so_far.take() {
            None => (None, frame.clone()),
            Some((same, so_far)) => match so_far.merge(frame) {
                Ok(merged) if same == own => (None, merged),
                // A gap, another boot, or a clock that was set.
                _ => (Some(Cow::Owned(so_far)), frame.clone()),
            },
        };
        let is_last = own != number(times.end_realtime_ns.saturating_add(length_ns / 2));
        if is_last || now.table(Section::Exited).len() >= MOST_EXITED {
            return [earlier, Some(Cow::Owned(now))];
        }
        self.so_far = Some((own, now));
        [earlier, None]
    }

    /// What there is of the next.
    pub(super) fn take(&mut self) -> Option<Frame> {
        self.so_far.take().map(|(_, frame)| frame)
    }
}
