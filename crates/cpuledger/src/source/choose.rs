//! Which source is taken: the one place of these rules. What the sources cost is in `cost`.

use std::time::Duration;

use cpuledger_bpf::Extent;
use cpuledger_client::families::Families;
use cpuledger_model::field::FieldSet;
use cpuledger_model::snapshot::{Request, Scope, Snapshot};
use cpuledger_model::source_kind::SourceKind;
use cpuledger_model::task::Pid;

use crate::error::Error;
use crate::facts;
use crate::machine::{self, links};
use crate::source::cost::{Costs, GLANCE, Observation};
use crate::source::ledger::{self, Ledger};
use crate::source::netlink::{self, AccountBooks, Netlink};
use crate::source::service::{ServiceLedger, ServiceListing};
use crate::source::snapshots::Snapshots;
use crate::source::{Source, open::open, procfs::Procfs, records, walk};

/// Loading the walk, whatever the machine holds, by how much of a task it reads. These and the next were measured as CPU time of whole
/// processes on 2 CPUs, Linux 6.18, beside 1 to 1,600 processes, and beside 100,000 threads of one.
const LOADING_WHOLE_US: u64 = 15_000;
/// Without what few listings show.
const LOADING_SLIM_US: u64 = 9_600;
/// With no more than `ps -e` shows.
const LOADING_BRIEF_US: u64 = 8_000;
/// A thread that the walk visits, in nanoseconds.
const WALKED_THREAD_NS: u64 = 145;
/// Opening netlink, with the snapshots by which it is tried.
const OPENING_NETLINK_US: u64 = 1_000;
/// `stat` of one process or thread.
const STAT_US: u64 = 11;
/// Another file of it.
const FILE_US: u64 = 16;
/// A thread of the machine, in nanoseconds: the kernel passes by each of them to list /proc, and visits those of a process for its `stat`.
const THREAD_NS: u64 = 400;

/// The best source of those that are usable: the first of [`SourceKind::ALL`], but of ledger and walk that which is worth its cost.
pub fn best(is_usable: impl Fn(SourceKind) -> bool, costs: Option<&Costs>) -> Option<SourceKind> {
    let first = SourceKind::ALL.into_iter().find(|&kind| is_usable(kind))?;
    Some(if first == SourceKind::Ledger { worth_its_cost(costs) } else { first })
}

/// Of ledger and walk, where both can be had; `None`: what they cost is not known.
fn worth_its_cost(costs: Option<&Costs>) -> SourceKind {
    costs.map_or(SourceKind::Ledger, Costs::choice)
}

/// What is advised where a source that was asked for is not permitted.
pub const LEAVE_OUT: &str = "leave out --source for a source that this user may use";

/// What intervals come from.
#[non_exhaustive]
pub enum ForIntervals {
    /// The books of the service.
    Service(Box<ServiceLedger>),
    /// The ledger of the kernel half.
    Ledger(Box<Ledger>),
    /// The books by the kernel's own accounts.
    Accounts(Box<AccountBooks>),
    /// Pairs of snapshots.
    Snapshots(Box<Snapshots>),
}

/// The source for intervals of that length: where `wanted` is none, the best that works. A ledger of a fixed size is asked for.
///
/// # Errors
/// When the wanted source cannot be used here, or none can.
pub fn open_for_intervals(
    wanted: Option<SourceKind>,
    size: ledger::Options,
    length: Duration,
) -> Result<ForIntervals, Error> {
    let ledger = |ledger| ForIntervals::Ledger(Box::new(ledger));
    let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    let service = || Ok(ForIntervals::Service(Box::new(ServiceLedger::open(length_ns, size.accounts)?)));
    match wanted {
        Some(SourceKind::Service) => return service(),
        Some(SourceKind::Ledger) => {
            return Ledger::open(size).map(ledger).map_err(naming(SourceKind::Ledger));
        }
        Some(kind) => return open_snapshots(kind).map_err(naming(kind)),
        None if !size.may_grow => return Ledger::open(size).map(ledger),
        None => {}
    }
    // Where there is none, this is known at once.
    service().or_else(|_| open_next_best(size, length))
}

