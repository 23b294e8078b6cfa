//! What the user has chosen, and the file that keeps it: one table reads, writes and documents it.

mod file;

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cpuledger_model::Dimension;
use cpuledger_view::column::{Column, columns};
use cpuledger_view::group::OF_SCREEN;
use cpuledger_view::interval::column::TableColumn;
use cpuledger_view::near::did_you_mean;
use toml::Value;

use super::theme::ThemeName;
use crate::cmd::top::options::parse_delay;
use crate::cmd::top::order::Order;
use cpuledger_view::shares::MOST_HELD;

/// A column of the table, and its width if it was changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownColumn {
    /// Which.
    pub column: TableColumn,
    /// `None`: its usual width.
    pub width: Option<usize>,
}

impl ShownColumn {
    /// The column with that header or key, in its usual width.
    pub fn by_name(name: &str) -> Option<ShownColumn> {
        TableColumn::by_name(name).map(|column| ShownColumn { column, width: None })
    }
}

/// Whose child a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree {
    /// No tree.
    No,
    /// By parent.
    Parent,
    /// By accounting parent.
    Accounting,
}

/// Names of a choice in the file.
trait Named: Sized + Copy + PartialEq + 'static {
    const NAMES: &'static [(&'static str, Self)];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

impl Named for Tree {
    const NAMES: &'static [(&'static str, Tree)] =
        &[("no", Tree::No), ("parent", Tree::Parent), ("accounting", Tree::Accounting)];
}

impl Named for Option<Dimension> {
    const NAMES: &'static [(&'static str, Option<Dimension>)] = &{
        let mut names = [("no", None); OF_SCREEN.len() + 1];
        let mut place = 0;
        while place < OF_SCREEN.len() {
            names[place + 1] = (OF_SCREEN[place].name(), Some(OF_SCREEN[place]));
            place += 1;
        }
        names
    };
}

/// Characters of the bars.
impl Named for Option<bool> {
    const NAMES: &'static [(&'static str, Option<bool>)] =
        &[("auto", None), ("ascii", Some(true)), ("utf8", Some(false))];
}

impl Named for ThemeName {
    const NAMES: &'static [(&'static str, ThemeName)] = &[
        ("auto", ThemeName::Auto),
        ("16", ThemeName::Sixteen),
        ("256", ThemeName::Indexed),
        ("true", ThemeName::True),
        ("light", ThemeName::Light),
        ("dark", ThemeName::Dark),
        ("contrast", ThemeName::Contrast),
        ("mono", ThemeName::Mono),
    ];
}

/// What the user has chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Length of an interval.
    pub delay_ns: u64,
    /// Columns from left to right.
    pub columns: Vec<ShownColumn>,
    /// The column or key that rows are sorted by.
    pub sort: &'static str,
    /// From low to high.
    pub is_ascending: bool,
    /// Tasks instead of processes.
    pub has_threads: bool,
    /// Those too that did not run.
    pub has_all: bool,
    /// The exited too.
    pub has_exited: bool,
    /// Processes that are alike and do little in one line.
    pub folds_alike: bool,
    /// Rows as a tree.
    pub tree: Tree,
    /// Rows in groups.
    pub group: Option<Dimension>,
    /// Arguments instead of names; `None`: where there is room.
    pub arguments: Option<bool>,
    /// Percent of the machine, not of one CPU.
    pub is_of_machine: bool,
    /// Nanoseconds and bytes.
    pub is_exact: bool,
    /// User, system and stolen time of each part in place of the columns.
    pub has_parts: bool,
    /// States in place of the columns.
    pub has_states: bool,
    /// What these are sorted by: a column of states, or as [`Settings::sort`].
    pub states_sort: &'static str,
    /// Lowest first, of states.
    pub is_states_ascending: bool,
    /// What an account is sorted by while it is shown, and whether the lowest comes first; it is not kept.
    pub account_order: Option<(&'static str, bool)>,
    /// A meter for each CPU, not one for all.
    pub has_cpus: bool,
    /// Show memory and load in the head.
    pub has_memory: bool,
    /// Colours.
    pub theme: ThemeName,
    /// Bars of ASCII; `None`: where the locale is not UTF-8.
    pub is_ascii: Option<bool>,
    /// The mouse is listened to.
    pub has_mouse: bool,
}

/// A key of the file.
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// One sentence.
    pub help: &'static str,
    get: fn(&Settings) -> Value,
    set: fn(&mut Settings, &Value) -> Result<(), String>,
}

