//! `cpuledger top`: what ran, interval after interval.

pub mod collect;
pub mod options;
pub mod order;
pub mod procps;
#[cfg(test)]
mod recorded;
pub mod replay;
#[cfg(test)]
mod replayed;
pub mod select;
mod terminal;

use std::collections::HashMap;

use anyhow::Context;
use cpuledger::Boottime;
use cpuledger::clock;
use cpuledger::interval::Interval;
use cpuledger::machine::Load;
use cpuledger::source::replay::RecordedFacts;
use cpuledger::source::service::name_socket;
use cpuledger::{SourceKind, Task, machine};
use cpuledger_model::framing::{self, Ancestor, Circumstances};
use cpuledger_model::{Dimension, Pid};
use cpuledger_names::ancestors::Ancestors;
use cpuledger_names::lookups::Lookups;
use cpuledger_names::named::{Named, Namer};
use cpuledger_names::row::Surroundings;
use cpuledger_program::exit::Failure;
use cpuledger_program::output;
use cpuledger_view::group::{self, Ancestry, Known, Sum};
use cpuledger_view::interval::{self, Page};
use cpuledger_view::key::Beside;
use cpuledger_view::{csv, json};

use super::filter::{self, Filter};
use crate::privileges;
use crate::record::recorder::Recorder;
use crate::stop::wake_on_signals;
use crate::values::Format;
use collect::{Collector, Outcome, Taker};
pub use options::Arguments;
use options::Options;
use replay::{Asked, Recorded};
use select::Selection;
use terminal::{has_screen, terminal_width};

/// What follows the options in the help of `top` and `ptop`.
pub const AFTER_HELP: &str = "\
Without a terminal, or with --format, two intervals are printed unless -b or -n is given. With -b, intervals are printed \
until Ctrl-C, or until N have been printed (-n N). On the screen, ? shows the keys, F4 sets a filter, and q quits.

Sources, best first. auto takes the first that works, except that it takes walk rather than ledger when context switches \
are so frequent that the ledger would cost too much. --slots forces the ledger. `cpuledger doctor` says which source auto \
takes, and why:
  service  the books of `cpuledger serve`, where it runs: what the ledger sees. No privilege
  ledger   every context switch: all CPU time. Root, or CAP_BPF and CAP_PERFMON; Linux 5.12
  walk     all tasks at one instant, and tasks that exit. The same privileges; Linux 5.8
  netlink  tasks one after another, and tasks that exit. Root, or CAP_NET_ADMIN
  procfs   the processes in /proc; not what ends between two refreshes. No privilege

Examples:
  sudo ptop                                         the screen
  sudo ptop -b -n 1 -d 10                           one interval of 10 s as text
  sudo ptop -b -n 1 --format json -o rss_bytes      one interval of 3 s as JSON, sorted by memory
  sudo ptop -b -n 1 --filter 'cpu>5 user=www'       what one user runs above 5 % of a CPU
  sudo ptop -b -n 1 --columns pid,%cpu,usr,unit,comm  other columns
  sudo ptop -b -n 1 --by wait                       where all of the time went; what waits most comes first
  sudo ptop -b -n 1 --by wait,cgroup                which cgroup waits most
  sudo ptop -b -n 1 --by parts                      user, system and stolen time of the living and of the dead
  sudo ptop -b -n 1 --by device                     what each disk read and wrote, and how long that took
  ptop --replay DIR --at 03:12                      the screen at that time; ( and ) step back and forward
  ptop --replay DIR -b --since 03:12 --until 03:15  what a recording has of these minutes

Exit codes: 0 done, 1 no process matched, output failed or nothing is recorded of that time, 2 wrong option, 3 no usable source. --by wait, parts, blame and device need the ledger, or the service: \
if neither works, the code is 3; with any other --source it is 2.

The manual (man/ptop.1) has the columns, keys, filters and settings.";

