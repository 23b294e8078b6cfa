//! The times of a frame.

use std::time::{Duration, SystemTime};

use cpuledger_model::frame::{Column, Frame};

use crate::error::Error;
use crate::extent::Extent;

/// The times of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) end_realtime_ns: u64,
}

impl Times {
    pub(super) fn extent(&self) -> Extent {
        let length_ns = self.end_ns - self.start_ns;
        Extent {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            start_realtime_ns: self.end_realtime_ns.saturating_sub(length_ns),
            end_realtime_ns: self.end_realtime_ns,
        }
    }
}

/// Without CLOCK_REALTIME, it is what that clock is now.
pub(super) fn times_of(frame: &Frame) -> Result<Times, Error> {
    let [start_ns, end_ns] = [Column::START_NS, Column::END_NS].map(|column| frame.figure(column));
    let (start_ns, end_ns) =
        start_ns.zip(end_ns).filter(|(start, end)| start <= end).ok_or(Error::NoTimes)?;
    let end_realtime_ns = frame.figure(Column::END_REALTIME_NS).unwrap_or_else(realtime_ns);
    Ok(Times { start_ns, end_ns, end_realtime_ns })
}

/// CLOCK_REALTIME.
pub(super) fn realtime_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
