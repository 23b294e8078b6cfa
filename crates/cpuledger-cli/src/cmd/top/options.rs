//! The options of `top`: what hands know from procps, and what machines read.

use clap::ValueHint;
use cpuledger::source::{SourceKind, ledger};
use cpuledger::{Account, Accounts, FieldSet};
use cpuledger_model::Dimension;
use cpuledger_model::make;
use cpuledger_names::names::uid_of;
use cpuledger_program::exit::Failure;
use cpuledger_view::column::TableCell;
use cpuledger_view::interval::column::{TABLE, TableColumn};
use cpuledger_view::key::{MoreKeys, PROCESS_KEYS};
use cpuledger_view::near::{did_you_mean, listed};
use cpuledger_view::query::Query;
use cpuledger_view::shares::{MOST_HELD, StateColumn};

use super::order::{Order, SortBy};
use super::replay::Asked;
use crate::cmd::filter;
use crate::values::{FORMATS, Format, THEMES, accounts, named, source_named, sources};

/// Options of `top`. Their values are checked in [`Options::parse`], for one sentence instead of a usage text.
#[derive(Debug, Default, clap::Args)]
pub struct Arguments {
    /// Print one interval after another instead of showing the screen; -n limits their number
    #[arg(short, long)]
    pub batch: bool,
    /// Exit after N intervals [default: unlimited on the screen and with -b, otherwise 2]
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true)]
    pub iterations: Option<String>,
    /// Length of an interval in seconds, at least 0.01 [default: 3]
    #[arg(short, long, visible_alias = "interval", value_name = "S", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Show threads instead of processes; JSON and CSV show both
    #[arg(short = 'H', long)]
    pub threads: bool,
    /// Show only these processes (pids, separated by commas)
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true)]
    pub pid: Vec<String>,
    /// Show only processes of these effective users (names or numbers, separated by commas)
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::Username)]
    pub user: Vec<String>,
    /// Show only rows that match: 'cpu>5 user=www comm~^java'. The manual (man/ptop.1) has the language and all names
    #[arg(long, value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// Sort by a column (%CPU, %MEM, TIME+, PID and others) or a JSON key, highest first; -KEY sorts lowest first.
    /// The manual (man/ptop.1) lists them
    #[arg(short = 'o', long, value_name = "KEY", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Columns of the text, by headers or JSON keys, separated by commas: pid,%cpu,usr,sys,unit,comm. The manual (man/ptop.1) lists them
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// wait: show how each row spent its time; command, user, cgroup, unit, container, pod, image, process, ancestor:
    /// group the rows. With wait, what waits most comes first. Combine them with a comma: wait,cgroup. blame: which cgroup made which wait
    /// for a CPU; blame,unit: likewise by unit (or container, pod, image). device: what each disk read and wrote, and how long that took.
    /// network: what each cgroup sent and received on the wire, beside what its tasks did; network,unit: likewise by unit
    #[arg(long, value_name = "WHAT", value_parser = named(names_of_by()), hide_possible_values = true)]
    pub by: Option<String>,
    /// Hide tasks that did not run in the interval: the default, unless the configuration file has `all = true`
    #[arg(short, long)]
    pub idle: bool,
    /// Show command lines instead of names
    #[arg(short, long)]
    pub command_line: bool,
    /// Output format: text, json (one object per line), csv, or csv-safe (csv with an apostrophe before text that a
    /// spreadsheet would run as a formula) [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = named(formats().map(|(name, _)| name)), hide_possible_values = true)]
    pub format: Option<String>,
    /// More keys in JSON, separated by commas: realtime (begin and end as RFC 3339 and in nanoseconds), host, user (name), cgroup (path)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named(MoreKeys::NAMES.map(|(name, _)| name)), hide_possible_values = true)]
    pub json_keys: Vec<String>,
    /// Where the numbers come from (auto, service, ledger, walk, netlink or procfs, see below) [default: auto]
    #[arg(long, value_name = "SOURCE", value_parser = named(sources()), hide_possible_values = true)]
    pub source: Option<String>,
    /// Also keep account of these, separated by commas: blame (who waits for a CPU because of whom), disk (what each task reads and writes), network
    /// (what it sends and receives by sockets), pairs (blame, and which cgroup makes which wait). The service keeps them if its configuration allows it; --source ledger keeps its own
    #[arg(long, value_name = "LIST", value_parser = named(accounts()), hide_possible_values = true)]
    pub with: Option<String>,
    /// Also record the intervals, in this directory; nothing that is in it is deleted
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub record: Option<std::path::PathBuf>,
    /// Show a recording (directory or file) instead of this machine; -d merges its intervals, which else are as recorded
    #[arg(long, value_name = "PATH")]
    pub replay: Option<std::path::PathBuf>,
    /// Open the recording at this time, such as 03:12, `yesterday 03:12`, -10m (before the end), @SECONDS or 2026-03-01T03:12:00Z
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,
    /// Leave out intervals before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Stop at this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger
    #[arg(long, value_name = "PATH")]
    pub socket: Option<std::path::PathBuf>,
    /// The size of the ledger
    #[arg(long, value_name = "N", allow_hyphen_values = true, help = help_of_slots())]
    pub slots: Option<String>,
    /// Also list what did not run in the interval
    #[arg(long)]
    pub all: bool,
    /// Behave like procps' top: same options, summary and columns (see `cpuledger top --procps --help`)
    #[arg(long)]
    pub procps: bool,
    /// Configuration file of the screen [default: $XDG_CONFIG_HOME/cpuledger/ptop.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<std::path::PathBuf>,
    /// Colours of the screen: auto, 16, 256, true, light, dark, contrast or mono [default: the configuration file's
    /// theme, else auto]
    #[arg(long, value_name = "NAME", value_parser = named(THEMES), hide_possible_values = true)]
    pub theme: Option<String>,
}

