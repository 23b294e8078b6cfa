//! The books as counters: frames go in, series come out.

use std::time::{Duration, Instant};

use cpuledger_model::frame::{Column, Frame, Section, Wanted};
use cpuledger_report::{Accumulator, Amounts, Balance, Dimension, Instants, Name};
use rustix::time::ClockId;

use crate::compat::Compat;
use crate::compat::groups::Groups;
use crate::compat::procfs::Known;
use crate::modes::{self, Modes};
use crate::own::{clock_ns, realtime_ns};
use crate::pairs::{self, Waited};
use crate::processes::{self, Process, Processes};
use crate::scrapers::{Scrapers, Visitor};
use crate::series::{Rounds, Settle, Table};
use crate::totals::Figure;

/// The time of all CPUs, in nanoseconds: the capacity is the sum of the other three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    /// Online CPUs × time.
    pub capacity_ns: u128,
    /// Of tasks.
    pub attributed_ns: u128,
    /// Of the idle tasks.
    pub idle_ns: u128,
    /// By reason, in the order of [`REASONS`].
    pub unattributed_ns: [u128; REASONS.len()],
    /// Intervals that were read.
    pub intervals: u64,
    /// Of these, those after which a sum was not what it has to be.
    pub unbalanced: u64,
    /// Spans without intervals that were added as unattributed.
    pub gaps: u64,
    /// Tasks that ended and whose identity was lost.
    pub unidentified_exits: u64,
    /// Switches that the kernel has not shown.
    pub missed_switches: u64,
}

/// Why time is unattributed, as values of a label. The first four are those of an interval.
pub const REASONS: [&str; 6] =
    ["no_slot", "forgotten_task", "uncovered_cpu", "not_attached", "not_read", "unknown"];
const NOT_READ: usize = 4;
const UNKNOWN: usize = 5;

impl Machine {
    fn add(&mut self, balance: &Balance) {
        self.capacity_ns += u128::from(balance.capacity_ns);
        self.attributed_ns += u128::from(balance.attributed_ns);
        self.idle_ns += u128::from(balance.idle_ns);
        let mut told_ns = 0;
        for (own, (_, _, ns)) in self.unattributed_ns.iter_mut().zip(balance.reasons()) {
            *own += u128::from(ns);
            told_ns += u128::from(ns);
        }
        let all_ns = u128::from(balance.unattributed_ns) + u128::from(balance.untold_ns);
        self.unattributed_ns[UNKNOWN] += all_ns.saturating_sub(told_ns);
        self.intervals += balance.intervals;
        self.unidentified_exits += balance.unidentified_exits;
        self.missed_switches += balance.missed_switches;
    }

    /// Time that nobody has reported.
    fn add_gap(&mut self, ns: u128) {
        self.capacity_ns += ns;
        self.unattributed_ns[NOT_READ] += ns;
        self.gaps += 1;
    }

    /// The capacity less its parts, in nanoseconds: 0 if the books balance.
    pub fn imbalance_ns(&self) -> i128 {
        let parts = self.attributed_ns + self.idle_ns + self.unattributed_ns.iter().sum::<u128>();
        self.capacity_ns as i128 - parts as i128
    }
}

/// What the intervals since a start add up to.
pub struct Books {
    dimensions: Vec<Dimension>,
    wanted: Wanted,
    tables: Vec<Table>,
    /// Who made whom wait, by the dimensions that a cgroup tells.
    pairs: Vec<(Dimension, Table<Waited>)>,
    /// All that is in each of these, in nanoseconds; `None`: no interval had an account of it.
    pairs_ns: Option<u128>,
    /// Which figures an interval has told.
    is_known: [bool; Amounts::FIGURES],
    machine: Machine,
    scrapers: Scrapers,
    /// The number of the round of these that is not over yet.
    round: u64,
    /// Until when there are intervals, CLOCK_MONOTONIC in nanoseconds.
    end_ns: Option<u64>,
    /// The same, CLOCK_REALTIME.
    end_realtime_ns: Option<u64>,
    settled: Instant,
    /// How many intervals there were then.
    settled_intervals: Option<u64>,
    /// Changes when what is shown changes.
    revision: u64,
    created_ns: u64,
    /// The process of the service, and the CPU time that it has used itself, in nanoseconds.
    service: Option<i32>,
    service_ns: Option<u128>,
    /// For those who want it: CPU time by mode, and the processes that use most.
    detail: Option<Detail>,
    compat: Compat,
}

