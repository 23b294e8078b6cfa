//! The options of `top`: what hands know from procps, and what machines read.

use std::str::FromStr;

use cpuledger::FieldSet;
use cpuledger::names::uid_of;
use cpuledger::source::{SourceKind, ledger};

use crate::cmd::top::select::{Order, SortBy};
use crate::exit::Failure;

/// Options of `top`. Their values are checked in [`Options::parse`], for one sentence instead of a usage text.
#[derive(Debug, Default, clap::Args)]
pub struct Arguments {
    /// Print intervals one after another, until stopped or for -n of them, instead of the screen
    #[arg(short, long)]
    pub batch: bool,
    /// End after so many intervals [default with neither -b nor a terminal: 2]
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true)]
    pub iterations: Option<String>,
    /// Length of an interval in seconds, at least 0.01 [default: 3]
    #[arg(short, long, value_name = "S", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Threads in the place of processes; in JSON and CSV, besides processes
    #[arg(short = 'H', long)]
    pub threads: bool,
    /// Only these processes, separated by commas
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true)]
    pub pid: Vec<String>,
    /// Only processes of this effective user, by name or number
    #[arg(short, long, value_name = "USER")]
    pub user: Option<String>,
    /// Sort by %CPU, %MEM, TIME+, PID, … or a key of the JSON output, from high to low; -KEY: from low to high
    #[arg(short = 'o', long, value_name = "KEY", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Hide what did not run in the interval, which is the default; the opposite of --all
    #[arg(short, long)]
    pub idle: bool,
    /// Show arguments in the place of names
    #[arg(short, long)]
    pub command_line: bool,
    /// How to print: text, json (one object a line), csv, or csv-safe (the same for spreadsheets: no text is a formula)
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Where numbers come from: auto, ledger, walk, netlink or procfs
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,
    /// Tasks that the ledger can tell apart, no more; without this it grows [default: see `cpuledger doctor`]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub slots: Option<String>,
    /// List processes that did not run in the interval too
    #[arg(long)]
    pub all: bool,
    /// Be procps' top, with its options, head and columns; `--procps --help` lists them
    #[arg(long)]
    pub procps: bool,
    /// The screen: read this file instead of $XDG_CONFIG_HOME/cpuledger/ptop.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<std::path::PathBuf>,
    /// The screen: auto, 16, 256, true, contrast or mono
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
}

/// How intervals are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// In top's habits.
    Text,
    /// One object a line.
    Json,
    /// One row a process.
    Csv,
    /// The same with text that no spreadsheet takes for a formula.
    CsvSafe,
}

/// What was asked for, checked.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many intervals; `None`: until stopped.
    pub iterations: Option<u64>,
    /// Length of an interval.
    pub delay_ns: u64,
    /// Tasks are shown.
    pub has_threads: bool,
    /// Only these; empty: all.
    pub pids: Vec<i32>,
    /// Only this effective user's.
    pub euid: Option<u32>,
    /// The order of rows.
    pub order: SortBy,
    /// Arguments are shown in the place of names.
    pub has_arguments: bool,
    /// How intervals are printed.
    pub format: Format,
    /// Where numbers come from; `None`: the best.
    pub source: Option<SourceKind>,
    /// The size of the ledger.
    pub size: ledger::Options,
    /// What did not run is shown too.
    pub shows_idle: bool,
    /// Shown on the whole screen.
    pub is_screen: bool,
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
                "--procps stands behind `cpuledger top`, with the options of procps' top".to_owned(),
            ));
        }
        let is_screen = is_terminal && !arguments.batch && arguments.format.is_none();
        if arguments.idle && arguments.all {
            return Err(Failure::Usage("-i hides what --all shows; give one of them".to_owned()));
        }
        let format = arguments.format.as_deref().map_or(Ok(Format::Text), parse_format)?;
        if arguments.command_line && format != Format::Text {
            return Err(usage("-c is for text: json and csv have no arguments; leave one away".to_owned()));
        }
        let source = arguments.source.as_deref().map_or(Ok(None), parse_source)?;
        if arguments.slots.is_some() && source.is_some_and(|kind| kind != SourceKind::Ledger) {
            return Err(usage(
                "--slots is the size of the ledger; give --source ledger, or leave one away".to_owned(),
            ));
        }
        let iterations = arguments.iterations.as_deref().map(parse_iterations).transpose()?;
        Ok(Options {
            iterations: iterations.or(if arguments.batch || is_screen { None } else { Some(2) }),
            delay_ns: arguments.delay.as_deref().map_or(Ok(3_000_000_000), parse_delay)?,
            has_threads: arguments.threads,
            pids: parse_pids(&arguments.pid)?,
            euid: arguments.user.as_deref().map(parse_user).transpose()?,
            order: arguments.sort.as_deref().map_or(Ok(SortBy::default()), parse_sort)?,
            has_arguments: arguments.command_line,
            format,
            source,
            size: arguments.slots.as_deref().map_or(Ok(ledger::Options::default()), parse_slots)?,
            shows_idle: arguments.all,
            is_screen,
            fields: FieldSet::EMPTY,
        })
    }
}

fn usage(sentence: String) -> Failure {
    Failure::Usage(sentence)
}