/// What is shown in the place of the usual columns and rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct By {
    /// Where all of the time went, by state.
    pub has_states: bool,
    /// How the parts of CPU time divide.
    pub has_parts: bool,
    /// Who made whom wait for a CPU.
    pub has_blame: bool,
    /// What each cgroup did on the wire.
    pub has_wire: bool,
    /// What each disk did.
    pub has_devices: bool,
    /// Rows put together.
    pub group: Option<Dimension>,
}

/// An option that only a ledger can answer.
#[derive(Debug, Clone, Copy)]
pub struct OfLedger {
    /// As it is given.
    pub option: &'static str,
    /// What the ledger knows, and no other source does.
    pub known: &'static str,
    /// What other sources have for it.
    instead: &'static str,
}

impl By {
    /// What cgroups that made others wait are named by, where that is asked for.
    pub fn pairs(self) -> Option<Dimension> {
        self.has_blame.then(|| self.group.unwrap_or(Dimension::Cgroup))
    }

    /// What cgroups are put together by, where it is asked for what they do on the wire.
    pub fn wire(self) -> Option<Dimension> {
        self.has_wire.then(|| self.group.unwrap_or(Dimension::Cgroup))
    }

    /// What of it only the ledger tells.
    pub fn of_ledger(self) -> Option<OfLedger> {
        match self {
            By { has_states: true, .. } => Some(OfLedger {
                option: "--by wait",
                known: "where all of the time went",
                instead: "; -o wait sorts by what it knows",
            }),
            By { has_blame: true, .. } => {
                Some(OfLedger { option: "--by blame", known: "who made whom wait", instead: "" })
            }
            By { has_wire: true, .. } => {
                Some(OfLedger { option: "--by network", known: "what cgroups do on the wire", instead: "" })
            }
            By { has_devices: true, .. } => {
                Some(OfLedger { option: "--by device", known: "what disks did", instead: "" })
            }
            By { has_parts: true, .. } => Some(OfLedger {
                option: "--by parts",
                known: "how the time of the dead divides",
                instead: "",
            }),
            _ => None,
        }
    }
}

