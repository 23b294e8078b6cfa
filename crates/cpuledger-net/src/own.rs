//! What the program says of itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Its state.
#[derive(Debug)]
pub struct Own {
    started: SystemTime,
    is_connected: AtomicBool,
    scrapes: AtomicU64,
}

impl Own {
    /// From now on.
    pub fn new() -> Own {
        Own { started: SystemTime::now(), is_connected: AtomicBool::new(false), scrapes: AtomicU64::new(0) }
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
    pub fn cpu_ns(&self) -> Option<u128> {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let (seconds, ns) = (u128::try_from(used.tv_sec).ok()?, u128::try_from(used.tv_nsec).ok()?);
        Some(seconds * 1_000_000_000 + ns)
    }

    /// Resident memory; `None`: /proc does not say.
    pub fn resident_bytes(&self) -> Option<u128> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u128 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u128)
    }

    /// When it was started, CLOCK_REALTIME in nanoseconds.
    pub fn started_ns(&self) -> Option<u128> {
        self.started.duration_since(UNIX_EPOCH).ok().map(|since| since.as_nanos())
    }
}
