//! The thread that takes intervals: it alone waits for the machine, so that the screen never does.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use cpuledger::host_statistics::HostStatistics;
use cpuledger::{Accounts, Field, FieldSet, Interval};
use cpuledger_names::named::Namer;
use cpuledger_names::watch::Watch;

use super::around::AroundReader;
use super::event::Event;
use super::frame::{Asleep, Frame};
use super::idle_task_cache::IdleTaskCache;
use super::subscription::Subscription;
use crate::cmd::top::collect::{Collector, Outcome};
use crate::record::recorder::Recorder;

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
    /// Those that were asked for before the screen began, which are kept in any view.
    accounts: Accounts,
    idle_tasks: Option<IdleTaskCache>,
    around: AroundReader,
}

impl Feed {
    /// Begins with the first interval.
    pub fn new(collector: Collector, subscription: Subscription, recorder: Option<Recorder>) -> Feed {
        // Root may read more than what is left of it now.
        let namer = if Watch::has_begun() { Namer::watched() } else { Namer::default() };
        Feed {
            accounts: collector.intervals.accounts(),
            collector,
            recorder,
            subscription,
            idle_tasks: None,
            around: AroundReader::new(HostStatistics::read(), namer),
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
        if let Some(frame) = latest
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
                let accounts = self.accounts.union(subscription.accounts);
                self.collector.intervals.keep_with(accounts, subscription.also);
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

    fn frame(&mut self) -> anyhow::Result<Frame> {
        let asleep = self.asleep()?;
        let interval = std::mem::take(&mut self.collector.intervals.interval);
        Ok(Frame { asleep, ..self.around.frame(interval, self.has_cgroups()) })
    }

    /// Whether rows tell what their cgroups are called.
    fn has_cgroups(&self) -> bool {
        self.subscription.fields.contains(Field::CgroupId)
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
            let has_cgroups = self.has_cgroups();
            self.around.learn(walked.processes.iter().chain(&walked.tasks), has_cgroups);
        }
        Ok(asleep)
    }
}
