//! What is written after `-o`: names of columns with widths and headers, macros, and the descriptors of AIX.

use std::collections::BTreeMap;

use cpuledger::machine::tid_digits;
use cpuledger_view::column::{self, Align};
use cpuledger_view::layout::{Chosen, Content, shown_names};
use cpuledger_view::near::did_you_mean;

use super::items::SEPARATORS;
use super::macros;

/// The widest a column can be made.
const MOST_WIDTH: usize = 131_072;

/// The descriptors of AIX, by letter, with the name that each stands for.
fn descriptors() -> BTreeMap<char, &'static str> {
    column::columns().filter_map(|column| column.aix).collect()
}

/// The columns of one list.
///
/// # Errors
/// A sentence that says which column is not known or not written well.
pub fn columns(list: &str) -> Result<Vec<Chosen>, String> {
    match usual(list) {
        Err(_) if may_be_aix(list) => aix(list),
        columns => columns,
    }
}

/// The columns that are the value of `--format`, where it is none of these names of formats.
///
/// # Errors
/// As [`columns`]; where the value is one name, it may have been meant as either.
pub fn columns_or_format(value: &str, formats: &[&'static str]) -> Result<Vec<Chosen>, String> {
    let is_one_name = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    columns(value).map_err(|sentence| {
        if !is_one_name {
            return sentence;
        }
        let known = formats.iter().copied().chain(shown_names());
        let near = did_you_mean("", value, known, "`ps L` lists the columns");
        format!("`{value}` is neither a format ({}) nor a column{near}", formats.join(", "))
    })
}

/// The column of that name.
///
/// # Errors
/// A sentence with names that are near.
pub fn named(name: &str) -> Result<Chosen, String> {
    let mut column = Chosen::by_name(name).ok_or_else(|| {
        let known = shown_names().chain(macros::names());
        format!(
            "there is no column `{name}`{}",
            did_you_mean("", name, known, "`cpuledger ps L` lists the columns")
        )
    })?;
    if matches!(column.content, Content::Column(column) if column.align == Align::Pid) {
        column.width = column.width.max(tid_digits());
    }
    Ok(column)
}

fn usual(list: &str) -> Result<Vec<Chosen>, String> {
    let list = list.strip_suffix(SEPARATORS).unwrap_or(list);
    let mut columns = Vec::new();
    for item in list.split(SEPARATORS) {
        if item.is_empty() {
            return Err("a list of columns has an empty item".to_owned());
        }
        add_item(&mut columns, item)?;
    }
    Ok(columns)
}

/// `NAME`, `NAME:WIDTH`, `NAME=HEADER`, `NAME:WIDTH=HEADER`.
fn add_item(columns: &mut Vec<Chosen>, text: &str) -> Result<(), String> {
    let (rest, header) = match text.split_once('=') {
        Some((rest, header)) => (rest, Some(header)),
        None => (text, None),
    };
    let (name, width) = match rest.split_once(':') {
        Some((name, width)) => (name, Some(width)),
        None => (rest, None),
    };
    let first = columns.len();
    match macros::columns(name) {
        Some(_) if width.is_some() => {
            return Err(format!("`{name}` stands for several columns, so it takes no width"));
        }
        Some(members) => {
            for member in members {
                columns.push(named(member)?);
            }
        }
        None => columns.push(named(name)?),
    }
    for column in &mut columns[first..] {
        if let Some(header) = header {
            header.clone_into(&mut column.header);
            column.width = column.width.max(header.len());
        }
        if let Some(width) = width {
            column.width = parse_width(width)?;
        }
    }
    Ok(())
}

fn parse_width(text: &str) -> Result<usize, String> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(width) if is_decimal && width > 0 && width <= MOST_WIDTH => Ok(width),
        _ => Err(format!("the width of a column is a number from 1 to {MOST_WIDTH}, not `{text}`")),
    }
}

/// Whether what are no names of columns may be descriptors of AIX: not behind `%cpu` or `%mem`.
fn may_be_aix(list: &str) -> bool {
    let names_cpu = list == "%cpu" || list.starts_with("%cpu ") || list.starts_with("%cpu,");
    list.contains('%') && !names_cpu && !list.starts_with("%m")
}

