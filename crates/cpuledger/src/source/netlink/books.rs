//! Intervals on a kernel that keeps account of the dead. Where it has cookies, a cut has what ran since the last one, so an interval costs what
//! the machine did, whatever it holds. Exits are then looked at only to know which tasks are not there any more.
//!
//! A cut has all tasks where the kernel refuses the cookie, where reports of exits were lost or do not come, and where rows of all are wanted.

use cpuledger_client::balance;
use cpuledger_client::stop::Stop;
use cpuledger_model::boottime::{Boottime, TICK_NS};
use cpuledger_model::buffer::empty;
use cpuledger_model::exit::{EXITS_LIMIT, Exit};
use cpuledger_model::interval::{Exited, Interval};
use cpuledger_model::make;
use cpuledger_model::snapshot::Snapshot;
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::Pid;
use nix::errno::Errno;

use crate::attribution::difference::kernel_accounts::{AccountCut, Fit, KernelAccounts, Share, Told};
use crate::error::Error;
use crate::machine;
use crate::source::interface::{Source, Wanted, blind, wait_reading};

use super::cut::Cut;
use super::identity::Window;
use super::layout::{Taskstats, Used};
use super::listener::{Listener, Report};
use super::socket::Failure;
use super::{Netlink, exit_of, open};

mod attempts;
mod share_rows;

use attempts::{Attempts, MOST_ATTEMPTS, Undisturbed, fits};

/// How many records a cut may be expected to have to come before other tasks, which wait for some milliseconds as a rule.
const MOST_UNDISTURBED: usize = 1 << 12;

/// Once the cuts for an interval have this many records in all, none is taken only for confirmation.
const MOST_TO_CONFIRM: usize = 1 << 14;

/// Deaths that are remembered before those of short lives are forgotten, at least.
const LEAST_DYING: usize = 1 << 16;

/// More tasks than the machine has, by this factor and number, are remembered for tasks that have vanished unseen.
const MOST_TIMES: usize = 2;
const MOST_MORE: usize = 1 << 14;

/// A death, as an interval tells it.
#[derive(Debug, Clone, Copy)]
struct Reported {
    exit: Exit,
    /// CLOCK_MONOTONIC.
    at_ns: u64,
    start: Boottime,
    used: Used,
    accounting_parent: u32,
    is_last: bool,
}

/// The source, and the books kept by its cuts.
pub struct AccountBooks {
    netlink: Netlink,
    accounts: KernelAccounts,
    /// Of the last cut; 0: the next one has all tasks.
    cookie: u64,
    /// Whether the kernel has refused one.
    is_refused: bool,
    last_ns: u64,
    /// Reports that a cut had not been asked for yet.
    reported: Vec<Reported>,
    /// Those of them that found no room.
    unidentified: u64,
    /// Reports that had been lost when a cut was taken last.
    missed: u64,
    /// Whether some were lost since the last cut of all tasks.
    has_lost_reports: bool,
    /// Whether a task whose report we missed may have been exiting at that cut, not yet a zombie. The next interval has all tasks once more.
    may_have_dying: bool,
    /// Deaths to remember at most until short lives are forgotten.
    most_dying: usize,
    told: Vec<Told>,
    shares: Vec<Share>,
    /// What each of the told grew by.
    grown: Vec<Used>,
    /// Rows of processes that did not run.
    idle: Snapshot,
    notices: Vec<String>,
}

impl AccountBooks {
    /// Keeps books by this source; gives it back where the kernel keeps no accounts.
    pub fn begin(mut netlink: Netlink) -> Result<AccountBooks, Box<Netlink>> {
        if !netlink.has_accounts() {
            return Err(Box::new(netlink));
        }
        let notices = Vec::from_iter(netlink.watch_exits().err().map(blind));
        Ok(AccountBooks {
            netlink,
            accounts: KernelAccounts::default(),
            cookie: 0,
            is_refused: false,
            last_ns: 0,
            reported: Vec::new(),
            unidentified: 0,
            missed: 0,
            has_lost_reports: true,
            may_have_dying: false,
            most_dying: LEAST_DYING,
            told: Vec::new(),
            shares: Vec::new(),
            grown: Vec::new(),
            idle: Snapshot::default(),
            notices,
        })
    }

