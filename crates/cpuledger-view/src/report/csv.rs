//! A report as CSV: a record a name, then what has none. The sum of `self_ns` is the capacity.

use cpuledger_report::{Amounts, Name};

use super::document::{Comparison, Document};
use super::json::{FIGURES, figures};
use crate::csv::{Cells, append_record};

/// Appends the header and the records.
pub fn append_report(text: &mut Vec<u8>, document: &Document<'_>, cells: Cells) {
    let columns = figures(&Amounts::default()).map(|(name, _)| name);
    let leading = ["kind", "name", "pid", "start_time_ns"];
    append_record(text, leading.into_iter().chain(columns).map(|name| name.into()));
    let mut record = |kind: &str, label: &str, id: [String; 2], amounts: [Option<u64>; FIGURES]| {
        let mut cell = Vec::new();
        cells.append(&mut cell, label.as_bytes());
        let numbers =
            amounts.map(|value| value.map(|value| value.to_string()).unwrap_or_default().into_bytes());
        let fields = [kind.into(), cell].into_iter().chain(id.map(String::into_bytes)).chain(numbers);
        append_record(text, fields);
    };
    let values = |amounts: &Amounts| figures(amounts).map(|(_, value)| value);
    let none = || [String::new(), String::new()];
    for row in &document.report.rows {
        let id = match &row.name {
            Name::Process { pid, start_time_ns, .. } => [pid.to_string(), start_time_ns.to_string()],
            _ => none(),
        };
        record(document.by.name, &label(document, &row.name), id, values(&row.amounts));
    }
    record("other", "", none(), values(&document.report.other));
    for (kind, _, ns) in document.rests() {
        let mut values = [None; FIGURES];
        values[0] = Some(ns);
        record(kind, "", none(), values);
    }
}

/// A branch with all its ancestors, as it stands alone.
fn label(document: &Document<'_>, name: &Name) -> String {
    match name {
        Name::Unknown => String::new(),
        Name::Path(path) => {
            let names =
                path.iter().map(|comm| comm.as_ref().map_or(Name::Unknown, |comm| Name::Text(comm.clone())));
            names.map(|name| document.labels.label(&name)).collect::<Vec<_>>().join(" > ")
        }
        Name::Process { comm: Some(comm), .. } => document.labels.label(&Name::Text(comm.clone())),
        other => document.labels.label(other),
    }
}

/// Appends the header and the records of two spans.
pub fn append_comparison(text: &mut Vec<u8>, comparison: &Comparison<'_>, cells: Cells) {
    let header = ["kind", "name", "self_ns_before", "self_ns_after", "waiting_ns_before", "waiting_ns_after"];
    append_record(text, header.into_iter().map(|name| name.into()));
    let after = &comparison.after;
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default().into_bytes();
    for row in comparison.rows {
        let (kind, name) = match &row.name {
            Some(name) => (after.by.name, label(after, name)),
            None => ("other", String::new()),
        };
        let mut cell = Vec::new();
        cells.append(&mut cell, name.as_bytes());
        let numbers =
            [Some(row.before.self_ns), Some(row.after.self_ns), row.before.waiting_ns, row.after.waiting_ns];
        append_record(text, [kind.into(), cell].into_iter().chain(numbers.map(number)));
    }
    for ((kind, _, before), (_, _, after)) in comparison.before.rests().into_iter().zip(after.rests()) {
        let numbers = [Some(before), Some(after), None, None];
        append_record(text, [kind.into(), Vec::new()].into_iter().chain(numbers.map(number)));
    }
}
