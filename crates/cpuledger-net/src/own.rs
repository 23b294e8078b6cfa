//! What the program says of itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// Its state.
#[derive(Debug)]
pub struct Own {
    started_ns: u64,
    is_connected: AtomicBool,
    scrapes: AtomicU64,
}

impl Own {
    /// From now on.
    pub fn new() -> Own {
        Own { started_ns: realtime_ns(), is_connected: AtomicBool::new(false), scrapes: AtomicU64::new(0) }
    }

    /// Whether the service is connected.
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }

    /// Notes whether it is.
    pub fn set_connected(&self, is_connected: bool) {
        self.is_connected.store(is_connected, Ordering::Relaxed);
    }

    /// How many scrapes were answered.
    pub fn scrapes(&self) -> u64 {
        self.scrapes.load(Ordering::Relaxed)
    }

    /// Counts one.
    pub fn add_scrape(&self) {
        self.scrapes.fetch_add(1, Ordering::Relaxed);
    }

    /// CPU time of this process, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        clock_ns(ClockId::ProcessCPUTime)
    }

    /// Resident memory; `None`: /proc does not say.
    pub fn resident_bytes(&self) -> Option<u128> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u128 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u128)
    }

    /// When it was started, CLOCK_REALTIME in nanoseconds.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }
}

/// What this clock says, in nanoseconds; 0 before 1970.
pub fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec.cast_unsigned())
}

/// CLOCK_REALTIME.
pub fn realtime_ns() -> u64 {
    clock_ns(ClockId::Realtime)
}
