//! Which columns are shown: `-o` lists, and the formats that the other options name, as procps composes them.

use cpuledger_view::layout::Chosen;

use super::macros;
use super::options::{ColumnList, ListKind, Options};
use super::personality::Personality;
use super::specifiers::{self, named};
use crate::values::FORMATS;

/// The columns of the listing. `lists` are those of `-o` and its like; `usual` is `$PS_FORMAT`, if that is good.
///
/// # Errors
/// A sentence that says which column is not known, or which options do not go together.
pub fn columns(
    options: &Options,
    lists: &[ColumnList],
    personality: &Personality,
    usual: Option<&[Chosen]>,
) -> Result<Vec<Chosen>, String> {
    check(options, lists)?;
    if options.full && options.long && options.jobs && personality.formats.jobs.is_some() {
        return Err("`-f`, `-l` and `-j` do not go together in this personality".to_owned());
    }
    let mut columns = match (lists, usual) {
        ([], Some(usual)) if is_plain(options) => usual.to_vec(),
        ([], _) => composed(options, personality).into_iter().map(column).collect::<Result<_, _>>()?,
        _ => listed(lists)?,
    };
    for column in &mut columns {
        column.reword(options.numbers, options.true_names, options.environment);
        if options.signal_names {
            column.name_signals();
        }
    }
    Ok(columns)
}

/// Between the sizes of IRIX.
const COLON: &str = ":";

fn column(name: &str) -> Result<Chosen, String> {
    if name == COLON { Ok(Chosen::literal(COLON)) } else { named(name) }
}

/// Whether a format was chosen by no option.
fn is_plain(options: &Options) -> bool {
    options.whole_formats.is_empty() && !has_unix_format(options) && !has_modifier(options)
}

fn has_unix_format(options: &Options) -> bool {
    options.full || options.long
}

fn has_modifier(options: &Options) -> bool {
    let Options { extra_full, jobs, classes, no_flags, processor, label, .. } = *options;
    extra_full || jobs || classes || no_flags || processor || label
}

fn check(options: &Options, lists: &[ColumnList]) -> Result<(), String> {
    let whole = options.whole_formats.first();
    let several = options.whole_formats.iter().any(|format| Some(format) != whole);
    if several || whole.is_some() && has_unix_format(options) {
        return Err("two options choose the columns differently; drop one of them".to_owned());
    }
    if !lists.is_empty() {
        if whole.is_some() || has_unix_format(options) {
            return Err("`-o` and another option both choose the columns; drop one of them".to_owned());
        }
        if has_modifier(options) {
            return Err("`-o` chooses every column; drop `-c`, `-j`, `-y`, `-P` and `-M`".to_owned());
        }
        let below = options.threads_below || options.threads_below_unix || options.threads_as_processes;
        if below && (options.threads_lwp || options.threads_spid) {
            return Err(
                "`-o` chooses every column, and `H` or `m` how threads are shown; drop `-L` and `-T`"
                    .to_owned(),
            );
        }
    }
    if options.no_flags && !options.long && whole.is_none() {
        return Err("`-y` needs `-l`".to_owned());
    }
    Ok(())
}

fn listed(lists: &[ColumnList]) -> Result<Vec<Chosen>, String> {
    let mut columns = Vec::new();
    for (index, (kind, list)) in lists.iter().enumerate() {
        let end = match kind {
            ListKind::Columns => {
                columns.extend(specifiers::columns(list)?);
                continue;
            }
            ListKind::ColumnsOrFormat => {
                columns.extend(specifiers::columns_or_format(list, &FORMATS.map(|(name, _)| name))?);
                continue;
            }
            _ if index > 0 => {
                return Err("`-O` is for the first list of columns; use `-o` for others".to_owned());
            }
            ListKind::Between => "END_SYS5",
            ListKind::BetweenOrOrder => "END_BSD",
        };
        columns.push(named("pid")?);
        columns.extend(specifiers::columns(list)?);
        columns.extend(specifiers::columns(end)?);
    }
    Ok(columns)
}

/// Whether `-c` finds a priority that it can change.
///
/// # Errors
/// A sentence that says it does not.
pub fn check_classes(options: &Options, personality: &Personality) -> Result<(), String> {
    let format = macro_of(options, personality);
    let has_priority = |name| {
        macros::columns(name).is_some_and(|mut columns| columns.any(|column| PRIORITIES.contains(&column)))
    };
    match options.classes && format.is_some_and(|name| !has_priority(name)) {
        true => Err("`-c` changes the priority, which this format has not".to_owned()),
        false => Ok(()),
    }
}

