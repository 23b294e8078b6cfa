//! The intervals themselves: when they are cut, and the exits gathered meanwhile.

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Context;
use cpuledger::attribution::difference::{Books, CutFacts, EXITS_LIMIT, bound_exits};
use cpuledger::framing::Circumstances;
use cpuledger::interval::Interval;
use cpuledger::source::choose::{ForIntervals, open_for_intervals, open_for_listing, open_next_best};
use cpuledger::source::ledger::{self, Ledger};
use cpuledger::source::service::{self, Ended, ServiceLedger};
use cpuledger::source::{Exits, Source, SourceKind, tell_gap};
use cpuledger::{Error, Field, FieldSet, Pid, Request, Scope, Snapshot, Task, balance, clock, machine};
use cpuledger_program::output;
use cpuledger_view::group::Group;
use cpuledger_view::key::Key;

use super::options::{Format, Options};
use crate::cmd::top::order::Order;
use crate::memory::GiveBack;
use crate::privileges;
use crate::stop::Stop;

/// How often exits are read within an interval where a ring keeps them: it takes 4 MiB, at 88 bytes a record 200,000 exits
/// a second.
const LONGEST_WITHOUT_EXITS_NS: u64 = 200_000_000;

/// How an interval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// At its time.
    Complete,
    /// At a request; it is shorter than the others.
    Stopped,
}

/// What the intervals come from.
enum Backend {
    /// The books of the service.
    Service(Box<ServiceLedger>),
    /// The ledger of the kernel half.
    Ledger(Box<Ledger>),
    /// Pairs of snapshots.
    Snapshots(Box<Snapshots>),
}

/// A source of snapshots, and the books kept from it.
struct Snapshots {
    source: Box<dyn Source>,
    scope: Scope,
    books: Books,
    exits: Exits,
    /// The last one.
    snapshot: Snapshot,
}

/// What is done when the service has gone.
#[derive(Debug, Clone, Copy)]
struct NextBest {
    /// Whether another source may take over.
    is_allowed: bool,
    /// Whether that has happened. Then the service is looked for at each interval.
    has_taken_over: bool,
    size: ledger::Options,
    needs_states: bool,
    finds_blocked: bool,
    is_screen: bool,
}

/// Intervals, one after another.
pub struct Collector {
    backend: Backend,
    fields: FieldSet,
    /// Wanted even if they do not run.
    pids: Vec<Pid>,
    shows_idle: bool,
    shows_threads: bool,
    delay_ns: u64,
    /// When the running interval shall end, CLOCK_MONOTONIC.
    deadline_ns: u64,
    /// When it began.
    begin_ns: u64,
    stop: Stop,
    next_best: NextBest,
    /// What is to be said of the last interval, on the screen.
    notice: Option<String>,
    give_back: GiveBack,
    /// Intervals so far.
    sequence: u64,
    /// How long the machine was suspended when the last of them ended.
    suspended_ns: u64,
    /// What a frame tells of the last interval besides.
    pub of: Circumstances<'static>,
    /// The last interval.
    pub interval: Interval,
}

impl Collector {
    /// Opens the source, makes the first cut and gives up all privileges that are no longer needed.
    ///
    /// # Errors
    /// When the wanted source cannot be used here, or none can.
    pub fn open(options: &Options, stop: Stop) -> anyhow::Result<Collector> {
        Collector::open_as(options, stop, privileges::give_up)
    }

    /// The same for a program that gives up other privileges.
    ///
    /// # Errors
    /// As [`Collector::open`].
    pub fn open_as(
        options: &Options,
        stop: Stop,
        give_up: impl FnOnce(SourceKind) -> anyhow::Result<()>,
    ) -> anyhow::Result<Collector> {
        let mut collector = Collector {
            backend: open_backend(options)?,
            fields: fields(options),
            pids: options.pids.iter().copied().map(Pid).collect(),
            shows_idle: options.shows_idle,
            shows_threads: options.has_threads,
            delay_ns: options.delay_ns,
            deadline_ns: 0,
            begin_ns: 0,
            stop,
            next_best: NextBest {
                is_allowed: options.source.is_none(),
                has_taken_over: false,
                size: options.size,
                needs_states: options.by.has_states,
                finds_blocked: wants_blocked(options),
                is_screen: options.is_screen,
            },
            notice: None,
            give_back: GiveBack::default(),
            sequence: 0,
            suspended_ns: clock::suspended_ns(),
            of: Circumstances::default(),
            interval: Interval::default(),
        };
        collector.begin()?;
        // The screen comes first already, and so do the threads that it begins.
        if collector.kind() == SourceKind::Ledger && !options.is_screen {
            privileges::keep_time();
        }
        give_up(match collector.kind() {
            // For the case that it ends.
            SourceKind::Service if options.source.is_none() => SourceKind::Ledger,
            kind => kind,
        })?;
        Ok(collector)
    }

