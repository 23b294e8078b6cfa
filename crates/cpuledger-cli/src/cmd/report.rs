//! `cpuledger report`: what a recorded span says about CPU time, by name.

mod fleet;
pub mod names;
mod output_file;
mod read;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cpuledger_page::Sheet;
use cpuledger_proc::escape::escaped;
use cpuledger_program::exit::Failure;
use cpuledger_program::place;
use cpuledger_program::when::{self, written_exactly as local};
use cpuledger_program::{output, recording};
use cpuledger_recording::{Recording, Span, When};
use cpuledger_report::{Accumulator, Amounts, Dimension, Name, Report, compare};
use cpuledger_view::csv::Cells;
use cpuledger_view::near::{did_you_mean, listed};
use cpuledger_view::report::column::{COLUMNS, Column, Needs};
use cpuledger_view::report::{self as view, About, Comparison, Document, Labels};

use crate::values::named;
use names::Names;
use read::Interrupt;

/// What stands behind the options in help and manual.
pub const AFTER_HELP: &str = "\
A TIME is `2026-03-01 03:12`, `03:12:30` (today), `yesterday 03:12`, `2026-10-25 02:30+01:00` (with an offset from UTC),
`@1700000000` (seconds since 1970) or `2026-03-01T03:12:00Z`. `10m ago`, `-10m` and `now` count from the end of the recording. A SPAN is two of them with `..` in between: `yesterday 03:00..yesterday 04:00`.
Whole intervals are counted: one is in the span if its middle is.

Examples:
  cpuledger report --since yesterday --until today         what ran yesterday, by command
  cpuledger report --since -1h --by unit                   the units of systemd in the last hour
  cpuledger report --columns self,usr,sys,rsspeak,read     other figures
  cpuledger report --by ancestor --format html --output report.html
  cpuledger report --by device --since -1h                 what each disk read and wrote in the last hour
  cpuledger report --compare '-2h..-1h' '-1h..now'         what grew in the last hour
  cpuledger report --fleet s3://fleet/books --by pod       the pods of all machines that export there, in the last 7 days

--fleet asks DuckDB, as a package of Python (/usr/bin/python3, or what CPULEDGER_PYTHON names) or as a program. Without both it prints the SQL. Rows are by command, user, unit or pod; \
formats are text and json (an object a line). docs/fleet.md has further questions.

Exit codes: 0 done; 1 no such recording, nothing recorded in that span, some of it cannot be read, or output failed; 2 wrong option; 3 DuckDB or Python is not installed.";

/// What `--by` takes, and completions offer.
const NAMES_OF_BY: [&str; 11] = [
    "wait",
    "command",
    "user",
    "cgroup",
    "unit",
    "container",
    "pod",
    "image",
    "process",
    "ancestor",
    "device",
];

/// Parts of the time line of a page.
const BUCKETS: u32 = 240;

/// Branches of the icicle of a page.
const BRANCHES: usize = 400;

/// What a page has reports by, beside the one that is asked for.
const SHEETS: [Dimension; 3] = [Dimension::Command, Dimension::User, Dimension::Unit];

/// Options of `report`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A recording, or one of its files [default: /var/log/cpuledger for root, else
    /// $XDG_STATE_HOME/cpuledger or ~/.local/state/cpuledger]
    #[arg(value_name = "DIR|FILE")]
    recording: Option<PathBuf>,
    /// Start time [default: start of the recording]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Stop time [default: end of the recording]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// What the rows are: command, user, cgroup, unit, container, pod, image, process or ancestor. With wait, as in wait,unit:
    /// what they did off the CPU, and what waited most comes first. device: what each disk read and wrote, and how long that took
    #[arg(long, value_name = "WHAT", default_value = "command", value_parser = named(NAMES_OF_BY), hide_possible_values = true)]
    by: String,
    /// What is told of them, by headers of text or keys of JSON, separated by commas: self,%cap,usr,sys,rsspeak,read,write,vcsw,icsw
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    columns: Vec<String>,
    /// Number of rows; the rest is one row
    #[arg(long, value_name = "N", default_value = "30", allow_hyphen_values = true)]
    top: String,
    /// Output format: text, json, csv, csv-safe (csv with an apostrophe before text that a spreadsheet would run as a formula)
    /// or html (one page that needs nothing else)
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = named(FORMATS.map(|(name, _)| name)), hide_possible_values = true)]
    format: String,
    /// Write to this file; a failed run leaves no partial file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Two spans side by side: what grew most from A to B comes first
    #[arg(long, value_names = ["A", "B"], num_args = 2, allow_hyphen_values = true, conflicts_with_all = ["since", "until"])]
    compare: Option<Vec<String>>,
    /// Ask the exports of many machines, by DuckDB, which has to be installed: a directory or s3://BUCKET/PREFIX
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["recording", "compare", "output"])]
    fleet: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Csv(Cells),
    Html,
}

