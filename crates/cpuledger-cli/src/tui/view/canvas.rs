//! How things look, and what all parts of the screen are drawn with.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use crate::tui::theme::Theme;

/// How things look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Colours.
    pub theme: Theme,
    /// Bars and branches of ASCII.
    pub is_ascii: bool,
}

/// Fills a line with a style.
pub(super) fn fill(buffer: &mut Buffer, row: u16, style: Style) {
    let area = Rect::new(0, row, buffer.area.width, 1).intersection(buffer.area);
    buffer.set_style(area, style);
}

/// Empties a part of the screen.
pub(super) fn clear(buffer: &mut Buffer, area: Rect) {
    for row in area.top()..area.bottom() {
        for column in area.left()..area.right() {
            buffer[(column, row)].reset();
        }
    }
}

/// Empties a line.
pub(super) fn blank(buffer: &mut Buffer, row: u16, look: &Look) {
    clear(buffer, Rect::new(0, row, buffer.area.width, 1));
    fill(buffer, row, look.theme.text);
}

/// Writes text from that column on, as much as there is room for; returns the next column.
pub(super) fn write(buffer: &mut Buffer, column: u16, row: u16, text: &str, style: Style) -> u16 {
    if column >= buffer.area.width || row >= buffer.area.height {
        return column;
    }
    let room = usize::from(buffer.area.width - column);
    buffer.set_stringn(column, row, text, room, style).0
}

/// What parts of a bar are drawn with: user, system, stolen, unattributed and idle time.
pub(super) fn bar_marks(is_ascii: bool) -> [&'static str; 5] {
    if is_ascii { ["|", "#", "*", "?", "."] } else { ["━", "╍", "┅", "?", "─"] }
}

/// The character for a share in thousandths.
pub(super) fn step(share: u32, is_ascii: bool) -> char {
    const ASCII: [char; 9] = ['_', '.', ':', '-', '=', '+', '*', '#', '@'];
    const BARS: [char; 9] = ['_', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = if is_ascii { ASCII } else { BARS };
    steps[(share as usize * (steps.len() - 1)).div_ceil(1000).min(steps.len() - 1)]
}

/// Draws shares of the last intervals, of which `most` has full height; returns the next column.
pub(super) fn draw_sparkline(
    shares: &[u64],
    most: u64,
    look: &Look,
    buffer: &mut Buffer,
    (from, row): (u16, u16),
    style: impl Fn(u64) -> Style,
) -> u16 {
    let mark =
        |share: u64| if share == 0 { ' ' } else { step((share * 1000 / most.max(1)) as u32, look.is_ascii) };
    let draw = |column, &share: &u64| write(buffer, column, row, &mark(share).to_string(), style(share));
    shares.iter().fold(from, draw)
}
