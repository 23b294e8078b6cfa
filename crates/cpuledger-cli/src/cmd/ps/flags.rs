//! The one table of the options of `ps`: parsing and help derive from it.

use cpuledger::{Field, SourceKind};
use cpuledger_view::tree::Drawing;

use super::number::positive_number;
use super::options::{Action, Headers, ListKind, Options, Surrounding};
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

/// Examples of values, by their names.
pub const EXAMPLES: [(&str, &str); 9] = [
    ("PIDS", "1,42"),
    ("USERS", "root,www-data"),
    ("GROUPS", "root,adm"),
    ("IDS", "1,42"),
    ("SESSIONS", "1,42"),
    ("TERMINALS", "tty1,pts/0"),
    ("NAMES", "sh,bash"),
    ("COLUMNS", "pid,comm"),
    ("FILTER", "'cpu>5 user=www'"),
];

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
    pub apply: fn(&mut Options, &str, &Surrounding) -> Result<(), String>,
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
    ($field:ident) => {
        |options, value, _| options.list(Field::$field, value)
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

/// An option that is a format of its own: one of those of the personality, or a macro.
macro_rules! whole {
    ($format:ident) => {
        |options, _, surrounding| {
            options.whole_formats.push(surrounding.personality.formats.$format);
            Ok(())
        }
    };
    ($name:literal) => {
        |options, _, _| {
            options.whole_formats.push($name);
            Ok(())
        }
    };
}

use Takes::{Nothing, NothingAlone, Optional, Value};

flags! {
    Simple {
        "eA" "" [] Nothing, "every process" set!(all = true);
        "a" "" [] Nothing, "every process with a terminal, except session leaders" set!(with_terminal_no_leaders = true);
        "d" "" [] Nothing, "every process except session leaders" set!(no_leaders = true);
        "" "a" [] Nothing, "every process with a terminal; with `x`, every process" set!(with_terminal = true);
        "" "x" [] Nothing, "your processes, with or without a terminal" set!(own_everywhere = true);
        "x" "" [] Nothing, "same as `x` (so `-ax` means `ax`); differs in some modes of $PS_PERSONALITY" unix_x;
        "" "g" [] Nothing, "include session leaders; only $PS_PERSONALITY=sunos4 leaves them out" set!(with_leaders = true);
        "" "T" [] Nothing, "processes on this terminal" own_terminal;
        "" "r" [] Nothing, "only those that are running or wait for I/O" set!(only_running = true);
        "N" "" ["deselect"] Nothing, "all processes except the selected ones" set!(negated = true);
    }
    List {
        "p" "p" ["pid"] Value("PIDS"), "these processes; a number alone does the same" list!(Pid);
        "q" "q" ["quick-pid"] Value("PIDS"), "these processes, in this order, without reading any other"
            |options, value, _| options.list_quick(value);
        "" "" ["ppid"] Value("PIDS"), "the children of these processes" list!(Ppid);
        "u" "U" ["user"] Value("USERS"), "processes of these effective users" list!(Euid);
        "U" "" ["User"] Value("USERS"), "processes of these real users" list!(Uid);
        "g" "" [] Value("IDS"), "processes of these sessions (numbers) or effective groups (names)"
            |options, value, _| options.list_sessions_or_groups(value);
        "" "" ["group"] Value("GROUPS"), "processes of these effective groups" list!(Egid);
        "G" "" ["Group"] Value("GROUPS"), "processes of these real groups" list!(Gid);
        "s" "" ["sid"] Value("SESSIONS"), "processes of these sessions; +NUMBER alone does the same" list!(Sid);
        "t" "" ["tty"] Value("TERMINALS"), "processes on these terminals; - means without a terminal" list!(TtyDevice);
        "" "t" [] Optional("TERMINALS"), "the same; without a list, on this terminal" bsd_terminals;
        "C" "" [] Value("NAMES"), "processes with these names" |options, value, _| options.list_comms(value);
        "" "" ["filter"] Value("FILTER"), "those that match, as on the screen; of all processes, if nothing else selects (docs/ps.md)"
            |options, value, _| options.set_filter(value);
    }
    Output {
        "o" "o" [] Value("COLUMNS"), "these columns; each is NAME, NAME:WIDTH or NAME=HEADER"
            |options, value, _| { options.add_columns(ListKind::Columns, value); Ok(()) };
        "" "" ["format"] Value("FORMAT"), "json, csv or csv-safe: the output format; anything else: columns, as with `-o`"
            |options, value, _| { options.set_format(value); Ok(()) };
        "O" "" [] Value("COLUMNS"), "add these columns to the default ones"
            |options, value, _| { options.add_columns(ListKind::Between, value); Ok(()) };
        "" "O" [] Value("COLUMNS"), "the same, or short sort keys such as `+u-p`"
            |options, value, _| { options.add_columns(ListKind::BetweenOrOrder, value); Ok(()) };
        "f" "" [] Nothing, "full: with user, parent, start time and arguments" set!(full = true);
        "F" "" [] Nothing, "extra full: with memory and CPU as well" set!(full = true, extra_full = true);
        "l" "" [] Nothing, "long: with state, priority, memory and wait channel" set!(long = true);
        "y" "" [] Nothing, "with `-l`: no flags, and RSS instead of ADDR" set!(no_flags = true);
        "j" "" [] Nothing, "jobs: with process group and session" set!(jobs = true);
        "c" "" [] Nothing, "with scheduling class and priority" set!(classes = true);
        "P" "" [] Nothing, "with the CPU that each task ran on last" set!(processor = true);
        "MZ" "Z" [] Nothing, "with the security label" set!(label = true);
        "" "" ["context"] Nothing, "pid, security label, arguments" whole!("FLASK_context");
        "" "u" [] Nothing, "user format: with %CPU and %MEM" whole!(bsd_user);
        "" "l" [] Nothing, "BSD's long format" whole!(bsd_long);
        "" "j" [] Nothing, "BSD's job format" whole!(bsd_jobs);
        "" "s" [] Nothing, "signal format" whole!(bsd_signals);
        "" "v" [] Nothing, "virtual memory format" whole!(bsd_memory);
        "" "X" [] Nothing, "register format" whole!("OL_X");
        "" "f" ["forest"] Nothing, "process tree, drawn with branches"
            set!(tree = Some(Drawing::Branches));
        "H" "" [] Nothing, "process tree, drawn by indentation" set!(tree = Some(Drawing::Indent));
        "w" "w" [] Nothing, "wide output, at least 132 columns; given twice, unlimited"
            |options, _, _| { options.wide += 1; Ok(()) };
        "" "" ["cols" "columns" "width"] Value("NUMBER"), "width of the output"
            |options, value, _| { options.width = Some(positive_number("--cols", value)?); Ok(()) };
        "" "" ["rows" "lines"] Value("NUMBER"), "height of a page"
            |options, value, _| { options.height = Some(positive_number("--rows", value)?); Ok(()) };
        "" "" ["headers" "header" "heading" "headings"] Nothing, "repeat the header line on each page"
            |options, _, _| options.set_headers(Headers::EachPage);
        "" "" ["no-headers" "no-header" "no-heading" "no-headings" "noheader" "noheaders" "noheading" "noheadings"]
            Nothing, "no header line" |options, _, _| options.set_headers(Headers::Never);
        "" "h" [] Nothing, "no header line; in some modes of $PS_PERSONALITY, one on each page" |options, _, surrounding| {
            let repeats = surrounding.personality.h_repeats;
            options.set_headers(if repeats { Headers::EachPage } else { Headers::Never })
        };
        "" "" ["signames"] Nothing, "show signals by name instead of number" set!(signal_names = true);
        "D" "" ["date-format"] Value("FORMAT"), "strftime(3) format of `lstart`"
            |options, value, _| { options.date_format = Some(value.to_owned()); Ok(()) };
        "" "" ["delimiter"] Value("TEXT"), "separate columns by this text instead of padding them"
            |options, value, _| { options.delimiter = Some(value.to_owned()); Ok(()) };
    }
    Threads {
        "L" "" [] Nothing, "a line for each thread, with LWP and NLWP" set!(threads_lwp = true);
        "T" "" [] Nothing, "a line for each thread, with SPID" set!(threads_spid = true);
        "" "H" [] Nothing, "a line for each thread, as if it were a process" set!(threads_as_processes = true);
        "m" "" [] Nothing, "threads after their process" set!(threads_below_unix = true);
        "" "m" [] Nothing, "threads after their process" bsd_m;
        "" "M" [] Nothing, "the same, whatever $PS_PERSONALITY says" set!(threads_below = true);
    }
    Misc {
        "" "k" ["sort"] Value("COLUMNS"), "sort by these columns; -COLUMN sorts highest first"
            |options, value, _| { options.sort.push(value.to_owned()); Ok(()) };
        "" "c" [] Nothing, "show names instead of arguments" set!(true_names = true);
        "" "e" [] Nothing, "show the environment after the arguments" set!(environment = true);
        "" "n" [] Nothing, "show users by number instead of name" set!(numbers = true);
        "" "S" ["cumulative"] Nothing, "include CPU time and page faults of children that exited" set!(with_children = true);
        "" "" ["source"] Value("SOURCE"), "where the numbers come from: auto (the default), service, walk, netlink or procfs" set_source;
        "" "" ["socket"] Value("PATH"), "the socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger" |options, value, _| {
            options.socket = Some(value.into());
            Ok(())
        };
        "" "L" [] NothingAlone, "list all columns" set!(action = Action::Columns);
        "" "" ["help"] Optional("SECTION"), "this text, or one section: simple, list, output, threads or misc" |options, value, _| {
            options.action = Action::Help;
            value.clone_into(&mut options.help_section);
            Ok(())
        };
        "" "" ["info"] NothingAlone, "show what was found out about $PS_PERSONALITY and the terminal" set!(action = Action::Info);
        "V" "V" ["version"] NothingAlone, "the version" set!(action = Action::Version);
    }
}

fn unix_x(options: &mut Options, _: &str, surrounding: &Surrounding) -> Result<(), String> {
    match surrounding.personality.letter_x {
        LetterX::Wrong => {
            return Err(
                "unknown option `-x`; did you mean `x`, without the dash? ($PS_PERSONALITY can enable `-x`)"
                    .to_owned(),
            );
        }
        LetterX::NoFlags => options.no_flags = true,
        LetterX::Arguments => options.arguments = true,
    }
    Ok(())
}

fn own_terminal(options: &mut Options, _: &str, surrounding: &Surrounding) -> Result<(), String> {
    options.listed.push((Field::TtyDevice, surrounding.caller.tty_device.into()));
    Ok(())
}

fn bsd_terminals(options: &mut Options, value: &str, surrounding: &Surrounding) -> Result<(), String> {
    if value.is_empty() {
        own_terminal(options, value, surrounding)
    } else {
        options.list(Field::TtyDevice, value)
    }
}

fn bsd_m(options: &mut Options, _: &str, surrounding: &Surrounding) -> Result<(), String> {
    match surrounding.personality.letter_m {
        LetterM::Threads => options.threads_below = true,
        LetterM::OrderByMemory => options.sort.push("-pmem".to_owned()),
        LetterM::MemoryFormat => options.whole_formats.push("OL_m"),
    }
    Ok(())
}

fn set_source(options: &mut Options, value: &str, _: &Surrounding) -> Result<(), String> {
    options.source = match value {
        "auto" => None,
        name => Some(name.parse::<SourceKind>().map_err(|_| {
            format!("there is no source `{name}`; ps has `service`, `walk`, `netlink`, `procfs` and `auto`")
        })?),
    };
    Ok(())
}
