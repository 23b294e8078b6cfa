//! The intervals themselves: when they are cut, and the exits gathered meanwhile.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cpuledger::interval::{Books, Cut, EXITS_LIMIT, Interval, bound_exits};
use cpuledger::source::{self, Exits, Source, SourceKind};
use cpuledger::{Field, FieldSet, Request, Scope, Snapshot, machine};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::options::{Format, Options};
use crate::cmd::top::select::Order;

/// How often exits are read within an interval: the ring takes 4 MiB, at 88 bytes a record 200,000 exits a second. It
/// also bounds how late a signal is seen that comes between the look at the request and the sleep.
const LONGEST_SLEEP_NS: u64 = 200_000_000;

/// A request to end.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// By SIGINT and SIGTERM; the second one ends the program at once.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&stop))?;
            flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Stop(stop))
    }

    fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How an interval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// At its time.
    Complete,
    /// At a signal; it is shorter than the others.
    Stopped,
}

/// A source, and the books kept from it.
pub struct Collector {
    source: Box<dyn Source>,
    request: Request,
    delay_ns: u64,
    /// When the running interval shall end, CLOCK_MONOTONIC.
    deadline_ns: u64,
    books: Books,
    exits: Exits,
    stop: Stop,
    /// The last snapshot.
    pub snapshot: Snapshot,
    /// The interval that it closed.
    pub interval: Interval,
}

impl Collector {
    /// Opens the source and makes the first cut.
    ///
    /// # Errors
    /// When the wanted source cannot be used here, or none can.
    pub fn open(options: &Options, stop: Stop) -> anyhow::Result<Collector> {
        let mut source = match options.source {
            Some(kind) => source::open(kind)?,
            None => source::open_best()?.0,
        };
        if let Err(error) = source.watch_exits() {
            let _ = writeln!(io::stderr(), "cpuledger: exits are not seen: {error}");
        }
        let scope = match source.kind() {
            SourceKind::Walk => Scope::Tasks, // the books are kept by task: that makes the dead exact
            SourceKind::Procfs if options.has_threads => Scope::Tasks,
            SourceKind::Procfs => Scope::Processes,
        };
        let mut collector = Collector {
            source,
            request: Request { scope, fields: fields(options) },
            delay_ns: options.delay_ns,
            deadline_ns: 0,
            books: Books::new(options.has_threads),
            exits: Exits::default(),
            stop,
            snapshot: Snapshot::default(),
            interval: Interval::default(),
        };
        collector.cut()?;
        collector.deadline_ns = collector.snapshot.begin_ns;
        Ok(collector)
    }

    /// Waits for the end of the interval and closes it.
    ///
    /// # Errors
    /// When the source fails.
    pub fn interval(&mut self) -> anyhow::Result<Outcome> {
        // Deadlines are counted from the first cut, so that no interval inherits the delay of the one before; where
        // the machine or the output was too slow, they start anew instead of following each other without pause.
        self.deadline_ns = (self.deadline_ns + self.delay_ns).max(self.snapshot.begin_ns + self.delay_ns / 2);
        while !self.stop.is_requested() && machine::monotonic_ns() < self.deadline_ns {
            let wake_ns = self.deadline_ns.min(machine::monotonic_ns() + LONGEST_SLEEP_NS);
            sleep_until(wake_ns);
            if wake_ns < self.deadline_ns && self.source.sees_exits() {
                self.source.exits(&mut self.exits)?;
                bound_exits(&mut self.exits, EXITS_LIMIT);
            }
        }
        self.cut()?;
        Ok(if self.stop.is_requested() { Outcome::Stopped } else { Outcome::Complete })
    }

    /// A snapshot, then the exits, so that none before the cut is missed.
    fn cut(&mut self) -> anyhow::Result<()> {
        self.source.snapshot(&self.request, &mut self.snapshot)?;
        self.source.exits(&mut self.exits)?;
        let cut = Cut {
            suspended_ns: machine::suspended_ns(),
            online_cpus: machine::online_cpus(),
            sees_exits: self.source.sees_exits(),
        };
        self.books.close(&cut, &self.snapshot, &mut self.exits, &mut self.interval);
        Ok(())
    }
}

/// Returns earlier at a signal.
fn sleep_until(deadline_ns: u64) {
    let deadline = Timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as i64,
        tv_nsec: (deadline_ns % 1_000_000_000) as i64,
    };
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &deadline);
}

/// What the output and its order need.
fn fields(options: &Options) -> FieldSet {
    const CGROUPS: FieldSet = FieldSet::of(&[Field::CgroupId, Field::CgroupV1CpuId]);
    match (options.format, options.order.by) {
        (Format::Text, Order::Key(cpuledger::render::key::Key::Field(field))) => {
            FieldSet::ALL.without(CGROUPS).union(FieldSet::of(&[field]))
        }
        (Format::Text, _) => FieldSet::ALL.without(CGROUPS),
        (Format::Json | Format::Csv, _) => FieldSet::ALL,
    }
}