/// The best source of intervals where there is no service.
///
/// # Errors
/// When none can be used.
pub fn open_next_best(size: ledger::Options, length: Duration) -> Result<ForIntervals, Error> {
    let ledger = |ledger| ForIntervals::Ledger(Box::new(ledger));
    // The machine is observed while the programs are loaded.
    let observation = Observation::begin();
    let Ok(opened) = Ledger::open(size) else {
        return open_first();
    };
    let activity = observation.and_then(|begun| begun.end(GLANCE));
    let costs = activity.map(|activity| Costs::estimate(activity, length, opened.walks_for_detail()));
    match worth_its_cost(costs.as_ref()) {
        SourceKind::Ledger => Ok(ledger(opened)),
        other => Ok(open_snapshots(other).unwrap_or_else(|_| ledger(opened))),
    }
}

/// Names the source that was asked for where it is not permitted, and says what is.
pub(super) fn naming(kind: SourceKind) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Bpf(cpuledger_bpf::Error::NotPermitted { missing }) => {
            Error::unusable(kind, cpuledger_bpf::not_permitted(missing, &format!("{LEAVE_OUT}, ")))
        }
        error => error,
    }
}

/// Intervals of a source of snapshots.
fn open_snapshots(kind: SourceKind) -> Result<ForIntervals, Error> {
    let source = match kind {
        SourceKind::Netlink => match AccountBooks::begin(Netlink::open()?) {
            Ok(books) => return Ok(ForIntervals::Accounts(Box::new(books))),
            Err(netlink) => netlink,
        },
        kind => open(kind)?,
    };
    Ok(ForIntervals::Snapshots(Box::new(Snapshots::open(source))))
}

