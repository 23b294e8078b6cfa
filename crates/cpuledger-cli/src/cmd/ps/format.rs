//! Which columns are shown: `-o` lists, and the formats that the other options name, as procps composes them.

use cpuledger::render::layout::{Chosen, names};
use cpuledger::view::sort::Criterion;

use super::options::{BsdFormat, Options, Threads, did_you_mean};

/// What separates the items of a list.
pub const SEPARATORS: [char; 4] = [',', ' ', '\t', '\n'];

/// The columns of the listing.
///
/// # Errors
/// A sentence that says which column is not known or not written well.
pub fn columns(options: &Options) -> Result<Vec<Chosen>, String> {
    if options.columns.is_empty() {
        return composed(options).into_iter().map(named).collect();
    }
    options.columns.iter().flat_map(|list| list.split(SEPARATORS)).map(parse_column).collect()
}

/// The order of the listing; nothing: by pid.
///
/// # Errors
/// As [`columns`].
pub fn criteria(options: &Options) -> Result<Vec<Criterion>, String> {
    let parse_criterion = |text: &str| {
        let descending = text.starts_with('-');
        let name = text.strip_prefix(['-', '+']).unwrap_or(text);
        Ok(Criterion { by: named(name)?, descending })
    };
    options.sort.iter().flat_map(|list| list.split(SEPARATORS)).map(parse_criterion).collect()
}

fn named(name: &str) -> Result<Chosen, String> {
    if name.is_empty() {
        return Err("a list of columns has an empty item".to_owned());
    }
    Chosen::by_name(name).ok_or_else(|| match NOT_THERE.contains(&name) {
        true => {
            format!("the column `{name}` of procps is not there yet; `cpuledger ps L` lists those that are")
        }
        false => format!("there is no column `{name}`{}", did_you_mean("", name, names())),
    })
}

/// Columns of procps 4.0.2 that are not there.
const NOT_THERE: &[&str] = &[
    "ag_id",
    "ag_nice",
    "context",
    "lim",
    "m_drs",
    "m_trs",
    "sgi_rss",
    "start_stack",
    "tty4",
    "zone",
    "blocked",
    "caught",
    "cgname",
    "cgroupns",
    "cgns",
    "drs",
    "dsiz",
    "eip",
    "environ",
    "esp",
    "ignored",
    "ipcns",
    "label",
    "lsession",
    "luid",
    "lxc",
    "machine",
    "mntns",
    "netns",
    "numa",
    "oom",
    "oomadj",
    "ouid",
    "pending",
    "pidns",
    "pss",
    "rchars",
    "rops",
    "seat",
    "sig",
    "sig_block",
    "sig_catch",
    "sigcatch",
    "sigignore",
    "sig_ignore",
    "sigmask",
    "sig_pend",
    "size",
    "slice",
    "stackp",
    "supgid",
    "supgrp",
    "timens",
    "trs",
    "trss",
    "tsig",
    "tsiz",
    "unit",
    "userns",
    "uss",
    "utsns",
    "uunit",
    "wchars",
    "wops",
];

/// `NAME`, `NAME:WIDTH`, `NAME=HEADER`, `NAME:WIDTH=HEADER`.
fn parse_column(text: &str) -> Result<Chosen, String> {
    let (rest, header) = match text.split_once('=') {
        Some((rest, header)) => (rest, Some(header)),
        None => (text, None),
    };
    let (name, width) = match rest.split_once(':') {
        Some((name, width)) => (name, Some(width)),
        None => (rest, None),
    };
    let mut column = named(name)?;
    if let Some(header) = header {
        header.clone_into(&mut column.header);
        column.width = column.width.max(header.len());
    }
    if let Some(width) = width {
        column.width = match width.parse() {
            Ok(width) if width > 0 && width <= MOST_WIDTH => width,
            _ => {
                return Err(format!(
                    "the width of a column is a number from 1 to {MOST_WIDTH}, not `{width}`"
                ));
            }
        };
    }
    Ok(column)
}

/// The widest a column can be made.
const MOST_WIDTH: usize = 10_000;

/// The names of the columns that the options other than `-o` compose.
fn composed(options: &Options) -> Vec<&'static str> {
    let has_unix_format = options.full || options.long || options.jobs || options.classes;
    let mut columns = match options.bsd_format {
        Some(BsdFormat::User) => {
            vec![
                "user",
                "pid",
                "%cpu",
                "%mem",
                "vsz",
                "rss",
                "tname",
                "stat",
                "start_time",
                "bsdtime",
                "args",
            ]
        }
        Some(BsdFormat::Long) => vec![
            "f", "uid", "pid", "ppid", "priority", "ni", "vsz", "rss", "wchan", "stat", "tname", "bsdtime",
            "args",
        ],
        Some(BsdFormat::Jobs) => {
            vec!["ppid", "pid", "pgid", "sid", "tname", "tpgid", "stat", "uid", "bsdtime", "args"]
        }
        None => return unix_format(options, has_unix_format),
    };
    match options.threads {
        Threads::WithSpid => insert_after(&mut columns, &["pid"], "spid"),
        Threads::WithLwp => {
            insert_after(&mut columns, &["sid", "ppid", "pid"], "lwp");
            insert_after(&mut columns, &["%cpu"], "nlwp");
        }
        Threads::No | Threads::AsProcesses => {}
    }
    columns
}

/// Puts a column behind the first of `anchors` that is there.
fn insert_after(columns: &mut Vec<&'static str>, anchors: &[&str], name: &'static str) {
    let place = anchors.iter().find_map(|anchor| columns.iter().position(|column| column == anchor));
    if let Some(place) = place {
        columns.insert(place + 1, name);
    }
}

