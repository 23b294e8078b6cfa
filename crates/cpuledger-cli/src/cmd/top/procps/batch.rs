//! Iterations as text: the first at once, of what each process has used since it began; the others of intervals.

use cpuledger::clock;
use cpuledger::counters::Counters;
use cpuledger::host_statistics::{CpuStates, HostStatistics};
use cpuledger::interval::{Interval, Row, TaskCounts};
use cpuledger::intervals::Wanted;
use cpuledger::source::choose::{open_for_listing, scope_of_listing};
use cpuledger::{Boottime, Field, FieldSet, Pid, Request, Scope, Snapshot, Task, machine};
use cpuledger_model::make;
use cpuledger_names::logins;
use cpuledger_names::lookups::Lookups;
use cpuledger_names::row::Surroundings;
use cpuledger_program::output;

use super::entry::Entry;
use super::fields;
use super::head::Head;
use super::options::{LEAST_DELAY_NS, Options, Width};
use super::table::Table;
use super::who::Who;
use crate::cmd::top::collect::{Collector, Outcome, TEXT, Taker};
use crate::cmd::top::terminal::terminal_width;
use crate::stop::wake_on_signals;

/// As in procps, where there is no terminal.
const WIDTH_WITHOUT_TERMINAL: usize = 80;

/// Where this variable is set the line of the balance is blank, for readers that look for that.
const NO_BALANCE: &str = "CPULEDGER_NO_BALANCE";

/// The widest output.
const MOST_WIDTH: usize = 512;

/// As in procps.
const USUAL_DELAY_NS: u64 = 3_000_000_000;

/// Prints iterations.
///
/// # Errors
/// No source, or nowhere to write.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let mut printer = Printer::new(options);
    printer.print_first(&list(options)?)?;
    if options.iterations == Some(1) {
        return Ok(());
    }
    let mut collector = Collector::open(wanted(options), Taker::Text)?;
    wake_on_signals(collector.intervals.waker());
    collector.keep_time();
    printer.statistics = HostStatistics::read();
    let mut iterations = 1;
    while options.iterations.is_none_or(|wanted| iterations < wanted) {
        if collector.close()? == Outcome::Stopped {
            break;
        }
        printer.print(&collector.intervals.interval)?;
        iterations += 1;
    }
    Ok(())
}

/// What rows show, and what they are sorted and chosen by.
fn needed(options: &Options) -> FieldSet {
    let mut needed = TEXT.union(fields::needed(options.by));
    if let Who::User { is_any: true, .. } = options.who {
        needed = needed.union(FieldSet::of(&[Field::Suid, Field::Fsuid]));
    }
    if options.has_children {
        needed = needed.union(FieldSet::of(&[Field::ChildrenUser, Field::ChildrenSystem]));
    }
    needed
}

/// Everything that there is now.
fn list(options: &Options) -> anyhow::Result<Snapshot> {
    let fields = needed(options);
    let scope = scope_of_listing(options.has_threads, None, fields);
    let request = Request::new(scope, fields);
    // The ledger knows intervals only.
    let wanted = options.source.filter(|kind| kind.has_snapshots());
    let mut snapshot = Snapshot::default();
    open_for_listing(wanted, &request)?.snapshot(&request, &mut snapshot)?;
    debug_assert!(options.has_threads == (scope == Scope::Tasks));
    Ok(snapshot)
}

/// What these options need of intervals.
fn wanted(options: &Options) -> Wanted {
    // Single processes are asked for by their pids; all others, and all threads, are found by a walk.
    let pids: Vec<Pid> = match &options.who {
        Who::Pids(pids) if !options.has_threads => pids.iter().copied().map(Pid).collect(),
        _ => Vec::new(),
    };
    make!(Wanted {
        source: options.source,
        length_ns: options.delay_ns.unwrap_or(USUAL_DELAY_NS).max(LEAST_DELAY_NS),
        fields: TEXT.union(needed(options)),
        has_all: pids.is_empty(),
        pids,
        by_task: options.has_threads,
    })
}

/// Writes iterations to standard output.
pub struct Printer<'a> {
    options: &'a Options,
    width: usize,
    /// Lines of an iteration.
    pub height: usize,
    /// What was looked up.
    pub around: Surroundings,
    /// At the iteration before.
    statistics: HostStatistics,
    /// Digits of the largest pid.
    pub pid_digits: usize,
    /// The last iteration.
    pub text: Vec<u8>,
}

