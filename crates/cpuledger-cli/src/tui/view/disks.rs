//! What each busy disk did: above the table of disks.

use cpuledger_proc::count::count_of;
use cpuledger_view::devices::{DeviceRow, Figures, rows};
use cpuledger_view::interval::column::per_second;
use cpuledger_view::layout;
use cpuledger_view::report::text::size;

use super::facts::average;
use crate::tui::frame::Frame;
use crate::tui::state::State;
use crate::tui::views::View;

/// Lines at most, and on a low screen.
const MOST: usize = 4;
const FEW: usize = 2;

/// From this height on there are more lines than a few.
const HIGH: u16 = 30;

/// Between two words.
const BETWEEN: &str = "  ";

/// A line for each disk that has ended a request, that with the most bytes first. None: another view is shown, or nothing is known of disks.
pub(super) fn lines(state: &State, (width, height): (u16, u16)) -> Vec<String> {
    let frame = state.frame.as_ref().filter(|_| state.account == Some(View::Disks));
    let Some((frame, mut rows)) = frame.and_then(|frame| Some((frame, rows(&frame.interval)?))) else {
        return Vec::new();
    };
    let count = |figures: Figures| figures.count.unwrap_or(0);
    rows.retain(|row| [row.reads, row.writes, row.discards].into_iter().any(|of| count(of) > 0));
    let most = if height >= HIGH { MOST } else { FEW };
    let more = rows.len().saturating_sub(most);
    let line = |row: &DeviceRow| layout::fitting(words(row, frame), BETWEEN, width.into());
    let mut lines: Vec<String> = rows.iter().take(most).map(line).collect();
    if let Some(last) = lines.last_mut().filter(|_| more > 0) {
        *last += &format!("{BETWEEN}and {more} more");
    }
    lines
}

/// `sda  12 reads 48.0K/s  320 writes 160.0M/s  0.36 requests at a time on average`.
fn words(row: &DeviceRow, frame: &Frame) -> Vec<String> {
    let mut words = vec![row.label()];
    for (figures, noun) in [(row.reads, "read"), (row.writes, "write"), (row.discards, "discard")] {
        let Figures { count: Some(count @ 1..), bytes: Some(bytes), .. } = figures else { continue };
        let rate = size(per_second(bytes, frame.cpu_length_ns()));
        words.push(format!("{} {rate}/s", count_of(count, noun)));
    }
    if let (Some(queue_ns), Some(device_ns)) = (row.queue_ns, row.device_ns) {
        let held_ns = queue_ns.saturating_add(device_ns);
        words.push(format!("{} requests at a time on average", average(held_ns, frame)));
    }
    words
}
