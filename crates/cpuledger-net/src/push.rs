//! `cpuledger push`: the books to OpenTelemetry, from time to time.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Context;
use cpuledger_program::end;
use cpuledger_program::output::{complain, warn};
use cpuledger_program::push::Arguments;
use cpuledger_report::Dimension;
use prost::Message as _;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::books::Books;
use crate::follow::{self, Connection, Shared};
use crate::gzip::packed;
use crate::otlp::delivery::{self, Outbox};
use crate::otlp::messages::KeyValue;
use crate::otlp::queue::Queue;
use crate::otlp::snapshot;
use crate::otlp::target::{Target, resource};
use crate::own::realtime_ns;
use crate::scrapers::Visitor;

/// At the end, how long the last request has. Less than the program has to end.
const LAST_REQUEST: Duration = Duration::from_millis(400);
/// Beyond that the sums begin again: OTLP has 63 bits for them.
const MOST_NS: u128 = (i64::MAX / 2) as u128;

/// What a push needs beside its options.
pub struct Push {
    shared: Shared,
    outbox: Arc<Outbox>,
    resource: Vec<KeyValue>,
    series: usize,
    /// Of the last push, CLOCK_REALTIME: times of points never fall.
    last_ns: u64,
    /// How many intervals that had.
    intervals: u64,
    /// How many requests were lost before that.
    lost: u64,
}

/// Pushes until a signal comes.
///
/// # Errors
/// When an option is wrong, or the queue cannot be used.
pub fn run(arguments: &Arguments, dimensions: &[Dimension], connection: Connection) -> anyhow::Result<()> {
    let variable = |name: &str| std::env::var(name).ok();
    let target = Target::of(arguments, variable)?;
    let limit_bytes = u64::from(arguments.queue_size) << 20;
    let queue = match &arguments.queue {
        Some(folder) => Queue::on_disk(folder, limit_bytes)
            .with_context(|| format!("cannot keep the queue in {}", folder.display()))?,
        None => Queue::in_memory(limit_bytes),
    };
    let series = arguments.series as usize;
    let books = Books::new(dimensions, series).with_processes(arguments.processes as usize);
    let mut push = Push {
        shared: Shared::new(books, None),
        outbox: Arc::new(Outbox::new(queue)),
        resource: resource(variable)?,
        series,
        last_ns: 0,
        intervals: 0,
        lost: 0,
    };
    if target.shows_headers() {
        warn(&format!("headers go to {target} in the clear; use https"));
    }
    complain(&format!("cpuledger: metrics go to {target}"));
    let (ending, ended) = mpsc::channel();
    let end_the_loop = move || {
        let _ = ending.send(());
    };
    // What could not be sent in time is not worth an error.
    end::watch(&end::by([SIGINT, SIGTERM]), false, (end_the_loop, || Some(0)))
        .context("cannot handle signals")?;
    follow::start(connection, push.shared.clone())
        .context("cannot start the thread that reads the service")?;
    delivery::start(Arc::clone(&push.outbox), target).context("cannot start the thread that sends")?;
    push.until(&ended, Duration::from_secs(arguments.every.into()));
    Ok(())
}

impl Push {
    /// Pushes at regular times, and a last time at the end.
    fn until(&mut self, ended: &Receiver<()>, every: Duration) {
        let mut next = Instant::now() + every;
        let left = |next: Instant| next.saturating_duration_since(Instant::now());
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(left(next)) {
            self.push();
            // A machine that was suspended does not make up for it.
            next = (next + every).max(Instant::now());
        }
        self.push();
        self.outbox.drain(LAST_REQUEST);
    }

    /// Puts the books as they are into the queue, if there is something new.
    fn push(&mut self) {
        let requests = {
            let mut books = self.shared.books();
            let now = Instant::now();
            books.settle(now);
            let intervals = books.machine().intervals;
            let is_new = intervals != self.intervals;
            // That the service is down is news, too.
            if intervals == 0 || (!is_new && self.shared.own.is_connected()) {
                return;
            }
            self.intervals = intervals;
            // Where the clock was set back, time goes on all the same.
            let when_ns = if is_new { books.realtime_ns() } else { realtime_ns() };
            self.last_ns = when_ns.max(self.last_ns + 1);
            let figures = self.outbox.figures();
            let lost = self.outbox.lost();
            let with_retired = std::mem::replace(&mut self.lost, lost) != lost;
            let (own, resource) = (&self.shared.own, &self.resource);
            let requests = snapshot::requests(&books, own, &figures, resource, self.last_ns, with_retired);
            books.visit(Visitor { peer: "push", agent: "cpuledger" }, now);
            if books.machine().capacity_ns > MOST_NS {
                books.renew(self.series);
                self.intervals = 0;
            }
            requests
        };
        requests.iter().for_each(|request| self.outbox.push(packed(&request.encode_to_vec())));
    }
}