/// A key that is true or false.
macro_rules! flag {
    ($member:ident, $key:literal, $help:literal) => {
        Setting {
            key: $key,
            help: $help,
            get: |settings| Value::Boolean(settings.$member),
            set: |settings, value| {
                settings.$member = value.as_bool().ok_or("is true or false")?;
                Ok(())
            },
        }
    };
}

/// A key that is one of some names.
macro_rules! choice {
    ($member:ident, $key:literal, $help:literal) => {
        Setting {
            key: $key,
            help: $help,
            get: |settings| Value::String(settings.$member.name().to_owned()),
            set: |settings, value| {
                settings.$member = named(value)?;
                Ok(())
            },
        }
    };
}

/// Every key of the file.
pub static SETTINGS: [Setting; 20] = [
    Setting {
        key: "delay",
        help: "Length of an interval in seconds, at least 0.01; -d overrides it.",
        get: |settings| Value::Float(settings.delay_ns as f64 / 1e9),
        set: |settings, value| {
            let text = match value {
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                _ => return Err("is a number of seconds".to_owned()),
            };
            settings.delay_ns = parse_delay(&text)
                .map_err(|_| format!("is a number of seconds, at least 0.01, not {text}"))?;
            Ok(())
        },
    },
    Setting {
        key: "columns",
        help: "Columns from left to right: headers or JSON keys; NAME:WIDTH changes the width.",
        get: |settings| {
            Value::Array(settings.columns.iter().map(|shown| Value::String(written(shown))).collect())
        },
        set: |settings, value| {
            let names = value.as_array().ok_or("is a list of names")?;
            let columns: Result<Vec<ShownColumn>, String> = names.iter().map(read_column).collect();
            settings.columns = columns?;
            if settings.columns.is_empty() { Err("needs at least one name".to_owned()) } else { Ok(()) }
        },
    },
    Setting {
        key: "sort",
        help: "The column or key to sort by; -o overrides it.",
        get: |settings| Value::String(settings.sort.to_owned()),
        set: |settings, value| {
            let name = value.as_str().ok_or("is the name of a column")?;
            settings.sort = sort_name(name).ok_or_else(|| unknown(name))?;
            Ok(())
        },
    },
    flag!(is_ascending, "ascending", "Sort lowest first."),
    flag!(has_threads, "threads", "Show tasks instead of processes, like -H."),
    flag!(has_all, "all", "Also list what did not run, like --all."),
    flag!(has_exited, "exited", "List what exited in the interval, by name."),
    flag!(folds_alike, "fold_alike", "Show processes that are alike and use little in one line."),
    choice!(tree, "tree", "Show rows as a tree: no, parent or accounting."),
    choice!(group, "group", "Group rows: no, cgroup, unit, container, pod, image, user or command."),
    Setting {
        key: "command_line",
        help: "Show command lines instead of names, like -c: true, false, or \"auto\" where there is room.",
        get: |settings| settings.arguments.map_or(Value::String("auto".to_owned()), Value::Boolean),
        set: |settings, value| {
            settings.arguments = match (value.as_bool(), value.as_str()) {
                (Some(wanted), _) => Some(wanted),
                (None, Some("auto")) => None,
                _ => return Err("is true, false or \"auto\"".to_owned()),
            };
            Ok(())
        },
    },
    flag!(
        is_of_machine,
        "machine_percent",
        "Show CPU time in percent of the whole machine instead of one CPU."
    ),
    flag!(is_exact, "exact", "Show nanoseconds and bytes, as in JSON."),
    flag!(
        has_parts,
        "parts",
        "Show user, system and stolen time of each part instead of the columns, as the key p does."
    ),
    flag!(has_states, "states", "Show where all of the time went instead of the columns, as the key w does."),
    flag!(has_cpus, "cpu_bars", "Show a meter for each CPU instead of one for all."),
    flag!(has_memory, "memory_bars", "Show memory and load in the head."),
    choice!(
        theme,
        "theme",
        "Colours: auto, 16, 256, true, light, dark, contrast or mono; always mono with NO_COLOR, or if the terminal has none."
    ),
    Setting {
        key: "bars",
        help: "Characters of the bars: auto (by locale), ascii or utf8.",
        get: |settings| Value::String(settings.is_ascii.name().to_owned()),
        set: |settings, value| {
            settings.is_ascii = named(value).map_err(|_| "is auto, ascii or utf8".to_owned())?;
            Ok(())
        },
    },
    flag!(has_mouse, "mouse", "Use the mouse."),
];

