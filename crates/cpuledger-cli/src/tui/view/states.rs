//! The view of states: bars, and all figures in words. Its columns and cells are those of `--batch`.

use cpuledger_view::interval::by::append_blocked_task;
use cpuledger_view::interval::column::{TableColumn, text_of};
use cpuledger_view::layout;
use cpuledger_view::shares::cells::Cells;
use cpuledger_view::shares::columns::{self, Room};
use cpuledger_view::shares::{Part, STATE_COLUMNS, StateCell, StateColumn, Times};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::canvas::{Look, write};
use super::facts;
use super::pieces::{self, Piece};
use crate::cmd::top::select::is_wanted_blocked;
use crate::tui::config::Settings;
use crate::tui::frame::Frame;
use crate::tui::state::State;

/// The columns that there is room for, with their widths.
pub(super) fn columns(frame: Option<&Frame>, settings: &Settings, width: usize) -> Vec<(TableColumn, usize)> {
    let has_unseen = frame.is_some_and(|frame| has_unseen(frame, settings));
    columns::columns(&Room { width, has_unseen, is_exact: settings.is_exact, without: &[] })
}

/// Whether of any row it is not known what it did.
fn has_unseen(frame: &Frame, settings: &Settings) -> bool {
    let rows = if settings.has_threads { &frame.interval.tasks } else { &frame.interval.processes };
    let living = rows.iter().filter_map(|row| row.usage.states);
    let dead = frame.exited().iter().filter(|_| settings.has_exited).filter_map(|exited| exited.states);
    living.chain(dead).any(|states| states.unseen_ns > 0)
}

/// Draws all states as a bar; `has_colors`: each in its colour.
pub(super) fn draw_bar(
    cells: &Cells,
    buffer: &mut Buffer,
    look: &Look,
    from: (u16, u16),
    width: u16,
    (on, has_colors): (Style, bool),
) {
    let Some(times) = cells.times() else {
        write(buffer, from.0, from.1, "-", on);
        return;
    };
    let mut column = from.0;
    let counts = times.in_units(width.into());
    for (place, ((count, mark), style)) in counts.into_iter().zip(MARKS).zip(styles(look)).enumerate() {
        let is_blocked = place == Part::Blocked as usize;
        let of_io = if is_blocked { of_io(times, count) } else { 0 };
        for (count, style) in [(of_io, look.theme.error), (count - of_io, style)] {
            let style = if has_colors { on.patch(style) } else { on };
            column = write(buffer, column, from.1, &mark.repeat(count as usize), style);
        }
    }
}

/// How many of the marks for blocked stand for I/O, rounded up.
fn of_io(times: &Times, count: u64) -> u64 {
    let blocked_ns = times.sum_ns(&[Part::Blocked]).max(1);
    let of_io = (u128::from(count) * u128::from(times.io_wait_ns)).div_ceil(u128::from(blocked_ns));
    (of_io as u64).min(count)
}

/// All figures in words, with the marks of the bar.
pub(super) fn legend(cells: &Cells) -> Option<Vec<String>> {
    let times = cells.times()?;
    let mut words = Vec::new();
    for (column, mark) in STATE_COLUMNS.iter().filter(|column| is_part(column)).zip(MARKS) {
        let StateCell::Share(parts) = column.cell else { continue };
        let text = match parts {
            [Part::User] if !times.is_divided => cells.undivided_text(),
            [Part::System | Part::Stolen] if !times.is_divided => continue,
            [Part::Unseen] if times.sum_ns(parts) == 0 => continue,
            [Part::Blocked] => {
                let io = STATE_COLUMNS.iter().find(|column| column.cell == StateCell::Io);
                let io = io.map(|column| cells.text(column).replace('(', "(IO ")).unwrap_or_default();
                format!("{} {} {io}", column.name, cells.text(column))
            }
            _ => format!("{} {}", column.name, cells.text(column)),
        };
        words.push(format!("{mark} {text}"));
    }
    let unit = if cells.is_exact() { "ns" } else { "%" };
    let seconds = times.elapsed_ns() as f64 / 1e9;
    words.push(format!("in {unit} of {seconds:.3} s"));
    Some(words)
}

/// Whether it is the column of one part.
fn is_part(column: &StateColumn) -> bool {
    matches!(column.cell, StateCell::Share([_]))
}

/// The words for the marks of a bar.
const WORDS: [&str; 8] =
    ["user", "system", "stolen", "waits for a CPU", "blocked", "sleeps", "stopped", "not known"];

/// The colours and marks in words, and what tasks did on average, above the table.
pub(super) fn draw_legend(frame: &Frame, look: &Look, buffer: &mut Buffer, row: u16) {
    let pieces = MARKS.iter().zip(WORDS).zip(styles(look)).enumerate();
    let pieces = pieces.map(|(rank, ((mark, word), style))| (rank as u8, format!("{mark} {word}"), style));
    let mut pieces: Vec<Piece> = pieces.collect();
    let blocked = Part::Blocked as usize;
    pieces.insert(blocked + 1, (blocked as u8, format!("{} for I/O", MARKS[blocked]), look.theme.error));
    if let Some(averages) = facts::averages(frame) {
        pieces.push((9, averages, look.theme.label));
    }
    let pieces = pieces::fitting(pieces, buffer.area.width.into());
    pieces::draw_pieces(&pieces, buffer, 0, row);
}

/// What was blocked all the time by name, as much of it as there is room for.
pub(super) fn blocked(state: &State, width: u16) -> Option<String> {
    let frame = state.frame.as_ref()?;
    let all = frame.interval.blocked.as_deref()?;
    let listed: Vec<_> = all.iter().filter(|blocked| is_wanted_blocked(&state.options, blocked)).collect();
    let not_listed = frame.interval.blocked_tasks - all.len() as u64;
    let mut text = String::new();
    for (index, blocked) in listed.iter().enumerate() {
        let before = if index == 0 { "Blocked all the time: " } else { "; " };
        let more = format!("; {} more", (listed.len() - index) as u64 + not_listed);
        let words = format!("{before}{}", text_of(|text| append_blocked_task(text, blocked)));
        let needed = layout::width(text.as_bytes()) + layout::width(words.as_bytes());
        let is_last = index + 1 == listed.len() && not_listed == 0;
        if index > 0 && needed + if is_last { 0 } else { more.len() } > usize::from(width) {
            return Some(text + &more);
        }
        text += &words;
    }
    if not_listed > 0 && !text.is_empty() {
        text += &format!("; {not_listed} more");
    }
    (!text.is_empty()).then_some(text)
}

/// The colour of a share: that of the first of these parts. Who is blocked is in trouble only where that is for I/O: a shell that waits until its
/// child has begun another program is blocked, too.
pub(super) fn style_of(parts: &[Part], cells: &Cells, look: &Look) -> Style {
    let is_for_io = |times: &Times| 2 * times.io_wait_ns >= times.sum_ns(&[Part::Blocked]);
    match parts {
        [Part::Blocked] if cells.times().is_some_and(is_for_io) => look.theme.error,
        parts => parts.first().map_or(look.theme.text, |part| styles(look)[*part as usize]),
    }
}

/// What the parts are drawn with: the first three as in the bars of CPUs.
const MARKS: [&str; 8] = ["|", "#", "*", "w", "b", ".", "t", "?"];

fn styles(look: &Look) -> [Style; 8] {
    let theme = &look.theme;
    [theme.user, theme.system, theme.stolen, theme.heat[0], theme.text, theme.label, theme.label, theme.label]
}
