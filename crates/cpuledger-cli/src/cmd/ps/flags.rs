//! The one table of the options of `ps`: parsing and help derive from it.

use cpuledger::view::filter::Property;
use cpuledger::view::tree::Drawing;

use super::number::positive_number;
use super::options::{Action, Context, Headers, ListKind, Options, WholeFormat};
use super::personality::{LetterM, LetterX};

/// How an option is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Letters after one dash.
    Unix,
    /// Letters without a dash.
    Bsd,
}

impl Style {
    /// A letter as it is written in that style.
    pub fn spell(self, letter: char) -> String {
        match self {
            Style::Unix => format!("-{letter}"),
            Style::Bsd => letter.to_string(),
        }
    }
}

/// Under which heading of the help an option stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Which processes, without a list.
    Simple,
    /// Which processes, by a list.
    List,
    /// Which columns, and how they are written.
    Output,
    /// Processes or threads.
    Threads,
    /// The rest.
    Misc,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// One, and what it is.
    Value(&'static str),
    /// One if there is one, and what it is.
    Optional(&'static str),
    /// None, and it has to be the only argument.
    NothingAlone,
}

/// One option.
#[derive(Debug)]
pub struct Flag {
    /// Its letters after a dash.
    pub unix: &'static str,
    /// Its letters without a dash.
    pub bsd: &'static str,
    /// Its names after two dashes; the first is shown.
    pub long: &'static [&'static str],
    /// Its value.
    pub takes: Takes,
    /// Where the help has it.
    pub topic: Topic,
    /// One sentence.
    pub help: &'static str,
    /// Notes it, with its value.
    pub apply: fn(&mut Options, &str, &Context) -> Result<(), String>,
}

impl Flag {
    /// Its letters in that style.
    pub fn letters(&self, style: Style) -> &'static str {
        match style {
            Style::Unix => self.unix,
            Style::Bsd => self.bsd,
        }
    }
}

macro_rules! flags {
    ($($topic:ident { $($unix:literal $bsd:literal [$($long:literal)*] $takes:expr, $help:literal $apply:expr;)* })*) => {
        /// Every option.
        pub static FLAGS: &[Flag] = &[$($(Flag {
            unix: $unix,
            bsd: $bsd,
            long: &[$($long),*],
            takes: $takes,
            topic: Topic::$topic,
            help: $help,
            apply: $apply,
        },)*)*];
    };
}

/// An option that notes its list.
macro_rules! list {
    ($property:ident) => {
        |options, value, _| options.list(Property::$property, value)
    };
}

/// An option that sets members.
macro_rules! set {
    ($($member:ident = $value:expr),*) => {
        |options, _, _| {
            $(options.$member = $value;)*
            Ok(())
        }
    };
}

/// An option that is a format of its own.
macro_rules! whole {
    ($format:ident) => {
        |options, _, _| {
            options.whole_formats.push(WholeFormat::$format);
            Ok(())
        }
    };
}

use Takes::{Nothing, NothingAlone, Optional, Value};