/// Columns where there is neither a terminal nor COLUMNS, as in top.
const WIDTH_WITHOUT_TERMINAL: usize = 512;

/// Runs `top`.
///
/// # Errors
/// Bad options, no source, or nowhere to write.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let options = Options::parse(arguments, has_screen())?;
    arguments.socket.as_deref().into_iter().for_each(name_socket);
    if options.is_screen {
        return crate::tui::run(&options, arguments);
    }
    if let Some(asked) = &options.replay {
        return print_recorded(&options, asked, arguments);
    }
    if needs_names(&options) {
        privileges::watch_names();
    }
    let mut collector = Collector::of(&options, collect::wanted(&options), Taker::Text)?;
    crate::tui::check(arguments)?;
    wake_on_signals(collector.intervals.waker());
    let mut recorder = arguments
        .record
        .as_deref()
        .map(|path| Recorder::of_shown(path, cpuledger_program::output::warn))
        .transpose()?;
    let mut printer = Printer::new(&options);
    collector.keep_time();
    let mut intervals = 0;
    while options.iterations.is_none_or(|wanted| intervals < wanted) {
        let outcome = collector.close()?;
        if let Some(recorder) = &mut recorder {
            recorder.add(&collector.intervals.interval, collector.intervals.circumstances());
        }
        let interval = &collector.intervals.interval;
        printer.realtime_ns = realtime_ns(interval, collector.intervals.circumstances());
        printer.print(interval, None)?;
        intervals += 1;
        if outcome == Outcome::Stopped {
            break;
        }
    }
    recorder.map_or(Ok(()), Recorder::end)?;
    // Of what did not run it is not known whether it would have matched a filter.
    let is_idle = |row: &Task| options.query.is_empty() && select::is_wanted(&options, row);
    if printer.selection.has_matched || collector.intervals.exists(is_idle)? {
        return Ok(());
    }
    Err(nothing_matched(&options))
}

/// Begin and end of an interval of this machine by the time of day.
fn realtime_ns(interval: &Interval, of: &Circumstances<'_>) -> Option<[u64; 2]> {
    let end_ns = of.end_realtime_ns?;
    let length_ns = interval.length_ns().saturating_add(of.suspended_ns.unwrap_or_default());
    Some([end_ns.saturating_sub(length_ns), end_ns])
}

/// Prints the intervals of a recording.
fn print_recorded(options: &Options, asked: &Asked, arguments: &Arguments) -> anyhow::Result<()> {
    let mut recorded = Recorded::open(&asked.path, asked.span)?;
    privileges::give_up(SourceKind::Service)?;
    crate::tui::check(arguments)?;
    recorded.replay.set_length(options.delay_ns);
    let begin = recorded.begin(asked)?;
    begin.notice.iter().for_each(|sentence| output::warn(sentence));
    let mut next = Some(begin.spot);
    let mut printer = Printer::new(options);
    printer.host = recorded.replay.host();
    let mut interval = Interval::default();
    let mut intervals = 0;
    while options.iterations.is_none_or(|wanted| intervals < wanted) {
        let Some(spot) = next else { break };
        let Some(told) = recorded.replay.read(spot, &mut interval)? else {
            if let Some((lost, times)) = recorded.replay.lost_from(spot) {
                output::warn(&replay::lost_sentence(lost, times));
            }
            break;
        };
        replay::notice(&told).into_iter().for_each(|sentence| output::warn(&sentence));
        let knows_it = interval.source.is_of_ledger() || options.by.has_parts && interval.is_of_accounts();
        if let Some(only) = options.by.of_ledger().filter(|_| !knows_it) {
            let (option, source) = (only.option, interval.source);
            let sentence = format!("{option} needs a recording of the ledger; this one is of {source}");
            return Err(Failure::Usage(sentence).into());
        }
        printer.print(&interval, Some(&told))?;
        intervals += 1;
        next = told.next;
    }
    if printer.selection.has_matched { Ok(()) } else { Err(nothing_matched(options)) }
}

