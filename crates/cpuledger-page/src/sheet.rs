//! A sheet: what a span says by one dimension, as the script of the page takes it.

use cpuledger_report::{Amounts, Labels, Name, Report, Row};

use crate::json::{append_known, append_list, append_number, append_text};

/// The name of the format; its number grows when a key changes its meaning or goes.
pub const SCHEMA: &str = "cpuledger.sheet/1";

/// The longest name that is shown; its begin is kept.
const MOST_NAME_CHARACTERS: usize = 512;

/// What a sheet is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sheet<'a> {
    /// What the rows are of: `command`, `user` and so on.
    pub by: &'a str,
    /// The conditions of the rows: dimensions, and ids of names.
    pub within: &'a [(String, String)],
    /// Where the figures come from.
    pub source: &'a str,
    /// The figures.
    pub report: &'a Report,
    /// The report by ancestor of the same span, if it is shown.
    pub ancestry: Option<&'a Report>,
    /// What things are called.
    pub labels: &'a Labels,
    /// Sentences about what is missing.
    pub notes: &'a [String],
}

/// Appends it as an object of JSON on one line.
pub fn append_sheet(json: &mut String, sheet: &Sheet<'_>) {
    let report = sheet.report;
    json.push('{');
    append_head(json, sheet);
    json.push_str(",\"figures\":");
    append_list(json, figures(&Amounts::default()), |json, (name, _)| append_text(json, name));
    json.push_str(",\"rows\":");
    append_list(json, &report.rows, |json, row| append_row(json, row, sheet.labels));
    json.push_str(",\"other\":{\"names\":");
    append_number(json, report.other_names);
    json.push_str(",\"values\":");
    append_values(json, &report.other);
    json.push_str("},\"outside_ns\":");
    append_number(json, report.outside_ns);
    if let Some(line) = report.time_line {
        json.push_str(",\"line\":{\"since_ns\":");
        append_number(json, line.since_ns);
        json.push_str(",\"bucket_ns\":");
        append_number(json, line.bucket_ns);
        json.push_str(",\"buckets\":");
        append_list(json, &report.buckets, |json, balance| {
            let parts = [
                balance.capacity_ns,
                balance.attributed_ns,
                balance.idle_ns,
                balance.unattributed_ns,
                balance.untold_ns,
                balance.intervals,
            ];
            append_list(json, parts, append_number);
        });
        json.push('}');
    }
    if let Some(ancestry) = sheet.ancestry {
        json.push_str(",\"ancestry\":");
        append_ancestry(json, ancestry, sheet.labels);
    }
    json.push('}');
}

fn append_head(json: &mut String, sheet: &Sheet<'_>) {
    let balance = &sheet.report.balance;
    json.push_str("\"schema\":");
    append_text(json, SCHEMA);
    for (key, text) in [("by", sheet.by), ("source", sheet.source)] {
        json.push_str(&format!(",\"{key}\":"));
        append_text(json, text);
    }
    json.push_str(",\"within\":");
    append_list(json, sheet.within, |json, (dimension, id)| {
        append_list(json, [dimension, id], |json, text| append_text(json, text))
    });
    let extent = sheet.report.extent;
    let times = [
        ("start_ns", extent.map(|extent| extent.start_realtime_ns)),
        ("end_ns", extent.map(|extent| extent.end_realtime_ns)),
    ];
    let figures = balance.figures().map(|(key, value)| (key, Some(value)));
    let stolen = ("stolen_ns", sheet.report.total().all_stolen_ns());
    for (key, value) in times.into_iter().chain(figures).chain([stolen]) {
        json.push_str(&format!(",\"{key}\":"));
        append_known(json, value);
    }
    json.push_str(",\"reasons\":");
    let reasons = balance.reasons().filter(|(_, _, ns)| *ns > 0);
    append_list(json, reasons, |json, (_, words, ns)| {
        append_list(json, [words, &ns.to_string()], append_text)
    });
    json.push_str(",\"notes\":");
    append_list(json, sheet.notes, |json, note| append_text(json, note));
}

