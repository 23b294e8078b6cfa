//! The time line: what was used of the machine in the last minutes or, on the way through time, around the interval that is shown, and
//! where that is.

use ratatui_core::buffer::Buffer;

use super::canvas::{Look, step, write};
use crate::tui::state::State;
use crate::tui::travel::Cell;

/// The cells, and which of them is shown. `None`: there are none.
fn cells(state: &State) -> Option<(Vec<Cell>, usize)> {
    if let Some(strip) = &state.strip {
        return (!strip.cells.is_empty()).then(|| (strip.cells.clone(), strip.position));
    }
    let cells: Vec<Cell> = state.history.machine().collect();
    let last = cells.len().checked_sub(1)?;
    Some((cells, last))
}

/// The first cell that is seen in this width.
pub(super) fn visible(state: &State, width: u16) -> Option<usize> {
    let (cells, position) = cells(state)?;
    let room = room(state, width);
    // What is shown is in the middle, unless there is nothing more on a side.
    (room > 0).then(|| position.saturating_sub(room / 2).min(cells.len().saturating_sub(room)))
}

/// What is written in front of the cells, and where there is little room.
const LIVE: [&str; 2] = ["CPU until now ", "until now "];
const PAST: [&str; 2] = ["CPU over time ", "over time "];

/// The share of the highest cell, in thousandths.
const FULL: u32 = 875;

/// Cells that have room behind the longer words, and behind the shorter ones.
const LEAST_CELLS: [usize; 2] = [12, 4];

fn words(state: &State, width: u16) -> &'static str {
    let words = if state.strip.is_some() { PAST } else { LIVE };
    let fits = |(words, cells): &(&str, usize)| words.len() + cells <= width.into();
    words.into_iter().zip(LEAST_CELLS).find(fits).map_or("", |(words, _)| words)
}

/// The part of the time line behind its words.
pub(super) fn place_of_cells(state: &State, (from, to): (u16, u16)) -> (u16, u16) {
    (from + words(state, to - from).len() as u16, to)
}

/// Cells there is room for: brackets take two.
fn room(state: &State, width: u16) -> usize {
    usize::from(width).saturating_sub(if state.strip.is_some() { 2 } else { 0 })
}

/// Draws it between these columns.
pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer, place: (u16, u16), row: u16) {
    let words = words(state, place.1 - place.0);
    let (from, to) = place_of_cells(state, place);
    let (Some((cells, position)), Some(first)) = (cells(state), visible(state, to - from)) else { return };
    let is_past = state.strip.is_some();
    let seen = cells.len().min(room(state, to - from));
    // The newest is at the right edge.
    let mut column = to.saturating_sub(seen as u16 + if is_past { 2 } else { 0 });
    write(buffer, column.saturating_sub(words.len() as u16), row, words, look.theme.label);
    for (index, cell) in cells.iter().enumerate().skip(first).take(seen) {
        let is_here = is_past && index == position;
        if is_here {
            column = write(buffer, column, row, "[", look.theme.mark);
        }
        let (mark, style) = match cell {
            // What is full leaves a gap to the line above.
            Cell::Used(share) => (step((*share).min(FULL), look.is_ascii), look.theme.idle),
            Cell::Gap => (if look.is_ascii { '?' } else { '·' }, look.theme.error),
        };
        let style = match is_past {
            true if is_here => look.theme.selected,
            false if index + 1 == cells.len() => look.theme.user,
            _ => style,
        };
        column = write(buffer, column, row, &mark.to_string(), style);
        if is_here {
            column = write(buffer, column, row, "]", look.theme.mark);
        }
    }
}
