//! The thread that takes intervals: it alone waits for the machine, so that the screen never does.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use cpuledger::clock;
use cpuledger::host_statistics::HostStatistics;
use cpuledger::source::choose::open_for_listing;
use cpuledger::{Field, FieldSet, Interval, Request, Scope, Snapshot, Task, machine};
use cpuledger_names::lookups::Lookups;
use cpuledger_names::names::Names;
use cpuledger_names::row::Surroundings;

use super::event::Event;
use super::frame::{Around, Asleep, Frame, Sums};
use super::idle_task_cache::IdleTaskCache;
use super::past::learn_users;
use super::subscription::Subscription;
use crate::cmd::top::collect::{Collector, Outcome};
use crate::record::recorder::Recorder;
use cpuledger_names::named::Namer;
use cpuledger_names::watch::Watch;

/// What the feed is told.
#[derive(Debug)]
pub enum Order {
    /// From now on.
    Subscribe(Subscription),
    /// The memory of a frame that is shown no more.
    Reuse(Box<Interval>),
    /// The end.
    Stop,
}

/// The longest first interval: 0.1 s after its start the screen shows what is busy.
const FIRST_NS: u64 = 50_000_000;

/// Takes intervals.
pub struct Feed {
    collector: Collector,
    recorder: Option<Recorder>,
    subscription: Subscription,
    idle_tasks: Option<IdleTaskCache>,
    statistics: HostStatistics,
    users: Names,
    around: Surroundings,
    namer: Namer,
    boot_id: Option<String>,
}

impl Feed {
    /// Begins with the first interval.
    pub fn new(collector: Collector, subscription: Subscription, recorder: Option<Recorder>) -> Feed {
        let mut around = Surroundings::now();
        around.machine.look_up(Lookups::CALENDAR);
        Feed {
            collector,
            recorder,
            subscription,
            idle_tasks: None,
            statistics: HostStatistics::read(),
            users: Names::of_users(),
            around,
            // Root may read more than what is left of it now.
            namer: if Watch::has_begun() { Namer::watched() } else { Namer::default() },
            boot_id: machine::boot_id(),
        }
    }

    /// Sends one frame after the other until told to stop, or until the receiver is gone.
    ///
    /// # Errors
    /// When the source fails.
    pub fn run(mut self, orders: &Receiver<Order>, events: &Sender<Event>) -> anyhow::Result<()> {
        let ended = self.send_frames(orders, events);
        let recorded = self.recorder.take().map_or(Ok(()), Recorder::end);
        ended.and(recorded)
    }

    fn send_frames(&mut self, orders: &Receiver<Order>, events: &Sender<Event>) -> anyhow::Result<()> {
        let mut spare: Option<Box<Interval>> = None;
        // The first interval is short, so that the screen is not empty for long.
        // The service has one already.
        let latest = if self.collector.intervals.latest() {
            self.record();
            Some(self.frame()?)
        } else {
            None
        };
        let delay_ns = self.subscription.delay_ns;
        let first_ns = if latest.is_some() { delay_ns } else { delay_ns.min(FIRST_NS) };
        self.collector.intervals.go_on(first_ns, self.fields(), self.subscription.has_threads)?;
        if let Some(frame) = latest.or_else(|| self.first_picture())
            && events.send(Event::Frame(Box::new(frame))).is_err()
        {
            return Ok(());
        }
        self.collector.keep_time();
        let mut is_first = true;
        loop {
            if let Some(spare) = spare.take() {
                self.collector.intervals.interval = *spare;
            }
            let outcome = self.collector.close()?;
            self.record();
            #[cfg(debug_assertions)]
            super::on_purpose::panic_on_purpose("feed");
            for notice in self.collector.intervals.take_notices() {
                let _ = events.send(Event::Notice(notice));
            }
            let frame = self.frame()?;
            if events.send(Event::Frame(Box::new(frame))).is_err() {
                return Ok(());
            }
            let mut subscription = self.subscription;
            loop {
                match orders.try_recv() {
                    Ok(Order::Subscribe(new)) => subscription = new,
                    Ok(Order::Reuse(old)) => spare = Some(old),
                    Ok(Order::Stop) | Err(TryRecvError::Disconnected) => return Ok(()),
                    Err(TryRecvError::Empty) => break,
                }
            }
            let is_first = std::mem::take(&mut is_first);
            if subscription != self.subscription || outcome == Outcome::Stopped || is_first {
                self.subscription = subscription;
                self.collector.intervals.go_on(
                    subscription.delay_ns,
                    self.fields(),
                    subscription.has_threads,
                )?;
            }
        }
    }