/// All figures of a row, with the names that they have in JSON.
fn figures(amounts: &Amounts) -> impl Iterator<Item = (&'static str, Option<u64>)> {
    amounts.figures().into_iter().chain(amounts.off.figures())
}

fn append_values(json: &mut String, amounts: &Amounts) {
    append_list(json, figures(amounts), |json, (_, value)| append_known(json, value));
}

fn append_row(json: &mut String, row: &Row, labels: &Labels) {
    json.push_str("{\"id\":");
    append_text(json, &row.name.id());
    json.push_str(",\"label\":");
    append_text(json, &label_of(labels, &row.name));
    if row.depth > 0 {
        json.push_str(&format!(",\"depth\":{}", row.depth));
    }
    json.push_str(",\"values\":");
    append_values(json, &row.amounts);
    if !row.points.is_empty() {
        json.push_str(",\"points\":");
        append_list(json, &row.points, |json, (bucket, ns)| json.push_str(&format!("[{bucket},\"{ns}\"]")));
    }
    json.push('}');
}

/// Each name with its depth, its own time and that of all below it; those come right after it.
fn append_ancestry(json: &mut String, ancestry: &Report, labels: &Labels) {
    append_list(json, &ancestry.rows, |json, row| {
        json.push_str(&format!("[{},", row.depth));
        append_text(json, &label_of(labels, &row.name));
        json.push_str(&format!(",\"{}\",\"{}\"]", row.amounts.self_ns, row.amounts.inherited_ns));
    });
}

/// The words for a name.
fn label_of(labels: &Labels, name: &Name) -> String {
    let label = labels.label(name);
    match label.char_indices().nth(MOST_NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label,
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::frame::{Column, Frame, Section};
    use cpuledger_report::{Accumulator, Dimension, Instants};
    use serde_json::Value;

    use super::*;

    /// Not exact as a number of a script.
    const LARGE: u64 = (1 << 62) + 1;

    #[test]
    fn a_sheet_is_json_whose_numbers_are_whole() {
        let mut frame = Frame::new();
        let comm = frame.intern("</script>\u{202e}".as_bytes());
        let processes = frame.table_mut(Section::Processes);
        processes.reset(1);
        processes.set(Column::CPU_NS, 0, Some(LARGE - 1));
        processes.set(Column::COMM, 0, Some(comm));
        frame.set_figure(Column::CAPACITY_NS, Some(LARGE));
        frame.set_figure(Column::ATTRIBUTED_NS, Some(LARGE - 1));
        frame.set_figure(Column::IDLE_NS, Some(1));
        frame.set_figure(Column::UNATTRIBUTED_NS, Some(0));
        let mut accumulator = Accumulator::new(&[Dimension::Command]).with_time_line(0, 10, 2);
        accumulator.add(&frame, Instants { start_realtime_ns: 0, end_realtime_ns: 4 });
        let report = accumulator.report(Dimension::Command, 10);
        let (labels, within) = (Labels::default(), [("user".to_owned(), "user 0".to_owned())]);
        let sheet = Sheet {
            by: "command",
            within: &within,
            source: "service",
            report: &report,
            ancestry: Some(&report),
            labels: &labels,
            notes: &["one".to_owned(), "two".to_owned()],
        };
        let mut json = String::new();
        append_sheet(&mut json, &sheet);
        assert!(!json.contains('<'));
        let sheet: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(sheet["capacity_ns"], LARGE.to_string());
        let row = &sheet["rows"][0];
        assert_eq!(
            (&row["values"][0], &sheet["figures"][0]),
            (&Value::from((LARGE - 1).to_string()), &Value::from("self_ns"))
        );
        assert_eq!(row["values"].as_array().map(Vec::len), sheet["figures"].as_array().map(Vec::len));
        assert_eq!(row["label"], "</script>\\xe2\\x80\\xae", "what is invisible is written out");
        assert_eq!(row["points"], serde_json::json!([[0, (LARGE - 1).to_string()]]));
        assert_eq!(sheet["line"]["buckets"][1][5], "0");
        assert_eq!(sheet["within"][0][1], "user 0");
    }
}
