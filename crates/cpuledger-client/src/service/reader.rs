//! Intervals of the service.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpuledger_model::accounts::Accounts;
use cpuledger_model::frame::{Column, Frame};
use cpuledger_model::framing::{self, Circumstances};
use cpuledger_model::interval::{Interval, Row, Usage};
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::{Pid, Task};
use cpuledger_proc::task::stat::{Stat, parse_stat};
use cpuledger_service::client::{Client, ClientError, socket_path};
use cpuledger_service::ring::Reader;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::asking::{check_accounts, length_to_ask, request};
use super::connection::{ANSWER, connect, sentence, unusable};
use super::follower::{Arrival, Follower, next};
use super::gathering::{Gathering, Whole};
use super::listing::ServiceListing;
use crate::balance;
use crate::clock::monotonic_ns;
use crate::error::Error;
use crate::gap::tell_gap;

/// By how much a frame may be late before one looks whether the service is stopped.
const QUIET: Duration = Duration::from_millis(300);
/// By how much a frame may be late, beyond twice its length, before a service that runs counts as dead.
const LATENESS: Duration = Duration::from_secs(3);
/// For each call to a service that is being restarted: its manager listens meanwhile.
const RESTART: Duration = Duration::from_secs(5);
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(10);
/// The name of the process, if it listens itself.
const OWN_NAME: &[u8] = b"cpuledger";
/// How long a ring is waited for at once where no thread does: until the next frame is late, within these.
const LOOK: Duration = Duration::from_millis(500);
const LONGEST_LOOK: Duration = Duration::from_millis(1_500);
/// How long an interval is waited for that was asked for.
const HURRY: Duration = Duration::from_millis(500);

/// Why there will be no more intervals: the end of a sentence.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Ended(String);

fn ended(reason: impl ToString) -> Ended {
    Ended(sentence(reason))
}

/// The intervals of the service, merged to the length that is wanted. Between two of them there is no time that is not told.
#[derive(Debug)]
pub struct ServiceLedger {
    /// Of the socket.
    path: PathBuf,
    client: Client,
    /// Until a thread reads it, if one does.
    reader: Option<Reader>,
    follower: Option<Follower>,
    /// Whether no thread is started: the caller waits for the ring itself.
    is_without_thread: bool,
    /// Whether intervals come without rows.
    is_without_rows: bool,
    gathering: Gathering,
    wanted_ns: u64,
    /// What the service is asked to keep besides.
    accounts: Accounts,
    /// The length that the service is asked for.
    asked_ns: u64,
    /// The length of a frame, as the service has told it last: that of the user who asks for the shortest.
    frame_ns: u64,
    /// The shortest frame that the service grants.
    shortest_ns: u64,
    /// When the last frame came.
    heard: Instant,
    /// How long a frame has taken that came late, or what the service said of it.
    usual: Duration,
    /// Whether it was looked at since.
    was_looked_at: bool,
    /// How late a frame may be.
    lateness: Duration,
    /// How long one that was asked for is waited for.
    hurry: Duration,
    /// Whether the caller has said how late it may be.
    is_patient: bool,
    /// Whether the service is asked for the shortest frames at present.
    is_hurrying: bool,
    /// Why there is nothing more to come.
    ended: Option<Ended>,
    /// Of those that the service has closed before.
    unbalanced_intervals: Option<u64>,
    /// What it kept when it was asked first.
    kept: Accounts,
    listing: Option<ServiceListing>,
    listed: Snapshot,
    /// What the frames of the last interval told of it besides; `None`: it had none.
    of: Option<Circumstances<'static>>,
}

impl ServiceLedger {
    /// Subscribes to intervals of that length, and to these accounts. The first begins at once, or within the service's one that is running. No thread is
    /// started before [`ServiceLedger::take`] is called.
    ///
    /// # Errors
    /// When there is no service, it is not to be believed, or does not grant it.
    pub fn open(wanted_ns: u64, accounts: Accounts) -> Result<ServiceLedger, Error> {
        ServiceLedger::open_with(socket_path(), (wanted_ns, accounts), false)
    }

    /// The same for a library, of the service at that socket: no thread is ever started. [`ServiceLedger::wait_for_frame`] waits for the ring itself, and
    /// returns when a frame is late, for the end of the service to be seen. What is not taken stays in the ring, as long as that has room.
    ///
    /// # Errors
    /// As [`ServiceLedger::open`].
    pub fn open_without_thread(socket: &Path, wanted_ns: u64) -> Result<ServiceLedger, Error> {
        ServiceLedger::open_with(socket.to_path_buf(), (wanted_ns, Accounts::NONE), true)
    }

