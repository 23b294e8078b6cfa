//! What processes that descend from one use between two cuts of the service: `cpuledger run` around any code.

use std::fs;
use std::io;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cpuledger_model::interval::Interval;
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::Pid;
use cpuledger_proc::task::stat::parse_stat;

use crate::clock::boottime;
use crate::descent::{Descent, Member, Tree};
use crate::error::Error;
use crate::gap::is_gap;
use crate::service::{ServiceLedger, socket_path};
use crate::stop::{Stop, Waker};

/// How late a frame of the service may be: an account waits on a busy machine rather than lose an interval.
pub const MOST_LATE: Duration = Duration::from_secs(60);

/// The length of intervals, as far as those of the service are not longer.
const LENGTH_NS: u64 = 1_000_000_000;

/// A measurement that has begun. It starts no thread, and the service has room for its last two intervals at least, a second each as a rule: so
/// [`Measurement::collect`] has to be called every second. [`Measurement::in_background`] starts a thread that does.
#[derive(Debug)]
pub struct Measurement {
    ledger: ServiceLedger,
    descent: Descent,
    start_ns: u64,
    end_ns: u64,
    unattributed_ns: u64,
    without_books_ns: u64,
}

/// What was measured.
#[derive(Debug)]
#[non_exhaustive]
pub struct Measured {
    /// The first cut, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// The last one.
    pub end_ns: u64,
    /// What the processes used between the two.
    pub tree: Tree,
    /// CPU time of the machine in between that is attributed to nobody: some of it may be theirs.
    pub unattributed_ns: u64,
    /// How long there were no books in between: what ran then is in no figure.
    pub without_books_ns: u64,
}

impl Measurement {
    /// Makes the first cut. Measured is what descends from the process `of`: children that are started later, and those that it has.
    ///
    /// # Errors
    /// When there is no service, or it is not to be believed.
    pub fn begin(of: Pid) -> Result<Measurement, Error> {
        Measurement::begin_at(&socket_path(), of)
    }

    /// The same with the service at that socket.
    ///
    /// # Errors
    /// As [`Measurement::begin`].
    pub fn begin_at(socket: &Path, of: Pid) -> Result<Measurement, Error> {
        let mut ledger = ServiceLedger::open_without_thread(socket, LENGTH_NS)?;
        ledger.set_timeout(MOST_LATE);
        let mut before = Interval::default();
        ledger.cut().map_err(lost)?;
        while ledger.take_gathered(&mut before).map_err(lost)? {}
        let start_ns = before.end_ns;
        Ok(Measurement {
            ledger,
            descent: Descent::of(of),
            start_ns,
            end_ns: start_ns,
            unattributed_ns: 0,
            without_books_ns: 0,
        })
    }

    /// Adds the intervals that have ended, without waiting.
    ///
    /// # Errors
    /// When the service has ended: what was measured is lost.
    pub fn collect(&mut self) -> Result<(), Error> {
        let mut interval = Interval::default();
        while self.ledger.take(false, &mut interval).map_err(lost)? {
            self.add(&interval);
        }
        Ok(())
    }

    /// Makes the last cut, and adds up.
    ///
    /// # Errors
    /// As [`Measurement::collect`].
    pub fn end(mut self) -> Result<Measured, Error> {
        let mut interval = Interval::default();
        self.ledger.cut().map_err(lost)?;
        while self.ledger.take_gathered(&mut interval).map_err(lost)? {
            self.add(&interval);
        }
        let Measurement { descent, start_ns, end_ns, unattributed_ns, without_books_ns, .. } = self;
        let tree = descent.finish(boottime(), end_ns - start_ns, is_alive);
        Ok(Measured { start_ns, end_ns, tree, unattributed_ns, without_books_ns })
    }

    /// The same, while a thread collects.
    ///
    /// # Errors
    /// When no thread can be started, or there is no descriptor to be had.
    pub fn in_background(mut self) -> io::Result<Background> {
        let stop = Stop::new()?;
        let waker = stop.waker();
        self.ledger.allow_thread();
        let collect = move || {
            while !stop.take() {
                self.collect()?;
                let arrivals = self.ledger.descriptors();
                let arrivals = arrivals.as_ref().map_or(&[][..], |all| all.as_slice());
                stop.wait_beside(arrivals, self.ledger.patience());
            }
            Ok(self)
        };
        let thread = thread::Builder::new().name("measurement".into()).spawn(collect)?;
        Ok(Background { thread, waker })
    }

    fn add(&mut self, interval: &Interval) {
        self.descent.add(interval, &|_, _| {});
        self.end_ns = interval.end_ns;
        self.unattributed_ns += interval.unattributed_ns.unwrap_or(0);
        if is_gap(interval) {
            self.without_books_ns += interval.length_ns();
        }
    }
}

/// A measurement that a thread collects.
#[derive(Debug)]
pub struct Background {
    thread: JoinHandle<Result<Measurement, Error>>,
    waker: Waker,
}

impl Background {
    /// Makes the last cut, and adds up.
    ///
    /// # Errors
    /// When the service has ended since: what was measured is lost.
    pub fn end(self) -> Result<Measured, Error> {
        self.waker.wake();
        // It does not panic.
        let collected = self.thread.join().unwrap_or_else(|_| Err(lost("its thread has ended")));
        collected?.end()
    }
}

fn lost(ended: impl std::fmt::Display) -> Error {
    let reason = format!("the measurement is lost, because the service has ended: {ended}");
    Error::Unusable { source_kind: SourceKind::Service, reason }
}

/// Whether a process is there, and no zombie.
pub fn is_alive(member: &Member) -> bool {
    let stat = fs::read(format!("/proc/{}/stat", member.id.tid)).ok();
    stat.as_deref().and_then(parse_stat).is_some_and(|stat| !matches!(stat.state, b'Z' | b'X'))
}