/// The first source of snapshots that works.
fn open_first() -> Result<ForIntervals, Error> {
    let mut refused = Error::NoSource;
    for kind in SourceKind::ALL.into_iter().filter(|kind| kind.has_snapshots()) {
        match open_snapshots(kind) {
            Ok(source) => return Ok(source),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The source for one listing: `wanted`, if there is one. Otherwise it is the service, if it answers and more than one process is listed.
/// Else it is procfs, if that gives all fields, takes less time than loading the walk, and hides no process. Else it is the walk, or
/// procfs if the walk is refused. Before them comes the snapshot of a kernel with `kernel/series`, if that has all
/// fields, and files take longer.
///
/// # Errors
/// When the wanted source cannot be used here, or none can.
pub fn open_for_listing(wanted: Option<SourceKind>, request: &Request) -> Result<Box<dyn Source>, Error> {
    match wanted {
        Some(SourceKind::Walk) => {
            let walk = walk::Walk::open_whole(request, None).map_err(naming(SourceKind::Walk))?;
            return Ok(Box::new(walk));
        }
        Some(kind) => return open(kind).map_err(naming(kind)),
        None => {}
    }
    let is_of_one = matches!(request.scope, Scope::Process(_));
    if !is_of_one && let Ok(service) = ServiceListing::open() {
        return Ok(Box::new(ServiceFirst { service: Some(service), next_best: None }));
    }
    open_here(request)
}

/// The best source of this process itself.
fn open_here(request: &Request) -> Result<Box<dyn Source>, Error> {
    let is_better = |source: &Procfs| {
        let gives_fields = request.fields.without(source.fields()) == FieldSet::EMPTY;
        let work = Work::of(request, source);
        gives_fields && files_are_better(work.files_us(), work.walk_us())
    };
    let procfs = Procfs::open();
    let files_us = procfs.as_ref().map_or(u64::MAX, |procfs| Work::of(request, procfs).files_us());
    if let Some(netlink) = open_snapshot_of_kernel(request, files_us) {
        return Ok(Box::new(netlink));
    }
    let procfs = match procfs {
        Ok(procfs) if is_better(&procfs) => return Ok(Box::new(procfs)),
        procfs => procfs.ok(),
    };
    match walk::Walk::open_whole(request, procfs) {
        Ok(walk) => Ok(Box::new(walk)),
        Err(_) => open(SourceKind::Procfs),
    }
}

/// The kernel's snapshot, where it has one that tells all, and files take longer. Other messages of netlink need /proc as well.
fn open_snapshot_of_kernel(request: &Request, files_us: u64) -> Option<Netlink> {
    if files_us <= OPENING_NETLINK_US || !netlink::may_have_snapshots() {
        return None;
    }
    let netlink = Netlink::open().ok()?;
    let lacks = request.fields.without(netlink.fields_of_cut(request.scope));
    (lacks == FieldSet::EMPTY).then(|| netlink.for_listing())
}

/// The service, and where that does not list all, or not at all, the next best from then on.
struct ServiceFirst {
    service: Option<ServiceListing>,
    next_best: Option<Box<dyn Source>>,
}

impl Source for ServiceFirst {
    fn kind(&self) -> SourceKind {
        self.next_best.as_ref().map_or(SourceKind::Service, |source| source.kind())
    }

    fn fields(&self) -> FieldSet {
        self.next_best.as_ref().map_or(FieldSet::ALL, |source| source.fields())
    }

    fn snapshot(&mut self, request: &Request, into: &mut Snapshot) -> Result<(), Error> {
        if let Some(service) = &mut self.service {
            if service.snapshot(request, into).is_ok() && service.shows_all() {
                return Ok(());
            }
            self.service = None;
        }
        let source = match &mut self.next_best {
            Some(source) => source,
            None => self.next_best.insert(open_here(request)?),
        };
        source.snapshot(request, into)
    }

    fn families<'a>(
        &'a mut self,
        request: &Request,
        room: &'a mut Snapshot,
    ) -> Result<Box<dyn Families + 'a>, Error> {
        if request.scope != Scope::Tasks {
            self.snapshot(request, room)?;
            return Ok(Box::new(&*room));
        }
        // It has to be known whether it lists all before rows of it are handed out.
        self.service.take_if(|service| service.list(request).is_err() || !service.shows_all());
        match (&self.service, &mut self.next_best) {
            (Some(service), _) => Ok(Box::new(service.listed()?)),
            (None, Some(source)) => source.families(request, room),
            (None, next_best) => next_best.insert(open_here(request)?).families(request, room),
        }
    }

    fn unseen(&self) -> &[Pid] {
        self.next_best.as_ref().map_or(&[], |source| source.unseen())
    }
}

/// How much there is to do for a listing, by files and by a walk.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Processes and threads of which files have to be read.
    visited: u64,
    /// Files of each of them, beside `stat`.
    files: u64,
    /// Threads that the kernel has to visit for the files.
    threads: u64,
    /// Threads that the walk visits.
    walked: u64,
    /// How much of a task the walk has to read.
    extent: Extent,
}

impl Work {
    /// By the number of links of directories, which the kernel keeps: nothing is visited to know how much there is to visit.
    fn of(request: &Request, procfs: &Procfs) -> Work {
        let known = machine::tasks().map(u64::from);
        // Where it cannot be told, the files are no better source.
        let (tasks, walked_tasks) = (known.unwrap_or(u64::MAX), known.unwrap_or(0));
        let processes = links("/proc");
        let (visited, threads, walked) = match request.scope {
            Scope::Process(pid) => {
                let threads = u64::from(machine::threads(pid));
                (threads, threads, threads)
            }
            Scope::Leaders => (processes, tasks, 0),
            Scope::Processes => (processes, tasks, walked_tasks),
            Scope::Tasks => (processes.saturating_add(tasks), tasks, walked_tasks),
        };
        let files = procfs.files_beside_stat(request);
        Work { visited, files, threads, walked, extent: Extent::of(records::groups(request.fields)) }
    }

    /// How long files take.
    fn files_us(self) -> u64 {
        let threads_us = self.threads.saturating_mul(THREAD_NS) / 1_000;
        self.visited.saturating_mul(STAT_US + self.files * FILE_US).saturating_add(threads_us)
    }

