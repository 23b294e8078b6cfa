//! The one table of the options of `ps`: parsing and help derive from it.

use super::options::{Action, BsdFormat, Listed, Options, Threads};

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
    /// Which processes.
    Selection,
    /// Which columns.
    Columns,
    /// Processes or threads.
    Threads,
    /// Order, headers, width.
    Output,
    /// The rest.
    Other,
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
    /// What its value is; empty: it has none.
    pub value: &'static str,
    /// Where the help has it.
    pub topic: Topic,
    /// One sentence.
    pub help: &'static str,
    /// Notes it, with its value.
    pub apply: fn(&mut Options, &str) -> Result<(), String>,
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
    ($($topic:ident { $($unix:literal $bsd:literal [$($long:literal)*] $value:literal $help:literal $apply:expr;)* })*) => {
        /// Every option.
        pub static FLAGS: &[Flag] = &[$($(Flag {
            unix: $unix,
            bsd: $bsd,
            long: &[$($long),*],
            value: $value,
            topic: Topic::$topic,
            help: $help,
            apply: $apply,
        },)*)*];
    };
}

/// An option that notes its list.
macro_rules! list {
    ($listed:ident) => {
        |options, value| {
            options.lists.push((Listed::$listed, value.to_owned()));
            Ok(())
        }
    };
}

/// An option that sets members.
macro_rules! set {
    ($($member:ident = $value:expr),*) => {
        |options, _| {
            $(options.$member = $value;)*
            Ok(())
        }
    };
}

flags! {
    Selection {
        "eA" "" [] "" "every process" set!(all = true);
        "a" "" [] "" "every process at a terminal, but session leaders" set!(with_terminal_no_leaders = true);
        "d" "" [] "" "every process but session leaders" set!(no_leaders = true);
        "" "a" [] "" "every process at a terminal; with `x` every process" set!(with_terminal = true);
        "" "x" [] "" "your processes, at a terminal or not" set!(own_everywhere = true);
        "" "g" [] "" "nothing: it is always so" |_, _| Ok(());
        "pq" "pq" ["pid" "quick-pid"] "numbers of processes" "these processes; so does a bare list" list!(Pids);
        "" "" ["ppid"] "numbers of processes" "the children of these processes" list!(Parents);
        "u" "U" ["user"] "users" "processes of these effective users" list!(EffectiveUsers);
        "U" "" ["User"] "users" "processes of these real users" list!(RealUsers);
        "g" "" [] "sessions or groups" "processes of these sessions, or effective groups by name"
            list!(SessionsOrGroups);
        "" "" ["group"] "groups" "processes of these effective groups" list!(EffectiveGroups);
        "G" "" ["Group"] "groups" "processes of these real groups" list!(RealGroups);
        "s" "" ["sid"] "sessions" "processes of these sessions" list!(Sessions);
        "t" "t" ["tty"] "terminals" "processes at these terminals" list!(Terminals);
        "" "T" [] "" "processes at this terminal" set!(own_terminal = true);
        "C" "" [] "names" "processes of these names" list!(Comms);
        "" "r" [] "" "of these, only what runs or waits for I/O" set!(only_running = true);
        "N" "" ["deselect"] "" "all but these" set!(negated = true);
    }
    Columns {
        "o" "o" ["format"] "columns, each NAME, NAME:WIDTH or NAME=HEADER" "these columns"
            |options, value| { options.columns.push(value.to_owned()); Ok(()) };
        "f" "" [] "" "full: user, parent, start, arguments" set!(full = true);
        "F" "" [] "" "fuller: with memory and CPU" set!(full = true, extra_full = true);
        "l" "" [] "" "long: with state, priority, memory, wait channel" set!(long = true);
        "y" "" [] "" "with `-l`: no flags, RSS instead of ADDR" set!(no_flags = true);
        "j" "" [] "" "jobs: with process group and session" set!(jobs = true);
        "c" "" [] "" "scheduling class and priority" set!(classes = true);
        "" "u" [] "" "by user: with shares of CPU and memory" set!(bsd_format = Some(BsdFormat::User));
        "" "l" [] "" "BSD's long format" set!(bsd_format = Some(BsdFormat::Long));
        "" "j" [] "" "BSD's job format" set!(bsd_format = Some(BsdFormat::Jobs));
    }
    Threads {
        "L" "" [] "" "a line for each thread, with LWP and NLWP" |options, _| set_threads(options, Threads::WithLwp);
        "T" "" [] "" "a line for each thread, with SPID" |options, _| set_threads(options, Threads::WithSpid);
        "" "H" [] "" "a line for each thread, as if it were a process" |options, _| set_threads(options, Threads::AsProcesses);
    }
    Output {
        "" "k" ["sort"] "columns, each with + or - in front" "in this order; -: from large to small"
            |options, value| { options.sort.push(value.to_owned()); Ok(()) };
        "" "h" ["no-headers" "no-header" "no-heading" "no-headings" "noheader" "noheaders" "noheading" "noheadings"]
            "" "no line of headers" set!(no_headers = true);
        "w" "w" [] "" "at least 132 places a line; twice: any length"
            |options, _| { options.wide += 1; Ok(()) };
        "" "" ["cols" "columns" "width"] "a number of places" "so many places a line" set_width;
    }
    Other {
        "" "" ["source"] "auto, walk or procfs" "where the numbers come from" set_source;
        "" "L" [] "" "list the columns" set!(action = Action::Columns);
        "" "" ["help"] "" "this text" set!(action = Action::Help);
        "V" "V" ["version"] "" "the version" set!(action = Action::Version);
    }
}

fn set_threads(options: &mut Options, threads: Threads) -> Result<(), String> {
    if options.threads != Threads::No && options.threads != threads {
        return Err("`-L`, `-T` and `H` show threads differently; leave two away".to_owned());
    }
    options.threads = threads;
    Ok(())
}

fn set_width(options: &mut Options, value: &str) -> Result<(), String> {
    match value.parse() {
        Ok(width) if width > 0 => {
            options.width = Some(width);
            Ok(())
        }
        _ => Err(format!("`--cols` needs a number above 0, and `{value}` is none")),
    }
}

fn set_source(options: &mut Options, value: &str) -> Result<(), String> {
    options.source = match value {
        "auto" => None,
        name => Some(name.parse()?),
    };
    Ok(())
}
