//! The only way to get intervals, from any source.
//!
//! ```
//! use cpuledger::intervals::{Intervals, Wanted};
//! use cpuledger::make;
//!
//! let wanted = make!(Wanted { length_ns: 50_000_000 });
//! for interval in Intervals::open(wanted)?.take(2) {
//!     let interval = interval?;
//!     let busiest = interval.processes.iter().max_by_key(|row| row.usage.cpu_ns);
//!     println!("{} ns, most of them {busiest:?}", interval.attributed_ns);
//! }
//! # Ok::<(), cpuledger::Error>(())
//! ```

use std::ops::ControlFlow;
use std::time::Duration;

use cpuledger_client::stop::{Stop, Waker};
use cpuledger_client::{balance, clock};
use cpuledger_model::accounts::Accounts;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_model::framing::Circumstances;
use cpuledger_model::interval::Interval;
use cpuledger_model::snapshot::{Request, Scope};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::{Pid, Task};

use crate::error::Error;
use crate::machine;
use crate::source::choose::{ForIntervals as Backend, open_for_intervals, open_for_listing, open_next_best};
use crate::source::ledger::{self, Ledger};
use crate::source::netlink::{AccountBooks, Netlink};
use crate::source::service::{self, Ended, ServiceLedger};
use crate::source::{interface, tell_gap, visit};

/// How many notices are kept for a caller that does not take them.
const MOST_NOTICES: usize = 16;

/// What is wanted of intervals.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Wanted {
    /// Where they come from; `None`: from the best source that works. When the service ends, the next best goes on, until it is back.
    pub source: Option<SourceKind>,
    /// How long each is.
    pub length_ns: u64,
    /// What rows tell.
    pub fields: FieldSet,
    /// Processes that have a row though they did not run.
    pub pids: Vec<Pid>,
    /// Whether all have.
    pub has_all: bool,
    /// Whether [`Interval::tasks`] is filled by sources of snapshots. The service, the ledger and a kernel with accounts always fill it.
    pub by_task: bool,
    /// Whether only a source will do that knows what tasks do off the CPU: the service or the ledger.
    pub needs_states: bool,
    /// Whether only a source will do that knows how the time of the dead divides: the service, the ledger, or a kernel that keeps account of them.
    pub needs_parts: bool,
    /// Whether tasks are found that were blocked before the ledger was attached, which costs a walk.
    pub finds_blocked: bool,
    /// The size of a ledger, and the accounts that are wanted, of the service too. With accounts, only the service or a ledger will do.
    pub ledger: ledger::Options,
}

impl Wanted {
    /// Whether only the service or a ledger will do, or what knows as much.
    fn is_demanding(&self) -> bool {
        self.needs_states || self.needs_parts || !self.ledger.accounts.is_empty()
    }
}

impl Default for Wanted {
    /// All that ran, in seconds.
    fn default() -> Wanted {
        Wanted {
            source: None,
            length_ns: 1_000_000_000,
            fields: FieldSet::ALL,
            pids: Vec::new(),
            has_all: false,
            by_task: false,
            needs_states: false,
            needs_parts: false,
            finds_blocked: false,
            ledger: ledger::Options::default(),
        }
    }
}

/// How an interval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// At its time.
    Complete,
    /// At a request; it is shorter than the others.
    Stopped,
}

/// Intervals, one after another. As an iterator it gives them without end.
pub struct Intervals {
    backend: Backend,
    wanted: Wanted,
    /// When the running interval shall end, CLOCK_MONOTONIC.
    deadline_ns: u64,
    /// When it began.
    begin_ns: u64,
    stop: Stop,
    /// Whether another source has taken over from the service, which is looked for at each interval.
    has_taken_over: bool,
    /// How late the service may be; `None`: as usual.
    timeout: Option<Duration>,
    notices: Vec<String>,
    /// Intervals so far.
    sequence: u64,
    /// How long the machine was suspended when the last of them ended.
    suspended_ns: u64,
    of: Circumstances<'static>,
    /// The last interval. Its memory is used again: who needs it puts another in its place.
    pub interval: Interval,
}

impl Intervals {
    /// Opens the source, and makes the first cut.
    ///
    /// # Errors
    /// When the wanted source cannot be used here, or none can.
    pub fn open(wanted: Wanted) -> Result<Intervals, Error> {
        let stop = Stop::new().map_err(Error::Eventfd)?;
        let mut intervals = Intervals {
            backend: open_backend(&wanted)?,
            wanted,
            deadline_ns: 0,
            begin_ns: 0,
            stop,
            has_taken_over: false,
            timeout: None,
            notices: Vec::new(),
            sequence: 0,
            suspended_ns: clock::suspended_ns(),
            of: Circumstances::default(),
            interval: Interval::default(),
        };
        intervals.begin()?;
        Ok(intervals)
    }

