//! The head, three lines at any width: views and clock; the balance, with who has the most; CPUs, and the last minutes. On a large
//! screen the graph of these has lines of its own at the right, down to the table.

mod figures;
mod meters;

use cpuledger_proc::count::count_of;
use cpuledger_view::interval::column::decimals;
use cpuledger_view::layout::wrap;
use cpuledger_view::shares::apportion;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::canvas::{Look, bar_marks, write};
use super::facts;
use super::pieces::{BETWEEN, Piece, draw_pieces, fitting, needed};
use super::strip;
use crate::tui::frame::Frame;
use crate::tui::state::{Layout, State};
use crate::tui::views::View;

/// The highest rank of what is left out only after the names of other views.
const MOST_NEEDED: u8 = 3;

/// So many letters of a filter are in the first line.
const MOST_OF_FILTER: usize = 32;

/// How many lines it has.
pub(super) fn lines(height: u16) -> u16 {
    match height {
        0..6 => 0,
        6..8 => 1,
        _ => 3,
    }
}

/// Draws it, and notes where the views and the time line are.
pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer) {
    let lines = lines(buffer.area.height);
    if lines == 0 {
        return;
    }
    let balance = if lines == 1 { 0 } else { 1 };
    if lines > 1 {
        draw_views(state, look, buffer);
        let graph = strip::own_lines(state, (buffer.area.width, buffer.area.height));
        meters::draw(state, look, buffer, graph);
    }
    match &state.frame {
        Some(frame) => draw_balance(state, frame, look, buffer, balance),
        None => drop(write(buffer, 0, balance, "The first figures come in a moment...", look.theme.label)),
    }
}

/// What is to be said of an interval of the past, where that is more than the first line has room for.
pub(super) fn note(state: &State, width: usize) -> Vec<String> {
    const IN_FIRST_LINE: usize = 32;
    let words = state.strip.as_ref().map(|strip| strip.words.as_str());
    words.filter(|words| words.len() > IN_FIRST_LINE).map_or(Vec::new(), |words| wrap(words, width))
}

/// The words of the views, and where they are; a click leads there.
pub(super) fn tabs(state: &State, width: u16) -> Vec<(u16, u16, View, String)> {
    let name = |view: View| match view {
        View::Groups => state.settings.group_name().unwrap_or(view.name()),
        view => view.name(),
    };
    // What is unusual has to be seen, and the clock.
    let right: Vec<Piece> =
        right(state, None).into_iter().filter(|(rank, ..)| *rank <= MOST_NEEDED).collect();
    let room = usize::from(width).saturating_sub(needed(&right).max(9) + BETWEEN);
    // The view that is seen has its whole name in any case.
    let in_short = |view: View| if is_here(state, view) { name(view) } else { view.short_name() };
    let fits = |of: &dyn Fn(View) -> &'static str| {
        View::ALL.iter().map(|view| of(*view).len() + 2).sum::<usize>() <= room + 1
    };
    let only_here = |view: View| if is_here(state, view) { name(view) } else { "" };
    let shown: &dyn Fn(View) -> &'static str = if fits(&name) {
        &name
    } else if fits(&in_short) {
        &in_short
    } else {
        &only_here
    };
    let mut from = 0;
    let tab = |(number, view): (usize, &View)| {
        let text = format!("{}{}", number + 1, shown(*view));
        let to = from + text.len() as u16;
        let place = (from, to, *view, text);
        from = to + 1;
        place
    };
    View::ALL.iter().enumerate().map(tab).collect()
}

/// Whether that view is shown: the past is one beside another.
fn is_here(state: &State, view: View) -> bool {
    view == state.view() || view == View::History && state.strip.is_some()
}

