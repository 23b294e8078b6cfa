//! When something is read.

use cpuledger_model::Boottime;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_BOOTTIME now.
pub fn boottime() -> Boottime {
    let now = clock_gettime(ClockId::Boottime);
    Boottime::from_ns(now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned())
}