/// What only a push has.
struct Detail {
    modes: Modes,
    processes: Processes,
    limit: usize,
}

impl Detail {
    fn new(limit: usize) -> Detail {
        Detail { modes: Modes::default(), processes: Processes::new(limit), limit }
    }
}

impl Books {
    /// Of nothing yet, with at most `limit` series of each dimension beside the rest.
    pub fn new(dimensions: &[Dimension], limit: usize) -> Books {
        let now_ns = realtime_ns();
        Books {
            dimensions: dimensions.to_vec(),
            wanted: Accumulator::new(dimensions)
                .wanted()
                .and(&Wanted::of(&[Section::Pairs], &Frame::PAIR_COLUMNS))
                .and(&Wanted::of(&[], &[Column::END_REALTIME_NS])),
            is_known: Figure::told(&Amounts::default()),
            tables: dimensions.iter().map(|_| Table::new(limit, now_ns)).collect(),
            pairs: of_cgroup(dimensions).map(|by| (by, Table::new(limit, now_ns))).collect(),
            pairs_ns: None,
            machine: Machine::default(),
            scrapers: Scrapers::default(),
            round: 0,
            end_ns: None,
            end_realtime_ns: None,
            settled: Instant::now(),
            settled_intervals: None,
            revision: 0,
            created_ns: now_ns,
            service: None,
            service_ns: None,
            detail: None,
            compat: Compat::default(),
        }
    }

    /// Likewise, with these sets of other exporters.
    #[must_use]
    pub fn with_compat(mut self, compat: Compat) -> Books {
        if let Some(wanted) = compat.wanted() {
            self.wanted = self.wanted.and(&wanted);
        }
        self.compat = compat;
        self
    }

    /// Likewise, with CPU time by mode and at most so many processes, one by one.
    #[must_use]
    pub fn with_processes(mut self, limit: usize) -> Books {
        let columns = [&modes::COLUMNS[..], &processes::COLUMNS[..], &processes::growths()[..]].concat();
        let detailed = Wanted::of(&[Section::Processes, Section::Exited], &columns);
        self.wanted = self.wanted.and(&detailed);
        self.detail = Some(Detail::new(limit));
        self
    }

    /// Begins again at the end of the last interval: all counters are 0, and no time is lost between.
    pub fn renew(&mut self, limit: usize) {
        let when_ns = self.realtime_ns();
        self.tables.iter_mut().for_each(|table| *table = Table::new(limit, when_ns));
        self.pairs.iter_mut().for_each(|(_, table)| *table = Table::new(limit, when_ns));
        self.pairs_ns = None;
        self.is_known = Figure::told(&Amounts::default());
        self.machine = Machine::default();
        self.settled_intervals = None;
        self.scrapers = Scrapers::default();
        self.created_ns = when_ns;
        self.service_ns = None;
        self.detail = self.detail.take().map(|detail| Detail::new(detail.limit));
        self.revision += 1;
    }

    /// What has to be decoded of a frame.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// The process of the service, whose own use is reported apart, too.
    pub fn set_service(&mut self, process: Option<i32>) {
        self.service = process;
    }

    /// Adds an interval. One that was added before is left out, as rings of a service that was restarted begin with old ones.
    pub fn add(&mut self, frame: &Frame) {
        self.add_knowing(frame, &Known::new());
    }

    /// Likewise; `known` is what was read of processes that have to be looked at.
    pub fn add_knowing(&mut self, frame: &Frame, known: &Known) {
        let (Some(start_ns), Some(end_ns)) = (frame.figure(Column::START_NS), frame.figure(Column::END_NS))
        else {
            return;
        };
        let since_ns = self.end_ns.unwrap_or(start_ns);
        if start_ns < since_ns {
            return;
        }
        let is_first = self.end_ns.is_none();
        self.end_ns = Some(end_ns);
        self.end_realtime_ns = frame.figure(Column::END_REALTIME_NS).or(self.end_realtime_ns);
        if is_first {
            self.begin(frame);
        }
        if start_ns > since_ns {
            self.machine.add_gap(capacity_between(frame, start_ns - since_ns));
        }
        let realtime_ns = frame.figure(Column::END_REALTIME_NS).unwrap_or_default();
        let when = Instants { start_realtime_ns: realtime_ns, end_realtime_ns: realtime_ns };
        let mut interval = Accumulator::new(&self.dimensions);
        interval.add(frame, when);
        self.add_pairs(frame, &interval);
        self.add_reports(&interval);
        if let Some(detail) = &mut self.detail {
            detail.modes.add_frame(frame);
            detail.processes.add(frame);
        }
        self.compat.add(frame, known);
        if let Some(used_ns) = self.service.and_then(|process| self_ns_of(frame, process)) {
            *self.service_ns.get_or_insert(0) += u128::from(used_ns);
        }
    }