const FORMATS: [(&str, Format); 5] = [
    ("text", Format::Text),
    ("json", Format::Json),
    ("csv", Format::Csv(Cells::Plain)),
    ("csv-safe", Format::Csv(Cells::Inert)),
    ("html", Format::Html),
];

fn usage(sentence: String) -> anyhow::Error {
    Failure::Usage(sentence).into()
}

/// One of these, by its name.
fn choose<T: Copy>(
    option: &str,
    text: &str,
    all: impl Iterator<Item = (&'static str, T)> + Clone,
) -> anyhow::Result<T> {
    if let Some((_, found)) = all.clone().find(|(name, _)| *name == text) {
        return Ok(found);
    }
    let names = all.map(|(name, _)| name);
    let all = format!("use {}", listed(names.clone(), "or"));
    let near = did_you_mean("", text, names, &all);
    Err(usage(format!("{option}: `{text}` is unknown{near}")))
}

/// A word of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Wait,
    Device,
    Rows(Dimension),
}

/// What is asked for by `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct By {
    rows: Dimension,
    /// What waited for a CPU most comes first.
    is_of_waits: bool,
    /// The rows are of disks.
    is_of_devices: bool,
}

/// `--by`: a dimension, and `wait` beside it or alone; or `device`.
fn parse_by(text: &str) -> anyhow::Result<By> {
    let (mut by, mut is_of_waits, mut is_of_devices) = (None, false, false);
    for word in text.split(',') {
        let all = Dimension::ALL.into_iter().map(|by| (by.name(), Word::Rows(by)));
        let all = [("wait", Word::Wait)].into_iter().chain(all).chain([("device", Word::Device)]);
        match choose("--by", word, all)? {
            Word::Wait => is_of_waits = true,
            Word::Device => is_of_devices = true,
            Word::Rows(own) if by.is_some_and(|by| by != own) => {
                return Err(usage(format!("--by: `{text}` names two kinds of rows; use one of them")));
            }
            Word::Rows(own) => by = Some(own),
        }
    }
    if is_of_devices && (is_of_waits || by.is_some()) {
        return Err(usage("--by device stands alone".to_owned()));
    }
    Ok(By { rows: by.unwrap_or(Dimension::Command), is_of_waits, is_of_devices })
}

fn parse_columns(names: &[String]) -> anyhow::Result<Vec<&'static Column>> {
    let column = |name: &String| {
        let all = || COLUMNS.iter().map(|column| column.header);
        let keys = COLUMNS.iter().map(|column| column.key);
        let valid = format!("the columns are {}, and the keys of json", listed(all(), "and"));
        let near = || did_you_mean("", name, all().chain(keys), &valid);
        Column::by_name(name).ok_or_else(|| usage(format!("--columns: `{name}` is unknown{}", near())))
    };
    names.iter().map(column).collect()
}

/// What is asked for.
struct Question {
    by: By,
    /// What is told of each row; nothing: what is usual.
    columns: Vec<&'static Column>,
    top: usize,
    format: Format,
    /// One span, or two to be compared.
    spans: Vec<Span>,
}

