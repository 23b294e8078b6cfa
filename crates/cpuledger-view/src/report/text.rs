//! A report as text.

use cpuledger_proc::count::count_of;
use cpuledger_report::Amounts;

use super::column::{Column, Form};
use super::document::{Comparison, Document};
use crate::group::OTHER_NAMES;
use crate::interval::column::{append_size, text_of};

/// Appends the report. Lines are as long as their names.
pub fn append_report(text: &mut String, document: &Document<'_>) {
    append_head(text, document);
    let report = document.report;
    let usual;
    let columns = if document.columns.is_empty() {
        usual = Column::usual(&document.total());
        &usual
    } else {
        document.columns
    };
    text.push('\n');
    append_line(text, columns, |column| column.header.to_owned(), document.by.header());
    let capacity_ns = report.balance.capacity_ns;
    let figures = |amounts: Amounts| {
        move |column: &Column| {
            column.value(&amounts).map_or_else(dash, |value| cell(column, value, capacity_ns))
        }
    };
    for row in &report.rows {
        append_line(text, columns, figures(row.amounts), &document.label(&row.name));
    }
    if report.other_names > 0 || report.other != Amounts::default() {
        let label = match report.other_names {
            0 => OTHER_NAMES.to_owned(),
            names => format!("(other: {names} {})", document.by.plural()),
        };
        append_line(text, columns, figures(report.other), &label);
    }
    let mut rest = |ns: u64, words: &str| {
        let of_self = |column: &Column| match column.key {
            "self_ns" => cell(column, ns, capacity_ns),
            _ => String::new(),
        };
        append_line(text, columns, of_self, words);
    };
    document.rests().into_iter().for_each(|(_, words, ns)| rest(ns, words));
    rest(capacity_ns, "= capacity of all CPUs");
}

/// A line of cells, and the name behind them.
fn append_line(text: &mut String, columns: &[&Column], cell: impl Fn(&Column) -> String, label: &str) {
    for (place, column) in columns.iter().enumerate() {
        let blank = if place == 0 { "" } else { " " };
        text.push_str(&format!("{blank}{:>width$}", cell(column), width = column.width));
    }
    text.push_str(&format!("  {label}\n"));
}

fn cell(column: &Column, value: u64, capacity_ns: u64) -> String {
    match column.form {
        Form::Seconds => seconds(value),
        Form::Share => percent(value, capacity_ns),
        Form::Count => value.to_string(),
        Form::Size => size(value),
    }
}

pub(super) fn append_head(text: &mut String, document: &Document<'_>) {
    let balance = &document.report.balance;
    let local = |ns: u64| (document.local)(ns);
    let (from, to) = document.report.extent.map_or_else(Default::default, |extent| {
        (local(extent.start_realtime_ns), local(extent.end_realtime_ns))
    });
    let host = document.host().map(|host| format!(" of {host}")).unwrap_or_default();
    text.push_str(&format!("cpuledger report{host} - {from} to {to}\n"));
    text.push_str(&format!(
        "{}, {} s, {}: attributed {} idle {} unattributed {} ns",
        count_of(balance.intervals, "interval"),
        seconds(balance.length_ns),
        words_of_cpus(balance.capacity_ns, balance.length_ns),
        percent(balance.attributed_ns, balance.capacity_ns),
        percent(balance.idle_ns, balance.capacity_ns),
        balance.unattributed_ns,
    ));
    let reasons: Vec<String> = balance
        .reasons()
        .filter(|(_, _, ns)| *ns > 0)
        .map(|(_, words, ns)| format!("{words} {ns}"))
        .collect();
    if !reasons.is_empty() {
        text.push_str(&format!(" ({})", reasons.join(", ")));
    }
    if let Some(stolen_ns) = document.total().all_stolen_ns() {
        text.push_str(&format!(", stolen {}", percent(stolen_ns, balance.capacity_ns)));
    }
    text.push('\n');
    for note in document.notes() {
        text.push_str(&format!("note: {note}\n"));
    }
}

/// Appends two spans side by side.
pub fn append_comparison(text: &mut String, comparison: &Comparison<'_>) {
    let Comparison { before, after, rows } = comparison;
    text.push_str("A: ");
    append_head(text, before);
    text.push_str("B: ");
    append_head(text, after);
    let (capacity_a, capacity_b) = (before.report.balance.capacity_ns, after.report.balance.capacity_ns);
    text.push_str(&format!(
        "\n{:>12} {:>6} {:>12} {:>6} {:>8}  {}\n",
        "SELF A",
        "%CAP",
        "SELF B",
        "%CAP",
        "GROWTH",
        after.by.header()
    ));
    let mut line = |a: u64, b: u64, label: &str| {
        let growth = share(b, capacity_b) - share(a, capacity_a);
        text.push_str(&format!(
            "{:>12} {:>6} {:>12} {:>6} {:>8}  {label}\n",
            seconds(a),
            percent(a, capacity_a),
            seconds(b),
            percent(b, capacity_b),
            format!("{growth:+.1}%"),
        ));
    };
    for row in *rows {
        let label = row.name.as_ref().map_or_else(|| OTHER_NAMES.to_owned(), |name| after.label(name));
        line(row.before.self_ns, row.after.self_ns, &label);
    }
    for ((_, words, a), (_, _, b)) in before.rests().into_iter().zip(after.rests()) {
        line(a, b, words);
    }
    line(capacity_a, capacity_b, "= capacity of all CPUs");
}

/// With the unit that suits it, as `1.2K`.
pub fn size(bytes: u64) -> String {
    text_of(|text| append_size(text, bytes))
}

fn dash() -> String {
    "-".to_owned()
}

/// Seconds with three decimals, as `12.345`.
pub(super) fn seconds(ns: u64) -> String {
    let milliseconds = ns / 1_000_000;
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}

/// In percent.
pub(super) fn share(ns: u64, of_ns: u64) -> f64 {
    if of_ns == 0 { 0.0 } else { ns as f64 * 100.0 / of_ns as f64 }
}

/// As `12.3%`.
pub(super) fn percent(ns: u64, of_ns: u64) -> String {
    format!("{:.1}%", share(ns, of_ns))
}

/// How many CPUs that is, in the mean, as `2 CPUs`.
pub(super) fn words_of_cpus(capacity_ns: u64, length_ns: u64) -> String {
    match cpus(capacity_ns, length_ns) {
        one if one == "1" => "1 CPU".to_owned(),
        more => format!("{more} CPUs"),
    }
}

fn cpus(capacity_ns: u64, length_ns: u64) -> String {
    if length_ns == 0 || capacity_ns.is_multiple_of(length_ns) {
        return (capacity_ns / length_ns.max(1)).to_string();
    }
    format!("{:.2}", capacity_ns as f64 / length_ns as f64)
}
