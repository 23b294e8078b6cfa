//! The options of procps' top: the table that help, manual and parser are made of, and what they say.

use std::path::PathBuf;

use cpuledger::source::SourceKind;
use cpuledger_names::names::uid_of;

use super::fields::{self, SortField};
use super::who::Who;
use crate::cmd::top::options::MOST_DELAY_S;
use crate::values::source_named;

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It has none.
    Nothing,
    /// It has one, whose name this is in help.
    Value(&'static str),
    /// It may have one.
    Maybe(&'static str),
}

/// What is to be done instead of showing what runs, if an option asks for it; or the sentence of procps about its value.
type Applied = Result<Option<Action>, String>;

/// One option.
#[derive(Debug)]
pub struct Spec {
    /// Its letter; none: it has only the long name.
    pub letter: Option<char>,
    /// Its long name.
    pub name: &'static str,
    /// Its value.
    pub takes: Takes,
    /// One line for help and manual.
    pub help: &'static str,
    /// Notes it, with its value and the pid of this process.
    apply: fn(&mut Options, Option<&str>, i32) -> Applied,
}

macro_rules! options {
    ($($letter:expr, $name:literal $takes:expr, $help:literal $apply:expr;)*) => {
        /// Every option.
        pub static OPTIONS: &[Spec] = &[$(Spec {
            letter: $letter,
            name: $name,
            takes: $takes,
            help: $help,
            apply: $apply,
        },)*];
    };
}

/// An option that sets or toggles a member.
macro_rules! set {
    ($member:ident $operator:tt $value:expr) => {
        |options, _, _| {
            options.$member $operator $value;
            Ok(None)
        }
    };
}

/// An option whose value a member is made of.
macro_rules! read {
    ($text:ident: $member:ident = $value:expr) => {
        |options, value, _| {
            let $text = value.unwrap_or_default();
            options.$member = $value;
            Ok(None)
        }
    };
}

use Takes::{Maybe, Nothing, Value};

options! {
    Some('b'), "batch-mode" Nothing, "print one iteration after another instead of showing the screen" set!(is_batch = true);
    Some('c'), "cmdline-toggle" Nothing, "show command lines instead of names" set!(has_arguments ^= true);
    Some('d'), "delay" Value("SECS"), "seconds between iterations [default: 3]" read!(text: delay_ns = Some(delay(text)?));
    Some('E'), "scale-summary-mem" Value("SCALE"), "unit of Mem and Swap: k, m, g, t, p or e [default: m]"
        read!(text: summary_scale = scale(text, "kmgtpe")?);
    Some('e'), "scale-task-mem" Value("SCALE"), "smallest unit of VIRT, RES and SHR: k, m, g, t or p [default: k]"
        read!(text: task_scale = scale(text, "kmgtp")?);
    Some('H'), "threads-show" Nothing, "show threads instead of processes" set!(has_threads = true);
    Some('h'), "help" Nothing, "print this help and exit" |_, _, _| Ok(Some(Action::Help));
    Some('i'), "idle-toggle" Nothing, "hide what did not run" set!(hides_idle ^= true);
    Some('n'), "iterations" Value("NUMBER"), "exit after NUMBER iterations" read!(text: iterations = Some(iterations(text)?));
    Some('O'), "list-fields" Nothing, "print the fields that -o takes and exit" |_, _, _| Ok(Some(Action::Fields));
    Some('o'), "sort-override" Value("FIELD"), "sort by this field; +FIELD: highest first, -FIELD: lowest first" sort;
    Some('p'), "pid" Value("PIDLIST"), "only these processes, separated by commas; 0: top itself"
        |options, value, own_pid| options.who.add_pids(value.unwrap_or_default(), own_pid).map(|()| None);
    Some('S'), "accum-time-toggle" Nothing, "include exited children in TIME+" set!(has_children ^= true);
    Some('s'), "secure-mode" Nothing, "secure mode: only with -b, where it changes nothing" set!(is_secure = true);
    Some('U'), "filter-any-user" Value("USER"), "only processes with this real, effective, saved or filesystem user; !USER: without it"
        |options, value, _| options.who.set_user(value.unwrap_or_default(), true, &uid_of).map(|()| None);
    Some('u'), "filter-only-euser" Value("USER"), "only processes with this effective user; !USER: without it"
        |options, value, _| options.who.set_user(value.unwrap_or_default(), false, &uid_of).map(|()| None);
    Some('V'), "version" Nothing, "print the version and exit" |_, _, _| Ok(Some(Action::Version));
    Some('w'), "width" Maybe("COLUMNS"), "width of the output; without a value: $COLUMNS, else 512" |options, value, _| {
        options.width = Some(value.map_or(Ok(Width::Environment), width)?);
        Ok(None)
    };
    Some('1'), "single-cpu-toggle" Nothing, "show each CPU on its own line" set!(has_each_cpu ^= true);
    Some('A'), "apply-defaults" Nothing, "no effect: this mode reads no configuration file" |_, _, _| Ok(None);
    None, "source" Value("SOURCE"), "where the numbers come from: auto, service, ledger, walk, netlink or procfs (not in procps)"
        read!(text: source = source_named(text)?);
    None, "socket" Value("PATH"), "the socket of the service; otherwise $CPULEDGER_SOCKET (not in procps)"
        read!(text: socket = Some(text.into()));
    None, "procps" Nothing, "selects this mode of cpuledger top (not in procps)" |_, _, _| Ok(None);
}

/// Below it the machine would be busy with being looked at: `-d 0` is that.
pub const LEAST_DELAY_NS: u64 = 10_000_000;

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Show what runs.
    Run(Box<Options>),
    /// Print the options.
    Help,
    /// Print the version.
    Version,
    /// Print the names of fields.
    Fields,
}

