//! What the options of a command line say, each by itself. Which of them go together is decided in [`super::plan`].

use std::path::PathBuf;

use cpuledger::{Field, SourceKind};
use cpuledger_view::filter::Caller;
use cpuledger_view::query::Query;
use cpuledger_view::tree::Drawing;

use super::items;
use super::personality::Personality;
use crate::values::{FORMATS, Format};

/// Where a list of columns was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// `-o`, `o`.
    Columns,
    /// `--format`.
    ColumnsOrFormat,
    /// `-O`: between the first and the last of the usual columns.
    Between,
    /// `O`: the same, or an order.
    BetweenOrOrder,
}

/// A list of columns as it was written.
pub type ColumnList = (ListKind, String);

/// The lines of headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Headers {
    /// One.
    #[default]
    Once,
    /// None.
    Never,
    /// One a page.
    EachPage,
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
    /// Say what was found out about the surroundings.
    Info,
}

/// What is known besides the arguments.
#[derive(Debug, Clone)]
pub struct Surrounding {
    /// Whose habits are imitated.
    pub personality: Personality,
    /// The user and terminal of the caller.
    pub caller: Caller,
    /// `$PS_FORMAT`; `None` where it is empty.
    pub format: Option<String>,
    /// `$LIBPROC_HIDE_KERNEL`.
    pub hides_kernel: bool,
}

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// What shall be done.
    pub action: Action,
    /// A section of the help; empty: all.
    pub help_section: String,
    /// A BSD option was there, or the personality is such: other defaults.
    pub is_bsd: bool,
    /// Letters without a dash were there.
    pub has_bsd_options: bool,
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
    /// `g`.
    pub with_leaders: bool,
    /// `r`.
    pub only_running: bool,
    /// `-N`.
    pub negated: bool,
    /// Numbers that are listed, with what they are.
    pub listed: Vec<(Field, i64)>,
    /// Names that are listed: `-C`.
    pub comms: Vec<Vec<u8>>,
    /// `--filter`.
    pub filter: Query,
    /// `-q`.
    pub quick: Option<Vec<i32>>,
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
    /// `-P`.
    pub processor: bool,
    /// `-M`, `Z`.
    pub label: bool,
    /// `-x`, to some.
    pub arguments: bool,
    /// The macros of `u`, `l` and the like, as often as they were there.
    pub whole_formats: Vec<&'static str>,
    /// Each `-o` and its like, as written.
    pub columns: Vec<ColumnList>,
    /// `-L`.
    pub threads_lwp: bool,
    /// `-T`.
    pub threads_spid: bool,
    /// `H`.
    pub threads_as_processes: bool,
    /// `m`.
    pub threads_below: bool,
    /// `-m`.
    pub threads_below_unix: bool,
    /// `f`, `-H`.
    pub tree: Option<Drawing>,
    /// Each `--sort`, as written.
    pub sort: Vec<String>,
    /// `--headers`, `--no-headers`; an error where there are two.
    pub headers: Option<Headers>,
    /// How many `-w`.
    pub wide: usize,
    /// `--cols`.
    pub width: Option<usize>,
    /// `--rows`.
    pub height: Option<usize>,
    /// `c`.
    pub true_names: bool,
    /// `e`.
    pub environment: bool,
    /// `n`.
    pub numbers: bool,
    /// `S`.
    pub with_children: bool,
    /// `--signames`.
    pub signal_names: bool,
    /// `--format json`.
    pub output: Format,
    /// `--date-format`.
    pub date_format: Option<String>,
    /// `--delimiter`.
    pub delimiter: Option<String>,
    /// A word without a dash whose end was read as the value of one of its letters.
    pub word_with_value: Option<String>,
    /// `--source`; `None`: the best for it.
    pub source: Option<SourceKind>,
    /// `--socket`.
    pub socket: Option<PathBuf>,
}

impl Options {
    /// Nothing but what the personality says.
    pub fn of(personality: &Personality) -> Options {
        Options { is_bsd: personality.prefers_bsd || personality.forces_bsd, ..Options::default() }
    }

    /// Notes the headers that are wanted.
    pub fn set_headers(&mut self, headers: Headers) -> Result<(), String> {
        match self.headers.replace(headers) {
            None => Ok(()),
            Some(_) => Err("two options set the headers; drop one of them".to_owned()),
        }
    }

    /// Notes a list of numbers or names that choose processes.
    pub fn list(&mut self, field: Field, list: &str) -> Result<(), String> {
        for item in items::items(list)? {
            self.listed.push((field, items::number(field, item)?));
        }
        Ok(())
    }

    /// Notes the list of `-g`: sessions if all are numbers, else groups.
    pub fn list_sessions_or_groups(&mut self, list: &str) -> Result<(), String> {
        let before = self.listed.len();
        if self.list(Field::Sid, list).is_ok() {
            return Ok(());
        }
        self.listed.truncate(before);
        self.list(Field::Egid, list)
            .map_err(|sentence| format!("`-g` takes session numbers or group names: {sentence}"))
    }

    /// Notes the list of `-C`.
    pub fn list_comms(&mut self, list: &str) -> Result<(), String> {
        for item in items::items(list)? {
            self.comms.push(item.as_bytes().to_vec());
        }
        Ok(())
    }

    /// Notes the list of `-q`.
    pub fn list_quick(&mut self, list: &str) -> Result<(), String> {
        if self.quick.is_some() {
            return Err("`-q` can be given only once; put all pids in one list".to_owned());
        }
        let pids: Result<Vec<i32>, String> =
            items::items(list)?.map(|item| items::positive(item, "pid")).collect();
        self.quick = Some(pids?);
        Ok(())
    }

    /// Notes what rows must match.
    pub fn set_filter(&mut self, text: &str) -> Result<(), String> {
        if !self.filter.is_empty() {
            return Err("`--filter` can be given only once; write all conditions in one".to_owned());
        }
        self.filter = Query::parse(text).map_err(|error| format!("`--filter`: {error}"))?;
        Ok(())
    }

    /// Notes the columns of `-o`; for `--format`, the names of formats are something else.
    pub fn add_columns(&mut self, kind: ListKind, list: &str) {
        self.columns.push((kind, list.to_owned()));
    }

    /// `--format`: one of ours, or columns.
    pub fn set_format(&mut self, value: &str) {
        match FORMATS.iter().find(|(name, _)| *name == value) {
            Some((_, output)) => self.output = *output,
            None => self.add_columns(ListKind::ColumnsOrFormat, value),
        }
    }

    /// Whether processes are chosen by anything but the simple options.
    pub fn has_lists(&self) -> bool {
        !self.listed.is_empty() || !self.comms.is_empty()
    }
}
