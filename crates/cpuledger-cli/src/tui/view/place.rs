//! The cells of a row.

use cpuledger_view::interval::column::TableColumn;
use cpuledger_view::layout;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::canvas::write;

/// Where a column is.
pub(super) struct Place {
    /// From this column of the screen.
    pub from: u16,
    /// To this one, exclusive.
    pub to: u16,
    /// Which.
    pub shown: TableColumn,
}

/// Writes a figure or a text into its cell. A figure that is too long for it is cut with a `+`, as it would be another one.
pub(super) fn put_cell(buffer: &mut Buffer, place: &Place, row: u16, text: &str, style: Style) {
    let width = usize::from(place.to - place.from);
    if place.shown.is_left() || layout::width(text.as_bytes()) <= width {
        return put(buffer, place, row, text, style);
    }
    let mut bytes = text.as_bytes().to_vec();
    layout::cut(&mut bytes, width.saturating_sub(1));
    put(buffer, place, row, &(String::from_utf8_lossy(&bytes) + "+"), style);
}

/// Writes a figure in parentheses at the right edge of its cell; the first of them may be where columns are apart.
pub(super) fn put_part(buffer: &mut Buffer, place: &Place, row: u16, text: &str, style: Style) {
    let text = format!("({text})");
    let from = place.to.saturating_sub(layout::width(text.as_bytes()) as u16);
    write(buffer, from, row, &text, style);
}

/// Writes text, aligned; what is too long is cut.
pub(super) fn put(buffer: &mut Buffer, place: &Place, row: u16, text: &str, style: Style) {
    let width = usize::from(place.to - place.from);
    let mut bytes = text.as_bytes().to_vec();
    let needed = layout::width(&bytes);
    let from = if place.shown.is_left() { 0 } else { width.saturating_sub(needed) };
    if needed > width {
        layout::cut(&mut bytes, width);
    }
    let column = place.from + from as u16;
    write(buffer, column, row, &String::from_utf8_lossy(&bytes), style);
}