/// A width that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// `-w` with a number.
    Columns(usize),
    /// `-w` alone.
    Environment,
}

/// What was asked for, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// As text, not on the screen.
    pub is_batch: bool,
    /// How many iterations; `None`: until stopped.
    pub iterations: Option<u64>,
    /// Between iterations; `None`: as usual.
    pub delay_ns: Option<u64>,
    /// Threads in the place of processes.
    pub has_threads: bool,
    /// Arguments in the place of names.
    pub has_arguments: bool,
    /// What has not run is hidden.
    pub hides_idle: bool,
    /// TIME+ with that of dead children.
    pub has_children: bool,
    /// Each CPU on a line of its own.
    pub has_each_cpu: bool,
    /// Whose rows are shown.
    pub who: Who,
    /// The order of rows, as it was written.
    pub sort: Option<String>,
    /// The order of rows.
    pub by: SortField,
    /// From low to high.
    pub is_ascending: bool,
    /// Powers of 1024 of the unit of the summary, from KiB: 0.
    pub summary_scale: usize,
    /// Those of the least unit of a row.
    pub task_scale: usize,
    /// Without interactive commands that change anything.
    pub is_secure: bool,
    /// How wide it is to be.
    pub width: Option<Width>,
    /// Where figures come from; `None`: the best.
    pub source: Option<SourceKind>,
    /// The socket of the service, where it is not the usual one.
    pub socket: Option<PathBuf>,
}

/// An option of the command line with its value.
type Given<'a> = (&'static Spec, Option<&'a str>);

/// Reads the words of a command line, without the name of the program.
///
/// # Errors
/// The sentence of procps about the first that is wrong.
pub fn parse(words: &[&str], own_pid: i32) -> Result<Action, String> {
    let mut options = Options { by: fields::DEFAULT, summary_scale: 1, ..Options::default() };
    for (spec, value) in given(words)? {
        if let Some(instead) = (spec.apply)(&mut options, value, own_pid)? {
            return Ok(instead);
        }
    }
    if options.is_secure && options.delay_ns.is_some() {
        return Err("-d disallowed in \"secure\" mode".to_owned());
    }
    Ok(Action::Run(Box::new(options)))
}

/// The options of the words, as getopt_long(3) finds them, and with the two liberties of procps: a value may follow `=` also
/// after a letter, and blanks around it.
fn given<'a>(words: &[&'a str]) -> Result<Vec<Given<'a>>, String> {
    let mut given = Vec::new();
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            given.push(long_option(long, word, &mut rest)?);
        } else if let Some(letters) =
            word.strip_prefix('-').filter(|letters| !letters.is_empty() && word != "--")
        {
            short_options(letters, &mut rest, &mut given)?;
        } else if word == "--" {
            if let Some(word) = rest.next() {
                return Err(unknown(word));
            }
        } else {
            return Err(unknown(word));
        }
    }
    Ok(given)
}

fn unknown(word: &str) -> String {
    format!("unknown option '{word}'")
}

