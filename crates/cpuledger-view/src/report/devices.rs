//! What disks did in a span, as text, JSON and CSV.

use cpuledger_model::field::Value;
use cpuledger_proc::escape::escaped;

use super::document::Document;
use super::json::{append_head, append_missing};
use super::text::{append_head as append_text_head, seconds, size};
use crate::csv::{Cells, append_record};
use crate::devices::{DEVICE, DeviceRow, Of, rows_of};
use crate::interval::devices::unattributed_words;
use crate::json::{append_device, append_list, append_member, end};

/// The name of the schema; its number grows when a key changes its meaning or goes.
pub const SCHEMA: &str = "cpuledger.devices_report/1";

/// The columns of the text, and their widths.
const COLUMNS: [(&str, usize); 9] = [
    ("READS", 10),
    ("READ", 8),
    ("READ TIME", 12),
    ("WRITES", 10),
    ("WRITTEN", 8),
    ("WRITE TIME", 12),
    ("QUEUE TIME", 12),
    ("DISK TIME", 12),
    ("BLOCKED", 12),
];

/// Each disk, the busiest by bytes first, then all others, then what is not divided by disk.
fn rows(document: &Document<'_>) -> Vec<DeviceRow> {
    let Some(devices) = &document.report.devices else { return Vec::new() };
    let undivided = devices.undivided.totals().map(|totals| DeviceRow::of_all(&totals));
    rows_of(&devices.disks).into_iter().chain(undivided).collect()
}

/// Appends the report as text.
pub fn append_text(text: &mut String, document: &Document<'_>) {
    append_text_head(text, document);
    let balance = &document.report.balance;
    let without = balance.intervals.saturating_sub(balance.disks.intervals);
    if without > 0 {
        text.push_str(&format!("note: {without} of these intervals have no account of disks\n"));
    }
    let undivided = document.report.devices.as_ref().map_or(0, |devices| devices.undivided.intervals);
    if undivided > 0 {
        text.push_str(&format!(
            "note: {undivided} of these intervals have the sum of all disks alone: it is the row (all disks)\n"
        ));
    }
    text.push('\n');
    let line = |cells: [String; 9], name: &str| {
        let cells = COLUMNS.iter().zip(cells).map(|((_, width), cell)| format!("{cell:>width$}"));
        format!("{}  {name}\n", cells.collect::<Vec<_>>().join(" "))
    };
    text.push_str(&line(COLUMNS.map(|(header, _)| header.to_owned()), "DEVICE"));
    let cell = |value: Option<u64>, words: fn(u64) -> String| value.map_or_else(|| "-".to_owned(), words);
    let count = |count: Option<u64>| cell(count, |count| count.to_string());
    for row in rows(document) {
        let DeviceRow { reads, writes, queue_ns, device_ns, blocked_ns, .. } = row;
        let [read, written] = [reads, writes].map(|of| cell(of.bytes, size));
        let [read_time, write_time, queue, disk, blocked] =
            [reads.ns, writes.ns, queue_ns, device_ns, blocked_ns].map(|ns| cell(ns, seconds));
        let (reads, writes) = (count(reads.count), count(writes.count));
        let cells = [reads, read, read_time, writes, written, write_time, queue, disk, blocked];
        text.push_str(&line(cells, &row.label()));
    }
    if let Some(words) = balance.disks.totals().as_ref().and_then(unattributed_words) {
        text.push_str(&words);
        text.push('\n');
    }
}

/// Appends the report as one line of JSON.
pub fn append_json(line: &mut Vec<u8>, document: &Document<'_>) {
    line.push(b'{');
    append_member(line, "schema", Value::Bytes(SCHEMA.as_bytes()));
    append_head(line, document, "device");
    append_member(line, "disk_intervals", Value::Unsigned(document.report.balance.disks.intervals));
    let intervals = document.report.devices.as_ref().map_or(0, |devices| devices.intervals);
    append_member(line, "device_intervals", Value::Unsigned(intervals));
    append_list(line, "rows", rows(document), |line, row| append_device(line, &row));
    append_missing(line, document);
    end(line);
}

/// Appends a header and a record for each row.
pub fn append_csv(text: &mut Vec<u8>, document: &Document<'_>, cells: Cells) {
    let keys = DEVICE.iter().map(|member| member.key);
    append_record(text, ["kind", "name"].into_iter().chain(keys));
    for row in rows(document) {
        let kind = match row.of {
            Of::Disk(..) => "device",
            Of::Others => "other",
            Of::All => "sum",
        };
        let mut name = Vec::new();
        cells.append(&mut name, escaped(&row.name).as_bytes());
        let number = |value| match value {
            Value::Unsigned(number) => number.to_string().into_bytes(),
            _ => Vec::new(),
        };
        let numbers = DEVICE.iter().map(|member| number((member.value)(&row)));
        append_record(text, [kind.into(), name].into_iter().chain(numbers));
    }
}