/// Columns that `-c` changes.
const PRIORITIES: [&str; 3] = ["pri", "opri", "priority"];

/// The names of the columns that the options other than `-o` compose.
fn composed(options: &Options, personality: &Personality) -> Vec<&'static str> {
    let mut columns = match macro_of(options, personality) {
        None => unix_format(options, personality),
        Some(name) => {
            let mut columns: Vec<&'static str> = macros::columns(name).into_iter().flatten().collect();
            modify(&mut columns, options);
            columns
        }
    };
    if options.label {
        columns.insert(0, "label");
    }
    columns
}

fn macro_of(options: &Options, personality: &Personality) -> Option<&'static str> {
    options.whole_formats.first().copied().or_else(|| unix_macro(options, personality))
}

fn unix_macro(options: &Options, personality: &Personality) -> Option<&'static str> {
    let formats = personality.formats;
    match (options.full, options.long, options.jobs) {
        (true, false, false) => formats.full,
        (true, true, false) => formats.full_long,
        (false, true, false) => formats.long,
        (false, false, true) => formats.jobs,
        (true, false, true) => formats.jobs.and(Some("RD_fj")),
        (false, true, true) => formats.jobs.and(Some("RD_lj")),
        _ => None,
    }
}

/// What UNIX options do to a format that is whole.
fn modify(columns: &mut Vec<&'static str>, options: &Options) {
    if options.jobs && !options.whole_formats.is_empty() {
        insert_after(columns, &["ppid", "pid"], &["pgid", "sid"]);
    }
    if options.threads_spid {
        insert_after(columns, &["pid"], &["spid"]);
    }
    if options.threads_lwp {
        insert_after(columns, &["sid", "ppid", "pid"], &["lwp"]);
        insert_after(columns, &["%cpu"], &["nlwp"]);
    }
    let priority = columns.iter().position(|name| PRIORITIES.contains(name));
    if let (true, Some(priority)) = (options.classes, priority) {
        columns.splice(priority..=priority, ["class", "pri"]);
        columns.retain(|name| !matches!(*name, "ni" | "nice"));
    }
    if options.no_flags {
        columns.retain(|name| !matches!(*name, "f" | "flags"));
    }
}

/// Puts columns behind the first of `anchors` that is there.
fn insert_after(columns: &mut Vec<&'static str>, anchors: &[&str], names: &[&'static str]) {
    let place = anchors.iter().find_map(|anchor| columns.iter().position(|column| column == anchor));
    if let Some(place) = place {
        columns.splice(place + 1..place + 1, names.iter().copied());
    }
}

/// The formats of UNIX, column by column.
fn unix_format(options: &Options, personality: &Personality) -> Vec<&'static str> {
    let Options { full, extra_full, long, jobs, classes, no_flags, processor, is_bsd, .. } = *options;
    let has_format = full || long;
    let irix = personality.irix_long && !no_flags;
    let has_cpu = irix || personality.cpu_for_address;
    let user = if personality.calls_user_user { "user" } else { "uid_hack" };
    let priority = if personality.irix_long { "priority" } else { "opri" };
    [
        (long && !no_flags, "f"),
        (long, "s"),
        (full, user),
        (long && !full, "uid"),
        (true, "pid"),
        (options.threads_spid, "spid"),
        (full || long, "ppid"),
        (jobs, "pgid"),
        (jobs, "sid"),
        (options.threads_lwp, "lwp"),
        (processor, "psr"),
        ((full || long) && !classes, "c"),
        (options.threads_lwp && full, "nlwp"),
        (classes, "class"),
        (classes, "pri"),
        (long && !classes, priority),
        (long && !classes, "ni"),
        (long && no_flags, "rss"),
        (long && !no_flags, if has_cpu { "sgi_p" } else { "addr_1" }),
        (long || extra_full, "sz"),
        (long && irix, COLON),
        (long && irix, "sgi_rss"),
        (long, "wchan"),
        (extra_full && !(long && no_flags), "rss"),
        (extra_full && !processor, "psr"),
        (full, "stime"),
        (true, "tname"),
        (is_bsd && !long, "stat"),
        (is_bsd, "bsdtime"),
        (!is_bsd, "time"),
        (is_bsd && !has_format, "args"),
        (is_bsd && has_format || !is_bsd && (full || options.arguments), "cmd"),
        (!is_bsd && !full && !options.arguments, "ucmd"),
    ]
    .into_iter()
    .filter(|(applies, _)| *applies)
    .map(|(_, name)| name)
    .collect()
}
