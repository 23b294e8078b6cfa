//! Frames that are merged to longer ones as they come.

use std::borrow::Cow;

use cpuledger_model::frame::{Frame, Section};

use crate::extent::Extent;

/// The beginning of a longer frame.
#[derive(Debug)]
pub(super) struct Merged {
    length_ns: u64,
    so_far: Option<SoFar>,
}

#[derive(Debug)]
struct SoFar {
    /// The number of the minute, or what the length is, that it belongs to.
    number: u64,
    frame: Frame,
    frames: u64,
    /// When its last frame was.
    last: Extent,
}

/// What is to be written, in this order, and of how many frames each is.
pub(super) type Ready<'a> = [Option<(Cow<'a, Frame>, u64)>; 2];

/// Tasks that exited in what is merged: with more of them it ends early, as it is in memory until it is written.
const MOST_EXITED: usize = 1 << 16;

impl Merged {
    pub(super) fn new(length_ns: u64) -> Merged {
        Merged { length_ns, so_far: None }
    }

    /// Adds a frame. A frame belongs to the minute, or what the length is, of CLOCK_REALTIME in which its middle lies: it is what
    /// other machines have, too, and no interval is divided. One that is nearly as long, or longer, stays as it is.
    pub(super) fn add<'a>(&mut self, frame: &'a Frame, times: &Extent) -> Ready<'a> {
        let length_ns = times.length_ns();
        if length_ns > self.length_ns / 4 * 3 {
            let earlier = self.take().map(|(earlier, frames)| (Cow::Owned(earlier), frames));
            return [earlier, Some((Cow::Borrowed(frame), 1))];
        }
        let number = |realtime_ns: u64| realtime_ns / self.length_ns.max(1);
        let own = number(times.end_realtime_ns.saturating_sub(length_ns / 2));
        let (earlier, now, frames) = match self.so_far.take() {
            None => (None, frame.clone(), 1),
            Some(SoFar { number, frame: so_far, frames, last }) => {
                // A clock that was set, or a gap; another boot, too, is not merged.
                let goes_on = number == own && times.follows(&last);
                match goes_on.then(|| so_far.merge(frame).ok()).flatten() {
                    Some(merged) => (None, merged, frames + 1),
                    None => (Some((Cow::Owned(so_far), frames)), frame.clone(), 1),
                }
            }
        };
        let is_last = own != number(times.end_realtime_ns.saturating_add(length_ns / 2));
        if is_last || now.table(Section::Exited).len() >= MOST_EXITED {
            return [earlier, Some((Cow::Owned(now), frames))];
        }
        self.so_far = Some(SoFar { number: own, frame: now, frames, last: *times });
        [earlier, None]
    }

    /// What there is of the next, and of how many frames.
    pub(super) fn take(&mut self) -> Option<(Frame, u64)> {
        self.so_far.take().map(|so_far| (so_far.frame, so_far.frames))
    }
}
