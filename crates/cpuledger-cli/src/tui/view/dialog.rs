//! Lines to fill in, and lists.

use cpuledger_view::layout as text_layout;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::canvas::{Look, blank, clear, write};
use super::foot;
use super::pieces::{Piece, draw_pieces, fitting};
use crate::tui::choices::{completions, undecided};
use crate::tui::mode::{Menu, Mode, Prompt, PromptKind};
use crate::tui::state::State;

/// What a line to fill in has at least for what is filled in.
const LEAST_ROOM: usize = 12;

/// Draws the line; returns where the cursor is.
pub(super) fn draw_prompt(state: &State, prompt: &Prompt, look: &Look, buffer: &mut Buffer) -> (u16, u16) {
    let row = buffer.area.height - 1;
    blank(buffer, row, look);
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
    } else if prompt.kind == PromptKind::Filter {
        let pieces = filter_pieces(state, prompt, look);
        above = above.saturating_sub(1);
        blank(buffer, above, look);
        draw_pieces(&fitting(pieces, width.into()), buffer, 0, above);
    }
    (cursor.min(width.saturating_sub(1)), row)
}

/// How many lines match now, what the keys do, and the names that Tab would complete or, while there is nothing, what may be written.
fn filter_pieces(state: &State, prompt: &Prompt, look: &Look) -> Vec<Piece> {
    let lines = state.listing.entries.len();
    let count = format!("{lines} {}", if lines == 1 { "line matches" } else { "lines match" });
    let names = completions(&prompt.text);
    let keys = match undecided(&prompt.text) {
        Some(word) => format!("Enter finds `{word}` as text, Esc takes it away"),
        None => "Enter keeps it, Esc takes it away".to_owned(),
    };
    let mut pieces = vec![(1, count, look.theme.text), (0, keys, look.theme.label)];
    if prompt.text.is_empty() {
        let examples = "a name, or cpu>5 user=www command~python".to_owned();
        pieces.push((2, examples, look.theme.label));
    }
    if let Some((first, others)) = names.split_first() {
        pieces.push((3, format!("Tab: {first}"), look.theme.label));
        pieces
            .extend(others.iter().zip(4..).map(|(name, rank)| (rank, (*name).to_owned(), look.theme.label)));
    }
    pieces
}

/// Where the list is: a frame around it, and a line of its own for the title in that.
fn area(menu: &Menu, (width, height): (u16, u16)) -> Rect {
    let widest = menu.items.iter().map(|item| text_layout::width(item.as_bytes())).max().unwrap_or(0);
    let wide = (widest.max(menu.title.chars().count() + 2) as u16 + 4).min(width);
    let high = (menu.items.len() as u16 + 2).min(height.saturating_sub(1)).max(3).min(height);
    let whole = Rect::new(0, 0, width, height);
    Rect::new(width.saturating_sub(wide) / 2, height.saturating_sub(1 + high) / 2, wide, high)
        .intersection(whole)
}

/// The first item that is seen.
fn top(menu: &Menu, area: Rect) -> usize {
    (menu.selected + 1).saturating_sub(usize::from(area.height.saturating_sub(2)).max(1))
}

/// The first line with an item, which that is, and how many are seen.
pub(super) fn menu_place(state: &State, size: (u16, u16)) -> Option<(u16, usize, u16)> {
    let Mode::Menu(menu) = &state.mode else { return None };
    let area = area(menu, size);
    Some((area.y + 1, top(menu, area), area.height.saturating_sub(2)))
}

/// Draws the list over the table.
pub(super) fn draw_menu(menu: &Menu, look: &Look, buffer: &mut Buffer) {
    let area = area(menu, (buffer.area.width, buffer.area.height));
    clear(buffer, area);
    if area.width < 3 || area.height < 3 {
        return;
    }
    draw_frame(area, &menu.title, look, buffer);
    let inner = Rect::new(area.x + 1, area.y + 1, area.width - 2, area.height - 2);
    let items = menu.items.iter().enumerate().skip(top(menu, area));
    for (row, (index, item)) in (inner.y..inner.bottom()).zip(items) {
        let style = if index == menu.selected { look.theme.selected } else { look.theme.text };
        buffer.set_style(Rect { y: row, height: 1, ..inner }, style);
        buffer.set_stringn(inner.x + 1, row, item, usize::from(inner.width.saturating_sub(1)), style);
    }
}

/// Draws a frame with a title in its upper line.
fn draw_frame(area: Rect, title: &str, look: &Look, buffer: &mut Buffer) {
    let [across, down, corners] =
        if look.is_ascii { ["-", "|", "++++"] } else { ["─", "│", "╭╮╰╯"] };
    let (right, bottom) = (area.right() - 1, area.bottom() - 1);
    for column in area.left()..area.right() {
        for row in [area.y, bottom] {
            write(buffer, column, row, across, look.theme.label);
        }
    }
    for row in area.top()..area.bottom() {
        for column in [area.x, right] {
            write(buffer, column, row, down, look.theme.label);
        }
    }
    let places = [(area.x, area.y), (right, area.y), (area.x, bottom), (right, bottom)];
    for ((column, row), corner) in places.into_iter().zip(corners.chars()) {
        write(buffer, column, row, &corner.to_string(), look.theme.label);
    }
    let room = usize::from(area.width.saturating_sub(4));
    let title: String = title.chars().take(room.saturating_sub(2)).collect();
    buffer.set_stringn(area.x + 2, area.y, format!(" {title} "), room, look.theme.group);
}
