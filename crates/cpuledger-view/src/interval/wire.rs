//! What `top --by network` prints: what each cgroup or unit sent and received on the wire, as a table.

use cpuledger_model::Dimension;

use super::column::append_size;
use super::{Page, Writer};
use crate::cell::unsigned;
use crate::key::Shown;
use crate::layout;
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

impl Writer {
    /// What each cgroup or unit sent and received.
    pub(super) fn append_wire(
        &mut self,
        text: &mut Vec<u8>,
        by: Dimension,
        shown: &Shown<'_>,
        page: &Page<'_>,
    ) {
        let Some(mut rows) = rows(shown.interval, by) else {
            self.say(
                "What cgroups send on the wire was not counted in this interval; `cpuledger doctor` says what it needs",
            );
            return self.end_lines(text, page);
        };
        if rows.is_empty() {
            self.say("No socket of a cgroup has sent or received a packet");
            return self.end_lines(text, page);
        }
        let all = sum(shown.interval, &rows);
        let more = rows.split_off(rows.len().min(MOST_ROWS));
        let width = HEADERS.iter().map(|(_, width)| width + 1).sum();
        let name_width = page.width.saturating_sub(width).max(NAME_WIDTH);
        self.wire_name(if by == Dimension::Unit { "UNIT" } else { "CGROUP" }, name_width);
        for (header, width) in HEADERS {
            self.cell.extend_from_slice(header.as_bytes());
            self.append_cell(width, false);
        }
        self.end_line(text, page);
        for row in &rows {
            self.wire_name(row.name.label(), name_width);
            self.append_uses(text, row, page);
        }
        if !more.is_empty() {
            self.wire_name(&format!("({} more)", more.len()), name_width);
            self.append_uses(text, &WireRow { payload: None, ..sum(shown.interval, &more) }, page);
        }
        self.wire_name("TOTAL", name_width);
        self.append_uses(text, &all, page);
        if all.payload.is_none() {
            self.say("What tasks send is not known here: `cpuledger doctor` says why");
            self.end_lines(text, page);
        }
    }

    fn append_uses(&mut self, text: &mut Vec<u8>, row: &WireRow, page: &Page<'_>) {
        let used = &row.used;
        let ways = [(used.sent_bytes, used.sent_packets), (used.received_bytes, used.received_packets)];
        for (way, (bytes, packets)) in ways.into_iter().enumerate() {
            let payload = row.payload.map(|both| both[way]);
            let mut widths = HEADERS.iter().map(|(_, width)| *width);
            let mut cell = |writer: &mut Writer, append: &dyn Fn(&mut Vec<u8>)| {
                append(&mut writer.cell);
                writer.append_cell(widths.next().unwrap_or_default(), false);
            };
            cell(self, &|cell| append_size(cell, bytes));
            cell(self, &|cell| unsigned(cell, packets));
            cell(self, &|cell| match payload {
                Some(payload) => append_size(cell, payload),
                None => cell.push(b'-'),
            });
            cell(self, &|cell| match payload {
                Some(payload) => append_rest(cell, bytes, payload),
                None => cell.push(b'-'),
            });
        }
        self.end_line(text, page);
    }

    fn wire_name(&mut self, name: &str, width: usize) {
        self.cell.extend_from_slice(name.as_bytes());
        layout::cut(&mut self.cell, width);
        self.append_cell(width, true);
    }
}

/// By how much the wire has more than the payload. It has less where the payload waits in a socket at the cut.
fn append_rest(cell: &mut Vec<u8>, bytes: u64, payload: u64) {
    if bytes < payload {
        cell.push(b'-');
    }
    append_size(cell, bytes.abs_diff(payload));
}