/// What was asked for, checked.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How many intervals; `None`: until stopped.
    pub iterations: Option<u64>,
    /// Length of an interval; 0: as it was recorded.
    pub delay_ns: u64,
    /// Tasks are shown.
    pub has_threads: bool,
    /// Only these; empty: all.
    pub pids: Vec<i32>,
    /// Only those of these effective users; empty: all.
    pub euids: Vec<u32>,
    /// What rows must match.
    pub query: Query,
    /// The order of rows.
    pub order: SortBy,
    /// What is shown in the place of the usual columns and rows.
    pub by: By,
    /// Columns of rows as text; nothing: the usual ones.
    pub columns: Vec<TableColumn>,
    /// Arguments are shown in the place of names.
    pub has_arguments: bool,
    /// How intervals are printed.
    pub format: Format,
    /// Keys that JSON has besides.
    pub json_keys: MoreKeys,
    /// Where numbers come from; `None`: the best.
    pub source: Option<SourceKind>,
    /// The size of the ledger.
    pub size: ledger::Options,
    /// The recording that is shown in place of the machine.
    pub replay: Option<Asked>,
    /// What did not run is shown too.
    pub shows_idle: bool,
    /// Shown on the whole screen.
    pub is_screen: bool,
    /// Intervals are recorded, too.
    pub is_recorded: bool,
    /// What is needed besides what the format shows.
    pub fields: FieldSet,
}

impl Options {
    /// Checks them. `is_terminal`: there is one to read from and to write to.
    ///
    /// # Errors
    /// A sentence about the first bad one.
    pub fn parse(arguments: &Arguments, is_terminal: bool) -> Result<Options, Failure> {
        if arguments.procps {
            return Err(usage(
                "the options of procps' top come after another command: use `cpuledger top --procps …`"
                    .to_owned(),
            ));
        }
        let is_screen = is_terminal && !arguments.batch && arguments.format.is_none();
        if arguments.idle && arguments.all {
            return Err(Failure::Usage("-i hides what --all shows; use only one of them".to_owned()));
        }
        let format = arguments.format.as_deref().map_or(Ok(Format::Text), parse_format)?;
        if arguments.command_line && format != Format::Text {
            return Err(usage(
                "-c works with text only: json and csv have no command lines; drop -c or --format".to_owned(),
            ));
        }
        let json_keys = parse_json_keys(&arguments.json_keys, format)?;
        let (source, mut size) =
            parse_ledger(arguments.source.as_deref(), arguments.slots.as_deref(), arguments.with.as_deref())?;
        let by = parse_by(arguments.by.as_deref(), format, source)?;
        size.accounts = size.accounts.union(accounts_of(by, is_screen)?);
        let columns = parse_columns(&arguments.columns)?;
        if !columns.is_empty() && (is_screen || format != Format::Text || by != By::default()) {
            return Err(usage(
                "--columns is for the rows of text: it needs -b, without --by and --format; F2 chooses columns of the screen"
                    .to_owned(),
            ));
        }
        let replay = parse_replay(arguments)?;
        let query = filter::parse(arguments.filter.as_deref().unwrap_or_default())?;
        let iterations = arguments.iterations.as_deref().map(parse_iterations).transpose()?;
        Ok(Options {
            iterations: iterations.or(match &replay {
                None if !arguments.batch && !is_screen => Some(2),
                _ => None,
            }),
            delay_ns: match arguments.delay.as_deref() {
                Some(text) => parse_delay(text)?,
                None if replay.is_some() => 0,
                None => 3_000_000_000,
            },
            replay,
            has_threads: arguments.threads,
            pids: parse_pids(&arguments.pid)?,
            euids: parse_users(&arguments.user)?,
            order: match arguments.sort.as_deref() {
                Some(text) => parse_sort(text, by)?,
                None => usual_order(by, format),
            },
            by,
            has_arguments: arguments.command_line,
            format,
            json_keys,
            source,
            size,
            shows_idle: arguments.all,
            is_screen,
            is_recorded: arguments.record.is_some(),
            fields: columns.iter().map(|column| column.fields()).fold(query.fields(), FieldSet::union),
            columns,
            query,
        })
    }
}