impl Question {
    fn of(arguments: &Arguments) -> anyhow::Result<Question> {
        let by = parse_by(&arguments.by)?;
        let format = choose("--format", &arguments.format, FORMATS.into_iter())?;
        let mut columns = parse_columns(&arguments.columns)?;
        let has_own = arguments.compare.is_some() && format != Format::Json;
        if !columns.is_empty() && (has_own || format == Format::Html || arguments.fleet.is_some()) {
            return Err(usage(
                "--columns is for one span as text, csv or json, or for --compare as json".to_owned(),
            ));
        }
        let is_of_one = arguments.compare.is_none() && arguments.fleet.is_none();
        if by.is_of_waits && !(is_of_one && format != Format::Html) {
            return Err(usage(
                "--by wait is for one span as text, csv or json: name another kind of rows".to_owned(),
            ));
        }
        if by.is_of_devices && !(is_of_one && format != Format::Html && columns.is_empty()) {
            return Err(usage(
                "--by device is for one span as text, csv or json, without --columns".to_owned(),
            ));
        }
        if by.is_of_waits && columns.is_empty() && format == Format::Text {
            columns = Column::of_waits();
        }
        let time = |option: &str, text: &str| {
            when::parse(text).map(|named| named.when).map_err(|error| usage(format!("{option}: {error}")))
        };
        let optional = |option, text: &Option<String>, without| {
            text.as_ref().map_or(Ok(without), |text| time(option, text))
        };
        let mut spans = Vec::new();
        match &arguments.compare {
            None => spans.push(Span {
                since: optional("--since", &arguments.since, Span::ALL.since)?,
                until: optional("--until", &arguments.until, Span::ALL.until)?,
            }),
            Some(both) => {
                for span in both {
                    let (since, until) = span.split_once("..").ok_or_else(|| {
                        usage(format!("--compare: `{span}` is no span; write two times with `..` in between, as `-2h..-1h`"))
                    })?;
                    spans.push(Span { since: time("--compare", since)?, until: time("--compare", until)? });
                }
            }
        }
        if let Some(span) = spans.iter().find(|span| span.is_empty()) {
            return Err(usage(format!(
                "the span ends ({}) before it begins ({})",
                words(span.until),
                words(span.since)
            )));
        }
        if spans.len() == 2 && format == Format::Html {
            return Err(usage("--compare has no html; use text, json or csv".to_owned()));
        }
        let top = arguments.top.parse();
        let top = top.map_err(|_| usage(format!("--top needs a number of rows, not `{}`", arguments.top)))?;
        Ok(Question { by, columns, top, format, spans })
    }

    fn dimensions(&self) -> Vec<Dimension> {
        if self.by.is_of_devices {
            return Vec::new();
        }
        let mut dimensions: Vec<Dimension> = self.sheets().collect();
        if self.format == Format::Html && self.by.rows != Dimension::Ancestor {
            dimensions.push(Dimension::Ancestor);
        }
        dimensions
    }

    /// Whether figures are told that need this. JSON and CSV tell all, unless columns are named.
    fn tells(&self, needs: Needs) -> bool {
        match &*self.columns {
            [] => matches!(self.format, Format::Json | Format::Csv(_)),
            columns => columns.iter().any(|column| column.needs == needs),
        }
    }

    /// What there are reports by: a page has those of others, too.
    fn sheets(&self) -> impl Iterator<Item = Dimension> {
        let is_page = self.format == Format::Html;
        let others = SHEETS.into_iter().filter(move |by| is_page && *by != self.by.rows);
        [self.by.rows].into_iter().chain(others)
    }
}

/// Writes the report.
///
/// # Errors
/// A wrong option, no recording, nothing in the span, a part of it that cannot be read, or an output that cannot be written.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let question = Question::of(arguments)?;
    if let Some(tables) = &arguments.fleet {
        let Span { since, until } = question.spans[0];
        return fleet::run(&fleet::Question {
            tables,
            by: question.by.rows.name(),
            format: &arguments.format,
            top: question.top,
            span: [arguments.since.as_ref().map(|_| since), arguments.until.as_ref().map(|_| until)],
        });
    }
    let usual = place::usual();
    let path = arguments.recording.as_deref().or(usual.as_deref());
    let path =
        path.ok_or_else(|| usage("which recording? This user has no home; name its directory".to_owned()))?;
    let interrupt = Interrupt::watch();
    let mut recording = recording::open(path)?;
    recording::note_foreign(&recording);
    let mut parts = Vec::new();
    for span in &question.spans {
        parts.push(Part::read(path, &mut recording, span, &question, &interrupt)?);
    }
    let bytes = render(&question, &parts)?;
    if interrupt.has_come() {
        bail!("interrupted; nothing was written");
    }
    match &arguments.output {
        Some(file) => output_file::write(file, &bytes)?,
        None => {
            interrupt.end_at_once();
            output::write(&bytes)?;
        }
    }
    if parts.iter().any(|part| part.is_damaged) {
        bail!("the report is not whole: some of the recording cannot be read");
    }
    Ok(())
}