fn long_option<'a>(
    long: &'a str,
    word: &str,
    rest: &mut (impl Iterator<Item = &'a str> + Clone),
) -> Result<Given<'a>, String> {
    let (name, attached) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let exact = OPTIONS.iter().find(|spec| spec.name == name);
    let begins = |spec: &&Spec| spec.name.starts_with(name);
    // Names of our own have no letter, and make no abbreviation of procps ambiguous.
    let mut near: Vec<&Spec> = OPTIONS.iter().filter(|spec| spec.letter.is_some()).filter(begins).collect();
    if near.is_empty() {
        near = OPTIONS.iter().filter(begins).collect();
    }
    let spec = match (exact, &*near) {
        (Some(spec), _) => spec,
        (None, []) => return Err(format!("unrecognized option '{word}'")),
        (None, [only]) => only,
        (None, several) => {
            let names: Vec<String> = several.iter().map(|spec| format!("'--{}'", spec.name)).collect();
            return Err(format!("option '{word}' is ambiguous; possibilities: {}", names.join(" ")));
        }
    };
    if spec.takes == Takes::Nothing && attached.is_some() {
        return Err(format!("option '--{}' doesn't allow an argument", spec.name));
    }
    let missing = || format!("option '--{}' requires an argument", spec.name);
    Ok((spec, value_of(spec, attached, rest).ok_or_else(missing)?))
}

fn short_options<'a>(
    letters: &'a str,
    rest: &mut (impl Iterator<Item = &'a str> + Clone),
    given: &mut Vec<Given<'a>>,
) -> Result<(), String> {
    let mut letters = letters.char_indices();
    while let Some((_, letter)) = letters.next() {
        let spec = OPTIONS.iter().find(|spec| spec.letter == Some(letter));
        let spec = spec.ok_or_else(|| format!("invalid option -- '{letter}'"))?;
        if spec.takes == Takes::Nothing {
            given.push((spec, None));
            continue;
        }
        let attached = Some(letters.as_str()).filter(|attached| !attached.is_empty());
        let missing = || format!("option requires an argument -- '{letter}'");
        given.push((spec, value_of(spec, attached, rest).ok_or_else(missing)?));
        return Ok(());
    }
    Ok(())
}

/// The value, without the `=` before it; the outer `None`: it has none, and needs one.
fn value_of<'a>(
    spec: &Spec,
    attached: Option<&'a str>,
    rest: &mut (impl Iterator<Item = &'a str> + Clone),
) -> Option<Option<&'a str>> {
    if spec.takes == Takes::Nothing {
        return Some(None);
    }
    let is_optional = matches!(spec.takes, Takes::Maybe(_));
    let value = match attached {
        Some(value) => value,
        None if is_optional && rest.clone().next().is_none_or(|next| next.starts_with('-')) => {
            return Some(None);
        }
        None => rest.next()?,
    };
    match value.strip_prefix('=').unwrap_or(value) {
        "" => rest.next().map(Some),
        value => Some(Some(value)),
    }
}

fn sort(options: &mut Options, value: Option<&str>, _: i32) -> Applied {
    let value = value.unwrap_or_default();
    options.is_ascending = value.starts_with('-');
    options.by = fields::by_name(value.strip_prefix(['+', '-']).unwrap_or(value))?;
    options.sort = Some(value.to_owned());
    Ok(None)
}

fn delay(text: &str) -> Result<u64, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
    let seconds = seconds.ok_or_else(|| format!("bad delay interval '{text}'"))?;
    if seconds < 0.0 {
        return Err("-d requires positive argument".to_owned());
    }
    // `as` takes what is too long for the longest there is.
    Ok((seconds.min(MOST_DELAY_S) * 1e9).round() as u64)
}

fn iterations(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number: &u64| number > 0);
    number.ok_or_else(|| format!("bad iterations argument '{text}'"))
}

fn scale(text: &str, letters: &str) -> Result<usize, String> {
    let lower = text.to_ascii_lowercase();
    let place = letters.char_indices().find(|(_, letter)| lower == letter.to_string());
    place.map(|(place, _)| place).ok_or_else(|| format!("bad memory scaling arg '{text}'"))
}

/// The narrowest and the widest output.
const WIDTHS: std::ops::RangeInclusive<usize> = 3..=512;

fn width(text: &str) -> Result<Width, String> {
    let columns = text.parse().ok().filter(|columns| WIDTHS.contains(columns));
    columns.map(Width::Columns).ok_or_else(|| format!("bad width arg '{text}'"))
}