    /// The counters begin with the first interval, and not only when this program has it.
    fn begin(&mut self, frame: &Frame) {
        let Some(end_ns) = self.end_realtime_ns else { return };
        let created_ns = end_ns.saturating_sub(frame.length_ns().unwrap_or_default());
        self.created_ns = created_ns;
        self.all_tables().for_each(|table| table.begin_at(created_ns));
    }

    /// All tables, those of other exporters' sets included.
    fn all_tables(&mut self) -> impl Iterator<Item = &mut dyn Settle> {
        let own = self.tables.iter_mut().map(|table| table as &mut dyn Settle);
        let pairs = self.pairs.iter_mut().map(|(_, table)| table as &mut dyn Settle);
        own.chain(pairs).chain(self.compat.tables())
    }

    /// End of the last interval, or now if there was none, CLOCK_REALTIME.
    pub fn realtime_ns(&self) -> u64 {
        self.end_realtime_ns.unwrap_or_else(realtime_ns)
    }

    /// Adds who made whom wait, if the interval has it.
    fn add_pairs(&mut self, frame: &Frame, interval: &Accumulator) {
        if frame.figure(Column::KNOWS_PAIRS) != Some(1) {
            return;
        }
        let all = frame.pairs();
        *self.pairs_ns.get_or_insert(0) += u128::from(all.sum_ns());
        self.pairs.iter_mut().for_each(|(by, table)| pairs::add(table, &all, interval, *by));
    }

    /// Adds an interval to the series.
    fn add_reports(&mut self, interval: &Accumulator) {
        let mut balance = None;
        for (dimension, table) in self.dimensions.iter().zip(&mut self.tables) {
            let is_unit = *dimension == Dimension::Unit;
            let named = |name: Name| if is_unit { name.unit() } else { name };
            let report = interval.report_named(*dimension, usize::MAX, named);
            for row in &report.rows {
                table.add(&row.name, &row.amounts);
            }
            table.add_rest(&report.other);
            table.trim();
            for (is_known, told) in self.is_known.iter_mut().zip(Figure::told(&report.total())) {
                *is_known |= told;
            }
            balance = Some(report.balance);
        }
        balance.iter().for_each(|balance| self.machine.add(balance));
        let all_are_attributed = self.tables.iter().all(|table| table.cpu_ns() == self.machine.attributed_ns);
        let all_are_paired = self.pairs.iter().all(|(_, table)| table.cpu_ns() == self.pairs_ns.unwrap_or(0));
        if self.machine.imbalance_ns() != 0 || !all_are_attributed || !all_are_paired {
            self.machine.unbalanced += 1;
        }
    }

    /// Chooses who has a series from now on. Without a new interval there is nothing to do.
    pub fn settle(&mut self, now: Instant) {
        if self.settled_intervals == Some(self.machine.intervals) {
            return;
        }
        self.settled_intervals = Some(self.machine.intervals);
        self.revision += 1;
        let passed = now.saturating_duration_since(self.settled);
        self.settled = now;
        let (created_ns, is_amid_round) = (self.realtime_ns(), self.scrapers.are_amid_round());
        self.all_tables().for_each(|table| table.age(passed));
        self.compat.groups.iter_mut().for_each(Groups::keep);
        self.all_tables().for_each(|table| table.rank(created_ns, is_amid_round));
        if let Some(detail) = &mut self.detail {
            detail.processes.rank(passed, self.end_realtime_ns.unwrap_or_default());
        }
    }

    /// A scraper is shown the series as they are.
    pub fn visit(&mut self, scraper: Visitor<'_>, now: Instant) {
        if !self.scrapers.visit(scraper, now) {
            return;
        }
        let round = self.round;
        self.round += 1;
        self.revision += self.all_tables().map(|table| u64::from(table.seen_by_all(round))).sum::<u64>();
        if let Some(detail) = &mut self.detail {
            detail.processes.were_shown(round);
        }
    }