/// The columns there are at first.
pub const FIRST_COLUMNS: [&str; 17] = [
    "PID", "USER", "NI", "VIRT", "RES", "S", "%CPU", "HISTORY", "SELF", "X", "C", "READ/s", "WRITE/s", "TH",
    "TIME+", "UNIT", "COMMAND",
];

impl Default for Settings {
    fn default() -> Settings {
        let columns = FIRST_COLUMNS.iter().filter_map(|name| ShownColumn::by_name(name));
        Settings {
            delay_ns: 3_000_000_000,
            columns: columns.collect(),
            sort: "%CPU",
            is_ascending: false,
            has_threads: false,
            has_all: false,
            has_exited: true,
            folds_alike: true,
            tree: Tree::No,
            group: None,
            arguments: None,
            is_of_machine: false,
            is_exact: false,
            has_parts: false,
            has_states: false,
            states_sort: MOST_HELD,
            is_states_ascending: false,
            account_order: None,
            has_cpus: true,
            has_memory: true,
            theme: ThemeName::Auto,
            is_ascii: None,
            has_mouse: true,
        }
    }
}

impl Settings {
    /// What rows are put together by, as the head names it.
    pub fn group_name(&self) -> Option<&'static str> {
        Some(match self.group? {
            Dimension::Cgroup => "Cgroups",
            Dimension::Unit => "Units",
            Dimension::Container => "Containers",
            Dimension::Pod => "Pods",
            Dimension::Image => "Images",
            Dimension::User => "Users",
            Dimension::Command => "Commands",
            _ => return None,
        })
    }

    /// What is sorted by in the view that is shown, and whether the lowest comes first.
    pub fn order(&self) -> (&'static str, bool) {
        if let Some(order) = self.account_order {
            order
        } else if self.has_states {
            (self.states_sort, self.is_states_ascending)
        } else {
            (self.sort, self.is_ascending)
        }
    }

    /// Sorts the view that is shown by something else.
    pub fn set_order(&mut self, (name, is_ascending): (&'static str, bool)) {
        if self.account_order.is_some() {
            self.account_order = Some((name, is_ascending));
        } else if self.has_states {
            (self.states_sort, self.is_states_ascending) = (name, is_ascending);
        } else {
            (self.sort, self.is_ascending) = (name, is_ascending);
        }
    }

    /// A name to sort the view by that is shown, as it is written in the tables.
    pub fn sort_name(&self, name: &str) -> Option<&'static str> {
        match Order::of_view(name, self.has_states)? {
            Order::State(column) => Some(column.name),
            Order::Key(_) | Order::Time => sort_name(name),
        }
    }
}

/// A name to sort by, as it is written in the tables.
pub fn sort_name(name: &str) -> Option<&'static str> {
    Order::by_name(name)?;
    let is_order = |column: &&Column| column.orders.iter().any(|order| order.eq_ignore_ascii_case(name));
    let by_order = || columns().find(is_order)?.in_table.as_ref().map(|of| of.header);
    let column = TableColumn::by_name(name).map(TableColumn::name);
    column.or_else(by_order).or_else(|| Order::name_of_top(name))
}

/// The theme behind this one, and the first behind the last.
pub fn next_theme(theme: ThemeName) -> ThemeName {
    let mut names = ThemeName::NAMES.iter().cycle().skip_while(|(_, known)| *known != theme).skip(1);
    names.next().map_or(theme, |(_, next)| *next)
}

/// The theme of that name.
///
/// # Errors
/// When there is none.
pub fn theme_by_name(name: &str) -> Result<ThemeName, String> {
    named(&Value::String(name.to_owned()))
}

/// What the file calls by that name.
fn named<T: Named>(value: &Value) -> Result<T, String> {
    let found = value.as_str().and_then(|name| T::NAMES.iter().find(|(known, _)| *known == name));
    let names = || T::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.map(|(_, value)| *value).ok_or_else(|| format!("is one of {}", names()))
}

fn written(shown: &ShownColumn) -> String {
    let name = shown.column.name();
    shown.width.map_or_else(|| name.to_owned(), |width| format!("{name}:{width}"))
}

/// The widest column.
pub const MOST_WIDTH: usize = 200;

