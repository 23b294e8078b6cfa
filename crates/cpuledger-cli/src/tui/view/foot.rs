//! The last lines: the history of the selected row, and the keys or what is to be said.

use cpuledger_proc::count::count_of;
use cpuledger_proc::escape::escaped;
use cpuledger_view::interval::column::percent;
use cpuledger_view::layout::wrap;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::blame;
use super::canvas::{Look, blank, draw_sparkline, write};
use super::pieces::{Piece, draw_pieces, needed};
use crate::tui::frame::Kind;
use crate::tui::history::INTERVALS;
use crate::tui::keys;
use crate::tui::listing::Item;
use crate::tui::state::State;
use crate::tui::views::View;

/// The words of the last line for what is shown, from which column to which (exclusive), as far as there is room: what is first stays longest, and
/// the way out is always there.
pub(super) fn labels(state: &State, width: u16) -> Vec<(u16, u16, keys::Label)> {
    let offered: &[keys::Label] = if state.detail.is_some() {
        &keys::OF_DETAIL
    } else if state.strip.is_some() {
        &keys::OF_PAST
    } else if state.view() == View::Groups {
        &keys::OF_GROUPS
    } else {
        &keys::OF_TABLE
    };
    let needed = |label: &keys::Label| (label.0.len() + label.1.len() + 1) as u16;
    let mut room = width.saturating_sub(needed(&keys::QUIT));
    let fits = |label: &&keys::Label| {
        let is_seen = needed(label) <= room;
        room = if is_seen { room - needed(label) } else { 0 };
        is_seen
    };
    let mut from = 0;
    let place = |&(key, word): &keys::Label| {
        let to = from + (key.len() + word.len()) as u16;
        (std::mem::replace(&mut from, to + 1), to, (key, word))
    };
    let shown: Vec<&keys::Label> = offered.iter().filter(fits).collect();
    shown.into_iter().chain([&keys::QUIT]).map(place).collect()
}

pub(super) fn draw_labels(state: &State, look: &Look, buffer: &mut Buffer) {
    let (width, row) = (buffer.area.width, buffer.area.height - 1);
    if let Some(message) = &state.message {
        let style = if message.is_error { look.theme.error } else { look.theme.mark };
        draw_note(&message.text, style, look, buffer, row);
        return;
    }
    for (from, _, (key, word)) in labels(state, width) {
        let next = write(buffer, from, row, key, look.theme.key);
        write(buffer, next, row, word, look.theme.label);
    }
}

/// A sentence in as many lines as it takes, up to half of the screen, the last of them in that row; returns the first row of them.
pub(super) fn draw_note(text: &str, style: Style, look: &Look, buffer: &mut Buffer, last: u16) -> u16 {
    let mut lines = wrap(text, buffer.area.width.into());
    lines.truncate(usize::from(buffer.area.height / 2).max(1));
    let first = (last + 1).saturating_sub(lines.len() as u16);
    for (row, line) in (first..).zip(&lines) {
        blank(buffer, row, look);
        write(buffer, 0, row, line, style);
    }
    first
}

/// What the columns of the dead say, where they are shown.
const OF_DEAD: [(&str, &str); 2] = [("X", "X: dead threads"), ("C", "C: dead children")];

/// What figures of the dead are where such a column is not shown.
const IN_PARENTHESES: &str = "( ): in the line above, too";

/// What the figures of states are shares of.
const OF_LIVES: &str = "% of the interval; dead: % of their lives";
const WAIT_OF_LIVES: &str = "dead: %WAIT of their lives";

/// From this width on they are explained.
const LEAST_WIDTH_OF_LEGEND: u16 = 60;

/// Where the selected row is among the lines, its last intervals, and at the right what columns say.
pub(super) fn draw_history(state: &State, look: &Look, buffer: &mut Buffer, row: u16) {
    let next = write(buffer, 0, row, &place(state), look.theme.label);
    let legend = legend(state, look);
    let from = buffer.area.width.saturating_sub(needed(&legend) as u16);
    let has_legend = !legend.is_empty() && from > next + 1 && buffer.area.width >= LEAST_WIDTH_OF_LEGEND;
    let end = if has_legend {
        draw_pieces(&legend, buffer, from, row);
        from - 2
    } else {
        buffer.area.width
    };
    if let Some(words) = blame::waited_for(state, usize::from(end.saturating_sub(next + 2))) {
        write(buffer, next + 2, row, &words, look.theme.text);
        return;
    }
    // What is remembered is not that of the past.
    let Some((at, whole)) = state.row().filter(|_| state.strip.is_none()) else { return };
    let shares = state.history.of(at.kind, whole.id());
    let most = shares.iter().copied().max().unwrap_or(0);
    let text = format!(": most {} % ", percent(most));
    if usize::from(next) + text.len() > end.into() {
        return;
    }
    let next = write(buffer, next, row, &text, look.theme.label);
    let room = usize::from(end - next).min(INTERVALS);
    let seen = &shares[shares.len().saturating_sub(room)..];
    draw_sparkline(seen, most, look, buffer, (next, row), |_| look.theme.user);
}

/// `3/41, followed 6515 sh`.
fn place(state: &State) -> String {
    let count = state.listing.entries.len();
    if let Some(lost) = state.followed.as_ref().filter(|_| state.is_lost) {
        return format!("-/{count} {}: not listed now", lost.name);
    }
    if state.entry().is_none() {
        return String::new();
    }
    let place = format!("{}/{count}", state.selected + 1);
    let Some((at, whole)) = state.row() else { return place };
    let number = if at.kind == Kind::Task { whole.tid.0 } else { whole.pid.0 };
    let is_followed = if state.followed.is_some() { ", followed" } else { "" };
    format!("{place}{is_followed} {number} {}", escaped(whole.comm.as_bytes()))
}

fn legend(state: &State, look: &Look) -> Vec<Piece> {
    let quiet = state.listing.quiet;
    if quiet > 0 {
        let rows = count_of(quiet as u64, "row");
        return vec![(0, format!("{rows} without traffic hidden: press i"), look.theme.label)];
    }
    let is_shown = |header: &str| state.layout.columns.iter().any(|(_, _, name)| *name == header);
    let shown = OF_DEAD.iter().filter(|(header, _)| is_shown(header));
    let mut words: Vec<&str> = shown.map(|(_, words)| *words).collect();
    let has_parts = state.listing.entries.iter().any(|entry| entry.is_part);
    // X is left out while no row has such time.
    if has_parts && (words.is_empty() || state.account.is_some()) && is_shown("%CPU") {
        words.push(IN_PARENTHESES);
    }
    let is_dead = |item: Item| matches!(item, Item::Exited(_) | Item::ExitedName(_));
    if state.listing.entries.iter().any(|entry| is_dead(entry.item)) {
        match state.view() {
            View::States => words.push(OF_LIVES),
            View::Blame if is_shown("%WAIT") => words.push(WAIT_OF_LIVES),
            _ => {}
        }
    }
    words.into_iter().map(|words| (0, words.to_owned(), look.theme.label)).collect()
}
