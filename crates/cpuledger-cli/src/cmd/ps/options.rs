//! The command line of `ps` as it was written: UNIX options (`-ef`), BSD options (`aux`) and GNU options (`--sort`),
//! mixed at will. Nothing of the machine is looked at here.

use cpuledger::SourceKind;

use super::flags::{FLAGS, Flag, Style};

/// What a list of the command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// `-p`.
    Pids,
    /// `--ppid`.
    Parents,
    /// `-u`.
    EffectiveUsers,
    /// `-U`.
    RealUsers,
    /// `-g`: numbers are sessions, names are groups.
    SessionsOrGroups,
    /// `--group`.
    EffectiveGroups,
    /// `-G`.
    RealGroups,
    /// `-s`.
    Sessions,
    /// `-t`.
    Terminals,
    /// `-C`.
    Comms,
}

/// A format of BSD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BsdFormat {
    /// `u`.
    User,
    /// `l`.
    Long,
    /// `j`.
    Jobs,
}

/// Which rows a process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threads {
    /// One.
    #[default]
    No,
    /// One a thread: `-L`, with LWP and NLWP.
    WithLwp,
    /// One a thread: `-T`, with SPID.
    WithSpid,
    /// One a thread, as if it were a process: `H`.
    AsProcesses,
}

/// What shall be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Action {
    /// List.
    #[default]
    List,
    /// Explain the options.
    Help,
    /// Say the version.
    Version,
    /// List the columns: `L`.
    Columns,
}

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// What shall be done.
    pub action: Action,
    /// A BSD option was there: other defaults.
    pub is_bsd: bool,
    /// `-e`, `-A`.
    pub all: bool,
    /// `-a`.
    pub with_terminal_no_leaders: bool,
    /// `-d`.
    pub no_leaders: bool,
    /// `a`.
    pub with_terminal: bool,
    /// `x`.
    pub own_everywhere: bool,
    /// `r`.
    pub only_running: bool,
    /// `-N`.
    pub negated: bool,
    /// Lists as written, in order.
    pub lists: Vec<(Listed, String)>,
    /// `T`: the terminal of the asker.
    pub own_terminal: bool,
    /// `-f`.
    pub full: bool,
    /// `-F`.
    pub extra_full: bool,
    /// `-l`.
    pub long: bool,
    /// `-j`.
    pub jobs: bool,
    /// `-c`.
    pub classes: bool,
    /// `-y`.
    pub no_flags: bool,
    /// `u`, `l`, `j`.
    pub bsd_format: Option<BsdFormat>,
    /// Each `-o`, as written.
    pub columns: Vec<String>,
    /// `-L`, `-T`, `H`.
    pub threads: Threads,
    /// Each `--sort`, as written.
    pub sort: Vec<String>,
    /// `--no-headers`.
    pub no_headers: bool,
    /// How many `-w`.
    pub wide: usize,
    /// `--cols`.
    pub width: Option<usize>,
    /// `--source`; `None`: the best for it.
    pub source: Option<SourceKind>,
}

/// Reads the command line.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let next = &mut || rest.next().map(str::to_owned);
        match argument.strip_prefix('-') {
            // What hands write for `ps aux` means that, unless there is a user called `x`; nobody has one.
            Some(bsd @ ("aux" | "ax" | "auxw" | "auxww")) => {
                parse_letters(&mut options, Style::Bsd, bsd, next)?
            }
            Some("" | "-") => return Err("an option is missing after the dash".to_owned()),
            Some(long) if long.starts_with('-') => parse_long(&mut options, &long[1..], next)?,
            Some(letters) => parse_letters(&mut options, Style::Unix, letters, next)?,
            None if argument.starts_with(|first: char| first.is_ascii_digit()) => {
                options.is_bsd = true;
                options.lists.push((Listed::Pids, argument.to_owned()));
            }
            None => parse_letters(&mut options, Style::Bsd, argument, next)?,
        }
    }
    check(&options)?;
    Ok(options)
}

type Next<'a> = &'a mut dyn FnMut() -> Option<String>;

fn parse_letters(options: &mut Options, style: Style, letters: &str, next: Next<'_>) -> Result<(), String> {
    options.is_bsd |= style == Style::Bsd;
    for (index, letter) in letters.char_indices() {
        let name = style.spell(letter);
        let Some(flag) = FLAGS.iter().find(|flag| flag.letters(style).contains(letter)) else {
            return Err(unknown_letter(&name, style, letter));
        };
        if flag.value.is_empty() {
            (flag.apply)(options, "")?;
            continue;
        }
        let attached = &letters[index + letter.len_utf8()..];
        let value = if attached.is_empty() { next() } else { Some(attached.to_owned()) };
        return apply_value(options, flag, &name, value);
    }
    Ok(())
}

