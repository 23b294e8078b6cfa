//! What `top --by device` prints: what each disk did, as a table.

use cpuledger_model::disk::DiskTotals;

use super::Writer;
use super::column::{append_decimals, append_size, text_of};
use crate::cell::unsigned;
use crate::devices::{Figures, rows};

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

impl Writer<'_> {
    /// What each disk did.
    pub(super) fn append_devices(&mut self) {
        let interval = self.shown.interval;
        let Some(rows) = rows(interval) else {
            let words = "No account of disks was kept in this interval: --source ledger keeps one, and `cpuledger record --with disk` \
                         records it";
            return self.say_lines(words);
        };
        if rows.is_empty() {
            return self.say_lines("No disk has ended a request");
        }
        self.say_headers("DEVICE", NAME_WIDTH, &HEADERS);
        for row in &rows {
            self.say_cell(&row.label(), NAME_WIDTH, true);
            let of = |Figures { count, bytes, ns }| {
                [(count, unsigned as Append), (bytes, append_size), (ns, append_milliseconds)]
            };
            let times =
                [row.queue_ns, row.device_ns, row.blocked_ns].map(|ns| (ns, append_milliseconds as Append));
            let figures = [of(row.reads), of(row.writes), times].concat();
            for ((_, width), (figure, append)) in HEADERS.into_iter().zip(figures) {
                self.say_figure(width, figure, append);
            }
            self.end_line();
        }
        if let Some(words) = unattributed_words(&interval.disk_totals) {
            self.say_lines(&words);
        }
        if interval.disks.is_none() {
            self.say_lines("An older service or recording has the sum of all disks alone");
        }
    }
}

/// How a figure is written.
type Append = fn(&mut Vec<u8>, u64);

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