fn parse_iterations(text: &str) -> Result<u64, Failure> {
    let number = text.parse().ok().filter(|&number: &u64| number > 0);
    number.ok_or_else(|| usage(format!("-n needs a number of intervals from 1, not `{text}`")))
}

/// The least delay: below it the machine would be busy with being looked at.
const LEAST_DELAY_S: f64 = 0.01;
/// More than a century.
const MOST_DELAY_S: f64 = 4e9;

pub fn parse_delay(text: &str) -> Result<u64, Failure> {
    let seconds: Option<f64> = text.parse().ok();
    match seconds.filter(|seconds| (LEAST_DELAY_S..=MOST_DELAY_S).contains(seconds)) {
        Some(seconds) => Ok((seconds * 1e9).round() as u64),
        None => Err(usage(format!("-d needs seconds from {LEAST_DELAY_S} up, not `{text}`"))),
    }
}

fn parse_pids(lists: &[String]) -> Result<Vec<i32>, Failure> {
    let parse = |text: &str| {
        let number = text.trim().parse().ok().filter(|&number: &i32| number > 0);
        number
            .ok_or_else(|| usage(format!("-p needs numbers of processes separated by commas, not `{text}`")))
    };
    let mut pids: Vec<i32> =
        lists.iter().flat_map(|list| list.split(',')).map(parse).collect::<Result<_, Failure>>()?;
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

fn parse_user(text: &str) -> Result<u32, Failure> {
    uid_of(text).ok_or_else(|| usage(format!("there is no user `{text}`")))
}

fn parse_format(text: &str) -> Result<Format, Failure> {
    match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        "csv" => Ok(Format::Csv),
        "csv-safe" => Ok(Format::CsvSafe),
        _ => Err(usage(format!("there is no format `{text}`; there are text, json, csv and csv-safe"))),
    }
}

fn parse_source(text: &str) -> Result<Option<SourceKind>, Failure> {
    if text == "auto" { Ok(None) } else { SourceKind::from_str(text).map(Some).map_err(usage) }
}

fn parse_slots(text: &str) -> Result<ledger::Options, Failure> {
    let possible = ledger::Options::possible_slots();
    let slots: Option<u32> = text.parse().ok().filter(|slots| possible.contains(slots));
    let allowed = ledger::slots_of_caller();
    let (least, most) = (possible.start(), allowed.end());
    match slots {
        Some(slots) if allowed.contains(&slots) => Ok(ledger::Options { slots, may_grow: false }),
        Some(_) => Err(usage(format!(
            "--slots is at most {most} without root, not `{text}`; run it as root for more"
        ))),
        None => Err(usage(format!("--slots needs a number from {least} to {most}, not `{text}`"))),
    }
}

fn parse_sort(text: &str) -> Result<SortBy, Failure> {
    let (name, ascending) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    match Order::by_name(name) {
        Some(by) => Ok(SortBy { by, ascending }),
        None => Err(usage(format!("there is no key `{name}` to sort by{}", Order::instead_of(name)))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &str) -> Result<Options, Failure> {
        let line = Line::try_parse_from(std::iter::once("top").chain(line.split_whitespace()));
        Options::parse(&line.expect("clap takes it").arguments, false)
    }

    #[test]
    fn what_hands_know_is_taken() {
        let options = parse("-b -n 3 -d .5 -H -p 1,2 -p 3 -u root -o -%CPU -c").expect("it is good");
        assert_eq!((options.iterations, options.delay_ns), (Some(3), 500_000_000));
        assert!(options.has_threads && options.has_arguments && options.order.ascending);
        assert_eq!((options.pids, options.euid), (vec![1, 2, 3], Some(0)));
        let options = parse("-bHn1 -d1").expect("it is good");
        assert_eq!((options.iterations, options.delay_ns), (Some(1), 1_000_000_000));
        assert_eq!(parse("-b").expect("it is good").iterations, None);
        assert_eq!(parse("").expect("it is good").iterations, Some(2));
    }

    #[test]
    fn bad_values_are_named_in_a_sentence() {
        for (line, part) in [
            ("-d 0", "`0`"),
            ("-d abc", "`abc`"),
            ("-d -1", "`-1`"),
            ("-d nan", "`nan`"),
            ("-d inf", "`inf`"),
            ("-d 0.009", "`0.009`"),
            ("-n -1", "`-1`"),
            ("-n 0", "`0`"),
            ("-p 1,x", "`x`"),
            ("-p -4", "`-4`"),
            ("-u no.such.user", "`no.such.user`"),
            ("-o cpu_n", "did you mean `cpu_ns`?"),
            ("-o %CP", "did you mean `%CPU`?"),
            ("--format xml", "json"),
            ("--source magic", "`ledger`"),
            ("--slots 0", "`0`"),
            ("--slots many", "`many`"),
            ("--slots -1", "`-1`"),
            ("--slots 1000 --source walk", "--source ledger"),
            ("-i --all", "--all"),
            ("-c --format json", "-c"),
            ("-c --format csv", "-c"),
        ] {
            let failure = parse(line).expect_err(line);
            assert!(
                matches!(&failure, Failure::Usage(sentence) if sentence.contains(part)),
                "{line}: {failure}"
            );
        }
    }
}
