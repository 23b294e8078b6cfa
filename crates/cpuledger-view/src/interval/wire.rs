//! What `top --by network` prints: what each cgroup or unit sent and received on the wire, as a table.

use cpuledger_model::Dimension;

use super::Writer;
use super::column::append_size;
use crate::cell::unsigned;
use crate::wire::{WireRow, rows, sum};

/// Rows that are shown; what is beyond is summed up.
const MOST_ROWS: usize = 30;

/// The least width of a name before a row.
const NAME_WIDTH: usize = 16;

/// Headers behind the name, and their widths: one way, then the other.
const HEADERS: [(&str, usize); 8] = [
    ("SENT", 7),
    ("PACKETS", 8),
    ("PAYLOAD", 7),
    ("REST", 7),
    ("RECV", 7),
    ("PACKETS", 8),
    ("PAYLOAD", 7),
    ("REST", 7),
];

impl Writer<'_> {
    /// What each cgroup or unit sent and received.
    pub(super) fn append_wire(&mut self, by: Dimension) {
        let interval = self.shown.interval;
        let Some(mut rows) = rows(interval, by) else {
            let words = "What cgroups send on the wire was not counted in this interval; `cpuledger doctor` says what it needs";
            return self.say_lines(words);
        };
        if rows.is_empty() {
            return self.say_lines("No socket of a cgroup has sent or received a packet");
        }
        let all = sum(interval, &rows);
        let more = rows.split_off(rows.len().min(MOST_ROWS));
        let width = HEADERS.iter().map(|(_, width)| width + 1).sum();
        let name_width = self.page.width.saturating_sub(width).max(NAME_WIDTH);
        self.say_headers(by.header(), name_width, &HEADERS);
        let mut append = |name: &str, row: &WireRow| {
            self.say_cell(name, name_width, true);
            self.append_uses(row);
        };
        rows.iter().for_each(|row| append(row.name.label(), row));
        if !more.is_empty() {
            let rest = WireRow { payload: None, ..sum(interval, &more) };
            append(&format!("({} more)", more.len()), &rest);
        }
        append("TOTAL", &all);
        if all.payload.is_none() {
            self.say_lines("What tasks send is not known here: `cpuledger doctor` says why");
        }
    }

    fn append_uses(&mut self, row: &WireRow) {
        let used = &row.used;
        let ways = [(used.sent_bytes, used.sent_packets), (used.received_bytes, used.received_packets)];
        for (way, ((bytes, packets), headers)) in ways.into_iter().zip(HEADERS.chunks(4)).enumerate() {
            let payload = row.payload.map(|both| both[way]);
            self.say_figure(headers[0].1, Some(bytes), append_size);
            self.say_figure(headers[1].1, Some(packets), unsigned);
            self.say_figure(headers[2].1, payload, append_size);
            self.say_figure(headers[3].1, payload, |cell, payload| append_rest(cell, bytes, payload));
        }
        self.end_line();
    }
}

/// By how much the wire has more than the payload. It has less where the payload waits in a socket at the cut.
fn append_rest(cell: &mut Vec<u8>, bytes: u64, payload: u64) {
    if bytes < payload {
        cell.push(b'-');
    }
    append_size(cell, bytes.abs_diff(payload));
}