fn parse_long(options: &mut Options, text: &str, next: Next<'_>) -> Result<(), String> {
    let (name, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let Some(flag) = FLAGS.iter().find(|flag| flag.long.contains(&name)) else {
        if NOT_THERE_LONG.contains(&name) {
            return Err(not_there_yet(&format!("--{name}")));
        }
        let known = FLAGS.iter().flat_map(|flag| flag.long.iter().copied());
        return Err(format!("there is no option `--{name}`{}", did_you_mean("--", name, known)));
    };
    let spelled = format!("--{name}");
    if !flag.value.is_empty() {
        return apply_value(options, flag, &spelled, attached.or_else(next));
    }
    match attached {
        Some(value) => Err(format!("`{spelled}` takes no value, and `{value}` is one")),
        None => (flag.apply)(options, ""),
    }
}

fn apply_value(options: &mut Options, flag: &Flag, name: &str, value: Option<String>) -> Result<(), String> {
    match value {
        Some(value) if !value.is_empty() => (flag.apply)(options, &value),
        _ => Err(format!("`{name}` needs a value: {}", flag.value)),
    }
}

/// Letters of procps that are not there.
const NOT_THERE_UNIX: &str = "HMmOPZz";
const NOT_THERE_BSD: &str = "SXZcefmnsvO";
/// Names likewise.
const NOT_THERE_LONG: &[&str] = &[
    "context",
    "cumulative",
    "delimiter",
    "forest",
    "headers",
    "header",
    "heading",
    "headings",
    "info",
    "lines",
    "rows",
    "signames",
];

fn not_there_yet(name: &str) -> String {
    format!("the option `{name}` of procps is not there yet; `--help` lists those that are")
}

fn unknown_letter(name: &str, style: Style, letter: char) -> String {
    let not_there = match style {
        Style::Unix => NOT_THERE_UNIX,
        Style::Bsd => NOT_THERE_BSD,
    };
    if not_there.contains(letter) {
        return not_there_yet(name);
    }
    let dash = style == Style::Bsd && FLAGS.iter().any(|flag| flag.unix.contains(letter));
    if dash {
        return format!("there is no BSD option `{name}`; with a dash, `-{letter}`, there is");
    }
    format!("there is no option `{name}`; `--help` lists them")
}

/// The nearest of the known names, as the end of a sentence; empty where none is near.
pub fn did_you_mean<'a>(prefix: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 3;
    /// A name of so many letters may have one of them wrong.
    const LETTERS_A_MISTAKE: usize = 3;
    let mistakes = |candidate: &str| {
        let is_beginning = name.len() >= LETTERS_A_MISTAKE && candidate.starts_with(name);
        let mistakes = strsim::osa_distance(name, candidate);
        (is_beginning || mistakes <= name.len() / LETTERS_A_MISTAKE).then_some(mistakes)
    };
    let mut near: Vec<(usize, &str)> =
        known.filter_map(|candidate| Some((mistakes(candidate)?, candidate))).collect();
    near.sort_by_key(|(mistakes, _)| *mistakes);
    let near: Vec<String> = near.iter().take(MOST).map(|(_, name)| format!("`{prefix}{name}`")).collect();
    match near.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

fn check(options: &Options) -> Result<(), String> {
    let has_unix_format =
        options.full || options.extra_full || options.long || options.jobs || options.classes;
    if options.no_flags && !options.long {
        return Err("`-y` changes `-l`, which is not there".to_owned());
    }
    if !options.columns.is_empty() && (has_unix_format || options.bsd_format.is_some()) {
        return Err("`-o` and one of `-f`, `-F`, `-l`, `-j`, `-c`, `u`, `l`, `j` both choose the columns; \
                    leave one away"
            .to_owned());
    }
    if options.bsd_format.is_some() && has_unix_format {
        return Err("a UNIX and a BSD option both choose the columns; leave one away".to_owned());
    }
    let unix_base = options.with_terminal_no_leaders || options.no_leaders;
    if unix_base && (options.with_terminal || options.own_everywhere) {
        return Err(
            "`-a`, `-d` and the BSD options `a`, `x` select differently; leave one kind away".to_owned()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
