//! The thread that closes the intervals and publishes them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use cpuledger::clock;
use cpuledger::source::ledger::{LEAD_NS, Ledger, Wanted, Watch};
use cpuledger::{Accounts, FieldSet, SourceKind, balance, machine};
use cpuledger_model::make;
use cpuledger_service::server::thread_time;

use super::audiences::{Audiences, Last};
use super::config::Bounds;
use super::handover::Keeping;
use super::log::log;
use super::recording::Recording;
use super::requests::Requests;
use super::signals::Waker;
use crate::memory::{self, GiveBack};
use crate::privileges;
use crate::stop::Stop;

/// The part of an interval after which those readers are woken that no other reader has woken.
const PAUSE_PART: u64 = 10;
/// It is no longer than this. 1,000 readers wake each other in less.
const LONGEST_PAUSE_NS: u64 = 100_000_000;
/// The thread is alive if it has closed an interval within that many of them.
const MISSED_INTERVALS: u64 = 5;
/// And within that time.
const SLACK_NS: u64 = 10_000_000_000;

/// What both threads know.
#[derive(Debug)]
struct Shared {
    requests: Mutex<Requests>,
    /// When the last interval was published, CLOCK_MONOTONIC.
    published_ns: AtomicU64,
    is_over: AtomicBool,
    failure: Mutex<Option<anyhow::Error>>,
    /// Of the ledger, until it is taken.
    watch: Mutex<Option<Watch>>,
    /// Whether the last one was taken, and is over or of no use.
    wants_watch: AtomicBool,
}