fn draw_views(state: &State, look: &Look, buffer: &mut Buffer) {
    let width = buffer.area.width;
    let mut next = 0;
    for (from, _, view, text) in tabs(state, width) {
        // The past is one view, whichever the columns are.
        let is_lit = if state.strip.is_some() { view == View::History } else { is_here(state, view) };
        let name_style = match is_lit {
            true => look.theme.selected,
            false if is_here(state, view) => look.theme.text,
            false => look.theme.label,
        };
        let (number, name) = text.split_at(1);
        let number_style = if is_lit { look.theme.selected } else { look.theme.key };
        next = write(buffer, from, 0, number, number_style);
        next = write(buffer, next, 0, name, name_style);
    }
    let room = usize::from(width.saturating_sub(next + 1));
    let pieces = fitting(right(state, Some(look)), room);
    let needed = needed(&pieces);
    draw_pieces(&pieces, buffer, width.saturating_sub(needed as u16), 0);
}

/// What is at the right of the first line: what is unusual first.
fn right(state: &State, look: Option<&Look>) -> Vec<Piece> {
    let style = |of: fn(&Look) -> Style| look.map(of).unwrap_or_default();
    let mark = style(|look| look.theme.mark);
    let label = style(|look| look.theme.label);
    let mut pieces = Vec::new();
    if !state.query.is_empty() {
        let text = state.query.text().trim();
        let shown: String = text.chars().take(MOST_OF_FILTER).collect();
        let more = if shown.len() < text.len() { "..." } else { "" };
        pieces.push((1, format!("[{shown}{more}]"), mark));
    }
    if state.is_paused {
        pieces.push((0, "[PAUSED]".to_owned(), mark));
    }
    if let Some(strip) = state.strip.as_ref().filter(|_| note(state, usize::MAX).is_empty()) {
        pieces.push((0, strip.words.clone(), mark));
    } else if let Some(frame) = &state.frame {
        pieces.push((2, frame.around.time_of_day.clone(), style(|look| look.theme.text)));
    }
    let Some(frame) = &state.frame else { return pieces };
    if !frame.interval.is_since_boot() {
        pieces.push((4, format!("{} s", decimals(frame.interval.length_ns() / 100_000_000, 1)), label));
    }
    pieces.push((5, frame.interval.source_name().to_owned(), label));
    let of_notes = if facts::is_inexact(&frame.interval) { mark } else { label };
    let notes = facts::count_of_notes(&frame.interval);
    if notes > 0 {
        pieces.push((3, format!("{} ?", count_of(notes as u64, "note")), of_notes));
    }
    pieces
}

/// One bar of the whole capacity, the figures behind it, and who has the most.
fn draw_balance(state: &State, frame: &Frame, look: &Look, buffer: &mut Buffer, row: u16) {
    let graph = strip::own_lines(state, (buffer.area.width, buffer.area.height));
    let width = strip::left_of(graph, buffer.area.width);
    if frame.interval.is_since_boot() {
        let unread = match frame.around.unread {
            0 => String::new(),
            unread => format!(" ({unread} not read)"),
        };
        let text = format!("Totals since each process began{unread}; the first interval follows");
        write(buffer, 0, row, &text, look.theme.mark);
        return;
    }
    if state.settings.is_exact {
        write(buffer, 0, row, &figures::exact(frame), look.theme.text);
        return;
    }
    let bar = (width / 5).clamp(6, 40);
    let parts = figures::parts(frame);
    let styles =
        [look.theme.user, look.theme.system, look.theme.stolen, look.theme.unattributed, look.theme.idle];
    let cells = apportion(parts, u64::from(bar)).unwrap_or_default();
    let mut column = 0;
    for ((count, mark), style) in cells.into_iter().zip(bar_marks(look.is_ascii)).zip(styles) {
        column = write(buffer, column, row, &mark.repeat(count as usize), style);
    }
    let room = usize::from(width.saturating_sub(bar + 1));
    let mut pieces = figures::of_balance(state, frame, look);
    if graph.is_none() {
        pieces.append(&mut figures::others(state, frame, look));
    }
    draw_pieces(&fitting(pieces, room), buffer, bar + 1, row);
}

/// What a click on the head does.
pub(super) fn places(state: &State, layout: &mut Layout) {
    let (width, height) = layout.size;
    if lines(height) < 3 {
        return;
    }
    layout.tabs = tabs(state, width).into_iter().map(|(from, to, view, _)| (from, to, view)).collect();
    layout.timeline =
        strip::place(state, meters::graph_place(state, width, strip::own_lines(state, layout.size)));
}