flags! {
    Simple {
        "eA" "" [] Nothing, "every process" set!(all = true);
        "a" "" [] Nothing, "every process at a terminal, but session leaders" set!(with_terminal_no_leaders = true);
        "d" "" [] Nothing, "every process but session leaders" set!(no_leaders = true);
        "" "a" [] Nothing, "every process at a terminal; with `x` every process" set!(with_terminal = true);
        "" "x" [] Nothing, "your processes, at a terminal or not" set!(own_everywhere = true);
        "x" "" [] Nothing, "what $PS_PERSONALITY makes of it; else wrong, so that `-ax` is read as `ax`" unix_x;
        "" "g" [] Nothing, "session leaders too: it is always so, but in the personality sunos4" set!(with_leaders = true);
        "" "T" [] Nothing, "processes at this terminal" own_terminal;
        "" "r" [] Nothing, "of these, only what runs or waits for I/O" set!(only_running = true);
        "N" "" ["deselect"] Nothing, "all but these" set!(negated = true);
    }
    List {
        "p" "p" ["pid"] Value("numbers of processes"), "these processes; so does a bare number" list!(Pid);
        "q" "q" ["quick-pid"] Value("numbers of processes"), "these, in this order, without looking at others"
            |options, value, _| options.list_quick(value);
        "" "" ["ppid"] Value("numbers of processes"), "the children of these processes" list!(Ppid);
        "u" "U" ["user"] Value("users"), "processes of these effective users" list!(Euid);
        "U" "" ["User"] Value("users"), "processes of these real users" list!(Uid);
        "g" "" [] Value("sessions or groups"), "processes of these sessions, or else of these effective groups"
            |options, value, _| options.list_sessions_or_groups(value);
        "" "" ["group"] Value("groups"), "processes of these effective groups" list!(Egid);
        "G" "" ["Group"] Value("groups"), "processes of these real groups" list!(Gid);
        "s" "" ["sid"] Value("sessions"), "processes of these sessions; so does a bare +NUMBER" list!(Sid);
        "t" "" ["tty"] Value("terminals"), "processes at these terminals; -: at none" list!(Terminal);
        "" "t" [] Optional("terminals"), "the same; without a list, at this terminal" bsd_terminals;
        "C" "" [] Value("names"), "processes of these names" |options, value, _| options.list_comms(value);
    }
    Output {
        "o" "o" [] Value("columns, each NAME, NAME:WIDTH or NAME=HEADER"), "these columns"
            |options, value, _| { options.add_columns(ListKind::Columns, value); Ok(()) };
        "" "" ["format"] Value("json, csv, csv-safe or columns"), "rows as JSON or CSV, or else the same as `-o`"
            |options, value, _| { options.set_format(value); Ok(()) };
        "O" "" [] Value("columns"), "these columns between the usual first and last ones"
            |options, value, _| { options.add_columns(ListKind::Between, value); Ok(()) };
        "" "O" [] Value("columns or an order"), "the same; or short sort keys, such as `+u-p`"
            |options, value, _| { options.add_columns(ListKind::BetweenOrOrder, value); Ok(()) };
        "f" "" [] Nothing, "full: user, parent, start, arguments" set!(full = true);
        "F" "" [] Nothing, "fuller: with memory and CPU" set!(full = true, extra_full = true);
        "l" "" [] Nothing, "long: with state, priority, memory, wait channel" set!(long = true);
        "y" "" [] Nothing, "with `-l`: no flags, RSS instead of ADDR" set!(no_flags = true);
        "j" "" [] Nothing, "jobs: with process group and session" set!(jobs = true);
        "c" "" [] Nothing, "scheduling class and priority" set!(classes = true);
        "P" "" [] Nothing, "with the CPU" set!(processor = true);
        "MZ" "Z" [] Nothing, "with the security label" set!(label = true);
        "" "" ["context"] Nothing, "pid, security label, arguments" whole!(Context);
        "" "u" [] Nothing, "by user: with shares of CPU and memory" whole!(User);
        "" "l" [] Nothing, "BSD's long format" whole!(Long);
        "" "j" [] Nothing, "BSD's job format" whole!(Jobs);
        "" "s" [] Nothing, "signals" whole!(Signals);
        "" "v" [] Nothing, "memory" whole!(Memory);
        "" "X" [] Nothing, "registers" whole!(Registers);
        "" "f" ["forest"] Nothing, "as a tree with branches"
            set!(tree = Some(Drawing::Branches));
        "H" "" [] Nothing, "as a tree by indentation" set!(tree = Some(Drawing::Indent));
        "w" "w" [] Nothing, "at least 132 places a line; twice: any length"
            |options, _, _| { options.wide += 1; Ok(()) };
        "" "" ["cols" "columns" "width"] Value("a number of places"), "so many places a line"
            |options, value, _| { options.width = Some(positive_number("--cols", value)?); Ok(()) };
        "" "" ["rows" "lines"] Value("a number of lines"), "so many lines a page"
            |options, value, _| { options.height = Some(positive_number("--rows", value)?); Ok(()) };
        "" "" ["headers" "header" "heading" "headings"] Nothing, "a line of headers a page"
            |options, _, _| options.set_headers(Headers::EachPage);
        "" "" ["no-headers" "no-header" "no-heading" "no-headings" "noheader" "noheaders" "noheading" "noheadings"]
            Nothing, "no line of headers" |options, _, _| options.set_headers(Headers::Never);
        "" "h" [] Nothing, "no line of headers; to BSD, one a page" |options, _, context| {
            let repeats = context.personality.h_repeats;
            options.set_headers(if repeats { Headers::EachPage } else { Headers::Never })
        };
        "" "" ["signames"] Nothing, "names of signals instead of numbers" set!(signal_names = true);
        "D" "" ["date-format"] Value("a format of strftime"), "how `lstart` is written"
            |options, value, _| { options.date_format = Some(value.to_owned()); Ok(()) };
        "" "" ["delimiter"] Value("text"), "this between columns, and no padding"
            |options, value, _| { options.delimiter = Some(value.to_owned()); Ok(()) };
    }
    Threads {
        "L" "" [] Nothing, "a line for each thread, with LWP and NLWP" set!(threads_lwp = true);
        "T" "" [] Nothing, "a line for each thread, with SPID" set!(threads_spid = true);
        "" "H" [] Nothing, "a line for each thread, as if it were a process" set!(threads_as_processes = true);
        "m" "" [] Nothing, "threads below their process" set!(threads_below_unix = true);
        "" "m" [] Nothing, "threads below their process" bsd_m;
        "" "M" [] Nothing, "the same, in every personality" set!(threads_below = true);
    }
    Misc {
        "" "k" ["sort"] Value("columns, each with + or - in front"), "in this order; -: from large to small"
            |options, value, _| { options.sort.push(value.to_owned()); Ok(()) };
        "" "c" [] Nothing, "names instead of arguments" set!(true_names = true);
        "" "e" [] Nothing, "the environment after the arguments" set!(environment = true);
        "" "n" [] Nothing, "numbers of users instead of names" set!(numbers = true);
        "" "S" ["cumulative"] Nothing, "with CPU time and faults of dead children" set!(with_children = true);
        "" "" ["source"] Value("auto, walk, netlink or procfs"), "where the numbers come from" set_source;
        "" "L" [] NothingAlone, "list the columns" set!(action = Action::Columns);
        "" "" ["help"] Optional("simple, list, output, threads, misc or all"), "this text" |options, value, _| {
            options.action = Action::Help;
            value.clone_into(&mut options.help_section);
            Ok(())
        };
        "" "" ["info"] NothingAlone, "what was found out about habits and screen" set!(action = Action::Info);
        "V" "V" ["version"] NothingAlone, "the version" set!(action = Action::Version);
    }
}