/// The formats of UNIX, column by column.
fn unix_format(options: &Options, has_format: bool) -> Vec<&'static str> {
    let Options { full, extra_full, long, jobs, classes, no_flags, is_bsd, .. } = *options;
    let with_lwp = options.threads == Threads::WithLwp;
    let sun_rss = long && no_flags;
    [
        (long && !no_flags, "f"),
        (long, "s"),
        (full, "uid_hack"),
        (long && !full, "uid"),
        (true, "pid"),
        (options.threads == Threads::WithSpid, "spid"),
        (full || long, "ppid"),
        (jobs, "pgid"),
        (jobs, "sid"),
        (with_lwp, "lwp"),
        ((full || long) && !classes, "c"),
        (with_lwp && full, "nlwp"),
        (classes, "class"),
        (classes, "pri"),
        (long && !classes, "opri"),
        (long && !classes, "ni"),
        (sun_rss, "rss"),
        (long && !no_flags, "addr_1"),
        (long || extra_full, "sz"),
        (long, "wchan"),
        (extra_full && !sun_rss, "rss"),
        (extra_full, "psr"),
        (full, "stime"),
        (true, "tname"),
        (is_bsd && !long, "stat"),
        (is_bsd, "bsdtime"),
        (!is_bsd, "time"),
        (is_bsd && !has_format, "args"),
        (is_bsd && has_format || !is_bsd && full, "cmd"),
        (!is_bsd && !full, "ucmd"),
    ]
    .into_iter()
    .filter(|(applies, _)| *applies)
    .map(|(_, name)| name)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::ps::options::parse;

    fn headers(line: &str) -> String {
        let options = parse(line.split(' ').filter(|text| !text.is_empty())).expect(line);
        let columns = columns(&options).expect(line);
        columns.iter().map(|column| column.header.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn formats_have_the_columns_of_procps() {
        for (line, expected) in [
            ("", "PID TTY TIME CMD"),
            ("x", "PID TTY STAT TIME COMMAND"),
            ("-f", "UID PID PPID C STIME TTY TIME CMD"),
            ("-f x", "UID PID PPID C STIME TTY STAT TIME CMD"),
            ("-F", "UID PID PPID C SZ RSS PSR STIME TTY TIME CMD"),
            ("-l", "F S UID PID PPID C PRI NI ADDR SZ WCHAN TTY TIME CMD"),
            ("-ly", "S UID PID PPID C PRI NI RSS SZ WCHAN TTY TIME CMD"),
            ("-lF", "F S UID PID PPID C PRI NI ADDR SZ WCHAN RSS PSR STIME TTY TIME CMD"),
            ("-L", "PID LWP TTY TIME CMD"),
            ("-T", "PID SPID TTY TIME CMD"),
            ("-Lf", "UID PID PPID LWP C NLWP STIME TTY TIME CMD"),
            ("-jf", "UID PID PPID PGID SID C STIME TTY TIME CMD"),
            ("-j", "PID PGID SID TTY TIME CMD"),
            ("-c", "PID CLS PRI TTY TIME CMD"),
            ("-cl", "F S UID PID PPID CLS PRI ADDR SZ WCHAN TTY TIME CMD"),
            ("aux", "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND"),
            ("u -L", "USER PID LWP %CPU NLWP %MEM VSZ RSS TTY STAT START TIME COMMAND"),
            ("l", "F UID PID PPID PRI NI VSZ RSS WCHAN STAT TTY TIME COMMAND"),
            ("j -L", "PPID PID PGID SID LWP TTY TPGID STAT UID TIME COMMAND"),
            ("H", "PID TTY STAT TIME COMMAND"),
        ] {
            assert_eq!(headers(line), expected, "{line:?}");
        }
    }

    #[test]
    fn columns_have_widths_and_headers() {
        let parsed = |text: &str| parse_column(text).map(|column| (column.header, column.width));
        assert_eq!(parsed("stat"), Ok(("STAT".to_owned(), 4)));
        assert_eq!(parsed("stat=THE STATE"), Ok(("THE STATE".to_owned(), 9)));
        assert_eq!(parsed("stat:12=A:B"), Ok(("A:B".to_owned(), 12)));
        assert_eq!(parsed("comm:3"), Ok(("COMMAND".to_owned(), 3)));
        assert_eq!(parsed("stat="), Ok((String::new(), 4)));
        for (text, part) in [
            ("stat:0", "a number from 1"),
            ("stat:x", "a number from 1"),
            ("pdi", "did you mean `pid`"),
            ("unit", "`unit` of procps is not there yet"),
            ("runqueue", "`runqueue_wait_ns`"),
            ("", "empty item"),
        ] {
            let sentence = parsed(text).expect_err(text);
            assert!(sentence.contains(part), "{text:?}: {sentence}");
        }
        assert_eq!(headers("-o pid=A,comm=B -o s=,tty"), "A B  TT");
    }

    #[test]
    fn a_column_is_there_or_not() {
        assert!(NOT_THERE.iter().all(|name| Chosen::by_name(name).is_none()));
    }

    #[test]
    fn orders_have_a_direction() {
        let options = parse(["--sort", "-rss,+pid", "--sort", "comm"]).expect("options");
        let criteria = criteria(&options).expect("criteria");
        let shown: Vec<_> = criteria.iter().map(|one| (one.by.header.as_str(), one.descending)).collect();
        assert_eq!(shown, [("RSS", true), ("PID", false), ("COMMAND", false)]);
    }
}
