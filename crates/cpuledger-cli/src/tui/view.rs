//! The state as it is seen. Nothing here reads anything but the state, and of the table only the lines in sight are
//! written.

mod blame;
mod canvas;
mod detail;
mod dialog;
mod disks;
mod facts;
mod foot;
mod head;
mod help;
mod pieces;
mod place;
mod states;
mod strip;
mod table;
mod wire;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::mode::Mode;
use super::state::{Layout, State};
use super::views::View;

pub use canvas::Look;

/// From this height on there is a line with the history of the selected row, and one that explains the marks of states.
const LEAST_HEIGHT_WITH_HISTORY: u16 = 16;

/// Finds out where everything goes.
pub fn layout(state: &State, size: (u16, u16)) -> Layout {
    let (width, height) = size;
    let below = foot_lines(height) + detail_lines(state, height);
    let header_row = head::lines(height) + lines_above(state, size);
    let first = header_row + 1;
    let rows = height.saturating_sub(below).saturating_sub(first);
    let mut layout = Layout {
        size,
        header_row,
        rows: (first, rows),
        columns: table::places(state, width)
            .into_iter()
            .map(|place| (place.from, place.to, place.shown.name()))
            .collect(),
        last_of_help: help::last(state, size),
        labels: foot::labels(state, width).into_iter().map(|(from, to, (key, _))| (from, to, key)).collect(),
        menu: dialog::menu_place(state, size),
        ..Layout::default()
    };
    head::places(state, &mut layout);
    layout
}

/// Lines between head and table: an empty one, what is to be said of the past, and what explains the view.
fn lines_above(state: &State, (width, height): (u16, u16)) -> u16 {
    let note = (head::note(state, width.into()).len() as u16).min(height / 3);
    gap(height)
        + note
        + if has_legend(state, height) { 1 + below_legend(state, (width, height)).len() as u16 } else { 0 }
}

fn gap(height: u16) -> u16 {
    u16::from(height >= strip::LEAST_HEIGHT_WITH_GAP)
}

/// What is said below the line that explains marks or columns.
fn below_legend(state: &State, (width, height): (u16, u16)) -> Vec<String> {
    match state.view() {
        View::States => states::blocked(state, width).into_iter().collect(),
        View::Disks => disks::lines(state, (width, height)),
        View::Network => wire::lines(state, width),
        _ => blame::lines(state, width),
    }
}

fn has_legend(state: &State, height: u16) -> bool {
    let has_words = state.view() == View::States || state.account.is_some();
    has_words && state.frame.is_some() && height >= LEAST_HEIGHT_WITH_HISTORY
}

fn foot_lines(height: u16) -> u16 {
    if height >= LEAST_HEIGHT_WITH_HISTORY { 2 } else { 1 }
}

fn detail_lines(state: &State, height: u16) -> u16 {
    if state.detail.is_some() { (height / 2).saturating_sub(1) } else { 0 }
}

/// Draws it into an empty buffer; the places are those of [`layout`]. Returns where the cursor is, if it is seen.
pub fn draw(state: &State, look: &Look, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let area = buffer.area;
    if area.width == 0 || area.height == 0 {
        return None;
    }
    head::draw(state, look, buffer);
    if state.missing().is_some() {
        draw_missing(state, look, buffer);
    } else {
        draw_table(state, look, buffer);
    }
    match &state.mode {
        Mode::Table => foot::draw_labels(state, look, buffer),
        Mode::Prompt(prompt) => return Some(dialog::draw_prompt(state, prompt, look, buffer)),
        Mode::Menu(menu) => {
            foot::draw_labels(state, look, buffer);
            dialog::draw_menu(menu, look, buffer);
        }
        Mode::Help(help) => help::draw(state, help, look, buffer),
    }
    None
}

fn draw_table(state: &State, look: &Look, buffer: &mut Buffer) {
    let area = buffer.area;
    let above = lines_above(state, (area.width, area.height));
    let mut row = state.layout.header_row - above + gap(area.height);
    for line in head::note(state, area.width.into()) {
        if row < state.layout.header_row {
            canvas::write(buffer, 0, row, &line, look.theme.mark);
            row += 1;
        }
    }
    if let Some(frame) = state.frame.as_ref().filter(|_| has_legend(state, area.height)) {
        if let Some(view) = state.account {
            let parts = view.legend().iter().zip(0..);
            let pieces = parts.map(|(part, rank)| (rank, (*part).to_owned(), look.theme.label));
            let pieces = pieces::fitting(pieces.collect(), area.width.into());
            pieces::draw_pieces(&pieces, buffer, 0, row);
        } else {
            states::draw_legend(frame, look, buffer, row);
        }
        let style = match state.account {
            None => look.theme.error,
            Some(View::Disks) => look.theme.label,
            Some(_) => look.theme.text,
        };
        for (row, line) in (row + 1..).zip(below_legend(state, (area.width, area.height))) {
            canvas::write(buffer, 0, row, &line, style);
        }
    }
    table::draw(state, look, buffer);
    let detail = detail_lines(state, area.height);
    if detail > 0 {
        let from = area.height - foot_lines(area.height) - detail;
        detail::draw(state, look, buffer, Rect::new(0, from, area.width, detail));
    }
    if foot_lines(area.height) > 1 {
        foot::draw_history(state, look, buffer, area.height - 2);
    }
}

/// A view whose account was not kept in the interval: what it shows, and when it will.
fn draw_missing(state: &State, look: &Look, buffer: &mut Buffer) {
    let Some((view, (account, shows))) = state.missing().and_then(|view| Some((view, view.account()?)))
    else {
        return;
    };
    let first = head::lines(buffer.area.height) + 1;
    let is_of_ledger = state.frame.as_ref().is_none_or(|frame| frame.interval.source.is_of_ledger());
    let why = if state.strip.is_some() {
        format!("The account `{account}` was not kept in this interval.")
    } else if is_of_ledger {
        format!(
            "The ledger keeps the account `{account}` from now on, as long as this view is shown. It is here in a moment."
        )
    } else {
        format!(
            "Only the ledger and the service keep the account `{account}`. Run this as root, or start the service."
        )
    };
    let sentences = [
        (format!("{}: {shows}", view.name()), look.theme.group),
        (why, look.theme.text),
        (format!("To keep it in every view, and in recordings: ptop --with {account}"), look.theme.label),
        (
            format!("For the service: accounts = [\"{account}\"] in its configuration, below [ledger]"),
            look.theme.label,
        ),
        ("1 goes back to the processes".to_owned(), look.theme.label),
    ];
    let width = usize::from(buffer.area.width.saturating_sub(4));
    let mut row = first;
    for (sentence, style) in sentences {
        for line in cpuledger_view::layout::wrap(&sentence, width) {
            canvas::write(buffer, 2, row, &line, style);
            row += 1;
        }
        row += 1;
    }
}

#[cfg(test)]
mod tests;
