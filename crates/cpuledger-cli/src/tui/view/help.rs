//! The help page, made of the table of keys.

use cpuledger_proc::count::count_of;
use cpuledger_view::interval::column::TABLE;
use cpuledger_view::layout::wrap;
use cpuledger_view::query::aliases;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Modifier;

use super::canvas::{Look, blank, write};
use super::facts;
use crate::tui::keys;
use crate::tui::mode::{Help, Mode};
use crate::tui::state::State;
use cpuledger_view::shares::STATE_COLUMNS;

/// Where the explanations begin.
const INDENT: u16 = 16;

/// A line: a title, keys and what they do, or a sentence.
enum Line {
    Title(String),
    Keys(String, String),
    Sentence(String),
}

pub(super) fn draw(state: &State, help: &Help, look: &Look, buffer: &mut Buffer) {
    let (width, height) = (buffer.area.width, buffer.area.height);
    (0..height).for_each(|row| blank(buffer, row, look));
    let lines = wrapped(state, help, width);
    let top = help.top.min(last_of(&lines, height));
    for (row, line) in (0..height.saturating_sub(1)).zip(lines.iter().skip(top)) {
        match line {
            Line::Title(text) => {
                write(buffer, 0, row, text, look.theme.own.add_modifier(Modifier::BOLD));
            }
            Line::Sentence(text) => {
                write(buffer, 0, row, text, look.theme.text);
            }
            Line::Keys(keys, text) => {
                let next = write(buffer, 1, row, keys, look.theme.key);
                write(buffer, INDENT.max(next + 1), row, text, look.theme.text);
            }
        }
    }
    if height == 0 {
        return;
    }
    let last = if help.is_typing {
        format!("/{}  Enter: keep, Esc: all", help.search)
    } else if help.search.is_empty() {
        "Up, Down, PgUp, PgDn: more; /: search; any other key: back".to_owned()
    } else {
        format!("lines with `{}`; /: search again, Esc: all; any other key: back", help.search)
    };
    write(buffer, 0, height - 1, &last, look.theme.key);
}

/// The line that is first where the end is seen.
pub(super) fn last(state: &State, (width, height): (u16, u16)) -> usize {
    let Mode::Help(help) = &state.mode else { return 0 };
    last_of(&wrapped(state, help, width), height)
}

fn last_of(lines: &[Line], height: u16) -> usize {
    lines.len().saturating_sub(usize::from(height.saturating_sub(1)))
}

/// The lines on a screen of this width. What takes more than a line goes on in the next, without keys in front.
fn wrapped(state: &State, help: &Help, width: u16) -> Vec<Line> {
    let mut wrapped = Vec::new();
    for line in found(lines(state), &help.search) {
        match line {
            Line::Title(text) => {
                if !wrapped.is_empty() {
                    wrapped.push(Line::Sentence(String::new()));
                }
                wrapped.extend(wrap(&text, width.into()).into_iter().map(Line::Title));
            }
            Line::Sentence(text) => wrapped.extend(wrap(&text, width.into()).into_iter().map(Line::Sentence)),
            Line::Keys(keys, text) => {
                let from = INDENT.max(keys.chars().count() as u16 + 2);
                let mut next = Some(keys);
                for line in wrap(&text, usize::from(width.saturating_sub(from))) {
                    wrapped.push(Line::Keys(next.take().unwrap_or_default(), line));
                }
            }
        }
    }
    wrapped
}

/// Lines with that text, whatever its case, below their titles.
fn found(lines: Vec<Line>, search: &str) -> Vec<Line> {
    let wanted = search.to_lowercase();
    if wanted.is_empty() {
        return lines;
    }
    let mut title = None;
    let mut found = Vec::new();
    for line in lines {
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let is_wanted = match &line {
            Line::Title(_) => {
                title = Some(line);
                continue;
            }
            Line::Sentence(text) => has(text),
            Line::Keys(keys, text) => has(keys) || has(text),
        };
        if is_wanted {
            found.extend(title.take());
            found.push(line);
        }
    }
    found
}

/// Keys, what filters and columns are called, then what is to be said of the interval; where that is comes first.
fn lines(state: &State) -> Vec<Line> {
    let title = |text: &str| Line::Title(text.to_owned());
    let keys = |keys: &str, text: &str| Line::Keys(keys.to_owned(), text.to_owned());
    let mut lines = Vec::new();
    let notes = state.frame.as_ref().map_or(0, |frame| facts::count_of_notes(&frame.interval));
    if notes > 0 {
        let notes = count_of(notes as u64, "note");
        lines.push(Line::Sentence(format!("{notes} on this interval: at the end of this page (End)")));
    }
    lines.extend(keys::help().map(|(names, text)| match names {
        "" => title(text),
        names => keys(names, text),
    }));
    lines.push(title("Filters: NAME OPERATOR VALUE ..., with =, !=, >, >=, <, <=, ~ (pattern), !~"));
    lines.extend(aliases().map(|(name, help)| keys(name, help)));
    lines.push(keys("any key of JSON", "and any header of a column; or, not and parentheses join"));
    lines.push(title("Columns"));
    lines.extend(TABLE.iter().map(|column| keys(column.name(), column.help())));
    lines.push(title("Columns of states, in percent of the time that the row was alive"));
    lines.extend(STATE_COLUMNS.iter().map(|column| keys(column.name, column.help)));
    lines.push(title("This interval"));
    lines.extend(facts::sentences(state).into_iter().map(Line::Sentence));
    lines
}