    /// What ends the running interval before its time.
    pub fn waker(&self) -> Waker {
        self.stop.waker()
    }

    /// The source whose privileges are needed from now on: that which may take over, where one may.
    pub fn needs(&self) -> SourceKind {
        match self.kind() {
            SourceKind::Service if self.wanted.source.is_none() => SourceKind::Ledger,
            kind => kind,
        }
    }

    /// From now on the service may be as late as this, as on a busy machine, before it counts as dead.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = Some(timeout);
        if let Backend::Service(service) = &mut self.backend {
            service.set_timeout(timeout);
        }
    }

    /// Where the running interval comes from.
    pub fn kind(&self) -> SourceKind {
        match &self.backend {
            Backend::Service(_) => SourceKind::Service,
            Backend::Ledger(_) => SourceKind::Ledger,
            Backend::Accounts(_) => SourceKind::Netlink,
            Backend::Snapshots(snapshots) => snapshots.kind(),
        }
    }

    /// When the running interval is to end, CLOCK_MONOTONIC. That of the service ends when the service has ended it.
    pub fn ends_ns(&self) -> u64 {
        // Deadlines are counted from the first cut, so that no interval inherits the delay of the one before. If the machine
        // or the output was too slow, they start anew instead of following each other without pause.
        (self.deadline_ns + self.wanted.length_ns).max(self.begin_ns + self.wanted.length_ns / 2)
    }

    /// Makes the first cut.
    fn begin(&mut self) -> Result<(), Error> {
        match &mut self.backend {
            Backend::Service(service) => {
                self.begin_ns = machine::monotonic_ns();
                if self.wanted.has_all || !self.wanted.pids.is_empty() {
                    service.prepare_listing()?;
                }
            }
            Backend::Ledger(ledger) => {
                self.begin_ns = ledger.start_ns();
                if self.wanted.finds_blocked
                    && let Err(error) = ledger.find_blocked()
                {
                    self.notices.push(format!("cannot list tasks that are blocked already: {error}"));
                }
                self.notices.append(&mut ledger.take_refused());
            }
            Backend::Accounts(_) => self.cut(0)?,
            Backend::Snapshots(snapshots) => {
                snapshots.begin_anew(self.wanted.by_task);
                self.cut(0)?;
            }
        }
        self.deadline_ns = self.begin_ns;
        Ok(())
    }

    /// The last interval of a service, which is there before the first of these ends. Returns whether there is one.
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
            Backend::Ledger(_) | Backend::Accounts(_) | Backend::Snapshots(_) => own,
        };
    }

    /// What a frame tells of the last interval besides.
    pub fn circumstances(&self) -> &Circumstances<'static> {
        &self.of
    }

    /// What is to be said to the user since the last time: sentences without a full stop.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Waits for the end of the running interval, and closes it into [`Intervals::interval`].
    ///
    /// # Errors
    /// When the source fails, and no other may take over.
    pub fn close(&mut self) -> Result<Outcome, Error> {
        let outcome = self.close_one()?;
        if let Some(sentence) = balance::take_sentence() {
            self.say(sentence);
        }
        self.note_circumstances();
        Ok(outcome)
    }

    fn close_one(&mut self) -> Result<Outcome, Error> {
        if self.has_taken_over {
            self.look_for_service();
        }
        if matches!(self.backend, Backend::Service(_)) {
            return self.interval_of_service();
        }
        self.deadline_ns = self.ends_ns();
        match &mut self.backend {
            Backend::Service(_) => {}
            Backend::Ledger(_) => self.stop.sleep_until(self.deadline_ns.saturating_sub(ledger::LEAD_NS)),
            Backend::Accounts(books) => books.wait(self.deadline_ns, &self.stop)?,
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
    pub fn go_on(&mut self, length_ns: u64, fields: FieldSet, by_task: bool) -> Result<(), Error> {
        self.wanted.length_ns = length_ns;
        self.wanted.fields = fields;
        if std::mem::replace(&mut self.wanted.by_task, by_task) != by_task
            && let Backend::Snapshots(snapshots) = &mut self.backend
        {
            snapshots.begin_anew(by_task);
            self.cut(0)?;
        }
        if let Backend::Service(service) = &mut self.backend {
            // If it is gone, the next interval tells so.
            let _ = service.set_length(length_ns);
        }
        self.deadline_ns = self.begin_ns;
        Ok(())
    }

    /// The accounts that were asked for.
    pub fn accounts(&self) -> Accounts {
        self.wanted.ledger.accounts
    }

    /// Keeps these accounts from the next interval on, and no others, as [`Ledger::keep`] does. [`Intervals::take_notices`] says which of them cannot
    /// be had. Snapshots keep none.
    pub fn keep(&mut self, accounts: Accounts) {
        self.keep_with(accounts, Accounts::NONE);
    }

    /// The same with those of `also`, where the source grants them: a service that does not is asked for the others alone.
    pub fn keep_with(&mut self, accounts: Accounts, also: Accounts) {
        let all = accounts.union(also);
        if std::mem::replace(&mut self.wanted.ledger.accounts, all) == all {
            return;
        }
        match &mut self.backend {
            Backend::Service(service) => {
                let asked = service.set_accounts(all);
                let asked =
                    if all == accounts { asked } else { asked.or_else(|_| service.set_accounts(accounts)) };
                if let Err(error) = asked {
                    self.notices.push(error.to_string());
                }
            }
            Backend::Ledger(ledger) => {
                ledger.keep(all);
                self.notices.append(&mut ledger.take_refused());
            }
            Backend::Accounts(_) | Backend::Snapshots(_) => {}
        }
    }

    /// Whether every interval has a row for each task, whether it ran or not.
    pub fn lists_all(&self) -> bool {
        matches!(self.backend, Backend::Snapshots(_))
    }

    /// Whether such a process, or task if those are shown, exists now though no interval had a row of it: the ledger lists
    /// what ran, and so do the books of a kernel with accounts. Snapshots have listed all.
    ///
    /// # Errors
    /// When there is no source for a listing.
    pub fn exists(&self, is_wanted: impl Fn(&Task) -> bool) -> Result<bool, Error> {
        if matches!(self.backend, Backend::Snapshots(_)) {
            return Ok(false);
        }
        let scope = if self.wanted.by_task { Scope::Tasks } else { Scope::Leaders };
        let request = Request::new(scope, FieldSet::of(&[Field::Tid, Field::Pid, Field::Euid]));
        let mut is_there = false;
        let mut source = open_for_listing(None, &request)?;
        visit(source.as_mut(), &request, &mut |row| {
            is_there = is_wanted(row);
            if is_there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(is_there)
    }

    /// Closes the interval, at that time if it is to come.
    fn cut(&mut self, cut_ns: u64) -> Result<(), Error> {
        let Wanted { fields, pids, has_all, .. } = &self.wanted;
        let wanted = interface::Wanted { fields: *fields, pids, all: *has_all };
        let notices = match &mut self.backend {
            Backend::Service(_) => Vec::new(),
            Backend::Ledger(ledger) => {
                ledger.close(cut_ns, &wanted, &mut self.interval)?;
                ledger.take_refused()
            }
            Backend::Accounts(books) => {
                books.cut(&wanted, &mut self.interval)?;
                books.take_notices()
            }
            Backend::Snapshots(snapshots) => {
                snapshots.cut(*fields, &mut self.interval)?;
                snapshots.take_notices()
            }
        };
        notices.into_iter().for_each(|notice| self.say(notice));
        self.begin_ns = self.interval.end_ns;
        Ok(())
    }

    /// The next interval of the service, or that between its end and the begin of the next best source.
    fn interval_of_service(&mut self) -> Result<Outcome, Error> {
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
    fn add_idle(&mut self) -> Result<(), Error> {
        let Backend::Service(service) = &mut self.backend else { return Ok(()) };
        if !self.wanted.has_all && self.wanted.pids.is_empty() {
            return Ok(());
        }
        let scope = if self.wanted.by_task { Scope::Tasks } else { Scope::Processes };
        let is_wanted = |pid: Pid| self.wanted.has_all || self.wanted.pids.contains(&pid);
        let request = Request::new(scope, self.wanted.fields);
        if let Err(error) = service.add_idle(&request, is_wanted, &mut self.interval) {
            // The rows that ran are whole.
            self.say(format!("processes that did not run are missing: {error}"));
        }
        Ok(())
    }

    /// Goes on with the next best source. The interval is the time until that begins.
    fn take_over(&mut self, ended: &Ended) -> Result<(), Error> {
        if self.wanted.source.is_some() {
            let reason = format!("the service has ended: {ended}");
            return Err(Error::unusable(SourceKind::Service, reason));
        }
        let since_ns = self.begin_ns;
        let length = Duration::from_nanos(self.wanted.length_ns);
        self.backend = if self.wanted.is_demanding() {
            let unusable = |error: Error| {
                let why = error.into_reason();
                let reason = format!("{why}; and the service is gone ({ended}), which has them too");
                Error::unusable(SourceKind::Ledger, reason)
            };
            open_whole(&self.wanted).map_err(unusable)?
        } else {
            open_next_best(self.wanted.ledger, length)?
        };
        self.has_taken_over = true;
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
        let Ok(mut service) = ServiceLedger::open(self.wanted.length_ns, self.wanted.ledger.accounts) else {
            return;
        };
        service.begin_at(self.begin_ns);
        self.timeout.into_iter().for_each(|timeout| service.set_timeout(timeout));
        if self.wanted.has_all || !self.wanted.pids.is_empty() {
            // Without it, the interval says so.
            let _ = service.prepare_listing();
        }
        self.backend = Backend::Service(Box::new(service));
        self.has_taken_over = false;
        self.say("the service is back".to_owned());
    }

    fn say(&mut self, sentence: String) {
        // Nobody may take them.
        if self.notices.len() >= MOST_NOTICES {
            self.notices.remove(0);
        }
        self.notices.push(sentence);
    }
}

impl Iterator for Intervals {
    type Item = Result<Interval, Error>;

    fn next(&mut self) -> Option<Result<Interval, Error>> {
        Some(self.close().map(|_| std::mem::take(&mut self.interval)))
    }
}

impl std::fmt::Debug for Intervals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Intervals").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

/// The wanted source, or the best that works.
fn open_backend(wanted: &Wanted) -> Result<Backend, Error> {
    if wanted.is_demanding() && wanted.source.is_none() {
        let service = || ServiceLedger::open(wanted.length_ns, wanted.ledger.accounts);
        let refused = match wanted.ledger.may_grow.then(service) {
            Some(Ok(service)) => return Ok(Backend::Service(Box::new(service))),
            Some(Err(error)) => {
                Some(error).filter(|_| !wanted.ledger.accounts.is_empty() && service::answers())
            }
            None => None,
        };
        // Where there is a service, why that does not keep an account says more.
        return open_whole(wanted).map_err(|error| refused.map_or(error, Error::from));
    }
    let length = Duration::from_nanos(wanted.length_ns);
    let opened = open_for_intervals(wanted.source, wanted.ledger, length)?;
    let is_by_snapshots = matches!(opened, Backend::Snapshots(_));
    if wanted.needs_parts && wanted.source == Some(SourceKind::Netlink) && is_by_snapshots {
        let reason = "this kernel keeps no account of the dead (patch 5 of kernel/series), so how their time divides is not known; \
                      use the source ledger";
        return Err(Error::unusable(SourceKind::Netlink, reason));
    }
    Ok(opened)
}

/// A ledger, or what knows as much of what is wanted.
fn open_whole(wanted: &Wanted) -> Result<Backend, Error> {
    let refused = match Ledger::open(wanted.ledger) {
        Ok(ledger) => return Ok(Backend::Ledger(Box::new(ledger))),
        Err(error) => error,
    };
    if !wanted.needs_states
        && wanted.ledger.accounts.is_empty()
        && let Ok(netlink) = Netlink::open()
        && let Ok(books) = AccountBooks::begin(netlink)
    {
        return Ok(Backend::Accounts(Box::new(books)));
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const LONG_NS: u64 = 30_000_000_000;
    const FIELDS: FieldSet = FieldSet::of(&[Field::Tid, Field::Pid, Field::Runtime]);

    #[test]
    fn no_request_is_lost_between_two_intervals() {
        let source = Some(SourceKind::Procfs);
        let wanted = Wanted { source, length_ns: LONG_NS, fields: FIELDS, ..Wanted::default() };
        let mut intervals = Intervals::open(wanted).expect("procfs is mounted");
        let waker = intervals.waker();
        let begin = Instant::now();
        for _ in 0..3 {
            waker.wake();
            assert_eq!(intervals.close().expect("procfs"), Outcome::Stopped);
            // The feed looks for orders and finds none. Then one comes, and with it the request to end the interval.
            waker.wake();
            intervals.go_on(LONG_NS, FIELDS, false).expect("procfs");
            assert_eq!(intervals.close().expect("procfs"), Outcome::Stopped);
            // Of several requests at once one interval is ended.
            waker.wake();
            waker.wake();
            assert_eq!(intervals.close().expect("procfs"), Outcome::Stopped);
            intervals.go_on(1_000_000, FIELDS, false).expect("procfs");
            assert_eq!(intervals.close().expect("procfs"), Outcome::Complete);
            intervals.go_on(LONG_NS, FIELDS, false).expect("procfs");
        }
        assert!(begin.elapsed() < Duration::from_nanos(LONG_NS), "no interval was waited for");
    }
}
