//! The help page, made of the table of keys.

use cpuledger_view::interval::column::TABLE;
use cpuledger_view::layout::wrap;
use cpuledger_view::query::aliases;
use ratatui_core::buffer::Buffer;

use super::canvas::{Look, write};
use super::dialog;
use crate::tui::keys;
use cpuledger_view::shares::STATE_COLUMNS;

/// Where the explanations begin.
const INDENT: u16 = 16;

pub(super) fn draw(top: usize, look: &Look, buffer: &mut Buffer) {
    dialog::clear_screen(buffer, look);
    let (width, height) = (buffer.area.width, buffer.area.height);
    let top = top.min(last(width, height));
    for (row, (keys, text)) in (0..height.saturating_sub(1)).zip(wrapped(width).iter().skip(top)) {
        match keys {
            None => drop(write(buffer, 0, row, text, look.theme.header)),
            Some(keys) => {
                let next = write(buffer, 1, row, keys, look.theme.mark);
                write(buffer, INDENT.max(next + 1), row, text, look.theme.text);
            }
        }
    }
    if height > 0 {
        let last = "Up, Down, PgUp, PgDn: more; any other key: back";
        write(buffer, 0, height - 1, last, look.theme.key);
    }
}

/// The line that is first where the end is seen.
pub(super) fn last(width: u16, height: u16) -> usize {
    wrapped(width).len().saturating_sub(usize::from(height.saturating_sub(1)))
}

/// The lines on a screen of this width: keys and what they do, or no keys and a title. What takes more than a line goes on in the next,
/// without keys in front.
fn wrapped(width: u16) -> Vec<(Option<String>, String)> {
    let mut wrapped = Vec::new();
    for (keys, text) in lines() {
        let from = if keys.is_empty() { 0 } else { INDENT.max(keys.chars().count() as u16 + 2) };
        let (mut next, is_title) = (Some(keys), from == 0);
        for line in wrap(&text, usize::from(width.saturating_sub(from))) {
            let keys = next.take().unwrap_or_default();
            wrapped.push(if is_title { (None, line) } else { (Some(keys), line) });
        }
    }
    wrapped
}

/// Keys, then what filters and columns are called.
fn lines() -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> =
        keys::help().into_iter().map(|(keys, text)| (keys, text.to_owned())).collect();
    lines.push((
        String::new(),
        "Filters: NAME OPERATOR VALUE ..., with =, !=, >, >=, <, <=, ~ (pattern), !~".to_owned(),
    ));
    lines.extend(aliases().map(|(name, help)| (name.to_owned(), help.to_owned())));
    lines.push((
        "any key of JSON".to_owned(),
        "and any header of a column; or, not and parentheses join".to_owned(),
    ));
    lines.push((String::new(), "Columns".to_owned()));
    lines.extend(TABLE.iter().map(|column| (column.name().to_owned(), column.help().to_owned())));
    lines
        .push((String::new(), "Columns of states, in percent of the time that the row was alive".to_owned()));
    lines.extend(STATE_COLUMNS.iter().map(|column| (column.name.to_owned(), column.help.to_owned())));
    lines
}