fn read_column(value: &Value) -> Result<ShownColumn, String> {
    let text = value.as_str().ok_or("is a list of names")?;
    let (name, width) = match text.split_once(':') {
        Some((name, width)) => {
            let width = width.parse().ok().filter(|width| (1..=MOST_WIDTH).contains(width));
            (name, Some(width.ok_or_else(|| format!("has a bad width in `{}`", text.escape_debug()))?))
        }
        None => (text, None),
    };
    let column = TableColumn::by_name(name).ok_or_else(|| unknown(name))?;
    Ok(ShownColumn { column, width })
}

fn unknown(name: &str) -> String {
    format!("knows no `{}`{}", name.escape_debug(), Order::instead_of(name, false))
}

/// Reads the settings, and what is not right in them. Where there is no file at the usual place, they are as at first.
///
/// # Errors
/// When the file that was asked for cannot be read, or one is no TOML.
pub fn load(wanted: Option<&Path>) -> anyhow::Result<(Settings, Vec<String>)> {
    let Some(path) = wanted.map(Path::to_path_buf).or_else(file::usual_path) else {
        return Ok((Settings::default(), Vec::new()));
    };
    match fs::read_to_string(&path) {
        Ok(text) => read(&text).with_context(|| format!("{} is not a valid configuration", path.display())),
        Err(error) if wanted.is_none() && error.kind() == ErrorKind::NotFound => {
            Ok((Settings::default(), Vec::new()))
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Reads the text of a file.
///
/// # Errors
/// When it is no TOML.
pub fn read(text: &str) -> anyhow::Result<(Settings, Vec<String>)> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
        anyhow::anyhow!(
            "line {}: {}",
            before.matches('\n').count() + 1,
            error.message().trim().replace('\n', "; ")
        )
    })?;
    let mut settings = Settings::default();
    let mut warnings = Vec::new();
    for (key, value) in &table {
        match SETTINGS.iter().find(|setting| setting.key == key) {
            Some(setting) => {
                let before = settings.clone();
                if let Err(sentence) = (setting.set)(&mut settings, value) {
                    settings = before;
                    warnings.push(format!("`{key}` {sentence}"));
                }
            }
            None => {
                let known = SETTINGS.iter().map(|setting| setting.key);
                let near = did_you_mean("", key, known, "the manual (man/ptop.1) lists the keys");
                warnings.push(format!("there is no key `{}`{near}", key.escape_debug()));
            }
        }
    }
    Ok((settings, warnings))
}

/// The text of a file with these settings, each key under its sentence.
pub fn write(settings: &Settings) -> String {
    let mut text = "# Settings of ptop, the screen of cpuledger top.\n".to_owned();
    for setting in &SETTINGS {
        // A string takes everything.
        let _ = write!(text, "\n# {}\n{} = {}\n", setting.help, setting.key, (setting.get)(settings));
    }
    text
}

/// Writes the settings to a file, whole or not at all, and tells where.
///
/// # Errors
/// When it cannot be written.
pub fn save(settings: &Settings, wanted: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = wanted.map(Path::to_path_buf).or_else(file::usual_path);
    let path =
        path.context("cannot find the configuration directory; set HOME, or name a file with --config")?;
    file::replace(&path, write(settings).as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_offer_every_theme() {
        let names: Vec<&str> = ThemeName::NAMES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, crate::values::THEMES);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut settings = Settings::default();
        assert_eq!(read(&write(&settings)).expect("TOML"), (settings.clone(), Vec::new()));
        settings = Settings {
            delay_ns: 250_000_000,
            sort: "rss_bytes",
            tree: Tree::Accounting,
            group: Some(Dimension::Cgroup),
            theme: ThemeName::Contrast,
            is_ascii: Some(true),
            is_exact: true,
            has_mouse: false,
            ..settings
        };
        settings.columns[0].width = Some(12);
        assert_eq!(read(&write(&settings)).expect("TOML"), (settings, Vec::new()));
    }

    #[test]
    fn what_is_not_right_is_said_and_the_rest_is_taken() {
        let text = "delay = 0\nthreads = 3\nthemes = \"16\"\ncolumns = [\"PID\", \"NAME\"]\nsort = \"RES\"\ntree = \"oak\"\n";
        let (settings, warnings) = read(text).expect("TOML");
        assert_eq!(settings, Settings { sort: "RES", ..Settings::default() });
        assert_eq!(warnings.len(), 5, "{warnings:?}");
        assert!(warnings.iter().any(|warning| warning.contains("`themes`") && warning.contains("`theme`")));
        let error = read("delay = 1\n[broken").expect_err("no TOML").to_string();
        assert!(error.starts_with("line 2: ") && error.lines().count() == 1, "{error}");
    }
}