/// A report of all of a recording, for fuzz targets.
///
/// # Errors
/// As [`run`].
pub fn made(path: &Path, by: &str, format: &str) -> anyhow::Result<Vec<u8>> {
    let by = parse_by(by)?;
    let format = choose("--format", format, FORMATS.into_iter())?;
    let (columns, spans) = (Vec::new(), vec![Span::ALL]);
    let question = Question { by, columns, top: 30, format, spans };
    let mut recording = recording::open(path)?;
    let mut part = || Part::read(path, &mut recording, &Span::ALL, &question, &Interrupt::default());
    let mut bytes = render(&question, &[part()?])?;
    if format != Format::Html && !by.is_of_devices {
        bytes.extend(render_comparison(&question, &part()?, &part()?));
    }
    Ok(bytes)
}

/// An instant that was asked for.
fn words(when: When) -> String {
    match when {
        When::Realtime(ns) => local(ns),
        When::BeforeEnd(ns) => format!("{} s before the end", ns / 1_000_000_000),
    }
}

/// What was read of one span.
struct Part {
    about: About,
    accumulator: Accumulator,
    names: Names,
    is_damaged: bool,
}

impl Part {
    fn read(
        path: &Path,
        recording: &mut Recording,
        span: &Span,
        question: &Question,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Part> {
        let places = recording.select(span);
        let mut empty = Accumulator::new(&question.dimensions());
        if question.tells(Needs::States) || question.format == Format::Html {
            empty = empty.with_states();
        }
        if question.tells(Needs::Counters) {
            empty = empty.with_counters();
        }
        if question.by.is_of_devices {
            empty = empty.with_devices();
        }
        if question.format == Format::Html
            && let Some((since_ns, until_ns)) = recording.realtime_of(&places)
        {
            let buckets = u32::try_from(places.len()).unwrap_or(BUCKETS).clamp(1, BUCKETS);
            empty = empty.with_time_line(since_ns, until_ns, buckets);
        }
        let read = read::accumulate(path, recording, (span, &places), &empty, interrupt)
            .with_context(|| path.display().to_string())?;
        if read.accumulator.intervals() == 0 {
            let is_lost = if read.losses.is_empty() { "" } else { "; what was there cannot be read" };
            bail!(
                "{}: nothing is recorded in that span{is_lost}; the recording is {}",
                path.display(),
                recording::extent(recording.span_realtime_ns())
            );
        }
        if question.by.is_of_devices
            && read.accumulator.report(question.by.rows, 0).balance.disks.intervals == 0
        {
            bail!(
                "{}: no account of disks was recorded in that span: `cpuledger record --with disk` records one",
                path.display()
            );
        }
        let header = recording.segments().find_map(|(_, segment)| segment.header());
        let host = header.map(|header| header.host.clone()).map(text_of).filter(|host| !host.is_empty());
        let asked = |recording: &mut Recording, when: When, without: When| {
            Some(when)
                .filter(|when| *when != without)
                .and_then(|when| recording::realtime_ns(recording, when))
        };
        let tiers = places.iter().filter_map(|place| recording.tier(*place));
        let tier_ns = tiers.max().map_or(0, |length| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        let is_damaged = read.losses.iter().any(recording::is_damage);
        let about = About {
            recording: path.display().to_string(),
            host,
            since_ns: asked(recording, span.since, Span::ALL.since),
            until_ns: asked(recording, span.until, Span::ALL.until),
            tier_ns,
            repeated: recording.repeated(&places, span),
            losses: read.losses,
            gaps: read.gaps,
        };
        let boots: Vec<String> = recording
            .segments()
            .filter_map(|(_, segment)| segment.header())
            .map(|header| text_of(header.boot_id.clone()))
            .collect();
        let names = Names::of(about.host.as_deref(), &boots);
        Ok(Part { about, accumulator: read.accumulator, names, is_damaged })
    }

    fn report(&self, by: Dimension, top: usize) -> Report {
        let is_unit = by == Dimension::Unit;
        let named = |name: Name| if is_unit { self.names.unit(name) } else { name };
        self.accumulator.report_named(by, top, named)
    }

    /// The rows of text, JSON and CSV: of ancestry branches that stand alone.
    fn ranked(&self, question: &Question, top: usize) -> Report {
        let is_unit = question.by.rows == Dimension::Unit;
        let named = |name: Name| if is_unit { self.names.unit(name) } else { name };
        let weigh = |amounts: &Amounts| match question.by.is_of_waits {
            true => amounts.runqueue_wait_ns,
            false => Some(amounts.self_ns),
        };
        self.accumulator.report_ranked((question.by.rows, top), weigh, named)
    }

    fn labels(&self, reports: &[&Report]) -> Labels {
        self.names.labels(reports.iter().flat_map(|report| report.rows.iter().map(|row| &row.name)))
    }
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The page with the reports inside.
fn page(question: &Question, part: &Part, notes: &[String]) -> String {
    let ancestry = part.accumulator.report(Dimension::Ancestor, BRANCHES);
    let reports: Vec<(Dimension, Report)> =
        question.sheets().map(|by| (by, part.report(by, question.top))).collect();
    let labels = part.labels(&reports.iter().map(|(_, report)| report).collect::<Vec<_>>());
    // Ancestry is the same in all, and the first tells it.
    let sheets = reports.iter().enumerate().map(|(number, (by, report))| Sheet {
        by: by.name(),
        within: &[],
        source: &part.about.recording,
        report,
        ancestry: (number == 0).then_some(&ancestry),
        labels: &labels,
        notes,
    });
    let host =
        part.about.host.as_ref().map_or_else(|| "this machine".to_owned(), |host| escaped(host.as_bytes()));
    cpuledger_page::page_of(&host, sheets)
}

fn render(question: &Question, parts: &[Part]) -> anyhow::Result<Vec<u8>> {
    if let [before, after] = parts {
        return Ok(render_comparison(question, before, after));
    }
    let Some(part) = parts.first() else { bail!("there is no span") };
    let by = question.by.rows;
    let report = part.ranked(question, question.top);
    let labels = part.labels(&[&report]);
    let columns = &question.columns;
    let document =
        Document { about: &part.about, by, columns, report: &report, labels: &labels, local: &local };
    let mut bytes = Vec::new();
    let mut text = String::new();
    match question.format {
        Format::Text if question.by.is_of_devices => view::devices::append_text(&mut text, &document),
        Format::Json if question.by.is_of_devices => view::devices::append_json(&mut bytes, &document),
        Format::Csv(cells) if question.by.is_of_devices => {
            view::devices::append_csv(&mut bytes, &document, cells);
        }
        Format::Text => view::text::append_report(&mut text, &document),
        Format::Json => view::json::append_report(&mut bytes, &document),
        Format::Csv(cells) => view::csv::append_report(&mut bytes, &document, cells),
        Format::Html => text = page(question, part, &document.notes()),
    }
    bytes.extend_from_slice(text.as_bytes());
    Ok(bytes)
}

fn render_comparison(question: &Question, before: &Part, after: &Part) -> Vec<u8> {
    let by = question.by.rows;
    let reports = [before, after].map(|part| part.ranked(question, usize::MAX));
    let labels = [before, after].map(|part| part.labels(&[&reports[0], &reports[1]]));
    let rows = compare(&reports[0], &reports[1], question.top);
    let document = |about, place: usize| Document {
        about,
        by,
        columns: &question.columns,
        report: &reports[place],
        labels: &labels[place],
        local: &local,
    };
    let comparison =
        Comparison { before: document(&before.about, 0), after: document(&after.about, 1), rows: &rows };
    let mut bytes = Vec::new();
    match question.format {
        Format::Json => view::json::append_comparison(&mut bytes, &comparison),
        Format::Csv(cells) => view::csv::append_comparison(&mut bytes, &comparison, cells),
        Format::Text | Format::Html => {
            let mut text = String::new();
            view::text::append_comparison(&mut text, &comparison);
            bytes = text.into_bytes();
        }
    }
    bytes
}