/// What is printed of a recording, for fuzz targets.
///
/// # Errors
/// As [`run`].
pub fn printed(arguments: &Arguments) -> anyhow::Result<Vec<u8>> {
    let options = Options::parse(arguments, false)?;
    let asked = options.replay.as_ref().context("of a recording")?;
    let mut recorded = Recorded::open(&asked.path, asked.span)?;
    recorded.replay.set_length(options.delay_ns);
    let mut next = Some(recorded.begin(asked)?.spot);
    let (mut printer, mut printed) = (Printer::new(&options), Vec::new());
    let mut interval = Interval::default();
    while let Some(spot) = next {
        let Some(told) = recorded.replay.read(spot, &mut interval)? else { break };
        replay::notice(&told);
        printer.make(&interval, Some(&told));
        printed.append(&mut printer.buffer);
        next = told.next;
    }
    Ok(printed)
}

/// Whether what is printed has names of cgroups.
fn needs_names(options: &Options) -> bool {
    options.format != Format::Text
        || options.by.pairs().or(options.by.group).is_some_and(group::needs_names)
        || options.query.needs_names()
        || options.columns.iter().any(|column| column.cell().name().is_some())
}

/// What is said where no interval had a row that was asked for.
fn nothing_matched(options: &Options) -> anyhow::Error {
    if !options.query.is_empty() {
        return anyhow::anyhow!("no row of an interval matched --filter");
    }
    anyhow::anyhow!(match (&*options.pids, options.euids.is_empty()) {
        ([], true) => "no interval could be read: what the recording has of that time is damaged".to_owned(),
        ([pid], true) => format!("no process has pid {pid}"),
        (_, true) => "no process has any of the pids of -p".to_owned(),
        ([], _) => "no process matched -u".to_owned(),
        _ => "no process matched both -p and -u".to_owned(),
    })
}

/// Writes intervals to standard output.
struct Printer<'a> {
    options: &'a Options,
    buffer: Vec<u8>,
    selection: Selection,
    around: Surroundings,
    namer: Namer,
    ancestors: Ancestors,
    /// Of the interval.
    boot_id: Option<String>,
    /// Of this machine.
    own_boot_id: Option<String>,
    /// Begin and end of the interval, CLOCK_REALTIME.
    realtime_ns: Option<[u64; 2]>,
    /// The machine that it is of.
    host: Option<Vec<u8>>,
    /// Whether the files of tasks may be of those that are shown.
    reads_files: bool,
    /// Whether names of cgroups are those of the recording.
    has_recorded_names: bool,
    load: Option<Load>,
    width: usize,
    has_header: bool,
}

