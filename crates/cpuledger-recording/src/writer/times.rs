//! The times of a frame.

use cpuledger_model::frame::{Column, Frame};
use rustix::time::{ClockId, clock_gettime};

use crate::error::Error;
use crate::extent::Extent;

/// Without CLOCK_REALTIME, it is what that clock is now.
pub(super) fn times_of(frame: &Frame) -> Result<Extent, Error> {
    let [start_ns, end_ns] = [Column::START_NS, Column::END_NS].map(|column| frame.figure(column));
    let (start_ns, end_ns) =
        start_ns.zip(end_ns).filter(|(start, end)| start <= end).ok_or(Error::NoTimes)?;
    let end_realtime_ns =
        frame.figure(Column::END_REALTIME_NS).unwrap_or_else(|| clock_ns(ClockId::Realtime));
    let start_realtime_ns = end_realtime_ns.saturating_sub(end_ns - start_ns);
    Ok(Extent { start_ns, end_ns, start_realtime_ns, end_realtime_ns })
}

pub(super) fn clock_ns(id: ClockId) -> u64 {
    let now = clock_gettime(id);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
