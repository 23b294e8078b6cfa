//! Intervals for a program, from the service or from a recording. No thread is started.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cpuledger_model::boottime::Boottime;
use cpuledger_model::framing::Circumstances;
use cpuledger_model::interval::Interval;
use cpuledger_model::make;
use cpuledger_model::snapshot::{Request, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_recording::Span;

use crate::clock::{monotonic_ns, realtime_ns_at, suspended_ns};
use crate::error::Error;
use crate::gap::tell_gap;
use crate::replay::{RecordedFacts, Replay, Spot};
use crate::service::{Ended, ServiceLedger, ServiceListing, socket_path};

/// How often a service is looked for that has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// One that is stopped keeps a look waiting: the time between two is that number of times as long.
const REST_TIMES: u32 = 4;

/// What a call has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// An interval, which is [`Client::interval`] now.
    Interval,
    /// None that has ended in time, or before a signal.
    Nothing,
    /// The recording has no more.
    End,
}

/// Intervals, one after another: without end from the service, and as many as there are from a recording. Each begins where the one before has
/// ended. Time without books is an interval, too: all of its capacity is in `unattributed_by.not_attached_ns`.
///
/// ```no_run
/// # use std::time::Duration;
/// for interval in cpuledger_client::Client::service(Duration::from_secs(1))?.take(10) {
///     let interval = interval?;
///     let busiest = interval.processes.iter().max_by_key(|row| row.usage.cpu_ns);
///     println!("{} of {} ns: {busiest:?}", interval.attributed_ns, interval.capacity_ns);
/// }
/// # Ok::<(), cpuledger_client::Error>(())
/// ```
#[derive(Debug)]
pub struct Client {
    books: Books,
    interval: Interval,
    of: Circumstances<'static>,
}

#[derive(Debug)]
enum Books {
    Service(Box<OfService>),
    Recording(Box<OfRecording>),
}

/// Those of the service.
#[derive(Debug)]
struct OfService {
    socket: PathBuf,
    length_ns: u64,
    /// `None`: it has ended.
    ledger: Option<ServiceLedger>,
    /// Why.
    ended: Option<Ended>,
    /// When it is looked for again, if it has.
    look_at: Instant,
    /// Where the last interval has ended.
    end_ns: u64,
    /// Whether intervals come without rows.
    is_without_rows: bool,
    /// For listings.
    listing: Option<ServiceListing>,
}

/// Those of a recording.
#[derive(Debug)]
struct OfRecording {
    replay: Replay,
    next: Option<Spot>,
    /// Of the last interval.
    facts: Option<RecordedFacts>,
}

impl Client {
    /// Intervals of that length, of the service at `$CPULEDGER_SOCKET` or the usual socket. The first begins now. When the service ends, there
    /// are intervals without books until it is back. It has room for its last two intervals at
    /// least: who calls less often than once in an interval of the service, a second as a rule, loses some, and is given gaps for them.
    ///
    /// # Errors
    /// When there is no service, or it is not to be believed.
    pub fn service(length: Duration) -> Result<Client, Error> {
        Client::service_at(&socket_path(), length)
    }

