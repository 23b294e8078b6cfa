//! Lines to fill in, and lists.

use cpuledger_view::layout as text_layout;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::canvas::{Look, clear, fill, write};
use super::foot;
use crate::tui::mode::{Menu, Prompt};

/// What a line to fill in has at least for what is filled in.
const LEAST_ROOM: usize = 12;

/// Draws the line; returns where the cursor is.
pub(super) fn draw_prompt(prompt: &Prompt, look: &Look, buffer: &mut Buffer) -> (u16, u16) {
    let row = foot::blank(buffer, look);
    let width = buffer.area.width;
    let title = prompt.kind.title();
    let mut above = row;
    // What is filled in has to be seen: a title that leaves no room for it stands above.
    let next = if text_layout::width(title.as_bytes()) + LEAST_ROOM > usize::from(width) && row > 0 {
        above = foot::draw_note(&title, look.theme.label, look, buffer, row - 1);
        0
    } else {
        write(buffer, 0, row, &title, look.theme.label)
    };
    // The end of what is too long.
    let room = usize::from(width.saturating_sub(next + 1));
    let count = prompt.text.chars().count();
    let shown: String = prompt.text.chars().skip(count.saturating_sub(room)).collect();
    let cursor = write(buffer, next, row, &shown, look.theme.text);
    if let Some(error) = &prompt.error {
        foot::draw_note(error, look.theme.error, look, buffer, above.saturating_sub(1));
    }
    (cursor.min(width.saturating_sub(1)), row)
}

/// Draws the list over the table.
pub(super) fn draw_menu(menu: &Menu, look: &Look, buffer: &mut Buffer) {
    let screen = buffer.area;
    let widest = menu.items.iter().map(|item| text_layout::width(item.as_bytes())).max().unwrap_or(0);
    let width = (widest.max(menu.title.chars().count()) as u16 + 4).min(screen.width);
    let height = (menu.items.len() as u16 + 1).min(screen.height.saturating_sub(1)).max(2).min(screen.height);
    let area = Rect::new(0, screen.height.saturating_sub(1 + height), width, height).intersection(screen);
    clear(buffer, area);
    fill_part(buffer, area, area.y, look.theme.header);
    put(buffer, area, area.y, &menu.title, look.theme.header);
    let rows = usize::from(area.height.saturating_sub(1)).max(1);
    let top = (menu.selected + 1).saturating_sub(rows);
    for (row, (index, item)) in (area.y + 1..area.bottom()).zip(menu.items.iter().enumerate().skip(top)) {
        let is_selected = index == menu.selected;
        let style = if is_selected { look.theme.selected } else { look.theme.text };
        fill_part(buffer, area, row, style);
        put(buffer, area, row, item, style);
    }
}

fn fill_part(buffer: &mut Buffer, area: Rect, row: u16, style: ratatui_core::style::Style) {
    buffer.set_style(Rect::new(area.x, row, area.width, 1).intersection(buffer.area), style);
}

fn put(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: ratatui_core::style::Style) {
    if row < buffer.area.height {
        buffer.set_stringn(area.x + 1, row, text, usize::from(area.width.saturating_sub(2)), style);
    }
}

/// Fills the whole screen.
pub(super) fn clear_screen(buffer: &mut Buffer, look: &Look) {
    clear(buffer, buffer.area);
    for row in 0..buffer.area.height {
        fill(buffer, row, look.theme.text);
    }
}