    /// The number of the round of scrapers that is not over yet.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Whether an interval has told a figure.
    pub fn knows(&self, figure: Figure) -> bool {
        figure.place().is_none_or(|place| self.is_known[place])
    }

    /// A number that changes when what is shown changes.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The dimensions and their series.
    pub fn tables(&self) -> impl Iterator<Item = (Dimension, &Table)> {
        self.dimensions.iter().copied().zip(&self.tables)
    }

    /// The dimensions that a cgroup tells, and who made whom wait by these.
    pub fn pairs(&self) -> impl Iterator<Item = (Dimension, &Table<Waited>)> {
        self.pairs.iter().map(|(by, table)| (*by, table))
    }

    /// How long all of them waited, in nanoseconds; `None`: no interval had an account of it.
    pub fn pairs_ns(&self) -> Option<u128> {
        self.pairs_ns
    }

    /// The time of all CPUs.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// CPU time of all tasks by mode, which [`Machine::attributed_ns`] is the sum of; `None`: nobody wants it.
    pub fn modes(&self) -> Option<Modes> {
        let modes = self.detail.as_ref()?.modes;
        let told_ns = modes.named().into_iter().map(|(_, ns)| ns).sum();
        // Rows that this user is not shown have no modes.
        let untold_ns = self.machine.attributed_ns.saturating_sub(told_ns);
        Some(Modes { unknown_ns: modes.unknown_ns + untold_ns, ..modes })
    }

    /// The processes that use most, and those that were shown last in one of the rounds `again`.
    pub fn processes(&self, again: Rounds<'_>) -> Vec<&Process> {
        self.detail.as_ref().map(|detail| detail.processes.shown(again)).unwrap_or_default()
    }

    /// The sets of other exporters.
    pub fn compat(&self) -> &Compat {
        &self.compat
    }

    /// The same, to be changed: what is shown changes with it.
    pub fn compat_mut(&mut self) -> &mut Compat {
        self.settled_intervals = None;
        &mut self.compat
    }

    /// When the counters began, CLOCK_REALTIME.
    pub fn created_ns(&self) -> u64 {
        self.created_ns
    }

    /// CPU time that the service itself has used, in nanoseconds; `None`: its process was never seen.
    pub fn service_ns(&self) -> Option<u128> {
        self.service_ns
    }

    /// How old the last interval is.
    pub fn age(&self) -> Option<Duration> {
        Some(Duration::from_nanos(clock_ns(ClockId::Monotonic).saturating_sub(self.end_ns?)))
    }
}

/// The time of all CPUs before an interval, by the CPUs of that, in nanoseconds.
fn capacity_between(frame: &Frame, ns: u64) -> u128 {
    let (capacity, length) = (frame.figure(Column::CAPACITY_NS), frame.length_ns());
    match capacity.zip(length.filter(|length| *length > 0)) {
        Some((capacity, length)) => {
            // Whole CPUs: one that came or went within the interval counts as one.
            let cpus = u128::from(capacity.div_ceil(length));
            cpus * u128::from(ns)
        }
        None => u128::from(ns),
    }
}

/// Those of these that the cgroup of a task tells.
fn of_cgroup(dimensions: &[Dimension]) -> impl Iterator<Item = Dimension> {
    dimensions.iter().copied().filter(|by| Dimension::OF_CGROUP.contains(by))
}

/// The name of the service's process.
const OWN_NAME: &[u8] = b"cpuledger";

/// CPU time of a process without its dead children, if the frame shows it.
fn self_ns_of(frame: &Frame, process: i32) -> Option<u64> {
    let table = frame.table(Section::Processes);
    let pid = |row: &usize| table.get_signed(Column::PID, *row) == Some(i64::from(process));
    let row = (0..table.len()).find(pid)?;
    // Where a manager has made the socket, that is the process which the kernel names.
    frame.text_of(Section::Processes, Column::COMM, row).filter(|comm| *comm == OWN_NAME)?;
    let of_children_ns = table.get(Column::EXITED_CHILDREN_NS, row).unwrap_or_default();
    Some(table.get(Column::CPU_NS, row)?.saturating_sub(of_children_ns))
}
