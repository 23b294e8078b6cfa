//! The time line: what was used of the machine around the interval that is shown, and where that is.

use cpuledger_view::layout::wrap;
use ratatui_core::buffer::Buffer;

use super::canvas::{Look, write};
use crate::tui::travel::{Cell, Strip};

/// How many lines it takes.
pub(super) fn lines(strip: &Strip, width: u16) -> u16 {
    wrap(&strip.words, width.into()).len() as u16
}

/// Draws it, from this line of the screen on: the words, and the cells behind them.
pub(super) fn draw(strip: &Strip, look: &Look, buffer: &mut Buffer, first: u16) {
    let width = buffer.area.width;
    let (mut row, mut next) = (first, 0);
    for (line, words) in (first..).zip(wrap(&strip.words, width.into())) {
        (row, next) = (line, write(buffer, 0, line, &words, look.theme.header));
    }
    let mut column = write(buffer, next, row, " ", look.theme.text);
    // The brackets take two.
    let room = usize::from(width.saturating_sub(column + 2));
    if strip.cells.is_empty() || room == 0 {
        return;
    }
    // What is shown is in the middle, unless there is nothing more on a side.
    let most = strip.cells.len().saturating_sub(room);
    let from = strip.position.saturating_sub(room / 2).min(most);
    for (index, cell) in strip.cells.iter().enumerate().skip(from).take(room) {
        let is_here = index == strip.position;
        if is_here {
            column = write(buffer, column, row, "[", look.theme.mark);
        }
        let (mark, style) = match cell {
            Cell::Used(share) => (step(*share, look.is_ascii), look.theme.user),
            Cell::Gap => (if look.is_ascii { '?' } else { '·' }, look.theme.error),
        };
        let style = if is_here { look.theme.selected } else { style };
        column = write(buffer, column, row, &mark.to_string(), style);
        if is_here {
            column = write(buffer, column, row, "]", look.theme.mark);
        }
    }
}

fn step(share: u32, is_ascii: bool) -> char {
    const ASCII: [char; 9] = ['_', '.', ':', '-', '=', '+', '*', '#', '@'];
    const BARS: [char; 9] = ['_', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = if is_ascii { ASCII } else { BARS };
    steps[(share as usize * (steps.len() - 1)).div_ceil(1000).min(steps.len() - 1)]
}
