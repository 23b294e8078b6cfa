//! What cgroups send and receive on the wire: above the table of the network.

use cpuledger_model::Dimension;
use cpuledger_view::interval::column::per_second;
use cpuledger_view::layout;
use cpuledger_view::report::text::size;
use cpuledger_view::wire::{WireRow, rows};

use crate::tui::frame::Frame;
use crate::tui::state::State;
use crate::tui::views::View;

/// Cgroups or units that are named.
const MOST: usize = 4;

/// Those with the most bytes, as many as there is room for. None: another view is shown, or nothing is known of the wire.
pub(super) fn lines(state: &State, width: u16) -> Vec<String> {
    let frame = state.frame.as_ref().filter(|_| state.account == Some(View::Network));
    let by = state.settings.group.filter(|group| *group == Dimension::Unit).unwrap_or(Dimension::Cgroup);
    let Some((frame, rows)) = frame.and_then(|frame| Some((frame, rows(&frame.interval, by)?))) else {
        return Vec::new();
    };
    let mut phrases: Vec<String> = rows.iter().take(MOST).map(|row| words(row, frame)).collect();
    if phrases.is_empty() {
        phrases.push("no packet".to_owned());
    }
    phrases[0].insert_str(0, "On the wire: ");
    let mut lines = vec![layout::fitting(phrases, "; ", width.into())];
    if frame.interval.network.sent_bytes.is_none() {
        lines.push("What processes send is not known here: `cpuledger doctor` says why".to_owned());
    }
    lines
}

/// `/system.slice/web.service 12.3M/s sent, 800.0K/s received`.
fn words(row: &WireRow, frame: &Frame) -> String {
    let rate = |bytes| size(per_second(bytes, frame.cpu_length_ns()));
    let (sent, received) = (rate(row.used.sent_bytes), rate(row.used.received_bytes));
    format!("{} {sent}/s sent, {received}/s received", row.name.label())
}
