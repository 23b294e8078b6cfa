//! The state as it is seen. Nothing here reads anything but the state, and of the table only the lines in sight are
//! written.

mod canvas;
mod detail;
mod dialog;
mod foot;
mod head;
mod help;
mod states;
mod strip;
mod table;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::mode::Mode;
use super::state::{Layout, State};

pub use canvas::Look;

/// From this height on there is a line with the history of the selected row.
const LEAST_HEIGHT_WITH_HISTORY: u16 = 16;

/// From this height on there is a time line.
const LEAST_HEIGHT_WITH_STRIP: u16 = 6;

/// From this height on the head has a line more.
const LEAST_HEIGHT_WITH_WHOLE_HEAD: u16 = 24;

/// Finds out where everything goes.
pub fn layout(state: &State, size: (u16, u16)) -> Layout {
    let (width, height) = size;
    let head_lines = head::lines(state, width, most_head_lines(height), None).len() as u16;
    let below = foot_lines(height) + detail_lines(state, height);
    let header_row = head_lines + strip_lines(state, size);
    let first = header_row + 1;
    let rows = height.saturating_sub(below).saturating_sub(first);
    Layout {
        size,
        header_row,
        rows: (first, rows),
        columns: table::places(state, width)
            .into_iter()
            .map(|place| (place.from, place.to, place.shown.name()))
            .collect(),
        last_of_help: if matches!(state.mode, Mode::Help(_)) { help::last(width, height) } else { 0 },
        labels: foot::labels(width).into_iter().map(|label| (label.from, label.to, label.action)).collect(),
    }
}

fn most_head_lines(height: u16) -> usize {
    let below = if height < LEAST_HEIGHT_WITH_WHOLE_HEAD { 2 } else { 1 };
    usize::from(height * 2 / 5).saturating_sub(below).max(1)
}

/// The time line is below the head.
fn strip_lines(state: &State, (width, height): (u16, u16)) -> u16 {
    let strip = state.strip.as_ref().filter(|_| height >= LEAST_HEIGHT_WITH_STRIP);
    strip.map_or(0, |strip| strip::lines(strip, width).min(height / 3))
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
    head::draw(state, look, buffer, most_head_lines(area.height));
    let strip_lines = strip_lines(state, (area.width, area.height));
    if let Some(strip) = state.strip.as_ref().filter(|_| strip_lines > 0) {
        strip::draw(strip, look, buffer, state.layout.header_row - strip_lines);
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
    match &state.mode {
        Mode::Table => foot::draw_labels(state, look, buffer),
        Mode::Prompt(prompt) => return Some(dialog::draw_prompt(prompt, look, buffer)),
        Mode::Menu(menu) => {
            foot::draw_labels(state, look, buffer);
            dialog::draw_menu(menu, look, buffer);
        }
        Mode::Help(top) => help::draw(*top, look, buffer),
    }
    None
}

#[cfg(test)]
mod tests;