/// The account that what is shown needs, where it stands in the place of rows. The screen has views of its own.
fn accounts_of(by: By, is_screen: bool) -> Result<Accounts, Failure> {
    let (name, account, instead) = match by {
        By { has_blame: true, .. } => ("blame", Account::Pairs, ""),
        By { has_wire: true, .. } => {
            ("network", Account::Network, "; key 6 of the screen shows the network by process")
        }
        By { has_devices: true, .. } => {
            ("device", Account::Disk, "; key 5 of the screen shows disks by process")
        }
        _ => return Ok(Accounts::NONE),
    };
    if is_screen {
        return Err(usage(format!("--by {name} is printed: it needs -b or --format json{instead}")));
    }
    Ok(Accounts::of(&[account]))
}

/// The recording that is asked for.
fn parse_replay(arguments: &Arguments) -> Result<Option<Asked>, Failure> {
    let times = [&arguments.at, &arguments.since, &arguments.until].map(|text| text.as_deref());
    let asked = Asked::parse(arguments.replay.as_deref(), times)?;
    let of_machine = [
        ("--source", arguments.source.is_some()),
        ("--slots", arguments.slots.is_some()),
        ("--socket", arguments.socket.is_some()),
        ("--record", arguments.record.is_some()),
        ("--with", arguments.with.is_some()),
    ];
    match of_machine.iter().find(|(_, is_given)| asked.is_some() && *is_given) {
        Some((name, _)) => Err(usage(format!(
            "{name} is for this machine, and --replay shows a recording; drop one of them"
        ))),
        None => Ok(asked),
    }
}

/// Its numbers are those of the ledger.
fn help_of_slots() -> String {
    let possible = ledger::Options::possible_slots();
    let (least, most, usual) = (possible.start(), possible.end(), ledger::Options::default().slots);
    format!(
        "Track at most N tasks at a time (slots) in the ledger, {least} to {most}; without root at most {usual} [default: \
         {usual}, and as root it grows as needed]"
    )
}

fn usage(sentence: String) -> Failure {
    Failure::Usage(sentence)
}

fn parse_columns(names: &[String]) -> Result<Vec<TableColumn>, Failure> {
    let is_drawn = |column: &TableColumn| {
        matches!(column.cell(), TableCell::Parts | TableCell::History | TableCell::Subtree)
    };
    let column = |name: &String| {
        let known = || TABLE.iter().filter(|column| !is_drawn(column)).map(|column| column.name());
        let keys = PROCESS_KEYS.iter().map(|key| key.name());
        let valid = || format!("the columns are {}, and JSON keys", listed(known(), "and"));
        let near = || did_you_mean("", name, known().chain(keys), &valid());
        TableColumn::by_name(name)
            .filter(|column| !is_drawn(column))
            .ok_or_else(|| usage(format!("--columns: `{name}` is unknown{}", near())))
    };
    names.iter().map(column).collect()
}

fn parse_json_keys(names: &[String], format: Format) -> Result<MoreKeys, Failure> {
    let mut keys = MoreKeys::default();
    for name in names {
        let found = MoreKeys::NAMES.into_iter().find(|(known, _)| known == name);
        let all = || listed(MoreKeys::NAMES.map(|(name, _)| name), "and");
        let (_, turn_on) =
            found.ok_or_else(|| usage(format!("--json-keys: `{name}` is unknown; there are {}", all())))?;
        turn_on(&mut keys);
    }
    if !names.is_empty() && format != Format::Json {
        return Err(usage("--json-keys needs --format json".to_owned()));
    }
    Ok(keys)
}

fn parse_iterations(text: &str) -> Result<u64, Failure> {
    let number = text.parse().ok().filter(|&number: &u64| number > 0);
    number.ok_or_else(|| usage(format!("-n needs a number of intervals, at least 1, not `{text}`")))
}

/// The least delay: below it the machine would be busy with being looked at.
const LEAST_DELAY_S: f64 = 0.01;
/// More than a century.
pub const MOST_DELAY_S: f64 = 4e9;

pub fn parse_delay(text: &str) -> Result<u64, Failure> {
    parse_length("-d", text)
}

/// The length of an interval, as this option has it.
///
/// # Errors
/// A sentence, if it is none.
pub fn parse_length(option: &str, text: &str) -> Result<u64, Failure> {
    let seconds: Option<f64> = text.parse().ok();
    match seconds.filter(|seconds| (LEAST_DELAY_S..=MOST_DELAY_S).contains(seconds)) {
        Some(seconds) => Ok((seconds * 1e9).round() as u64),
        None => Err(usage(format!(
            "{option} needs a number of seconds from {LEAST_DELAY_S} to {MOST_DELAY_S}, not `{text}`"
        ))),
    }
}

