//! The last lines: the history of the selected row, and the keys or what is to be said.

use cpuledger_proc::escape::escaped;
use cpuledger_view::interval::column::append_per_mille;
use cpuledger_view::layout::wrap;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::canvas::{Look, clear, fill, write};
use crate::tui::action::Action;
use crate::tui::frame::Kind;
use crate::tui::history::INTERVALS;
use crate::tui::keys;
use crate::tui::listing::Item;
use crate::tui::state::State;

/// A word of the last line.
pub(super) struct Label {
    /// From this column of the screen.
    pub from: u16,
    /// To this one, exclusive.
    pub to: u16,
    /// What it does.
    pub action: Action,
    key: &'static str,
    word: &'static str,
}

/// Those there is room for; words are as wide as the screen allows.
pub(super) fn labels(width: u16) -> Vec<Label> {
    let all: Vec<_> = keys::labels().collect();
    let each = (width / all.len().max(1) as u16).clamp(6, 10);
    let places = all.into_iter().enumerate().map(|(index, (key, word, action))| {
        let from = index as u16 * each;
        Label { from, to: from + each, action, key, word }
    });
    places.filter(|label| label.from + 4 < width).collect()
}

pub(super) fn draw_labels(state: &State, look: &Look, buffer: &mut Buffer) {
    let (width, row) = (buffer.area.width, buffer.area.height - 1);
    if let Some(message) = &state.message {
        let style = if message.is_error { look.theme.error } else { look.theme.mark };
        draw_note(&message.text, style, look, buffer, row);
        return;
    }
    for label in labels(width) {
        let next = write(buffer, label.from, row, label.key, look.theme.text);
        let room = usize::from(label.to.min(width).saturating_sub(next));
        let word: String = label.word.chars().take(room).collect();
        write(buffer, next, row, &format!("{word:<room$}"), look.theme.key);
    }
}

/// A sentence in as many lines as it takes, up to half of the screen, the last of them in that row; returns the first row of them.
pub(super) fn draw_note(text: &str, style: Style, look: &Look, buffer: &mut Buffer, last: u16) -> u16 {
    let mut lines = wrap(text, buffer.area.width.into());
    lines.truncate(usize::from(buffer.area.height / 2).max(1));
    let first = (last + 1).saturating_sub(lines.len() as u16);
    for (row, line) in (first..).zip(&lines) {
        clear(buffer, Rect::new(0, row, buffer.area.width, 1));
        fill(buffer, row, look.theme.text);
        write(buffer, 0, row, line, style);
    }
    first
}

/// The last intervals of the selected row, and where it is among the lines.
pub(super) fn draw_history(state: &State, look: &Look, buffer: &mut Buffer, row: u16) {
    let count = state.listing.entries.len();
    let place = format!("{}/{count}", if count == 0 { 0 } else { state.selected + 1 });
    if let Some(lost) = state.followed.as_ref().filter(|_| state.is_lost) {
        write(buffer, 0, row, &format!("-/{count} {}: not listed now", lost.name), look.theme.label);
        return;
    }
    let Some((frame, entry)) = state.frame.as_ref().zip(state.entry()) else { return };
    let Item::Row(at) = entry.item else {
        write(buffer, 0, row, &place, look.theme.label);
        return;
    };
    let whole = frame.whole(at);
    let shares = state.history.of(at.kind, whole.id());
    let most = shares.iter().copied().max().unwrap_or(0);
    let number = if at.kind == Kind::Task { whole.tid.0 } else { whole.pid.0 };
    let name = escaped(whole.comm.as_bytes());
    let mut percent = Vec::new();
    append_per_mille(&mut percent, most);
    let percent = String::from_utf8_lossy(&percent).into_owned();
    let is_followed = if state.followed.is_some() { ", followed" } else { "" };
    let text = format!("{place}{is_followed} {number} {name}: most {percent} % ");
    let next = write(buffer, 0, row, &text, look.theme.label);
    let room = usize::from(buffer.area.width.saturating_sub(next)).min(INTERVALS);
    let steps: &[char] = if look.is_ascii {
        &[' ', '.', ':', '-', '=', '+', '*', '#', '@']
    } else {
        &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    };
    let full = most.max(1);
    let line: String = shares[shares.len().saturating_sub(room)..]
        .iter()
        .map(|&share| steps[(share as usize * (steps.len() - 1)).div_ceil(full as usize)])
        .collect();
    write(buffer, next, row, &line, look.theme.user);
}

/// An empty last line.
pub(super) fn blank(buffer: &mut Buffer, look: &Look) -> u16 {
    let row = buffer.area.height - 1;
    clear(buffer, Rect::new(0, row, buffer.area.width, 1));
    fill(buffer, row, look.theme.text);
    row
}