/// `%p %c`: descriptors with text between; in front there may be text that begins with a blank.
fn aix(list: &str) -> Result<Vec<Chosen>, String> {
    let mut columns = Vec::new();
    let mut pieces = list.split('%');
    let front = pieces.next().unwrap_or_default();
    if !front.is_empty() && !front.starts_with(' ') {
        return Err(format!(
            "a list with descriptors such as `%p` begins with one or with a blank, not with `{front}`"
        ));
    }
    if !front.is_empty() {
        columns.push(Chosen::literal(front));
    }
    for piece in pieces {
        let Some(letter) = piece.chars().next().filter(|&letter| letter != ' ') else {
            return Err(format!("a letter is missing after a `%` in `{list}`"));
        };
        let descriptors = descriptors();
        let Some(name) = descriptors.get(&letter) else {
            let letters: Vec<String> = descriptors.keys().map(|known| format!("%{known}")).collect();
            return Err(format!("unknown descriptor `%{letter}`; the descriptors are {}", letters.join(" ")));
        };
        columns.push(named(name)?);
        let text = &piece[letter.len_utf8()..];
        if !text.is_empty() {
            columns.push(Chosen::literal(text));
        }
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(list: &str) -> Result<Vec<(String, usize)>, String> {
        columns(list).map(|columns| columns.into_iter().map(|column| (column.header, column.width)).collect())
    }

    #[test]
    fn columns_have_widths_and_headers() {
        let one = |text: &str| parsed(text).map(|mut columns| columns.remove(0));
        assert_eq!(one("stat"), Ok(("STAT".to_owned(), 4)));
        assert_eq!(one("stat=THE:STATE"), Ok(("THE:STATE".to_owned(), 9)));
        assert_eq!(one("stat:12=A:B"), Ok(("A:B".to_owned(), 12)));
        assert_eq!(one("comm:3"), Ok(("COMMAND".to_owned(), 3)));
        assert_eq!(one("stat="), Ok((String::new(), 4)));
        assert_eq!(parsed("stat,comm:3,").map(|columns| columns.len()), Ok(2));
        assert_eq!(parsed("DefBSD").map(|columns| columns.len()), Ok(5));
        for (text, part) in [
            ("stat:0", "a number from 1"),
            ("stat:x", "a number from 1"),
            ("stat:+5", "a number from 1"),
            ("pdi", "did you mean `pid`"),
            ("DefBDS", "did you mean `DefBSD`"),
            ("DefBSD:5", "several columns"),
            ("runqueue", "`runqueue_wait_ns`"),
            ("", "empty item"),
            ("pid,,comm", "empty item"),
            (",pid", "empty item"),
        ] {
            let sentence = parsed(text).expect_err(text);
            assert!(sentence.contains(part), "{text:?}: {sentence}");
        }
    }

    #[test]
    fn descriptors_of_aix_have_text_between() {
        let headers = |list: &str| {
            let columns = parsed(list).expect(list);
            columns.into_iter().map(|(header, _)| header).collect::<Vec<_>>().join("/")
        };
        assert_eq!(headers("%p %c"), "PID/ /COMMAND");
        assert_eq!(headers(" |%p%c  "), " |/PID/COMMAND/  ");
        assert_eq!(headers("%p|%cpuc"), "PID/|/COMMAND/puc");
        assert_eq!(headers("%cpu,%mem"), "%CPU/%MEM");
        assert_eq!(headers("%cpu c,pid,%mem"), "%CPU/C/PID/%MEM");
        for (list, part) in [
            ("%", "letter is missing"),
            ("%q", "unknown descriptor `%q`"),
            ("%p %%a", "letter is missing"),
            ("a%a", "begins with one"),
            ("pid,%q", "begins with one"),
            ("%cpu,nothing", "no column `nothing`"),
        ] {
            let sentence = parsed(list).expect_err(list);
            assert!(sentence.contains(part), "{list:?}: {sentence}");
        }
    }
}
