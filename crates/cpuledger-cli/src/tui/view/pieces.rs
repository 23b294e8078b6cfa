//! Words side by side, in one row.

use cpuledger_view::layout::width;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::canvas::write;

/// Words with a style; where there is little room, those of the highest rank go first.
pub(super) type Piece = (u8, String, Style);

/// Between two pieces.
pub(super) const BETWEEN: usize = 2;

/// How many columns these need.
pub(super) fn needed(pieces: &[Piece]) -> usize {
    let widths = pieces.iter().map(|(_, text, _)| width(text.as_bytes()) + BETWEEN);
    widths.sum::<usize>().saturating_sub(BETWEEN)
}

/// Those there is room for.
pub(super) fn fitting(mut pieces: Vec<Piece>, room: usize) -> Vec<Piece> {
    while needed(&pieces) > room {
        drop_highest(&mut pieces, |(rank, ..)| *rank);
    }
    pieces
}

/// Takes out the last of those of the highest rank.
pub(super) fn drop_highest<T>(of: &mut Vec<T>, rank: impl Fn(&T) -> u8) {
    let highest = of.iter().map(&rank).max();
    let place = of.iter().rposition(|one| Some(rank(one)) == highest);
    place.map(|place| of.remove(place));
}

/// Draws them from this column on, and returns the one after them.
pub(super) fn draw_pieces(pieces: &[Piece], buffer: &mut Buffer, from: u16, row: u16) -> u16 {
    let mut column = from;
    for (index, (_, text, style)) in pieces.iter().enumerate() {
        column += if index > 0 { BETWEEN as u16 } else { 0 };
        column = write(buffer, column, row, text, *style);
    }
    column
}
