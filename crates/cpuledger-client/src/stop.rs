//! Requests that end an interval before its time.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;

use crate::clock::monotonic_ns;

/// Requests to end the running interval before its time. They are counted by the kernel, in one object: a request that comes at
/// any moment after [`Stop::take`] ends the next interval, and none is lost.
#[derive(Debug)]
pub struct Stop {
    requests: Arc<OwnedFd>,
}

/// Ends an interval before its time.
#[derive(Debug, Clone)]
pub struct Waker {
    requests: Arc<OwnedFd>,
}

impl Waker {
    /// The running interval ends now.
    pub fn wake(&self) {
        // It fails where 2^64 - 2 requests wait already.
        let _ = rustix::io::write(&self.requests, &1u64.to_ne_bytes());
    }
}

impl Stop {
    /// No request yet.
    ///
    /// # Errors
    /// When there is no descriptor to be had.
    pub fn new() -> io::Result<Stop> {
        Ok(Stop { requests: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?) })
    }

    /// What makes requests.
    pub fn waker(&self) -> Waker {
        Waker { requests: Arc::clone(&self.requests) }
    }

    /// Takes the requests that have come; whether there were any. What they are about has to be looked for after that.
    pub fn take(&self) -> bool {
        rustix::io::read(&self.requests, &mut [0; 8]).is_ok()
    }

    /// Whether one has come.
    pub fn is_requested(&self) -> bool {
        poll(&mut [PollFd::new(&self.requests, PollFlags::IN)], Some(&Timespec::default()))
            .is_ok_and(|ready| ready > 0)
    }

    /// Waits until that time, a request, or until one of these descriptors is readable.
    pub fn wait_beside(&self, others: &[BorrowedFd<'_>], deadline: Instant) {
        let mut watched = vec![PollFd::new(&self.requests, PollFlags::IN)];
        watched.extend(others.iter().map(|other| PollFd::new(other, PollFlags::IN)));
        let rest = deadline.saturating_duration_since(Instant::now());
        let rest = Timespec::try_from(rest).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 });
        // A signal ends the wait, and the caller looks and waits again.
        let _ = poll(&mut watched, Some(&rest));
    }

    /// Sleeps until that time, CLOCK_MONOTONIC, or a request.
    pub fn sleep_until(&self, deadline_ns: u64) {
        while let Some(rest_ns) = deadline_ns.checked_sub(monotonic_ns()).filter(|&rest| rest > 0) {
            // Signals interrupt it, and it goes on.
            self.wait_beside(&[], Instant::now() + Duration::from_nanos(rest_ns));
            if self.is_requested() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_NS: u64 = 30_000_000_000;

    #[test]
    fn a_request_ends_a_sleep_that_has_begun() {
        let stop = Stop::new().expect("an eventfd");
        let waker = stop.waker();
        let begin = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| stop.sleep_until(monotonic_ns() + LONG_NS));
            std::thread::sleep(Duration::from_millis(20));
            waker.wake();
        });
        assert!(begin.elapsed() < Duration::from_nanos(LONG_NS) && stop.is_requested());
    }
}