    /// Whether its cuts have only what ran.
    pub fn asks_for_what_ran(&self) -> bool {
        !self.is_refused && self.netlink.visits_all_because().is_none()
    }

    /// What is to be said to the user since the last time.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Waits, and reads what dies meanwhile.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    pub fn wait(&mut self, deadline_ns: u64, stop: &Stop) -> Result<(), Error> {
        wait_reading(self.netlink.sees_exits(), deadline_ns, stop, || self.read_reports())
    }

    /// Closes the interval that ends now, and begins the next. The first cut has none before it.
    ///
    /// # Errors
    /// When the kernel refuses a cut.
    pub fn cut(&mut self, wanted: &Wanted<'_>, into: &mut Interval) -> Result<(), Error> {
        self.netlink.known.begin_snapshot();
        self.read_reports()?;
        let online_cpus = machine::online_cpus();
        let is_first = self.last_ns == 0;
        let cut = match is_first {
            true => self.begin_books(online_cpus)?,
            false => self.take(wanted.all || self.may_have_dying, online_cpus)?.0,
        };
        let at_ns = cut.at_ns;
        let suspended_ns = machine::suspended_ns();
        self.netlink.known.suspensions.note(at_ns, suspended_ns);
        let start_ns = if is_first { at_ns } else { self.last_ns };
        let length_ns = at_ns.saturating_sub(start_ns);
        into.renew(make!(Interval {
            source: SourceKind::Netlink,
            start_ns,
            end_ns: at_ns,
            online_cpus,
            capacity_ns: length_ns * u64::from(online_cpus),
            read_begin_ns: at_ns,
            read_begin: Boottime::from_ns(at_ns + suspended_ns),
            exited: self.netlink.sees_exits().then(Vec::new),
            unidentified_exits: Some(std::mem::take(&mut self.unidentified)),
            missed_exits: self.netlink.listener.as_mut().map_or(0, Listener::take_missed),
        }));
        self.tell_exits(at_ns, is_first, into);
        if !is_first {
            self.close(&cut, online_cpus);
            let window = Window { first_ns: at_ns, last_ns: machine::monotonic_ns() };
            self.make_rows(&cut, window, wanted, into)?;
        }
        into.read_end_ns = machine::monotonic_ns();
        if let Some(cuts) =
            self.netlink.cuts.as_mut().filter(|_| cut.has_all && self.cookie != 0 && !wanted.all)
        {
            cuts.release();
        }
        balance::check(into);
        Ok(())
    }

    /// Closes the interval that ends with the cut that was weighed last.
    fn close(&mut self, cut: &Cut, online_cpus: u32) {
        let weighed = account_cut(&self.told, cut, self.last_ns, online_cpus);
        self.accounts.close(&weighed, &mut self.shares, &mut self.grown);
        self.last_ns = cut.at_ns;
        self.cookie = if self.asks_for_what_ran() { cut.cookie } else { 0 };
        if cut.has_all && (self.has_lost_reports || self.may_have_dying) {
            // Where the next one has all tasks, who is missing is seen.
            if self.cookie != 0 {
                self.find_zombies(cut);
            }
            self.may_have_dying = std::mem::take(&mut self.has_lost_reports);
        }
    }

    /// Takes the cut with which the books begin, and closes it. Who is released between two batches of a cut may be in no record, or in its own and in
    /// that of its heir. The next cut of all tasks shows that, so there are two, and two more where they do not fit.
    fn begin_books(&mut self, online_cpus: u32) -> Result<Cut, Error> {
        let mut round = 1;
        loop {
            self.accounts.begin_anew();
            (self.last_ns, self.cookie, self.has_lost_reports) = (0, 0, true);
            let (cut, _) = self.take(true, online_cpus)?;
            self.close(&cut, online_cpus);
            let (cut, fit) = self.take(true, online_cpus)?;
            self.close(&cut, online_cpus);
            self.note_first(&cut);
            if fits(fit, online_cpus) || round == MOST_ATTEMPTS || cut.records.len() > MOST_TO_CONFIRM {
                self.may_have_dying = true;
                return Ok(cut);
            }
            round += 1;
        }
    }

    /// Takes a cut, and weighs it, until its figures are those of its instant. Says how they fit the time there was.
    fn take(&mut self, has_all: bool, online_cpus: u32) -> Result<(Cut, Fit), Error> {
        if self.knows_too_many() {
            self.cookie = 0;
        }
        let (mut attempts, mut records) = (Attempts::new(online_cpus), 0);
        loop {
            let mut cut = self.take_whole(has_all)?;
            records += cut.records.len();
            let fit = self.weigh(&mut cut, online_cpus);
            let is_short = records < MOST_TO_CONFIRM;
            let capacity_ns = cut.at_ns.saturating_sub(self.last_ns) * u64::from(online_cpus);
            if attempts.is_enough(fit, capacity_ns, is_short && self.may_lack()) {
                return Ok((cut, fit));
            }
        }
    }

    /// Whether a task may have been released between two batches of a cut, so that neither its own record nor that of its heir has its time.
    fn may_lack(&self) -> bool {
        let have_died = !self.reported.is_empty() || self.accounts.dying() > 0;
        // The first has nothing before it.
        self.last_ns != 0 && (have_died || self.may_have_dying || !self.netlink.sees_exits())
    }

    /// Takes a cut, and reads the reports of those that have died by then. None of them was lost.
    fn take_whole(&mut self, has_all: bool) -> Result<Cut, Error> {
        loop {
            let cookie = if has_all { 0 } else { self.cookie };
            let undisturbed = self.has_few(cookie).then(Undisturbed::begin);
            let taken = self.take_once(cookie);
            drop(undisturbed);
            self.read_reports()?;
            let cut = match taken {
                Err(Failure::Errno(Errno::EINVAL)) if cookie != 0 => {
                    self.refuse();
                    continue;
                }
                taken => taken.map_err(open::failed)?,
            };
            let missed = self.netlink.listener.as_ref().map_or(0, Listener::missed);
            if std::mem::replace(&mut self.missed, missed) != missed {
                self.has_lost_reports = true;
                if cookie != 0 {
                    self.cookie = 0;
                    continue;
                }
            }
            return Ok(cut);
        }
    }

    /// Whether a cut with this cookie is likely to have few records.
    fn has_few(&self, cookie: u64) -> bool {
        let records = if cookie == 0 {
            machine::tasks().map_or(usize::MAX, |tasks| tasks as usize)
        } else {
            self.told.len()
        };
        records <= MOST_UNDISTURBED
    }

    /// How a cut fits. It is the one that [`AccountBooks::close`] takes over then.
    fn weigh(&mut self, cut: &mut Cut, online_cpus: u32) -> Fit {
        self.tell(cut);
        let weighed = account_cut(&self.told, cut, self.last_ns, online_cpus);
        let Netlink { census, .. } = &self.netlink;
        self.accounts.weigh(&weighed, |pid, tid| census.is_there(pid, tid))
    }

    fn take_once(&mut self, cookie: u64) -> Result<Cut, Failure> {
        match &mut self.netlink.cuts {
            Some(cuts) => cuts.take_since(true, cookie),
            None => Err(Failure::Errno(Errno::ENOENT)),
        }
    }

    /// The records of a cut, by process.
    fn tell(&mut self, cut: &mut Cut) {
        empty(&mut self.told);
        let told = cut.records.iter().zip(0..).filter_map(|(figures, place)| told(figures, place));
        self.told.extend(told);
        self.told.sort_unstable_by_key(|told| (told.pid, told.tid));
        cut.records.sort_unstable_by_key(|figures| (figures.pid, figures.tid));
    }

    /// Whether tasks are remembered that cannot be there any more.
    fn knows_too_many(&self) -> bool {
        let there_are = machine::tasks().map_or(usize::MAX, |tasks| tasks as usize);
        self.accounts.tasks() > there_are.saturating_mul(MOST_TIMES).saturating_add(MOST_MORE)
    }

    fn refuse(&mut self) {
        (self.cookie, self.is_refused) = (0, true);
        let why = "the kernel does not know the cookie of the last snapshot";
        self.notices.push(format!("the source netlink asks for all tasks from now on: {why}"));
    }

    /// Reads the reports that wait.
    fn read_reports(&mut self) -> Result<(), Error> {
        let Netlink { listener: Some(listener), known, census, abilities, .. } = &mut self.netlink else {
            return Ok(());
        };
        known.suspensions.note(machine::monotonic_ns(), machine::suspended_ns());
        let read = listener.read(|report| {
            let exit = exit_of(&report, *abilities, known, census);
            let Some(reported) = reported(&report, exit) else { return };
            let numbers = [exit.process.tid.0, exit.task.tid.0];
            self.accounts.report(numbers, reported.start, reported.at_ns, reported.is_last);
            if self.reported.len() < EXITS_LIMIT {
                self.reported.push(reported);
            } else {
                self.unidentified += 1;
            }
        });
        read.map_err(open::failed)?;
        if self.accounts.dying() > self.most_dying {
            self.accounts.forget_short_lived(|pid, tid| census.is_there(pid, tid));
            self.most_dying = LEAST_DYING.max(2 * self.accounts.dying());
        }
        Ok(())
    }

    /// Finds the dead that are not released, and whose reports were not seen: those that died before we listened, and those of lost reports.
    fn find_zombies(&mut self, cut: &Cut) {
        let is_leader = |figures: &&Taskstats| figures.pid == Some(figures.tid);
        for figures in cut.records.iter().filter(is_leader) {
            let pid = figures.tid.cast_signed();
            let Some(exact) = figures.exact.filter(|_| !figures.has_memory && !is_of_kernel(figures)) else {
                continue;
            };
            if self.netlink.census.said(pid).is_some_and(|said| said.zombie.is_some()) {
                self.accounts.note_zombie(pid, Boottime::from_ns(exact.start_ns));
            }
        }
    }

    /// Tells the deaths before the cut. Those before the first are of no interval.
    fn tell_exits(&mut self, at_ns: u64, is_first: bool, into: &mut Interval) {
        let Some(exited) = &mut into.exited else { return };
        let accounts = &self.accounts;
        let before = self.reported.extract_if(.., |reported| reported.at_ns < at_ns);
        exited.extend(before.filter(|_| !is_first).map(|reported| {
            let Reported { exit, start, used, accounting_parent, is_last, .. } = reported;
            let parent = accounting_parent.cast_signed();
            let last_ns = accounts.used_by(exit.task.tid.0, start).cpu_ns();
            let parent_start =
                accounts.start_of(parent).map(|start| Boottime::from_ns(start.ns() / TICK_NS * TICK_NS));
            make!(Exited {
                exit,
                cpu_ns: used.cpu_ns().saturating_sub(last_ns),
                accounting_parent: Some(Pid(parent)).filter(|pid| pid.0 != 0),
                accounting_start: parent_start,
                ends_process: Some(is_last),
            })
        }));
        cpuledger_model::buffer::Trim::trim(&mut self.reported);
    }
}