    /// From now on a thread may wait for the ring, beside [`ServiceLedger::descriptors`].
    pub fn allow_thread(&mut self) {
        self.is_without_thread = false;
    }

    /// From now on, intervals come without rows, which are in [`Interval::frame`].
    pub fn leave_out_rows(&mut self) {
        self.is_without_rows = true;
    }

    fn open_with(
        path: PathBuf,
        (wanted_ns, accounts): (u64, Accounts),
        is_without_thread: bool,
    ) -> Result<ServiceLedger, Error> {
        let mut client = connect(&path, ANSWER)?;
        let info = client.info().map_err(unusable)?;
        let asked_ns = length_to_ask(wanted_ns, &info);
        let (subscription, reader) = client.subscribe(&request(asked_ns, accounts)).map_err(unusable)?;
        check_accounts(accounts, &subscription)?;
        Ok(ServiceLedger {
            path,
            client,
            reader: Some(reader),
            follower: None,
            is_without_thread,
            is_without_rows: false,
            gathering: Gathering::default(),
            wanted_ns,
            accounts,
            asked_ns,
            frame_ns: subscription.interval_ns.unsigned_abs(),
            shortest_ns: info.shortest_interval_ns.unsigned_abs(),
            heard: Instant::now(),
            usual: Duration::from_nanos(info.interval_ns.unsigned_abs()),
            was_looked_at: false,
            lateness: LATENESS,
            hurry: HURRY,
            is_patient: false,
            is_hurrying: false,
            ended: None,
            unbalanced_intervals: info.unbalanced_intervals.and_then(|count| count.try_into().ok()),
            // A newer one may keep more.
            kept: info
                .accounts
                .iter()
                .filter_map(|name| name.parse().ok())
                .fold(Accounts::NONE, Accounts::with),
            listing: None,
            listed: Snapshot::default(),
            of: None,
        })
    }

    /// Intervals since the service was started whose times do not add up. `None`: it does not tell.
    pub fn unbalanced_intervals(&self) -> Option<u64> {
        self.unbalanced_intervals
    }

    /// What the service kept besides CPU time before this one asked for anything.
    pub fn kept(&self) -> Accounts {
        self.kept
    }

    /// The next interval begins at `end_ns`, where that of another source has ended. Frames from then on that the ring still has are read.
    pub fn begin_at(&mut self, end_ns: u64) {
        self.gathering.begin_at(end_ns);
        self.reader.iter_mut().for_each(|reader| reader.resume_at(1));
    }

    /// From now on a frame may be as late as this. A service that is stopped is
    /// waited for as well, until an interval is to end at once: what ran meanwhile is in its next frame.
    pub fn set_timeout(&mut self, timeout: Duration) {
        (self.lateness, self.hurry, self.is_patient) = (timeout, timeout, true);
    }