    /// How long it takes to load the walk, and to walk.
    fn walk_us(self) -> u64 {
        let loading_us = match self.extent {
            Extent::Brief => LOADING_BRIEF_US,
            Extent::Slim => LOADING_SLIM_US,
            Extent::Whole => LOADING_WHOLE_US,
        };
        loading_us.saturating_add(self.walked.saturating_mul(WALKED_THREAD_NS) / 1_000)
    }
}

/// Whether files are better than a walk: they show every process, and reading them takes less time.
pub(super) fn files_are_better(reading_us: u64, walk_us: u64) -> bool {
    reading_us < walk_us && facts::procfs_shows_every_process() == Some(true)
}

/// The least a source has to visit for these fields: threads where they are shown, totals where a field needs them.
pub fn scope_of_listing(shows_threads: bool, only_process: Option<Pid>, fields: FieldSet) -> Scope {
    match only_process {
        Some(pid) => Scope::Process(pid),
        None if shows_threads => Scope::Tasks,
        None if fields.without(records::WALK_TOTALS) == fields => Scope::Leaders,
        None => Scope::Processes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::cost::Activity;
    use cpuledger_model::field::Field;

    #[test]
    fn files_are_for_little_to_read() {
        let is_sooner = |extent, visited, files, threads, walked| {
            let work = Work { visited, files, threads, walked, extent };
            work.files_us() < work.walk_us()
        };
        // ps -e: processes of one thread, and few processes of which one has many.
        let brief = |processes, threads| is_sooner(Extent::Brief, processes, 0, threads, threads);
        assert!(brief(700, 700) && brief(100, 25_000) && brief(1, 1));
        assert!(!brief(750, 750) && !brief(100, 30_000) && !brief(100, 100_000));
        assert!(!is_sooner(Extent::Brief, 1, 0, u64::MAX, 0), "how many there are is not known");
        // ps -eo pid,comm: the walk does not visit threads.
        let leaders = |processes, threads| is_sooner(Extent::Brief, processes, 0, threads, 0);
        assert!(leaders(100, 16_000) && !leaders(100, 18_000));
        // ps aux, ps -eLf, and what all fields take.
        let slim = |visited, threads| is_sooner(Extent::Slim, visited, 1, threads, threads);
        assert!(slim(350, 350) && !slim(400, 400) && !slim(100, 30_000));
        let whole = |visited| is_sooner(Extent::Whole, visited, 3, visited, visited);
        assert!(whole(200) && !whole(300));
    }

    #[test]
    fn the_best_usable_source_is_taken_unless_the_ledger_costs_too_much() {
        let activity =
            |switches_per_s| Activity { switches_per_s, forks_per_s: 0, tasks: 100, online_cpus: 1 };
        let [idle, busy] =
            [10, 1_000_000].map(|rate| Costs::estimate(activity(rate), Duration::from_secs(2), false));
        let all = |_| true;
        assert_eq!(best(all, Some(&busy)), Some(SourceKind::Service));
        let without_service = |kind| kind != SourceKind::Service;
        assert_eq!(best(without_service, Some(&idle)), Some(SourceKind::Ledger));
        assert_eq!(best(without_service, Some(&busy)), Some(SourceKind::Walk));
        assert_eq!(best(without_service, None), Some(SourceKind::Ledger));
        let without_bpf = |kind| matches!(kind, SourceKind::Netlink | SourceKind::Procfs);
        assert_eq!(best(without_bpf, Some(&busy)), Some(SourceKind::Netlink));
        assert_eq!(best(|_| false, None), None);
    }

    #[test]
    fn a_listing_visits_no_more_than_it_shows() {
        let identity = FieldSet::of(&[Field::Pid, Field::Comm]);
        let time = FieldSet::of(&[Field::Pid, Field::User]);
        assert_eq!(scope_of_listing(false, None, identity), Scope::Leaders);
        assert_eq!(scope_of_listing(false, None, time), Scope::Processes);
        assert_eq!(scope_of_listing(true, None, identity), Scope::Tasks);
        assert_eq!(scope_of_listing(true, Some(Pid(1)), identity), Scope::Process(Pid(1)));
    }
}
