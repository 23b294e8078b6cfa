//! A report as CSV: a record a name, then what has none. The sum of `self_ns` is the capacity.

use cpuledger_report::{Amounts, Name};

use super::column::figures;
use super::document::{Comparison, Document};
use crate::csv::{Cells, append_record};

/// Appends the header and the records.
pub fn append_report(text: &mut Vec<u8>, document: &Document<'_>, cells: Cells) {
    let columns = figures(document.columns, &Amounts::default());
    let leading = ["kind", "name", "pid", "start_time_ns"];
    append_record(text, leading.into_iter().chain(columns.iter().map(|(key, _)| *key)));
    let mut record = |kind: &str, label: &str, id: [String; 2], values: &[Option<u64>]| {
        let mut cell = Vec::new();
        cells.append(&mut cell, label.as_bytes());
        let numbers =
            values.iter().map(|value| value.map(|value| value.to_string()).unwrap_or_default().into_bytes());
        let fields = [kind.into(), cell].into_iter().chain(id.map(String::into_bytes)).chain(numbers);
        append_record(text, fields);
    };
    let values = |amounts: &Amounts| -> Vec<Option<u64>> {
        figures(document.columns, amounts).into_iter().map(|(_, value)| value).collect()
    };
    let none = || [String::new(), String::new()];
    for row in &document.report.rows {
        let id = match &row.name {
            Name::Process { pid, start_time_ns, .. } => [pid.to_string(), start_time_ns.to_string()],
            _ => none(),
        };
        record(document.by.name(), &label(document, &row.name), id, &values(&row.amounts));
    }
    record("other", "", none(), &values(&document.report.other));
    for (kind, _, ns) in document.rests() {
        let of_self = |(key, _): &(&str, Option<u64>)| (*key == "self_ns").then_some(ns);
        record(kind, "", none(), &columns.iter().map(of_self).collect::<Vec<_>>());
    }
}

/// A name as it stands alone.
fn label(document: &Document<'_>, name: &Name) -> String {
    match name {
        Name::Unknown => String::new(),
        Name::Process { comm: Some(comm), .. } => document.label(&Name::Text(comm.clone())),
        other => document.label(other),
    }
}

/// Appends the header and the records of two spans.
pub fn append_comparison(text: &mut Vec<u8>, comparison: &Comparison<'_>, cells: Cells) {
    let sums = ["self_ns_before", "self_ns_after", "runqueue_wait_ns_before", "runqueue_wait_ns_after"];
    append_record(text, ["kind", "name"].into_iter().chain(sums));
    let after = &comparison.after;
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default().into_bytes();
    for row in comparison.rows {
        let (kind, name) = match &row.name {
            Some(name) => (after.by.name(), label(after, name)),
            None => ("other", String::new()),
        };
        let mut cell = Vec::new();
        cells.append(&mut cell, name.as_bytes());
        let numbers = [
            Some(row.before.self_ns),
            Some(row.after.self_ns),
            row.before.runqueue_wait_ns,
            row.after.runqueue_wait_ns,
        ];
        append_record(text, [kind.into(), cell].into_iter().chain(numbers.map(number)));
    }
    for ((kind, _, before), (_, _, after)) in comparison.before.rests().into_iter().zip(after.rests()) {
        let numbers = [Some(before), Some(after), None, None];
        append_record(text, [kind.into(), Vec::new()].into_iter().chain(numbers.map(number)));
    }
}