    /// The last interval of the service, for a first screen. To be called before [`ServiceLedger::take`], which goes on behind it.
    /// Returns whether there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn latest(&mut self, into: &mut Interval) -> Result<bool, Ended> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        let mut bytes = Vec::new();
        if reader.latest(&mut bytes).map_err(ended)?.is_none() {
            return Ok(false);
        }
        let frame = Frame::decode(&bytes).map_err(ended)?;
        self.read(frame, into)?;
        self.gathering.begin_at(into.end_ns);
        Ok(true)
    }

    /// The length of the following intervals.
    ///
    /// # Errors
    /// When the service does not grant it, or is gone.
    pub fn set_length(&mut self, wanted_ns: u64) -> Result<(), Ended> {
        if std::mem::replace(&mut self.wanted_ns, wanted_ns) == wanted_ns {
            return Ok(());
        }
        let info = self.client.info().map_err(ended)?;
        self.asked_ns = length_to_ask(wanted_ns, &info);
        self.subscribe(self.asked_ns).map(drop)
    }

    /// The accounts that the service shall keep for this reader from now on, and no others.
    ///
    /// # Errors
    /// When the service does not grant it; then it goes on with those before. Or when it is gone.
    pub fn set_accounts(&mut self, accounts: Accounts) -> Result<(), Error> {
        if accounts == self.accounts {
            return Ok(());
        }
        let info = self.client.info().map_err(unusable)?;
        let asked_ns = length_to_ask(self.wanted_ns, &info);
        let (subscription, _) = self.client.subscribe(&request(asked_ns, accounts)).map_err(unusable)?;
        self.asked_ns = asked_ns;
        self.frame_ns = subscription.interval_ns.unsigned_abs();
        self.accounts = accounts;
        check_accounts(accounts, &subscription)
    }

    /// Descriptors of which one is readable when [`ServiceLedger::take`] is worth a call. `None`: before its first call, and without a thread.
    pub fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        let follower = self.follower.as_ref()?;
        // An answer that comes too late keeps the socket readable.
        let socket = if self.client.is_out_of_step() { follower.arrived() } else { self.client.socket() };
        Some([follower.arrived().as_fd(), socket.as_fd()])
    }

    /// When [`ServiceLedger::take`] is worth a call though nothing is readable: then the service is looked at, or counts as dead.
    pub fn patience(&self) -> Instant {
        if self.may_look() {
            return self.heard + self.usual.max(Duration::from_nanos(self.frame_ns)) + QUIET;
        }
        self.heard + self.lateness + 2 * Duration::from_nanos(self.frame_ns)
    }

    /// Takes the next interval, if it is complete, and returns whether it is. With `now` it ends at once, and is shorter.
    ///
    /// # Errors
    /// When there will be no more, because the service has ended, and all that had come was taken.
    pub fn take(&mut self, now: bool, into: &mut Interval) -> Result<bool, Ended> {
        if self.ended.is_none() {
            match self.take_next(now, into) {
                Err(ended) => self.ended = Some(ended),
                taken => return taken,
            }
        }
        let is_taken = self.take_gathered(into)?;
        self.ended.clone().filter(|_| !is_taken).map_or(Ok(true), Err)
    }

    fn take_next(&mut self, now: bool, into: &mut Interval) -> Result<bool, Ended> {
        self.receive()?;
        let ended = self.rejoin_where_needed()?;
        self.relax();
        let mut whole = self.gathering.take(self.wanted_ns, now || ended.is_some());
        if whole.is_none()
            && let Some(ended) = ended
        {
            return Err(ended);
        }
        if whole.is_none() && now {
            let wanted_ns = self.wanted_ns;
            whole = Some(self.hurry(|gathering| gathering.take(wanted_ns, true))?);
        }
        match whole {
            None if Instant::now() < self.patience() => Ok(false),
            None if self.may_look() => self.look().map(|()| false),
            None => {
                Err(self::ended(format!("it has published nothing for {} s", self.heard.elapsed().as_secs())))
            }
            Some(whole) => self.tell(whole, into).map(|()| true),
        }
    }

    fn tell(&mut self, whole: Whole, into: &mut Interval) -> Result<(), Ended> {
        match whole {
            Whole::Frame(frame) => self.read(*frame, into),
            Whole::Gap(times) => {
                self.of = None;
                tell_gap(SourceKind::Service, times, into);
                Ok(())
            }
        }
    }

    /// Takes the next interval of what has come, which may be a short one, and returns whether there is one.
    ///
    /// # Errors
    /// When a frame is no interval.
    pub fn take_gathered(&mut self, into: &mut Interval) -> Result<bool, Ended> {
        let whole = self.gathering.take(self.wanted_ns, true);
        whole.map_or(Ok(false), |whole| self.tell(whole, into).map(|()| true))
    }

    /// Makes the service end the running interval: then [`ServiceLedger::take_gathered`] has all of the time until now.
    ///
    /// # Errors
    /// When there will be no more intervals, because the service has ended: then [`ServiceLedger::take_gathered`] has those that had come.
    pub fn cut(&mut self) -> Result<(), Ended> {
        let cut = self.cut_now();
        self.ended = cut.clone().err();
        cut
    }

    fn cut_now(&mut self) -> Result<(), Ended> {
        let now_ns = monotonic_ns();
        self.receive()?;
        if let Some(ended) = self.rejoin_where_needed()? {
            return Err(ended);
        }
        self.hurry(|gathering| (gathering.come_ns() >= now_ns).then_some(()))
    }

    fn may_look(&self) -> bool {
        !self.was_looked_at && !self.is_patient
    }

    /// Looks whether it is stopped: one that is only busy, or is being restarted, is waited for.
    fn look(&mut self) -> Result<(), Ended> {
        self.was_looked_at = true;
        let stat = self.client.process().and_then(|pid| std::fs::read(format!("/proc/{pid}/stat")).ok());
        match stat.as_deref().and_then(parse_stat).filter(|stat| stat.comm == OWN_NAME) {
            Some(Stat { state: b'T' | b't', .. }) => Err(ended("it is stopped")),
            Some(_) => Ok(()),
            // Its manager listens for it, or /proc does not show it.
            None => match connect(&self.path, ANSWER).map(|mut client| client.info().is_ok()) {
                Ok(true) => Ok(()),
                _ => Err(ended("it does not answer")),
            },
        }
    }

    /// What the service tells of the last interval besides; `None`: it was a gap.
    pub fn circumstances(&self) -> Option<Circumstances<'static>> {
        self.of
    }

    fn read(&mut self, mut frame: Frame, into: &mut Interval) -> Result<(), Ended> {
        let source = frame.intern(SourceKind::Service.name().as_bytes());
        frame.set_figure(Column::SOURCE, Some(source));
        // Of however many of the service it was made, here it is one.
        frame.set_figure(Column::INTERVALS, Some(1));
        self.of = Some(Circumstances::of_frame(&frame));
        if self.is_without_rows {
            framing::read_without_rows(&frame, into).map_err(ended)?;
        } else {
            framing::read(&frame, into).map_err(ended)?;
            balance::check(into);
        }
        into.frame = Some(Arc::new(frame));
        Ok(())
    }

    /// Connects for the listings of [`ServiceLedger::add_idle`] while this process has all of its privileges: those decide what it is shown.
    ///
    /// # Errors
    /// When the service is gone.
    pub fn prepare_listing(&mut self) -> Result<(), Error> {
        self.listing = Some(ServiceListing::open_at(&self.path)?);
        Ok(())
    }

    /// Adds a row without use for each process and task that did not run: of all, or of these processes.
    ///
    /// # Errors
    /// When the service does not list them.
    pub fn add_idle(
        &mut self,
        request: &Request,
        is_wanted_pid: impl Fn(Pid) -> bool,
        into: &mut Interval,
    ) -> Result<(), Error> {
        let listing = match &mut self.listing {
            Some(listing) if listing.is_connected() => listing,
            place => place.insert(ServiceListing::open_at(&self.path)?),
        };
        listing.snapshot(request, &mut self.listed)?;
        into.frame = None;
        let Snapshot { processes, tasks, from_procfs, .. } = &self.listed;
        let idle = |task: &Task| {
            let is_unseen = from_procfs.binary_search(&task.tid).is_ok();
            Row::new(*task, Usage::of_idle_in_ledger(task.known, is_unseen))
        };
        let is_wanted = |task: &&Task| is_wanted_pid(task.pid);
        add(&mut into.processes, processes.iter().filter(is_wanted).map(idle));
        if request.scope == Scope::Tasks {
            add(&mut into.tasks, tasks.iter().filter(is_wanted).map(idle));
        }
        into.add_from_procfs(from_procfs.iter().copied().filter(|tid| is_wanted_pid(Pid(tid.0))));
        Ok(())
    }

    fn subscribe(&mut self, asked_ns: u64) -> Result<Reader, Ended> {
        let wanted = request(asked_ns, self.accounts);
        let (subscription, reader) = self.client.subscribe(&wanted).map_err(ended)?;
        self.frame_ns = subscription.interval_ns.unsigned_abs();
        Ok(reader)
    }

    /// Goes on with another connection where this one has ended, or has missed the answer to a call. Returns why there is none. A caller with patience
    /// reads the ring of this one until the service has time for another.
    fn rejoin_where_needed(&mut self) -> Result<Option<Ended>, Ended> {
        if self.client.is_connected() {
            return Ok(None);
        }
        // Its last frames may have come in between.
        self.receive()?;
        let has_ended = self.client.has_ended();
        let rejoined = self.rejoin();
        self.receive()?;
        let why = |error| if has_ended { ended("it has closed the connection") } else { error };
        Ok(rejoined.err().filter(|_| has_ended || !self.is_patient).map(why))
    }

    /// Goes on with the service that follows the one that has ended, if its manager restarts it. Its ring has the frames of the one
    /// before, and goes on behind them; where it has not, the time in between is told as a gap.
    fn rejoin(&mut self) -> Result<(), Ended> {
        // One that is there and has not answered in time may be stopped, and another source is waiting.
        let timeout = if self.client.has_ended() || self.is_patient { RESTART } else { ANSWER };
        let deadline = Instant::now() + timeout;
        loop {
            let mut client = connect(&self.path, timeout).map_err(ended)?;
            let asked_ns = client.info().map(|info| length_to_ask(self.wanted_ns, &info));
            let subscribed = asked_ns.and_then(|asked_ns| {
                client.subscribe(&request(asked_ns, self.accounts)).map(|made| (asked_ns, made))
            });
            match subscribed {
                Ok((asked_ns, (subscription, mut reader))) => {
                    reader.resume_at(1);
                    (self.asked_ns, self.is_hurrying) = (asked_ns, false);
                    self.frame_ns = subscription.interval_ns.unsigned_abs();
                    (self.client, self.reader, self.listing) = (client, Some(reader), None);
                    (self.heard, self.was_looked_at) = (Instant::now(), false);
                    return Ok(());
                }
                // The one that ends may have taken the connection.
                Err(ClientError::Closed) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Err(error) => return Err(ended(error)),
            }
        }
    }

    /// Gathers what has come.
    fn receive(&mut self) -> Result<(), Ended> {
        loop {
            let Some(arrival) = self.arrival()? else { return Ok(()) };
            match arrival {
                Arrival::Frame(bytes) => {
                    if std::mem::take(&mut self.was_looked_at) {
                        self.usual = self.heard.elapsed();
                    }
                    self.heard = Instant::now();
                    self.gathering.add(Frame::decode(&bytes).map_err(ended)?);
                }
                Arrival::Moved(next) => {
                    match self.subscribe(self.asked_ns) {
                        Ok(mut reader) => {
                            reader.resume_at(next);
                            self.reader = Some(reader);
                        }
                        // It has ended, or is being restarted.
                        Err(error) => match self.rejoin() {
                            Err(_) if self.client.is_connected() => return Err(error),
                            Err(_) => {
                                std::thread::sleep(PAUSE);
                                return Ok(());
                            }
                            Ok(()) => {}
                        },
                    }
                }
                Arrival::Failed(reason) => return Err(ended(reason)),
            }
        }
    }

    /// What has come, without waiting.
    fn arrival(&mut self) -> Result<Option<Arrival>, Ended> {
        if self.is_without_thread {
            return Ok(self.reader.as_mut().and_then(|reader| next(reader, Duration::ZERO)));
        }
        if let Some(reader) = self.reader.take() {
            self.follower = Some(Follower::start(reader).map_err(ended)?);
        }
        Ok(self.follower.as_ref().and_then(Follower::take))
    }

    /// Waits for a frame, until that time at most, and perhaps less: whoever wants one calls [`ServiceLedger::take`] again. Returns whether a signal
    /// has interrupted it.
    pub fn wait_for_frame(&self, deadline: Instant) -> bool {
        let rest = deadline.saturating_duration_since(Instant::now());
        match (&self.reader, &self.follower) {
            // Meanwhile nothing is seen of the service. Where it fails, so does reading the ring.
            (Some(reader), _) if self.is_without_thread => {
                let late = self.heard + Duration::from_nanos(self.frame_ns) + QUIET;
                let look = late.saturating_duration_since(Instant::now()).clamp(LOOK, LONGEST_LOOK);
                matches!(reader.wait_interruptibly(rest.min(look)), Ok(None))
            }
            (_, Some(follower)) => {
                let rest =
                    Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: rest.subsec_nanos().into() };
                let waited = poll(&mut [PollFd::new(follower.arrived(), PollFlags::IN)], Some(&rest));
                waited == Err(Errno::INTR)
            }
            _ => false,
        }
    }

    /// Asks for the usual length again after an interval that was to end at once. Where that fails, the next call asks.
    fn relax(&mut self) {
        if self.is_hurrying && self.client.is_connected() {
            self.is_hurrying = self.subscribe(self.asked_ns).is_err();
        }
    }

    /// Makes the service end its interval: one that asks for the shortest is served at once. One that is stopped is not waited for. `done` has
    /// the frames that have come, and says what was waited for.
    fn hurry<T>(&mut self, mut done: impl FnMut(&mut Gathering) -> Option<T>) -> Result<T, Ended> {
        let mut look_at = Instant::now() + ANSWER;
        let asked = self.subscribe(self.shortest_ns);
        if !self.client.is_connected() {
            self.look()?;
        }
        self.is_hurrying = asked.is_ok();
        // One that refuses, as a budget is used up, or is only busy, ends its interval as it would have done.
        let deadline = Instant::now() + self.hurry + self.usual.max(Duration::from_nanos(self.frame_ns));
        loop {
            self.receive()?;
            if let Some(found) = done(&mut self.gathering) {
                self.relax();
                return Ok(found);
            }
            let now = Instant::now();
            if now >= look_at {
                self.look()?;
                look_at = now + ANSWER;
            }
            if now >= deadline {
                return Err(ended("it does not end an interval when asked to"));
            }
            self.wait_for_frame(deadline.min(look_at));
        }
    }
}

/// Adds the rows that are not there yet, in the order of a snapshot.
fn add(rows: &mut Vec<Row>, idle: impl Iterator<Item = Row>) {
    let ran: rustc_hash::FxHashSet<_> = rows.iter().map(|row| row.task.tid).collect();
    rows.extend(idle.filter(|row| !ran.contains(&row.task.tid)));
    rows.sort_by_key(|row| row.task.place_key());
}
