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

/// Cells there is room for: brackets take two.
fn room(state: &State, width: u16) -> usize {
    usize::from(width).saturating_sub(if state.strip.is_some() { 2 } else { 0 })
}

/// Draws it between these columns.
pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer, (from, to): (u16, u16), row: u16) {
    let (Some((cells, position)), Some(first)) = (cells(state), visible(state, to - from)) else { return };
    let is_past = state.strip.is_some();
    let seen = cells.len().min(room(state, to - from));
    // The newest is at the right edge.
    let mut column = to.saturating_sub(seen as u16 + if is_past { 2 } else { 0 });
    const WORD: &str = "CPU until now ";
    if !is_past && column >= from + WORD.len() as u16 {
        write(buffer, column - WORD.len() as u16, row, WORD, look.theme.label);
    }
    for (index, cell) in cells.iter().enumerate().skip(first).take(seen) {
        let is_here = is_past && index == position;
        if is_here {
            column = write(buffer, column, row, "[", look.theme.mark);
        }
        let (mark, style) = match cell {
            Cell::Used(share) => {
                let cold = look.theme.user;
                (step(*share, look.is_ascii), look.theme.heat(u64::from(*share)).unwrap_or(cold))
            }
            Cell::Gap => (if look.is_ascii { '?' } else { '·' }, look.theme.error),
        };
        let style = if is_here { look.theme.selected } else { style };
        column = write(buffer, column, row, &mark.to_string(), style);
        if is_here {
            column = write(buffer, column, row, "]", look.theme.mark);
        }
    }
}