fn parse_pids(lists: &[String]) -> Result<Vec<i32>, Failure> {
    let parse = |text: &str| {
        let number = text.trim().parse().ok().filter(|&number: &i32| number > 0);
        number.ok_or_else(|| usage(format!("-p needs process ids separated by commas, not `{text}`")))
    };
    let mut pids: Vec<i32> =
        lists.iter().flat_map(|list| list.split(',')).map(parse).collect::<Result<_, Failure>>()?;
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// The numbers of the users of lists of names and numbers.
///
/// # Errors
/// A sentence about the first that does not exist.
pub fn parse_users(lists: &[String]) -> Result<Vec<u32>, Failure> {
    let parse = |text: &str| uid_of(text).ok_or_else(|| usage(format!("there is no user `{text}`")));
    lists.iter().flat_map(|list| list.split(',')).map(str::trim).map(parse).collect()
}

fn formats() -> impl Iterator<Item = (&'static str, Format)> {
    [("text", Format::Text)].into_iter().chain(FORMATS)
}

fn parse_format(text: &str) -> Result<Format, Failure> {
    let found = formats().find(|(name, _)| *name == text);
    found.map(|(_, format)| format).ok_or_else(|| {
        usage(format!("unknown format `{text}`; the formats are text, json, csv and csv-safe"))
    })
}

/// What `--by` takes: each alone, and the first with one of the dimensions.
fn names_of_by() -> impl Iterator<Item = &'static str> {
    const WITH_WAIT: [&str; Dimension::ALL.len()] = [
        "wait,command",
        "wait,user",
        "wait,cgroup",
        "wait,unit",
        "wait,container",
        "wait,pod",
        "wait,image",
        "wait,process",
        "wait,ancestor",
    ];
    const WITH_BLAME: [&str; Dimension::OF_CGROUP.len()] =
        ["blame,cgroup", "blame,unit", "blame,container", "blame,pod", "blame,image"];
    let alone = ["wait", "parts", "blame", "device", "network", "network,cgroup", "network,unit"];
    alone.into_iter().chain(Dimension::ALL.map(Dimension::name)).chain(WITH_WAIT).chain(WITH_BLAME)
}

fn parse_by(words: Option<&str>, format: Format, source: Option<SourceKind>) -> Result<By, Failure> {
    let mut by = By::default();
    for word in words.into_iter().flat_map(|words| words.split(',')) {
        let group = match word.trim() {
            "wait" => {
                by.has_states = true;
                continue;
            }
            "parts" => {
                by.has_parts = true;
                continue;
            }
            "blame" => {
                by.has_blame = true;
                continue;
            }
            "device" => {
                by.has_devices = true;
                continue;
            }
            "network" => {
                by.has_wire = true;
                continue;
            }
            word => Dimension::by_name(word).ok_or_else(|| {
                usage(format!(
                    "--by takes wait, parts, blame, device, network, {}, not `{word}`",
                    listed(Dimension::ALL.map(Dimension::name), "or")
                ))
            })?,
        };
        if by.group.is_some_and(|own| own != group) {
            return Err(usage(format!(
                "--by takes one of {}",
                listed(Dimension::ALL.map(Dimension::name), "and")
            )));
        }
        by.group = Some(group);
    }
    check_by(by, format)?;
    // Netlink knows the parts on a kernel that keeps account of the dead, which is seen when it is opened.
    let lacks_it = |kind: &SourceKind| !(kind.is_of_ledger() || by.has_parts && *kind == SourceKind::Netlink);
    match source.filter(lacks_it).zip(by.of_ledger()) {
        Some((kind, OfLedger { option, known, instead })) => {
            Err(usage(format!("{option} needs the ledger, because {kind} does not know {known}{instead}")))
        }
        None => Ok(by),
    }
}