/// What `--help` prints.
pub fn help() -> String {
    let mut text = "\nUsage:\n top [options]\n\nOptions:\n".to_owned();
    for spec in OPTIONS {
        let letter = spec.letter.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let value = match spec.takes {
            Takes::Nothing => String::new(),
            Takes::Value(name) => format!(" ={name}"),
            Takes::Maybe(name) => format!(" [={name}]"),
        };
        text.push_str(&format!(" {:<32}{}\n", format!("{letter}--{}{value}", spec.name), spec.help));
    }
    text.push_str("\nThese are the options of procps' top. The summary lines are the same too, but the line that procps leaves blank shows\nhow much CPU time is accounted for.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        match parse(&line.split_whitespace().collect::<Vec<_>>(), 4242) {
            Ok(Action::Run(options)) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn attached_and_abbreviated_forms_are_taken() {
        for line in [
            "-bn1 -d.5 -p1,2",
            "-b -n 1 -d 0.5 -p 1 -p 2",
            "-b -n=1 -d = .5 -p=1,2,",
            "--batch --iter=1 --del .5 --pid 1,2",
        ] {
            let options = options(line);
            assert_eq!(
                (options.is_batch, options.iterations, options.delay_ns),
                (true, Some(1), Some(500_000_000)),
                "{line}"
            );
            assert_eq!(options.who, Who::Pids(vec![1, 2]), "{line}");
        }
        let given = options("-b1HciS -w -Em -eg -o -%MEM -p0 --source walk");
        assert!(
            given.has_each_cpu
                && given.has_threads
                && given.has_arguments
                && given.hides_idle
                && given.has_children
        );
        assert_eq!((given.summary_scale, given.task_scale, given.width), (1, 2, Some(Width::Environment)));
        assert_eq!(
            (given.is_ascending, given.who, given.source),
            (true, Who::Pids(vec![4242]), Some(SourceKind::Walk))
        );
        assert_eq!(options("-w 200").width, Some(Width::Columns(200)));
        assert_eq!(options("-w200 -d 0").delay_ns, Some(0));
        assert!(!options("-cc").has_arguments, "it is a toggle");
    }

    #[test]
    fn what_is_wrong_is_said_as_in_procps() {
        for (line, sentence) in [
            ("-x", "invalid option -- 'x'"),
            ("--foo=3", "unrecognized option '--foo=3'"),
            ("-b -n", "option requires an argument -- 'n'"),
            ("--iter", "option '--iterations' requires an argument"),
            ("--batch-mode=3", "option '--batch-mode' doesn't allow an argument"),
            ("-n 0", "bad iterations argument '0'"),
            ("-n 2.5", "bad iterations argument '2.5'"),
            ("-d x", "bad delay interval 'x'"),
            ("-d -1", "-d requires positive argument"),
            ("-s -d 1", "-d disallowed in \"secure\" mode"),
            ("foo", "unknown option 'foo'"),
            ("-b -- foo", "unknown option 'foo'"),
            ("-o FOO", "unrecognized field name 'FOO'"),
            ("-o pid", "unrecognized field name 'pid'"),
            ("-p x", "bad pid 'x'"),
            ("-p 1,x", "bad pid 'x'"),
            ("-p -3", "bad pid '-3'"),
            ("-p 1 -u root", "conflicting process selections (U/p/u)"),
            ("-u root -U root", "conflicting process selections (U/p/u)"),
            ("-u no.such.user", "Invalid user"),
            ("-e x", "bad memory scaling arg 'x'"),
            ("-e e", "bad memory scaling arg 'e'"),
            ("-E kk", "bad memory scaling arg 'kk'"),
            ("-w 513", "bad width arg '513'"),
            ("-w 2", "bad width arg '2'"),
        ] {
            let result = parse(&line.split_whitespace().collect::<Vec<_>>(), 1);
            assert_eq!(result, Err(sentence.to_owned()), "{line}");
        }
        let result = parse(&["--s"], 1).expect_err("several begin so");
        assert!(
            result.starts_with("option '--s' is ambiguous; possibilities: '--scale-summary-mem'"),
            "{result}"
        );
    }

    #[test]
    fn any_words_are_an_answer_or_a_sentence() {
        let words = [
            "",
            "-",
            "--",
            "=",
            "-=",
            "--=",
            "-b",
            "-b=",
            "-n",
            "-n=",
            "-n1",
            "1",
            "-p",
            "-p,",
            "-p1,,2",
            ",",
            "-w",
            "-w=",
            "-w=é",
            "--é",
            "-é",
            "--width=",
            "--width",
            "-o",
            "-o+",
            "-o-é",
            "-u!",
            "!",
            "-E",
            "-Eé",
            "-d",
            "-dnan",
            "-d1e400",
            "-n99999999999999999999",
            "-p2147483648",
            "--s",
            "--pid=é,",
        ];
        for first in words {
            for second in words {
                for third in ["-b", "é", "7"] {
                    if let Err(sentence) = parse(&[first, second, third], 1) {
                        assert!(!sentence.is_empty(), "{first} {second} {third}");
                    }
                }
            }
        }
    }

    #[test]
    fn help_has_every_option() {
        let help = help();
        for spec in OPTIONS {
            assert!(help.contains(&format!("--{}", spec.name)) && help.contains(spec.help), "{}", spec.name);
        }
        assert_eq!(parse(&["-bn1", "-h"], 1), Ok(Action::Help));
        assert_eq!(parse(&["--version"], 1), Ok(Action::Version));
        assert_eq!(parse(&["-O"], 1), Ok(Action::Fields));
    }
}