    /// From now on the service may be late, as on a busy machine, before it counts as dead.
    pub fn be_patient(&mut self) {
        if let Backend::Service(service) = &mut self.backend {
            service.be_patient();
        }
    }

    /// Where the running interval comes from.
    pub fn kind(&self) -> SourceKind {
        match &self.backend {
            Backend::Service(_) => SourceKind::Service,
            Backend::Ledger(_) => SourceKind::Ledger,
            Backend::Snapshots(snapshots) => snapshots.source.kind(),
        }
    }

    /// Makes the first cut.
    fn begin(&mut self) -> anyhow::Result<()> {
        match &mut self.backend {
            Backend::Service(service) => {
                self.begin_ns = machine::monotonic_ns();
                if self.shows_idle || !self.pids.is_empty() {
                    service.prepare_listing()?;
                }
            }
            Backend::Ledger(ledger) => {
                self.begin_ns = ledger.start_ns();
                if self.next_best.finds_blocked
                    && let Err(error) = ledger.find_blocked()
                {
                    output::warn(&format!("cannot list tasks that are blocked already: {error}"));
                }
            }
            Backend::Snapshots(_) => self.cut(0)?,
        }
        self.deadline_ns = self.begin_ns;
        Ok(())
    }

    /// The last interval of a service, which is there before the first of this collector ends. Returns whether there is one.
    pub fn latest(&mut self) -> bool {
        let Backend::Service(service) = &mut self.backend else { return false };
        // Where it cannot be read, the next one is waited for.
        let is_there = service.latest(&mut self.interval).unwrap_or(false);
        self.note_circumstances();
        is_there
    }

    /// What a frame tells of the interval that has ended: for one of the service what that says, else what the clocks say now.
    fn note_circumstances(&mut self) {
        self.sequence += 1;
        let own = clock::circumstances(self.sequence, self.interval.end_ns, &mut self.suspended_ns);
        self.of = match &self.backend {
            Backend::Service(service) => service.circumstances().unwrap_or(own),
            Backend::Ledger(_) | Backend::Snapshots(_) => own,
        };
    }

    /// What is to be said of the last interval, once.
    pub fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// Waits for the end of the interval and closes it.
    ///
    /// # Errors
    /// When the source fails, and no other may take over.
    pub fn interval(&mut self) -> anyhow::Result<Outcome> {
        let outcome = self.close()?;
        if let Some(sentence) = balance::take_sentence() {
            self.say(sentence);
        }
        self.note_circumstances();
        self.give_back.tick(self.interval.end_ns);
        Ok(outcome)
    }

    fn close(&mut self) -> anyhow::Result<Outcome> {
        if self.next_best.has_taken_over {
            self.look_for_service();
        }
        if matches!(self.backend, Backend::Service(_)) {
            return self.interval_of_service();
        }
        // Deadlines are counted from the first cut, so that no interval inherits the delay of the one before. If the machine
        // or the output was too slow, they start anew instead of following each other without pause.
        self.deadline_ns = (self.deadline_ns + self.delay_ns).max(self.begin_ns + self.delay_ns / 2);
        match &mut self.backend {
            Backend::Service(_) => {}
            Backend::Ledger(_) => self.stop.sleep_until(self.deadline_ns.saturating_sub(ledger::LEAD_NS)),
            Backend::Snapshots(snapshots) => snapshots.wait(self.deadline_ns, &self.stop)?,
        }
        let is_stopped = self.stop.take();
        self.cut(if is_stopped { 0 } else { self.deadline_ns })?;
        Ok(if is_stopped { Outcome::Stopped } else { Outcome::Complete })
    }

