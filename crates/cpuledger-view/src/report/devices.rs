//! What disks did in a span, as text, JSON and CSV. Recordings have the sum of all disks, and so have these.

use cpuledger_model::field::Value;

use super::document::Document;
use super::json::{append_head, append_missing, end};
use super::text::{append_head as append_text_head, seconds, size};
use crate::csv::append_record;
use crate::devices::{DEVICE, DeviceRow};
use crate::json::{append_key, append_member, append_members, close};

/// The name of the schema; its number grows when a key changes its meaning or goes.
pub const SCHEMA: &str = "cpuledger.devices_report/1";

/// What is said of a recording that has the sum alone.
const SUM: &str = "a recording has the sum of all disks; `cpuledger top --by device --source ledger` shows each disk of this machine";

/// The rows; `None`: no interval has an account of disks.
fn rows(document: &Document<'_>) -> Option<Vec<DeviceRow>> {
    let totals = document.report.balance.disks.totals()?;
    Some(vec![DeviceRow::of_all(&totals)])
}

/// Appends the report as text.
pub fn append_text(text: &mut String, document: &Document<'_>) {
    append_text_head(text, document);
    let balance = &document.report.balance;
    let without = balance.intervals.saturating_sub(balance.disks.intervals);
    if without > 0 {
        text.push_str(&format!("note: {without} of these intervals have no account of disks\n"));
    }
    text.push_str(&format!("note: {SUM}\n\n"));
    let line = |cells: [String; 6], name: &str| {
        let [reads, read, read_time, writes, written, write_time] = cells;
        format!("{reads:>10} {read:>8} {read_time:>12} {writes:>10} {written:>8} {write_time:>12}  {name}\n")
    };
    let headers = ["READS", "READ", "READ TIME", "WRITES", "WRITTEN", "WRITE TIME"].map(str::to_owned);
    text.push_str(&line(headers, "DEVICE"));
    for row in rows(document).into_iter().flatten() {
        let cell = |value: Option<u64>, words: fn(u64) -> String| value.map_or_else(|| "-".to_owned(), words);
        let [reads, writes] = [row.reads, row.writes].map(|of| {
            [cell(of.count, |count| count.to_string()), cell(of.bytes, size), cell(of.ns, seconds)]
        });
        let [[reads, read, read_time], [writes, written, write_time]] = [reads, writes];
        text.push_str(&line([reads, read, read_time, writes, written, write_time], "(all disks)"));
        let unattributed = [row.unattributed_read_bytes, row.unattributed_written_bytes];
        let [read, written] = unattributed.map(|bytes| cell(bytes, size));
        if unattributed.iter().any(|bytes| bytes.is_some_and(|bytes| bytes > 0)) {
            let none = String::new;
            text.push_str(&line(
                [none(), read, none(), none(), written, none()],
                "of these, in no row of a process",
            ));
        }
    }
}

/// Appends the report as one line of JSON.
pub fn append_json(line: &mut Vec<u8>, document: &Document<'_>) {
    line.push(b'{');
    append_member(line, "schema", Value::Bytes(SCHEMA.as_bytes()));
    append_head(line, document, "device");
    append_member(line, "disk_intervals", Value::Unsigned(document.report.balance.disks.intervals));
    append_key(line, "rows");
    line.push(b'[');
    for row in rows(document).into_iter().flatten() {
        line.push(b'{');
        append_member(line, "name", Value::Absent);
        append_key(line, "is_sum");
        line.extend_from_slice(b"true,");
        append_members(line, &DEVICE, &row);
        close(line, b'}');
    }
    close(line, b']');
    append_missing(line, document);
    end(line);
}

/// Appends a header and a record for each row.
pub fn append_csv(text: &mut Vec<u8>, document: &Document<'_>) {
    let keys = DEVICE.iter().map(|member| member.key);
    append_record(text, ["kind", "name"].into_iter().chain(keys).map(|name| name.into()));
    for row in rows(document).into_iter().flatten() {
        let number = |value| match value {
            Value::Unsigned(number) => number.to_string().into_bytes(),
            _ => Vec::new(),
        };
        let numbers = DEVICE.iter().map(|member| number((member.value)(&row)));
        append_record(text, [b"sum".to_vec(), Vec::new()].into_iter().chain(numbers));
    }
}
