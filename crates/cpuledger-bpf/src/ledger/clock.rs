//! CLOCK_MONOTONIC in nanoseconds, the clock of the programs.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;

pub(super) fn now_ns() -> u64 {
    #[cfg(test)]
    if let Some(now_ns) = super::turns::now_ns() {
        return now_ns;
    }
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// Returns at `time_ns` or later; signals do not shorten it.
pub(super) fn sleep_until(time_ns: u64) {
    let time = Timespec { tv_sec: (time_ns / NS_PER_S) as i64, tv_nsec: (time_ns % NS_PER_S) as i64 };
    while now_ns() < time_ns {
        #[cfg(test)]
        if super::turns::sleep_until(time_ns) {
            continue;
        }
        // Interrupted: the loop goes on; no other error is possible with a valid time.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &time);
    }
}

/// Lets others run.
pub(super) fn yield_now() {
    #[cfg(test)]
    if super::turns::now_ns().is_some() {
        return;
    }
    std::thread::yield_now();
}