    /// After an interval that was ended by hand: sets the length, the fields and the threads of the next ones.
    ///
    /// # Errors
    /// When the source fails, for it has to begin anew where threads are to be read.
    pub fn go_on(&mut self, delay_ns: u64, fields: FieldSet, has_threads: bool) -> anyhow::Result<()> {
        self.delay_ns = delay_ns;
        self.fields = fields;
        if std::mem::replace(&mut self.shows_threads, has_threads) != has_threads
            && let Backend::Snapshots(snapshots) = &mut self.backend
        {
            snapshots.begin_anew(has_threads);
            self.cut(0)?;
        }
        if let Backend::Service(service) = &mut self.backend {
            // If it is gone, the next interval tells so.
            let _ = service.set_length(delay_ns);
        }
        self.deadline_ns = self.begin_ns;
        Ok(())
    }

    /// Whether every interval has a row for each task, whether it ran or not.
    pub fn lists_all(&self) -> bool {
        matches!(self.backend, Backend::Snapshots(_))
    }

    /// Whether such a process, or task if those are shown, exists now though no interval had a row of it: the ledger lists
    /// what ran. Snapshots have listed all.
    ///
    /// # Errors
    /// When there is no source for a listing.
    pub fn exists(&self, is_wanted: impl Fn(&Task) -> bool) -> anyhow::Result<bool> {
        if matches!(self.backend, Backend::Snapshots(_)) {
            return Ok(false);
        }
        let scope = if self.shows_threads { Scope::Tasks } else { Scope::Leaders };
        let request = Request { scope, fields: FieldSet::of(&[Field::Tid, Field::Pid, Field::Euid]) };
        let mut is_there = false;
        let mut source = open_for_listing(None, &request)?;
        source.visit(&request, &mut Snapshot::default(), &mut |row| {
            is_there = is_wanted(row);
            if is_there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(is_there)
    }

    /// Closes the interval, at that time if it is to come.
    fn cut(&mut self, cut_ns: u64) -> anyhow::Result<()> {
        match &mut self.backend {
            Backend::Service(_) => {}
            Backend::Ledger(ledger) => {
                let wanted = ledger::Wanted { fields: self.fields, pids: &self.pids, all: self.shows_idle };
                ledger.close(cut_ns, &wanted, &mut self.interval)?;
            }
            Backend::Snapshots(snapshots) => {
                snapshots.cut(self.fields, &mut self.interval)?;
            }
        }
        self.begin_ns = self.interval.end_ns;
        Ok(())
    }

    /// The next interval of the service, or that between its end and the begin of the next best source.
    fn interval_of_service(&mut self) -> anyhow::Result<Outcome> {
        loop {
            let Backend::Service(service) = &mut self.backend else { return Ok(Outcome::Complete) };
            let is_stopped = self.stop.take();
            let outcome = if is_stopped { Outcome::Stopped } else { Outcome::Complete };
            match service.take(is_stopped, &mut self.interval) {
                Ok(true) => {
                    self.begin_ns = self.interval.end_ns;
                    self.add_idle()?;
                    return Ok(outcome);
                }
                Ok(false) => {
                    let descriptors = service.descriptors();
                    self.stop.wait_beside(
                        descriptors.as_ref().map_or(&[], |all| all.as_slice()),
                        service.patience(),
                    );
                }
                Err(ended) => {
                    self.take_over(&ended)?;
                    return Ok(outcome);
                }
            }
        }
    }

    /// Adds what did not run, as far as it is shown.
    fn add_idle(&mut self) -> anyhow::Result<()> {
        let Backend::Service(service) = &mut self.backend else { return Ok(()) };
        if !self.shows_idle && self.pids.is_empty() {
            return Ok(());
        }
        let scope = if self.shows_threads { Scope::Tasks } else { Scope::Processes };
        let is_wanted = |pid: Pid| self.shows_idle || self.pids.contains(&pid);
        let request = Request { scope, fields: self.fields };
        if let Err(error) = service.add_idle(&request, is_wanted, &mut self.interval) {
            // The rows that ran are whole.
            self.say(format!("processes that did not run are missing: {error}"));
        }
        Ok(())
    }

    /// Goes on with the next best source. The interval is the time until that begins.
    fn take_over(&mut self, ended: &Ended) -> anyhow::Result<()> {
        if !self.next_best.is_allowed {
            let reason = format!("the service has ended: {ended}");
            return Err(Error::Unusable { source_kind: SourceKind::Service, reason }.into());
        }
        let since_ns = self.begin_ns;
        let length = Duration::from_nanos(self.delay_ns);
        self.backend = match self.next_best {
            NextBest { needs_states: true, size, .. } => {
                let ledger = Ledger::open(size);
                Backend::Ledger(Box::new(ledger.with_context(|| {
                    format!("the service is gone ({ended}), and --by wait needs it or the ledger")
                })?))
            }
            NextBest { size, .. } => backend(open_next_best(size, length)?, self.shows_threads),
        };
        self.next_best.has_taken_over = true;
        self.begin()?;
        let kind = self.kind();
        self.say(format!("the service is gone ({ended}); going on with the source {kind}"));
        tell_gap(SourceKind::Service, [since_ns, self.begin_ns], &mut self.interval);
        Ok(())
    }

    /// Returns to the service if it is back. Where there is none, that costs a system call or two.
    fn look_for_service(&mut self) {
        if !service::answers() {
            return;
        }
        let Ok(mut service) = ServiceLedger::open(self.delay_ns) else { return };
        service.begin_at(self.begin_ns);
        if self.shows_idle || !self.pids.is_empty() {
            // Without it, the interval says so.
            let _ = service.prepare_listing();
        }
        self.backend = Backend::Service(Box::new(service));
        self.next_best.has_taken_over = false;
        self.say("the service is back".to_owned());
    }

    fn say(&mut self, sentence: String) {
        if self.next_best.is_screen {
            self.notice = Some(sentence);
        } else {
            output::warn(&sentence);
        }
    }
}

impl Snapshots {
    fn open(mut source: Box<dyn Source>, has_threads: bool) -> Snapshots {
        if let Err(error) = source.watch_exits() {
            // The source is used all the same.
            let why = match error {
                Error::Unusable { reason, .. } => reason,
                error => error.to_string(),
            };
            output::warn(&format!("cannot see tasks that exit: {why}"));
        }
        let scope = Scope::Processes;
        let mut snapshots = Snapshots {
            source,
            scope,
            books: Books::default(),
            exits: Exits::default(),
            snapshot: Snapshot::default(),
        };
        snapshots.begin_anew(has_threads);
        snapshots
    }

    fn begin_anew(&mut self, has_threads: bool) {
        let is_by_task = has_threads || self.source.kind().is_booked_by_task();
        self.scope = if is_by_task { Scope::Tasks } else { Scope::Processes };
        self.books = Books::new(has_threads);
    }

    fn wait(&mut self, deadline_ns: u64, stop: &Stop) -> anyhow::Result<()> {
        while self.source.sees_exits() && !stop.is_requested() {
            let wake_ns = machine::monotonic_ns() + LONGEST_WITHOUT_EXITS_NS;
            if wake_ns >= deadline_ns {
                break;
            }
            stop.sleep_until(wake_ns);
            self.source.exits(&mut self.exits)?;
            bound_exits(&mut self.exits, EXITS_LIMIT);
        }
        stop.sleep_until(deadline_ns);
        Ok(())
    }

    /// A snapshot, then the exits, so that none before the cut is missed.
    fn cut(&mut self, fields: FieldSet, interval: &mut Interval) -> anyhow::Result<()> {
        self.source.snapshot(&Request { scope: self.scope, fields }, &mut self.snapshot)?;
        self.source.exits(&mut self.exits)?;
        let cut = CutFacts { online_cpus: machine::online_cpus(), sees_exits: self.source.sees_exits() };
        self.books.close(&cut, &self.snapshot, &mut self.exits, interval);
        Ok(())
    }
}

/// The wanted source, or the best that works.
fn open_backend(options: &Options) -> anyhow::Result<Backend> {
    let length = Duration::from_nanos(options.delay_ns);
    if options.by.has_states && options.source.is_none() {
        if options.size.may_grow
            && let Ok(service) = ServiceLedger::open(options.delay_ns)
        {
            return Ok(Backend::Service(Box::new(service)));
        }
        let ledger = Ledger::open(options.size);
        return Ok(Backend::Ledger(Box::new(ledger.context(
            "--by wait needs the ledger, the only source that tells where all of the time went",
        )?)));
    }
    Ok(backend(open_for_intervals(options.source, options.size, length)?, options.has_threads))
}

fn backend(source: ForIntervals, has_threads: bool) -> Backend {
    match source {
        ForIntervals::Service(service) => Backend::Service(service),
        ForIntervals::Ledger(ledger) => Backend::Ledger(ledger),
        ForIntervals::Snapshots(source) => Backend::Snapshots(Box::new(Snapshots::open(source, has_threads))),
    }
}

/// Whether tasks are told of that are blocked since before the ledger was attached, which costs a walk.
fn wants_blocked(options: &Options) -> bool {
    let is_json = options.format == Format::Json;
    options.by.has_states || options.is_screen || options.is_recorded || options.shows_idle && is_json
}

/// What the text shows, and what it is made of.
pub const TEXT: FieldSet = FieldSet::of(&[
    Field::Tid,
    Field::Pid,
    Field::StartTime,
    Field::Uid,
    Field::Euid,
    Field::Comm,
    Field::State,
    Field::Flags,
    Field::Nice,
    Field::Priority,
    Field::Runtime,
    Field::User,
    Field::System,
    Field::Vsize,
    Field::Rss,
    Field::Shared,
]);

/// What the output and its order need.
fn fields(options: &Options) -> FieldSet {
    let shown = match (options.format, options.order.by) {
        // The columns of the screen are chosen while it runs, those of a recording when it is read.
        _ if options.is_screen || options.is_recorded => FieldSet::ALL,
        (Format::Text, Order::Key(Key::Field(field))) => TEXT.union(FieldSet::of(&[field])),
        (Format::Text, _) => TEXT,
        (Format::Json | Format::Csv | Format::CsvSafe, _) => FieldSet::ALL,
    };
    let of_groups = match options.by.group {
        Group::No => FieldSet::EMPTY,
        group => group.fields().union(FieldSet::of(&[Field::RunqueueWait])),
    };
    shown.union(options.fields).union(of_groups)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::stop::Waker;

    const LONG_NS: u64 = 30_000_000_000;

    fn collector() -> (Collector, Waker) {
        let (stop, waker) = Stop::new().expect("an eventfd");
        let source = cpuledger::source::open(SourceKind::Procfs).expect("procfs is mounted");
        let mut collector = Collector {
            backend: Backend::Snapshots(Box::new(Snapshots::open(source, false))),
            fields: TEXT,
            pids: Vec::new(),
            shows_idle: false,
            shows_threads: false,
            delay_ns: LONG_NS,
            deadline_ns: 0,
            begin_ns: 0,
            stop,
            next_best: NextBest {
                is_allowed: true,
                has_taken_over: false,
                size: ledger::Options::default(),
                needs_states: false,
                finds_blocked: false,
                is_screen: false,
            },
            notice: None,
            give_back: GiveBack::default(),
            sequence: 0,
            suspended_ns: clock::suspended_ns(),
            of: Circumstances::default(),
            interval: Interval::default(),
        };
        collector.cut(0).expect("a snapshot");
        collector.deadline_ns = collector.begin_ns;
        (collector, waker)
    }

    #[test]
    fn no_request_is_lost_between_two_intervals() {
        let (mut collector, waker) = collector();
        let begin = Instant::now();
        for _ in 0..3 {
            waker.wake();
            assert_eq!(collector.interval().expect("procfs"), Outcome::Stopped);
            // The feed looks for orders and finds none. Then one comes, and with it the request to end the interval.
            waker.wake();
            collector.go_on(LONG_NS, TEXT, false).expect("procfs");
            assert_eq!(collector.interval().expect("procfs"), Outcome::Stopped);
            // Of several requests at once one interval is ended.
            waker.wake();
            waker.wake();
            assert_eq!(collector.interval().expect("procfs"), Outcome::Stopped);
            collector.go_on(1_000_000, TEXT, false).expect("procfs");
            assert_eq!(collector.interval().expect("procfs"), Outcome::Complete);
            collector.go_on(LONG_NS, TEXT, false).expect("procfs");
        }
        assert!(begin.elapsed() < Duration::from_nanos(LONG_NS), "no interval was waited for");
    }
}