/// Whether these go together.
fn check_by(by: By, format: Format) -> Result<(), Failure> {
    if by.has_parts && (by.has_states || by.has_blame || by.group.is_some()) {
        return Err(usage("--by parts stands alone".to_owned()));
    }
    if by.has_devices && by != (By { has_devices: true, ..By::default() }) {
        return Err(usage("--by device stands alone".to_owned()));
    }
    if by.has_blame && (by.has_states || by.group.is_some_and(|group| !Dimension::OF_CGROUP.contains(&group)))
    {
        return Err(usage(format!(
            "--by blame stands alone, or with {}",
            listed(Dimension::OF_CGROUP.map(Dimension::name), "or")
        )));
    }
    let has_other = by.has_parts || by.has_states || by.has_blame || by.has_devices;
    let is_of_wire = |group| matches!(group, Dimension::Cgroup | Dimension::Unit);
    if by.has_wire && (has_other || by.group.is_some_and(|group| !is_of_wire(group))) {
        return Err(usage("--by network stands alone, or with cgroup or unit".to_owned()));
    }
    let is_csv = matches!(format, Format::Csv(_));
    let own = [(by.has_blame, "blame"), (by.has_devices, "device"), (by.has_wire, "network")];
    let own = own.into_iter().find_map(|(is_asked, name)| is_asked.then_some(name));
    if let Some(name) = own.or(by.group.map(Dimension::name)).filter(|_| is_csv) {
        return Err(usage(format!(
            "--by {name} works with text and json: csv has the rows; drop --by or --format"
        )));
    }
    Ok(())
}

/// Where nothing else is asked for.
fn usual_order(by: By, format: Format) -> SortBy {
    let order = match format {
        _ if !by.has_states => None,
        Format::Text => StateColumn::by_name(MOST_HELD).map(Order::State),
        Format::Json | Format::Csv(_) => Order::by_name("runqueue_wait_ns"),
    };
    order.map_or_else(SortBy::default, |by| SortBy { by, ascending: false })
}

/// `--source`, `--slots` and `--with`.
///
/// # Errors
/// A sentence about the first bad one.
pub fn parse_ledger(
    source: Option<&str>,
    slots: Option<&str>,
    with: Option<&str>,
) -> Result<(Option<SourceKind>, ledger::Options), Failure> {
    let source = source.map_or(Ok(None), source_named).map_err(usage)?;
    if slots.is_some() && source.is_some_and(|kind| kind != SourceKind::Ledger) {
        return Err(usage(
            "--slots sets the size of the ledger, so it needs --source ledger or auto".to_owned(),
        ));
    }
    let accounts = match with.map(str::parse::<Accounts>) {
        None => Accounts::NONE,
        Some(Ok(accounts)) => accounts,
        Some(Err(error)) => return Err(usage(format!("--with: {error}"))),
    };
    if let Some(kind) = source.filter(|kind| with.is_some() && !kind.is_of_ledger()) {
        return Err(usage(format!("--with needs the ledger, because {kind} keeps no accounts")));
    }
    let size = slots.map_or(Ok(ledger::Options::default()), parse_slots)?;
    Ok((source, make!(ledger::Options { accounts, ..size })))
}

fn parse_slots(text: &str) -> Result<ledger::Options, Failure> {
    let possible = ledger::Options::possible_slots();
    let slots: Option<u32> = text.parse().ok().filter(|slots| possible.contains(slots));
    let allowed = ledger::slots_of_caller();
    let (least, most) = (possible.start(), allowed.end());
    match slots {
        Some(slots) if allowed.contains(&slots) => Ok(make!(ledger::Options { slots, may_grow: false })),
        Some(_) => Err(usage(format!(
            "--slots can be at most {most} without root, not `{text}`; run cpuledger as root for more"
        ))),
        None => Err(usage(format!("--slots needs a number from {least} to {most}, not `{text}`"))),
    }
}

fn parse_sort(text: &str, shown: By) -> Result<SortBy, Failure> {
    let (name, ascending) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    match Order::of_view(name, shown.has_states) {
        Some(by) => Ok(SortBy { by, ascending }),
        None => Err(usage(format!("cannot sort by `{name}`{}", Order::instead_of(name, shown.has_states)))),
    }
}

#[cfg(test)]
mod tests;
