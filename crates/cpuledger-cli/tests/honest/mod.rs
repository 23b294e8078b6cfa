#![allow(dead_code)] // each test has its own part of it
//! A reader of the service that does no harm, and what it sees.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use cpuledger::{Interval, framing, machine};
use cpuledger_load::become_user;
use cpuledger_model::frame::Frame;
use cpuledger_service::client::Client;
use cpuledger_service::ring::Next;
use cpuledger_service::varlink::Subscribe;

use crate::service::TIMEOUT;

/// The interval of the service of tests.
const INTERVAL_NS: u64 = 200_000_000;

/// Runs in a thread that belongs to that user.
pub fn as_user<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    uid: u32,
    act: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    scope.spawn(move || {
        become_user(uid).expect("root may");
        act()
    })
}

/// What the honest reader has seen.
#[derive(Debug, Default)]
pub struct Honest {
    pub frames: u64,
    /// From the end of each interval to its arrival.
    pub delays_ns: Vec<u64>,
    /// By how much intervals were longer than they should be.
    pub most_late_ns: u64,
    /// The longest time that a call of `Info` took.
    pub slowest_call: Duration,
}

impl Honest {
    /// Reads each frame until it is over: none is missing, each balances, and none is missed.
    pub fn read(socket: &Path, is_over: &AtomicBool) -> Honest {
        let mut client = Client::connect(socket, TIMEOUT).expect("it listens");
        let (_, mut reader) = client.subscribe(&Subscribe::default()).expect("a ring");
        let mut honest = Honest::default();
        let (mut bytes, mut end_ns) = (Vec::new(), None);
        while !is_over.load(Ordering::SeqCst) {
            let next = reader.wait(TIMEOUT).expect("a futex");
            if next == Next::Moved {
                // Frames have become longer than the ring had room for.
                let at = reader.next_number();
                reader = client.subscribe(&Subscribe::default()).expect("a ring").1;
                reader.resume_at(at);
                continue;
            }
            assert_eq!(next, Next::Frame);
            let now_ns = machine::monotonic_ns();
            let frame = reader.copy(&mut bytes).expect("a frame").expect("it is there");
            assert_eq!(frame.missed, 0, "no frame is missed");
            let mut interval = Interval::default();
            let decoded = Frame::decode(&bytes).expect("a frame");
            framing::read(&decoded, &mut interval).expect("an interval");
            assert_eq!(interval.imbalance_ns(), Some(0));
            assert!(end_ns.is_none_or(|end_ns| end_ns == interval.start_ns), "there is no gap");
            end_ns = Some(interval.end_ns);
            honest.frames += 1;
            honest.delays_ns.push(now_ns.saturating_sub(interval.end_ns));
            let length_ns = interval.end_ns - interval.start_ns;
            honest.most_late_ns = honest.most_late_ns.max(length_ns.saturating_sub(INTERVAL_NS));
            let begin = Instant::now();
            Client::connect(socket, TIMEOUT).expect("it listens").info().expect("it answers others");
            honest.slowest_call = honest.slowest_call.max(begin.elapsed());
        }
        honest
    }

    /// The delay that one frame of a hundred has at least.
    pub fn p99(&mut self) -> Duration {
        self.delays_ns.sort_unstable();
        Duration::from_nanos(self.delays_ns[(self.delays_ns.len() * 99 / 100).min(self.delays_ns.len() - 1)])
    }
}