impl Printer<'_> {
    /// Nothing printed yet.
    pub fn new(options: &Options) -> Printer<'_> {
        let (width, height) = size(options.width);
        Printer {
            options,
            width,
            height,
            around: Surroundings::now(),
            statistics: HostStatistics::default(),
            // As narrow as in procps, where the machine has few.
            pid_digits: machine::tid_digits().max(5),
            text: Vec::new(),
        }
    }

    fn print_first(&mut self, snapshot: &Snapshot) -> anyhow::Result<()> {
        let entries = self.first_entries(snapshot, clock::boottime());
        self.print_entries(entries, None)
    }

    fn print(&mut self, interval: &Interval) -> anyhow::Result<()> {
        let entries = self.entries(interval);
        self.print_entries(entries, Some(interval))
    }

    /// What each row has used since it began.
    pub fn first_entries<'b>(&self, snapshot: &'b Snapshot, now: Boottime) -> Vec<Entry<'b>> {
        let rows = if self.options.has_threads { &snapshot.tasks } else { &snapshot.processes };
        let entry = |whole| {
            let mut entry = self.entry(whole);
            entry.cpu_ns = entry.time_ns() - entry.children_ns;
            entry.length_ns = now.since_ns(whole.start_time_ns).max(1);
            entry
        };
        rows.iter().map(entry).collect()
    }

    /// What each row has used in the interval.
    pub fn entries<'b>(&self, interval: &'b Interval) -> Vec<Entry<'b>> {
        let rows = if self.options.has_threads { &interval.tasks } else { &interval.processes };
        let entry = |row: &'b Row| Entry {
            growth: row.usage.growth,
            cpu_ns: row.usage.cpu_ns,
            length_ns: interval.length_ns(),
            ..self.entry(&row.task)
        };
        rows.iter().map(entry).collect()
    }

    /// A row that has used nothing.
    fn entry<'b>(&self, whole: &'b Task) -> Entry<'b> {
        let knows = |field| self.options.has_children && whole.known.contains(field);
        let children_ns = if knows(Field::ChildrenUser) && knows(Field::ChildrenSystem) {
            whole.children_user_ns + whole.children_system_ns
        } else {
            0
        };
        Entry { whole, growth: Counters::of(whole), cpu_ns: 0, length_ns: 1, children_ns }
    }

    fn print_entries(
        &mut self,
        mut entries: Vec<Entry<'_>>,
        interval: Option<&Interval>,
    ) -> anyhow::Result<()> {
        let counts = self.choose(&mut entries);
        self.look_up(&entries);
        let head = self.head(counts, interval);
        self.append(&head, entries);
        output::write(&self.text)
    }

    /// Keeps the rows that are shown, and counts those of which they are some.
    pub fn choose(&self, entries: &mut Vec<Entry<'_>>) -> TaskCounts {
        let options = self.options;
        if let Who::Pids(_) = options.who {
            entries.retain(|entry| options.who.wants(entry.whole));
        }
        let counts = TaskCounts::of(entries.iter().map(|entry| entry.whole));
        entries.retain(|entry| options.who.wants(entry.whole) && !(options.hides_idle && entry.is_idle()));
        counts
    }

    /// Writes an iteration.
    pub fn append(&mut self, head: &Head<'_>, entries: Vec<Entry<'_>>) {
        let mut text = std::mem::take(&mut self.text);
        if head.interval.is_some() {
            text.clear();
            text.push(b'\n');
        }
        head.append(&mut text, self.width);
        // Three lines, those of the CPUs, those of memory, and the heads of the columns.
        let head_lines = 4 + head.cpus.len() + 2 * usize::from(head.memory.is_some());
        let table = Table {
            options: self.options,
            width: self.width,
            pid_digits: self.pid_digits,
            around: &self.around,
            memory_total_bytes: head.memory.map(|memory| memory.total),
            most_rows: self.height.saturating_sub(head_lines),
        };
        table.append(&mut text, entries);
        self.text = text;
    }

    /// Looks up what the rows show.
    pub fn look_up(&mut self, entries: &[Entry<'_>]) {
        let rows: Vec<&Task> = entries.iter().map(|entry| entry.whole).collect();
        self.around.begin(rows.len());
        let mut wanted = Lookups::USERS.union(Lookups::CALENDAR);
        if self.options.has_arguments {
            wanted = wanted.union(Lookups::CMDLINE);
        }
        self.around.look_up(&rows, wanted);
    }

    /// Reads what the machine tells of itself.
    fn head<'b>(&mut self, counts: TaskCounts, interval: Option<&'b Interval>) -> Head<'b> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
        let statistics = HostStatistics::read();
        // In the first iteration: since the boot.
        let before = std::mem::take(&mut self.statistics);
        let wants = |cpu: &Option<u32>| cpu.is_some() == self.options.has_each_cpu;
        let since = |&(cpu, states): &(Option<u32>, CpuStates)| {
            let then = before.states.iter().find(|(other, _)| *other == cpu);
            (cpu, states.since(&then.map_or_else(CpuStates::default, |(_, then)| *then)))
        };
        let cpus = statistics.states.iter().filter(|(cpu, _)| wants(cpu)).map(since).collect();
        let head = Head {
            time_of_day: self.around.machine.local(now).strftime("%H:%M:%S").to_string(),
            uptime_seconds: clock::boottime().ticks(1_000_000_000),
            users: logins::count(),
            load: statistics.load.clone(),
            has_threads: self.options.has_threads,
            counts,
            cpus,
            memory: statistics.memory,
            scale: self.options.summary_scale,
            has_blank_line: std::env::var_os(NO_BALANCE).is_some_and(|value| !value.is_empty()),
            interval,
        };
        self.statistics = statistics;
        head
    }
}

/// Places of a line, and lines of an iteration.
fn size(width: Option<Width>) -> (usize, usize) {
    let variable = |name: &str| {
        let number = std::env::var(name).ok().and_then(|text| text.parse().ok());
        number.filter(|&number: &usize| number > 0)
    };
    match width {
        Some(Width::Columns(columns)) => (columns, usize::MAX),
        Some(Width::Environment) => (
            variable("COLUMNS").map_or(MOST_WIDTH, |columns| columns.min(MOST_WIDTH)),
            variable("LINES").unwrap_or(usize::MAX),
        ),
        None => {
            let columns = variable("COLUMNS").or_else(terminal_width).unwrap_or(WIDTH_WITHOUT_TERMINAL);
            (columns.min(MOST_WIDTH), usize::MAX)
        }
    }
}
