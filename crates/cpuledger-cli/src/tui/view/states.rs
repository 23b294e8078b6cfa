//! The view of states: bars, and all figures in words. Its columns and cells are those of `--batch`.

use cpuledger_view::shares::cells::Cells;
use cpuledger_view::shares::columns::{self, Room, ViewColumn};
use cpuledger_view::shares::{Part, STATE_COLUMNS, StateCell, StateColumn};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::canvas::{Look, write};
use crate::tui::config::Settings;
use crate::tui::frame::{Frame, Kind};

/// The columns that there is room for, with their widths.
pub(super) fn columns(frame: Option<&Frame>, settings: &Settings, width: usize) -> Vec<(ViewColumn, usize)> {
    let has_unseen = frame.is_some_and(|frame| has_unseen(frame, settings));
    columns::columns(&Room { width, has_unseen, is_exact: settings.is_exact, without: &[] })
}

/// Whether of any row it is not known what it did.
fn has_unseen(frame: &Frame, settings: &Settings) -> bool {
    let kind = if settings.has_threads { Kind::Task } else { Kind::Process };
    let rows = match kind {
        Kind::Process => &frame.interval.processes,
        Kind::Task => &frame.interval.tasks,
    };
    let living = rows.iter().filter_map(|row| row.usage.states);
    let dead = frame.exited().iter().filter(|_| settings.has_exited).filter_map(|exited| exited.states);
    living.chain(dead).any(|states| states.unseen_ns > 0)
}

/// Draws all states as a bar.
pub(super) fn draw_bar(
    cells: &Cells,
    buffer: &mut Buffer,
    look: &Look,
    from: (u16, u16),
    width: u16,
    on: Style,
) {
    let Some(times) = cells.times() else {
        write(buffer, from.0, from.1, "-", on);
        return;
    };
    let mut column = from.0;
    for ((count, mark), style) in times.in_units(width.into()).into_iter().zip(MARKS).zip(styles(look)) {
        column = write(buffer, column, from.1, &mark.repeat(count as usize), on.patch(style));
    }
}

/// All figures in words, with the marks of the bar.
pub(super) fn legend(cells: &Cells) -> Option<String> {
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
    Some(format!("{}: {unit} of {seconds:.3} s", words.join(", ")))
}

/// Whether it is the column of one part.
fn is_part(column: &StateColumn) -> bool {
    matches!(column.cell, StateCell::Share([_]))
}

/// What the parts are drawn with: the first three as in the bars of CPUs.
const MARKS: [&str; 8] = ["|", "#", "*", "w", "b", ".", "t", "?"];

fn styles(look: &Look) -> [Style; 8] {
    let theme = &look.theme;
    [theme.user, theme.system, theme.stolen, theme.mark, theme.error, theme.idle, theme.label, theme.label]
}