fn unix_x(options: &mut Options, _: &str, context: &Context) -> Result<(), String> {
    match context.personality.letter_x {
        LetterX::Wrong => {
            return Err(
                "there is no option `-x`, unless $PS_PERSONALITY says so; without a dash, `x`, there is"
                    .to_owned(),
            );
        }
        LetterX::NoFlags => options.no_flags = true,
        LetterX::Arguments => options.arguments = true,
    }
    Ok(())
}

fn own_terminal(options: &mut Options, _: &str, context: &Context) -> Result<(), String> {
    options.listed.push((Property::Terminal, context.asker.tty_device.into()));
    Ok(())
}

fn bsd_terminals(options: &mut Options, value: &str, context: &Context) -> Result<(), String> {
    if value.is_empty() {
        own_terminal(options, value, context)
    } else {
        options.list(Property::Terminal, value)
    }
}

fn bsd_m(options: &mut Options, _: &str, context: &Context) -> Result<(), String> {
    match context.personality.letter_m {
        LetterM::Threads => options.threads_below = true,
        LetterM::OrderByMemory => options.sort.push("-pmem".to_owned()),
        LetterM::MemoryFormat => options.whole_formats.push(WholeFormat::OldMemory),
    }
    Ok(())
}

fn set_source(options: &mut Options, value: &str, _: &Context) -> Result<(), String> {
    options.source = match value {
        "auto" => None,
        name => Some(name.parse()?),
    };
    Ok(())
}
