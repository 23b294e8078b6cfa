//! What `top --by device` prints: what each disk did, as a table.

use cpuledger_model::disk::DiskTotals;

use super::column::{append_decimals, append_size, text_of};
use super::{Page, Writer};
use crate::cell::unsigned;
use crate::devices::{DeviceRow, Figures, rows};
use crate::key::Shown;
use crate::layout;

/// The width of a name before a row.
const NAME_WIDTH: usize = 16;

/// Headers behind the name, and their widths.
const HEADERS: [(&str, usize); 9] = [
    ("READS", 8),
    ("READ", 7),
    ("READ ms", 10),
    ("WRITES", 8),
    ("WRITTEN", 7),
    ("WRITE ms", 10),
    ("QUEUE ms", 10),
    ("DISK ms", 10),
    ("BLOCKED ms", 11),
];

impl Writer {
    /// What each disk did.
    pub(super) fn append_devices(&mut self, text: &mut Vec<u8>, shown: &Shown<'_>, page: &Page<'_>) {
        let interval = shown.interval;
        let Some(rows) = rows(interval) else {
            self.say(
                "No account of disks was kept in this interval: --source ledger keeps one, and `cpuledger record --with disk` \
                 records it",
            );
            return self.end_lines(text, page);
        };
        if rows.is_empty() {
            self.say("No disk has ended a request");
            return self.end_lines(text, page);
        }
        self.device_name("DEVICE");
        for (header, width) in HEADERS {
            self.say_cell(width, |cell| cell.extend_from_slice(header.as_bytes()));
        }
        self.end_line(text, page);
        for row in &rows {
            self.device_name(&row.label());
            self.append_figures(text, row, page);
        }
        if let Some(words) = unattributed_words(&interval.disk_totals) {
            self.say(&words);
            self.end_lines(text, page);
        }
        if interval.disks.is_none() {
            self.say("An older service or recording has the sum of all disks alone");
            self.end_lines(text, page);
        }
    }

    fn append_figures(&mut self, text: &mut Vec<u8>, row: &DeviceRow, page: &Page<'_>) {
        let mut widths = HEADERS.iter().map(|(_, width)| *width);
        let mut cell = |writer: &mut Writer, value: Option<u64>, append: fn(&mut Vec<u8>, u64)| {
            let width = widths.next().unwrap_or_default();
            writer.say_cell(width, |cell| match value {
                Some(value) => append(cell, value),
                None => cell.push(b'-'),
            });
        };
        for Figures { count, bytes, ns } in [row.reads, row.writes] {
            cell(self, count, unsigned);
            cell(self, bytes, append_size);
            cell(self, ns, append_milliseconds);
        }
        cell(self, row.queue_ns, append_milliseconds);
        cell(self, row.device_ns, append_milliseconds);
        cell(self, row.blocked_ns, append_milliseconds);
        self.end_line(text, page);
    }

    fn device_name(&mut self, name: &str) {
        self.cell.extend_from_slice(name.as_bytes());
        layout::cut(&mut self.cell, NAME_WIDTH);
        self.append_cell(NAME_WIDTH, true);
    }

    fn say_cell(&mut self, width: usize, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.cell);
        self.append_cell(width, false);
    }
}

fn append_milliseconds(cell: &mut Vec<u8>, ns: u64) {
    append_decimals(cell, ns / 100_000, 1);
}

/// What says how much is in no row of a process; `None`: nothing is.
pub(crate) fn unattributed_words(totals: &DiskTotals) -> Option<String> {
    let bytes = [totals.unattributed_read_bytes, totals.unattributed_written_bytes];
    let [read, written] = bytes.map(Option::unwrap_or_default);
    if read == 0 && written == 0 {
        return None;
    }
    let [read, written] = [read, written].map(|bytes| text_of(|text| append_size(text, bytes)));
    Some(format!("In no row of a process: {read} read, {written} written"))
}

#[cfg(test)]
mod tests {
    use cpuledger_model::make;

    use super::*;

    #[test]
    fn nothing_is_said_of_no_bytes() {
        let totals = make!(DiskTotals { unattributed_read_bytes: Some(3 << 10), reads: Some(1) });
        assert_eq!(
            unattributed_words(&totals).as_deref(),
            Some("In no row of a process: 3.0K read, 0B written")
        );
        let nothing = make!(DiskTotals { unattributed_read_bytes: Some(0), ..totals });
        assert_eq!(unattributed_words(&nothing), None);
    }
}