/// Kernel threads are children of process 2.
fn is_of_kernel(figures: &Taskstats) -> bool {
    figures.tid == 2 || figures.ppid == 2
}

fn account_cut<'a>(told: &'a [Told], cut: &Cut, last_ns: u64, online_cpus: u32) -> AccountCut<'a> {
    let capacity_ns = cut.at_ns.saturating_sub(last_ns) * u64::from(online_cpus);
    AccountCut { told, has_all: cut.has_all, at_ns: cut.at_ns, capacity_ns }
}

fn told(figures: &Taskstats, place: u32) -> Option<Told> {
    let exact = figures.exact?;
    Some(Told {
        tid: figures.tid.cast_signed(),
        pid: figures.pid?.cast_signed(),
        start: Boottime::from_ns(exact.start_ns),
        place,
        used: exact.used,
        dead: exact.dead?,
    })
}

fn reported(report: &Report, exit: Exit) -> Option<Reported> {
    let figures = &report.figures;
    let exact = figures.exact?;
    Some(Reported {
        exit,
        at_ns: exact.start_monotonic_ns.saturating_add(figures.elapsed_us.saturating_mul(1_000)),
        start: Boottime::from_ns(exact.start_ns),
        used: exact.used,
        accounting_parent: exact.dead?.accounting_parent,
        is_last: figures.is_last_of_process() == Some(true),
    })
}
