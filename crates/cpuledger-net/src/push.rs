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
use crate::otlp::messages::{KeyValue, Request};
use crate::otlp::queue::Queue;
use crate::otlp::snapshot::{self, Cut};
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
        let again = self.outbox.owed();
        let mut bodies = Vec::new();
        let round = {
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
            let cut = Cut { now_ns: self.last_ns, again: &again };
            let (own, resource) = (&self.shared.own, &self.resource);
            // Packed at once: a request takes many times its bytes as long as it is not.
            let mut pack = |request: Request| bodies.push(packed(&request.encode_to_vec()));
            snapshot::requests(&books, own, &figures, resource, cut, &mut pack);
            let round = books.round();
            books.visit(Visitor { peer: "push", agent: "cpuledger" }, now);
            if books.machine().capacity_ns > MOST_NS {
                books.renew(self.series);
                self.intervals = 0;
            }
            round
        };
        self.outbox.push_all(round, &again, bodies);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::Read;

    use cpuledger_model::frame::{Column, Frame, Section};
    use flate2::read::GzDecoder;

    use super::*;
    use crate::otlp::messages::{Data, Point, Value};

    const SERIES: usize = 4;

    /// The interval of that number, in which the process of each number used that time.
    fn frame(number: u64, used: &[(u64, u64)]) -> Frame {
        let mut frame = Frame::new();
        let ns = used.iter().map(|(_, ns)| ns).sum();
        for (column, value) in [
            (Column::START_NS, number),
            (Column::END_NS, number + 1),
            (Column::END_REALTIME_NS, 1_000_000 + number),
            (Column::CAPACITY_NS, ns),
            (Column::ATTRIBUTED_NS, ns),
            (Column::IDLE_NS, 0),
        ] {
            frame.set_figure(column, Some(value));
        }
        frame.table_mut(Section::Processes).reset(used.len());
        for (row, (process, ns)) in used.iter().enumerate() {
            let comm = frame.intern(format!("name {process}").as_bytes());
            let table = frame.table_mut(Section::Processes);
            table.set_signed(Column::PID, row, Some(process.cast_signed() + 2));
            for (column, value) in [
                (Column::START_TIME_NS, *process),
                (Column::COMM, comm),
                (Column::CPU_NS, *ns),
                (Column::SELF_NS, *ns),
                (Column::EXITED_THREADS_NS, 0),
                (Column::EXITED_CHILDREN_NS, 0),
            ] {
                table.set(column, row, Some(value));
            }
        }
        frame
    }

    /// The last values that a receiver has of whole numbers, by metric and attributes.
    #[derive(Default)]
    struct Receiver(HashMap<(String, String), i64>);

    impl Receiver {
        /// Takes a request. Returns the number of points by command.
        fn take(&mut self, packed: &[u8]) -> usize {
            let mut bytes = Vec::new();
            GzDecoder::new(packed).read_to_end(&mut bytes).expect("gzip");
            let request = Request::decode(&*bytes).expect("a request");
            let mut by_command = 0;
            for metric in request.resource_metrics.into_iter().flat_map(|own| own.scope_metrics) {
                for metric in metric.metrics {
                    let Some(Data::Sum(sum)) = metric.data else { continue };
                    by_command +=
                        if metric.name == "cpuledger.command.cpu.time" { sum.data_points.len() } else { 0 };
                    for Point { attributes, value, .. } in sum.data_points {
                        let Some(Value::Int(value)) = value else { continue };
                        self.0.insert((metric.name.clone(), format!("{attributes:?}")), value);
                    }
                }
            }
            by_command
        }

        fn sum(&self, metric: &str) -> i64 {
            self.0.iter().filter(|((own, _), _)| own == metric).map(|(_, value)| value).sum()
        }
    }

    #[test]
    fn after_a_loss_a_push_has_what_was_lost_and_no_other_series_that_has_left() {
        let books = Books::new(&[Dimension::Command], SERIES).with_processes(2);
        let mut push = Push {
            shared: Shared::new(books, None),
            outbox: Arc::new(Outbox::new(Queue::in_memory(1 << 20))),
            resource: Vec::new(),
            series: SERIES,
            last_ns: 0,
            intervals: 0,
        };
        let (mut receiver, mut most) = (Receiver::default(), 0);
        let mut ns = 1_000_000_u64;
        for number in 0..40_u64 {
            // Each uses so much more that a series leaves for it, until the last ones.
            ns = if number < 34 { ns * 11 / 5 } else { 1 };
            let others = number.saturating_sub(12)..number;
            let used: Vec<(u64, u64)> = others.map(|other| (other, 1_000)).chain([(number, ns)]).collect();
            push.shared.books().add(&frame(number, &used));
            push.push();
            let is_taken = !matches!(number, 25 | 30 | 31);
            while let Some(body) = push.outbox.settle_first(is_taken) {
                let mut lost = Receiver::default();
                most = most.max(if is_taken { &mut receiver } else { &mut lost }.take(&body));
            }
        }
        assert_eq!(push.shared.books().machine().unbalanced, 0);
        assert!(receiver.0.len() > 60, "{} series have come and gone", receiver.0.len());
        assert_eq!(receiver.sum("cpuledger.command.cpu.time"), receiver.sum("cpuledger.attributed.time"));
        assert!(most <= 3 * (SERIES + 1 + 4), "{most} points by command");
    }
}