impl Shared {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread does.
type Work = Box<dyn FnOnce() -> Option<Keeping> + Send>;

/// The thread before it has anything to do. It begins while it may still be given a priority, and gives up what it may itself.
#[derive(Debug)]
pub struct Seat {
    work: SyncSender<Work>,
    thread: thread::JoinHandle<Option<Keeping>>,
}

impl Seat {
    /// Begins the thread. It has the privileges of a service when this returns.
    ///
    /// # Errors
    /// When there is no second thread to be had, or the kernel lets it give up nothing.
    pub fn take() -> anyhow::Result<Seat> {
        let (work, works) = sync_channel::<Work>(1);
        let (tell, told) = sync_channel(1);
        let run = move || {
            // What it does follows what ran, and is charged to the user that asked for it.
            privileges::keep_time();
            // The other end waits for it.
            let _ = tell.send(privileges::give_up_as_service(SourceKind::Ledger));
            works.recv().ok().and_then(|work| work())
        };
        let thread =
            thread::Builder::new().name("books".into()).spawn(run).context("cannot begin a thread")?;
        told.recv().context("the thread has ended")??;
        Ok(Seat { work, thread })
    }
}

/// The thread, for those that ask something of it.
#[derive(Debug, Clone)]
pub struct Books {
    shared: Arc<Shared>,
    waker: crate::stop::Waker,
    thread: Arc<Mutex<Option<thread::JoinHandle<Option<Keeping>>>>>,
}

impl Books {
    /// Closes intervals within these bounds from now on, and publishes them. If it fails, it wakes `told`.
    ///
    /// # Errors
    /// When there is no eventfd to be had.
    pub fn start(
        seat: Seat,
        keeping: Keeping,
        (bounds, accounts): (Bounds, Accounts),
        (audiences, recording): (Arc<Audiences>, Arc<Recording>),
        mut told: Waker,
    ) -> anyhow::Result<Books> {
        let stop = Stop::new()?;
        let waker = stop.waker();
        let shared = Arc::new(Shared {
            requests: Mutex::new(Requests::new(bounds, accounts)),
            published_ns: AtomicU64::new(machine::monotonic_ns()),
            is_over: AtomicBool::new(false),
            failure: Mutex::new(None),
            watch: Mutex::new(keeping.ledger.watch()),
            wants_watch: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let run = move || match keep(keeping, &for_thread, (&audiences, &recording), &stop) {
            Ok(keeping) => Some(keeping),
            Err(error) => {
                *for_thread.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.into());
                told.wake();
                None
            }
        };
        seat.work.send(Box::new(run)).ok().context("the thread has ended")?;
        Ok(Books { shared, waker, thread: Arc::new(Mutex::new(Some(seat.thread))) })
    }

    /// Changes what readers request, or what they may. It holds for the running interval, too.
    pub fn change_requests(&self, change: impl FnOnce(&mut Requests)) {
        let mut requests = self.shared.requests();
        let before_ns = requests.shortest_ns();
        change(&mut requests);
        if requests.shortest_ns() < before_ns {
            self.waker.wake();
        }
    }

    /// The length of intervals at present.
    pub fn interval_ns(&self) -> u64 {
        self.shared.requests().interval_ns()
    }

    /// The accounts that somebody wants.
    pub fn accounts(&self) -> Accounts {
        self.shared.requests().accounts()
    }

    /// Whether it closes intervals.
    pub fn is_alive(&self) -> bool {
        let since_ns =
            machine::monotonic_ns().saturating_sub(self.shared.published_ns.load(Ordering::SeqCst));
        since_ns < SLACK_NS + MISSED_INTERVALS * self.interval_ns()
    }

    /// What tells which processes have run. `None`: there is none yet; it is asked for, and there after the running interval.
    pub fn take_watch(&self) -> Option<Watch> {
        let watch = self.shared.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        let watch = watch.filter(|watch| !watch.is_over());
        if watch.is_none() {
            self.shared.wants_watch.store(true, Ordering::SeqCst);
        }
        watch
    }

    /// Why it has ended by itself, once.
    pub fn failure(&self) -> Option<anyhow::Error> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends it. Returns the books, unless the ledger has failed.
    pub fn stop(&self) -> Option<Keeping> {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It does not panic; if it did, it has said so.
        thread?.join().ok()?
    }
}

/// Closes interval after interval.
fn keep(
    mut keeping: Keeping,
    shared: &Shared,
    (audiences, recording): (&Audiences, &Recording),
    stop: &Stop,
) -> Result<Keeping, cpuledger::Error> {
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    let Keeping { ledger, course, is_new } = &mut keeping;
    let mut last = Last::default();
    if *is_new {
        // Those that are blocked already are told by name. Without a walk those are that are blocked from now on.
        let _ = ledger.find_blocked();
    }
    memory::map_large();
    let (mut is_read, mut give_back) = (false, GiveBack::default());
    // All of this thread's time is charged: that of waking readers, too.
    let mut charged = thread_time();
    loop {
        ledger.keep(shared.requests().accounts());
        ledger.take_refused().iter().for_each(|sentence| log(sentence));
        let cut_ns = wait(ledger, is_read, shared, stop);
        if shared.is_over.load(Ordering::SeqCst) {
            return Ok(keeping);
        }
        let slots = ledger.slots();
        ledger.close(cut_ns, &wanted, &mut last.interval)?;
        if ledger.slots() != slots {
            log(&format!("slots ran low: the ledger has {} from now on", ledger.slots()));
        }
        if let Some(sentence) = balance::take_sentence() {
            log(&sentence);
        }
        if shared.wants_watch.swap(false, Ordering::SeqCst) {
            *shared.watch.lock().unwrap_or_else(PoisonError::into_inner) = ledger.watch();
        }
        course.sequence += 1;
        let length_ns = last.interval.length_ns();
        last.of = clock::circumstances(course.sequence, last.interval.end_ns, &mut course.suspended_ns);
        let (before, is_published) = audiences.publish(last);
        last = before.unwrap_or_default();
        shared.published_ns.store(machine::monotonic_ns(), Ordering::SeqCst);
        let spent = thread_time();
        shared.requests().charge(length_ns, spent.saturating_sub(charged));
        charged = spent;
        audiences.show_last(|last| recording.add(last));
        give_back.tick(ledger.start_ns());
        is_read = is_published;
        if is_read {
            wake_rest(ledger.start_ns(), shared, audiences, stop);
        }
    }
}

/// Looks for readers that were left asleep, again and again while there are any in the interval that began at `start_ns`. As a rule the
/// readers have woken each other when it looks first, and it costs the same for one as for 1,000.
fn wake_rest(start_ns: u64, shared: &Shared, audiences: &Audiences, stop: &Stop) {
    let interval_ns = shared.requests().interval_ns();
    let pause_ns = (interval_ns / PAUSE_PART).min(LONGEST_PAUSE_NS);
    let last_look_ns = start_ns + interval_ns / 2;
    loop {
        let look_ns = machine::monotonic_ns() + pause_ns;
        stop.sleep_until(look_ns);
        if audiences.wake_rest() == 0 || look_ns > last_look_ns || stop.is_requested() {
            return;
        }
    }
}

/// Waits until the running interval is about to end, and returns when. Meanwhile its length may become shorter. Without readers its end is
/// chosen at once, so that there is one wake-up an interval; another length holds from the next one on.
fn wait(ledger: &mut Ledger, is_read: bool, shared: &Shared, stop: &Stop) -> u64 {
    let start_ns = ledger.start_ns();
    let end_ns = || shared.requests().end_ns(start_ns, Instant::now(), machine::monotonic_ns());
    let chosen_ns = if is_read { None } else { ledger.choose_cut(end_ns()) };
    loop {
        let cut_ns = chosen_ns.unwrap_or_else(end_ns);
        stop.sleep_until(chosen_ns.unwrap_or(cut_ns.saturating_sub(LEAD_NS)));
        if !stop.take() || shared.is_over.load(Ordering::SeqCst) {
            return cut_ns;
        }
    }
}
