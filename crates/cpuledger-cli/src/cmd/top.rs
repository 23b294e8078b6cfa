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

use anyhow::Context;
use cpuledger::Boottime;
use cpuledger::clock;
use cpuledger::interval::Interval;
use cpuledger::machine::Load;
use cpuledger::source::replay::RecordedFacts;
use cpuledger::source::service::name_socket;
use cpuledger::{SourceKind, Task, machine};
use cpuledger_names::lookups::Lookups;
use cpuledger_names::named::Namer;
use cpuledger_names::row::Surroundings;
use cpuledger_program::exit::Failure;
use cpuledger_program::output;
use cpuledger_view::group::Group;
use cpuledger_view::interval::{Page, Writer};
use cpuledger_view::key::Shown;
use cpuledger_view::{csv, json};

use crate::privileges;
use crate::record::recorder::Recorder;
use crate::stop::wake_on_signals;
use collect::{Collector, Outcome};
pub use options::Arguments;
use options::{Format, Options};
use replay::{Asked, Recorded};
use select::Selection;
use terminal::{has_screen, terminal_width};

/// What follows the options in the help of `top` and `ptop`.
pub const AFTER_HELP: &str = "\
Without a terminal, or with --format, two intervals are printed unless -b or -n is given. With -b, intervals are printed \
until Ctrl-C, or until N have been printed (-n N). On the screen, ? shows the keys, F4 sets a filter (only the screen has \
filters), and q quits.

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
  sudo ptop -b -n 1 --by wait                       where all of the time went; what waits most comes first
  sudo ptop -b -n 1 --by wait,cgroup                which cgroup waits most
  sudo ptop -b -n 1 --by parts                      user, system and stolen time of the living and of the dead
  ptop --replay DIR --at 03:12                      the screen at that time; ( and ) step back and forward
  ptop --replay DIR -b --since 03:12 --until 03:15  what a recording has of these minutes

Exit codes: 0 done, 1 no process matched, output failed or nothing is recorded of that time, 2 wrong option, 3 no usable source. --by wait and parts need the ledger, or the service: \
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
    let mut collector = Collector::of(&options, collect::wanted(&options))?;
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
        printer.print(&collector.intervals.interval, None)?;
        intervals += 1;
        if outcome == Outcome::Stopped {
            break;
        }
    }
    recorder.map_or(Ok(()), Recorder::end)?;
    if printer.selection.has_matched || collector.intervals.exists(|row| select::is_wanted(&options, row))? {
        return Ok(());
    }
    Err(nothing_matched(&options))
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
        printer.make(&interval, Some(&told))?;
        printed.append(&mut printer.buffer);
        next = told.next;
    }
    Ok(printed)
}

/// Whether what is printed has names of cgroups.
fn needs_names(options: &Options) -> bool {
    options.format != Format::Text || options.by.group.needs_names()
}

/// What is said where no interval had a row that was asked for.
fn nothing_matched(options: &Options) -> anyhow::Error {
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
    writer: Writer,
    /// Of the interval.
    boot_id: Option<String>,
    /// Of this machine.
    own_boot_id: Option<String>,
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
            writer: Writer::default(),
            own_boot_id: boot_id.clone(),
            boot_id,
            reads_files: true,
            has_recorded_names: false,
            load: None,
            width: width(),
            has_header: false,
        }
    }

    /// Prints an interval; of a recording, with what that says of it.
    fn print(&mut self, interval: &Interval, of: Option<&RecordedFacts>) -> anyhow::Result<()> {
        self.make(interval, of)?;
        output::write(&self.buffer)
    }

    /// Makes what is printed of it.
    fn make(&mut self, interval: &Interval, of: Option<&RecordedFacts>) -> anyhow::Result<()> {
        self.buffer.clear();
        match of {
            Some(told) => self.take_machine(interval, told),
            None if self.options.format == Format::Text => self.read_machine(),
            None => {}
        }
        self.append(interval)
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
        self.reads_files = is_this_boot;
        self.has_recorded_names = !told.cgroups.is_empty();
        if self.has_recorded_names {
            self.namer.take_recorded(&told.cgroups, &told.units);
        }
        self.width = width();
    }

    /// Appends the interval in the format that was asked for.
    fn append(&mut self, interval: &Interval) -> anyhow::Result<()> {
        self.selection.select(self.options, interval);
        if self.options.format == Format::Text {
            self.append_text(interval);
            return Ok(());
        }
        self.look_up_names(interval);
        let named = self.namer.named();
        let shown = self.selection.shown(self.options, interval, (self.boot_id.as_deref(), Some(&named)));
        if self.options.format == Format::Json {
            json::append_interval(&mut self.buffer, &shown);
        } else {
            if !std::mem::replace(&mut self.has_header, true) {
                csv::append_header(&mut self.buffer)?;
            }
            let is_safe = self.options.format == Format::CsvSafe;
            let cells = if is_safe { csv::Cells::Inert } else { csv::Cells::Plain };
            csv::append_interval(&mut self.buffer, &shown, cells)?;
        }
        Ok(())
    }

    /// Looks up what the cgroups of all rows are called.
    fn look_up_names(&mut self, interval: &Interval) {
        self.namer.begin();
        if self.reads_files && !self.has_recorded_names {
            self.namer.learn_interval(interval);
        }
    }

    fn append_text(&mut self, interval: &Interval) {
        let shown = self.selection.shown(self.options, interval, (None, None));
        let reads = Reads { files: self.reads_files, names: self.reads_files && !self.has_recorded_names };
        look_up((&mut self.around, &mut self.namer), self.options, (interval, &shown), reads);
        let named = self.namer.named();
        let groups = (self.options.by.group != Group::No).then(|| {
            let names = (&self.around.users, &named);
            self.selection.groups(self.options, interval, names)
        });
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
        };
        if std::mem::replace(&mut self.has_header, true) {
            self.buffer.push(b'\n');
        }
        self.writer.append_interval(&mut self.buffer, &shown, &page);
        if self.selection.is_limited_to_idle(self.options) {
            self.buffer.extend_from_slice(
                b"No selected process ran in this interval (--all lists those that live and did not run)\n",
            );
        }
    }
}

/// What may be read of the rows' tasks.
#[derive(Clone, Copy)]
struct Reads {
    files: bool,
    names: bool,
}

/// Looks up what the rows will show.
fn look_up(
    (around, namer): (&mut Surroundings, &mut Namer),
    options: &Options,
    (interval, shown): (&Interval, &Shown<'_>),
    reads: Reads,
) {
    let rows: Vec<&Task> = shown.rows().map(|row| &row.task).collect();
    around.begin(rows.len());
    let mut wanted = Lookups::USERS;
    if options.has_arguments && reads.files {
        wanted = wanted.union(Lookups::CMDLINE);
    }
    around.look_up(&rows, wanted);
    namer.begin();
    if options.by.group.needs_names() && reads.names {
        namer.learn_interval(interval);
    }
}

/// COLUMNS, else the width of the terminal.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.or_else(terminal_width).filter(|&width| width > 0).unwrap_or(WIDTH_WITHOUT_TERMINAL)
}