    /// What the source has to tell: a recording has all of it.
    fn fields(&self) -> FieldSet {
        if self.recorder.is_some() { FieldSet::ALL } else { self.subscription.fields }
    }

    fn record(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.add(&self.collector.intervals.interval, self.collector.intervals.circumstances());
        }
    }

    /// What all have used since they began, while the first interval runs; `None` where that cannot be had.
    fn first_picture(&mut self) -> Option<Frame> {
        let fields = self.subscription.fields.union(FieldSet::of(&[Field::Runtime]));
        let request = Request { scope: Scope::Processes, fields };
        let mut snapshot = Snapshot::default();
        open_for_listing(None, &request).ok()?.snapshot(&request, &mut snapshot).ok()?;
        let interval = Interval::since_boot(&snapshot, machine::online_cpus());
        Some(self.frame_of(interval, Asleep::default()))
    }

    fn frame(&mut self) -> anyhow::Result<Frame> {
        let asleep = self.asleep()?;
        let interval = std::mem::take(&mut self.collector.intervals.interval);
        Ok(self.frame_of(interval, asleep))
    }

    /// Reads what surrounds the interval, so that the view does not have to.
    fn frame_of(&mut self, interval: Interval, asleep: Asleep) -> Frame {
        self.namer.begin();
        self.users.begin();
        let statistics = HostStatistics::read();
        let born = self.statistics.forks.and_then(|before| statistics.forks?.checked_sub(before));
        let cpus = statistics.shares_since(&self.statistics);
        self.statistics.clone_from(&statistics);
        learn_users(&mut self.users, &interval);
        if self.subscription.fields.contains(Field::CgroupId) {
            self.namer.learn_interval(&interval);
        }
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let local = self.around.machine.local(now.tv_sec);
        // It ended a moment ago.
        let age_ns = machine::monotonic_ns().saturating_sub(interval.end_ns);
        let end_realtime_ns = (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).saturating_sub(age_ns);
        let around = Around {
            statistics,
            cpus,
            born,
            named: self.namer.named(),
            time_of_day: local.strftime("%H:%M:%S").to_string(),
            end_realtime_ns,
            uptime: clock::boottime(),
            boot_id: self.boot_id.clone(),
        };
        Frame { interval, asleep, around, users: self.users.clone(), sums: Sums::default() }
    }

    fn asleep(&mut self) -> anyhow::Result<Asleep> {
        if !self.subscription.has_all || self.collector.intervals.lists_all() {
            self.idle_tasks = None;
            return Ok(Asleep::default());
        }
        let fields = self.subscription.fields;
        let cache = match &mut self.idle_tasks {
            Some(cache) => cache,
            None => self.idle_tasks.insert(IdleTaskCache::open(fields)?),
        };
        cache.set_fields(fields);
        let walk = cache.walk();
        cache.follow(&self.collector.intervals.interval)?;
        let asleep = cache.asleep();
        if asleep.walk != walk {
            let walked = &asleep.walked;
            for row in walked.processes.iter().chain(&walked.tasks) {
                self.users.learn(row.euid);
                self.learn_cgroup(row);
            }
        }
        Ok(asleep)
    }

    /// What its cgroup is called, if that is wanted and not known.
    fn learn_cgroup(&mut self, row: &Task) {
        if self.subscription.fields.contains(Field::CgroupId) {
            self.namer.learn(row);
        }
    }
}