impl Printer<'_> {
    fn new(options: &Options) -> Printer<'_> {
        let boot_id = machine::boot_id();
        // From now on, so that what dies before the interval ends has its names.
        let is_live = options.replay.is_none();
        let namer = if needs_names(options) && is_live { Namer::watched() } else { Namer::default() };
        Printer {
            options,
            buffer: Vec::new(),
            selection: Selection::default(),
            around: Surroundings::now(),
            namer,
            ancestors: Ancestors::default(),
            own_boot_id: boot_id.clone(),
            boot_id,
            realtime_ns: None,
            host: is_live.then(|| rustix::system::uname().nodename().to_bytes().to_vec()),
            reads_files: true,
            has_recorded_names: false,
            load: None,
            width: width(),
            has_header: false,
        }
    }

    /// Prints an interval; of a recording, with what that says of it.
    fn print(&mut self, interval: &Interval, of: Option<&RecordedFacts>) -> anyhow::Result<()> {
        self.make(interval, of);
        output::write(&self.buffer)
    }

    /// Makes what is printed of it.
    fn make(&mut self, interval: &Interval, of: Option<&RecordedFacts>) {
        self.buffer.clear();
        match of {
            Some(told) => self.take_machine(interval, told),
            None if self.options.format == Format::Text => self.read_machine(),
            None => {}
        }
        self.append(interval);
    }

    /// Reads the clocks and the load, which the head of the text shows.
    fn read_machine(&mut self) {
        self.around.machine.look_up(Lookups::CALENDAR.union(Lookups::MEMORY));
        self.around.machine.uptime = clock::boottime();
        self.around.machine.now_seconds = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
        self.load = machine::load();
        self.width = width();
    }

    /// Takes the clocks from the recording, and of the machine what it may still tell of that time.
    fn take_machine(&mut self, interval: &Interval, told: &RecordedFacts) {
        let is_this_boot = told.boot_id.is_some() && told.boot_id == self.own_boot_id;
        let wanted = if is_this_boot { Lookups::MEMORY } else { Lookups::NONE };
        self.around.machine.look_up(Lookups::CALENDAR.union(wanted));
        self.around.machine.uptime = told.end.unwrap_or(Boottime::from_ns(interval.end_ns));
        self.around.machine.now_seconds = (told.end_realtime_ns / 1_000_000_000) as i64;
        self.boot_id.clone_from(&told.boot_id);
        self.realtime_ns = Some([told.start_realtime_ns, told.end_realtime_ns]);
        self.reads_files = is_this_boot;
        self.has_recorded_names = !told.cgroups.is_empty();
        if self.has_recorded_names {
            self.namer.take_recorded(&told.cgroups, &told.units);
        }
        self.width = width();
    }

    /// Appends the interval in the format that was asked for.
    fn append(&mut self, interval: &Interval) {
        self.around.begin(interval.processes.len() + interval.tasks.len());
        self.look_up_names(interval);
        self.look_up_for_filter(interval);
        let named = self.namer.named();
        let filter = Filter { query: &self.options.query, around: &self.around, named: &named };
        self.selection.select(self.options, interval, &filter);
        if self.options.format == Format::Text {
            return self.append_text(interval, &named);
        }
        let groups = self.groups(interval, &named);
        self.look_up_beside(interval);
        let mut shown = self.selection.shown(self.options, interval, (self.boot_id.as_deref(), Some(&named)));
        let users = Some(&self.around.users);
        let (keys, host) = (self.options.json_keys, self.host.as_deref());
        shown.beside = Beside { keys, realtime_ns: self.realtime_ns, host, users };
        if self.options.by.has_devices {
            json::append_devices(&mut self.buffer, &shown);
        } else if let Some(by) = self.options.by.wire() {
            json::append_wire(&mut self.buffer, &shown, by);
        } else if let Some(by) = self.options.by.pairs() {
            json::append_pairs(&mut self.buffer, &shown, by);
        } else if let Some((by, groups)) = self.options.by.group.zip(groups) {
            json::append_groups(&mut self.buffer, &shown, by, &groups);
        } else if let Format::Csv(cells) = self.options.format {
            if !std::mem::replace(&mut self.has_header, true) {
                csv::append_header(&mut self.buffer);
            }
            csv::append_interval(&mut self.buffer, &shown, cells);
        } else {
            json::append_interval(&mut self.buffer, &shown);
        }
    }

    /// Looks up what the cgroups of all rows are called, if that is shown or filtered by.
    fn look_up_names(&mut self, interval: &Interval) {
        self.namer.begin();
        if needs_names(self.options) && self.reads_files && !self.has_recorded_names {
            self.namer.learn_interval(interval);
        }
    }

    /// Looks up names of the users of all rows, and of the dead, where JSON has them.
    fn look_up_beside(&mut self, interval: &Interval) {
        if self.options.json_keys.user {
            let living = interval.processes.iter().chain(&interval.tasks).map(|row| row.task.euid);
            let dead = interval.exited.iter().flatten().filter_map(|exited| exited.exit.euid);
            living.chain(dead).for_each(|euid| self.around.users.learn(euid));
        }
    }

    /// Looks up what the filter asks of all rows.
    fn look_up_for_filter(&mut self, interval: &Interval) {
        let query = &self.options.query;
        if query.is_empty() {
            return;
        }
        let rows = interval.processes.iter().chain(&interval.tasks).map(|row| &row.task);
        let rows: Vec<&Task> = rows.filter(|row| select::is_wanted(self.options, row)).collect();
        self.around.look_up(&rows, filter::lookups(query, self.reads_files));
        let dead = interval.exited.iter().flatten().filter_map(|exited| exited.exit.euid);
        let blocked = interval.blocked.iter().flatten().filter_map(|blocked| blocked.euid);
        dead.chain(blocked).for_each(|euid| self.around.users.learn(euid));
    }

    /// The rows that are shown, put together as the options ask. Names of users are looked up.
    fn groups(&mut self, interval: &Interval, named: &Named) -> Option<Vec<Sum>> {
        let dimension = self.options.by.group?;
        let rows: Vec<&Task> =
            self.selection.shown(self.options, interval, (None, None)).rows().map(|row| &row.task).collect();
        self.around.look_up(&rows, Lookups::USERS);
        let ancestry = match dimension {
            Dimension::Process | Dimension::Ancestor => self.ancestry(interval),
            _ => Ancestry::default(),
        };
        let known = Known { users: &self.around.users, named, ancestry: &ancestry };
        Some(self.selection.groups(self.options, interval, (dimension, &known)))
    }

    /// The processes of the interval and those above them: as they were recorded or, of this machine, as they are.
    fn ancestry(&mut self, interval: &Interval) -> Ancestry {
        let recorded = interval.frame.as_deref().map(framing::ancestors).unwrap_or_default();
        let recorded: HashMap<Pid, Ancestor> =
            recorded.into_iter().map(|ancestor| (ancestor.pid, ancestor)).collect();
        let is_live = self.options.replay.is_none();
        self.ancestors.begin();
        Ancestry::of(&interval.processes, |pid| match recorded.get(&pid) {
            None if is_live => self.ancestors.find(pid).cloned(),
            found => found.cloned(),
        })
    }

    fn append_text(&mut self, interval: &Interval, named: &Named) {
        let groups = self.groups(interval, named);
        let shown = self.selection.shown(self.options, interval, (None, None));
        let rows: Vec<&Task> = shown.rows().map(|row| &row.task).collect();
        let has_arguments = self.options.has_arguments && self.reads_files;
        let arguments = if has_arguments { Lookups::CMDLINE } else { Lookups::NONE };
        self.around.look_up(&rows, Lookups::USERS.union(arguments));
        let machine = &self.around.machine;
        let page = Page {
            time_of_day: &machine.local(machine.now_seconds).strftime("%H:%M:%S").to_string(),
            load: self.load.as_ref(),
            around: &self.around,
            has_arguments: self.options.has_arguments,
            width: self.width,
            has_states: self.options.by.has_states,
            has_parts: self.options.by.has_parts,
            groups: groups.as_deref(),
            pairs: self.options.by.pairs(),
            wire: self.options.by.wire(),
            has_devices: self.options.by.has_devices,
            columns: &self.options.columns,
            named: Some(named),
        };
        if std::mem::replace(&mut self.has_header, true) {
            self.buffer.push(b'\n');
        }
        interval::append_interval(&mut self.buffer, &shown, &page);
        if self.selection.is_limited_to_idle(self.options) {
            self.buffer.extend_from_slice(
                b"No selected process ran in this interval (--all lists those that live and did not run)\n",
            );
        }
    }
}

/// COLUMNS, else the width of the terminal.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.or_else(terminal_width).filter(|&width| width > 0).unwrap_or(WIDTH_WITHOUT_TERMINAL)
}