    /// The same of the service at that socket.
    ///
    /// # Errors
    /// As [`Client::service`].
    pub fn service_at(socket: &Path, length: Duration) -> Result<Client, Error> {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX).max(1);
        Ok(Client::of(Books::Service(Box::new(OfService {
            socket: socket.to_path_buf(),
            length_ns,
            ledger: Some(ServiceLedger::open_without_thread(socket, length_ns)?),
            ended: None,
            look_at: Instant::now(),
            end_ns: monotonic_ns(),
            is_without_rows: false,
            listing: None,
        }))))
    }

    /// Intervals of a recording, a directory or a file of one, in the order in which they were recorded: of this span, merged to about that length.
    /// [`Duration::ZERO`] leaves them as they were recorded.
    ///
    /// # Errors
    /// When there is none that can be read.
    pub fn recording(path: &Path, span: Span, length: Duration) -> Result<Client, Error> {
        let mut replay = Replay::open(path)?;
        replay.set_span(span);
        replay.set_length(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        let next = replay.first()?;
        Ok(Client::of(Books::Recording(Box::new(OfRecording { replay, next, facts: None }))))
    }

    /// From now on, intervals come without rows, for a caller that looks at few: those of the service are in [`Interval::frame`], which
    /// `cpuledger_model::framing::read` makes rows of. It takes each of these frames.
    pub fn leave_out_rows(&mut self) {
        match &mut self.books {
            Books::Service(service) => {
                service.is_without_rows = true;
                service.ledger.iter_mut().for_each(ServiceLedger::leave_out_rows);
            }
            Books::Recording(recording) => recording.replay.leave_out_rows(),
        }
    }

    fn of(books: Books) -> Client {
        Client { books, interval: Interval::default(), of: Circumstances::default() }
    }

    /// Waits for the end of the next interval, for `timeout` at most; `None`: as long as it takes. A service that is being restarted may take 5 s
    /// longer. One that does not answer may take half a second longer, every few seconds. With a timeout, a signal that this thread handles ends
    /// the wait: the caller can look what it is about.
    ///
    /// # Errors
    /// When the recording cannot be read. The service makes no errors: without it, intervals have no books.
    pub fn next_within(&mut self, timeout: Option<Duration>) -> Result<Next, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        match &mut self.books {
            Books::Recording(recording) => recording.next(&mut self.interval, &mut self.of),
            Books::Service(service) => Ok(service.next(deadline, &mut self.interval, &mut self.of)),
        }
    }

    /// Ends the running interval of the service now, which takes some milliseconds. The interval is shorter than the others, unless those before it
    /// have not been read: then [`Client::next_within`] has them first. Of a recording it is the next one.
    ///
    /// # Errors
    /// As [`Client::next_within`].
    pub fn cut(&mut self) -> Result<Next, Error> {
        match &mut self.books {
            Books::Recording(recording) => recording.next(&mut self.interval, &mut self.of),
            Books::Service(service) => {
                service.cut(&mut self.interval, &mut self.of);
                Ok(Next::Interval)
            }
        }
    }

    /// The last interval.
    pub fn interval(&self) -> &Interval {
        &self.interval
    }

    /// The same, for the caller to keep.
    pub fn take_interval(&mut self) -> Interval {
        std::mem::take(&mut self.interval)
    }

    /// What is known of it besides: its end by other clocks.
    pub fn circumstances(&self) -> &Circumstances<'static> {
        &self.of
    }

    /// What a recording says of the last interval beside its books; `None`: this is no recording, or nothing was read of it.
    pub fn recorded(&self) -> Option<&RecordedFacts> {
        match &self.books {
            Books::Recording(recording) => recording.facts.as_ref(),
            Books::Service(_) => None,
        }
    }

    /// Why the service has ended, in half a sentence; `None`: it has not, or is back.
    pub fn ended(&self) -> Option<&Ended> {
        match &self.books {
            Books::Service(service) => service.ended.as_ref(),
            Books::Recording(_) => None,
        }
    }

    /// What exists now: lists it into `into`, whose old content is replaced and whose memory is reused.
    ///
    /// # Errors
    /// When the service does not list, and for a recording, which has only what ran.
    pub fn listing(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        match &mut self.books {
            Books::Service(service) => service.list(request, into),
            Books::Recording(_) => Err(Error::Unusable {
                source_kind: SourceKind::Service,
                reason: "a recording has what ran, not what exists; ask the service for a listing".to_owned(),
            }),
        }
    }
}

impl Iterator for Client {
    type Item = Result<Interval, Error>;

    fn next(&mut self) -> Option<Result<Interval, Error>> {
        loop {
            match self.next_within(None) {
                Ok(Next::Interval) => return Some(Ok(self.take_interval())),
                Ok(Next::Nothing) => {}
                Ok(Next::End) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl OfService {
    fn next(
        &mut self,
        deadline: Option<Instant>,
        into: &mut Interval,
        of: &mut Circumstances<'static>,
    ) -> Next {
        loop {
            if let Some(ledger) = &mut self.ledger {
                match ledger.take(false, into) {
                    Ok(true) => {
                        self.note(into, of);
                        return Next::Interval;
                    }
                    Ok(false) if is_past(deadline) => return Next::Nothing,
                    Ok(false) => {
                        let patience = ledger.patience();
                        let until = deadline.map_or(patience, |deadline| deadline.min(patience));
                        if ledger.wait_for_frame(until) && deadline.is_some() {
                            return Next::Nothing;
                        }
                    }
                    Err(ended) => self.give_up(ended),
                }
                continue;
            }
            if self.look_for() {
                continue;
            }
            let rest_ns = (self.end_ns + self.length_ns).saturating_sub(monotonic_ns());
            if rest_ns == 0 {
                self.tell_gap(into, of);
                return Next::Interval;
            }
            if is_past(deadline) {
                return Next::Nothing;
            }
            let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let rest = rest.map_or(LOOK_AGAIN, |rest| rest.min(LOOK_AGAIN));
            std::thread::sleep(rest.min(Duration::from_nanos(rest_ns)));
        }
    }

    fn cut(&mut self, into: &mut Interval, of: &mut Circumstances<'static>) {
        if self.ledger.is_none() {
            self.look_for();
        }
        while let Some(ledger) = &mut self.ledger {
            let cut = ledger.cut();
            match (ledger.take_gathered(into), cut) {
                // It is told of a service that has ended, too.
                (Ok(true), _) => return self.note(into, of),
                // What has come was told as a gap before.
                (Ok(false), Ok(())) => {}
                (Err(ended), _) | (_, Err(ended)) => self.give_up(ended),
            }
        }
        self.tell_gap(into, of);
    }

    /// Notes what is known of an interval of the service.
    fn note(&mut self, interval: &Interval, of: &mut Circumstances<'static>) {
        self.end_ns = interval.end_ns;
        let told = self.ledger.as_ref().and_then(ServiceLedger::circumstances);
        *of = told.unwrap_or_else(|| circumstances_of_gap(interval.end_ns));
    }

    fn give_up(&mut self, ended: Ended) {
        (self.ledger, self.listing, self.ended) = (None, None, Some(ended));
    }

    /// Whether the service is back. The time until then is told as a gap.
    fn look_for(&mut self) -> bool {
        let begin = Instant::now();
        if begin < self.look_at {
            return false;
        }
        let Ok(mut ledger) = ServiceLedger::open_without_thread(&self.socket, self.length_ns) else {
            self.look_at = Instant::now() + LOOK_AGAIN.max(begin.elapsed() * REST_TIMES);
            return false;
        };
        ledger.begin_at(self.end_ns);
        if self.is_without_rows {
            ledger.leave_out_rows();
        }
        (self.ledger, self.ended) = (Some(ledger), None);
        true
    }

    /// The time until now has no books.
    fn tell_gap(&mut self, into: &mut Interval, of: &mut Circumstances<'static>) {
        let now_ns = monotonic_ns();
        tell_gap(SourceKind::Service, [self.end_ns, now_ns], into);
        self.end_ns = now_ns;
        *of = circumstances_of_gap(now_ns);
    }

    fn list(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        if let Some(listing) = &mut self.listing
            && listing.snapshot(request, into).is_ok()
        {
            return Ok(());
        }
        // The service may have been restarted since.
        let listing = self.listing.insert(ServiceListing::open_only_at(&self.socket)?);
        listing.snapshot(request, into)
    }
}

impl OfRecording {
    fn next(&mut self, into: &mut Interval, of: &mut Circumstances<'static>) -> Result<Next, Error> {
        let Some(spot) = self.next.take() else { return Ok(Next::End) };
        let Some(facts) = self.replay.read(spot, into)? else { return Ok(Next::End) };
        self.next = facts.next;
        let end_realtime_ns = Some(facts.end_realtime_ns);
        *of = make!(Circumstances { end: facts.end, end_realtime_ns });
        self.facts = Some(facts);
        Ok(Next::Interval)
    }
}

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// What the clocks say of an interval that ends now, or has ended a short time ago.
fn circumstances_of_gap(end_ns: u64) -> Circumstances<'static> {
    make!(Circumstances {
        end: Some(Boottime::from_ns(end_ns + suspended_ns())),
        end_realtime_ns: Some(realtime_ns_at(end_ns)),
    })
}
