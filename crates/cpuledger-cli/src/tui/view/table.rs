//! The table: as many columns as there is room for, and of the lines only those in sight.

mod cells;
mod part;

use cpuledger_view::column::TableCell;
use cpuledger_view::interval::column::{TableColumn, of_parts, per_mille};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::canvas::{Look, fill, write};
use super::pieces::drop_highest;
use super::place::{Place, put};
use super::states;
use crate::tui::config::{FIRST_COLUMNS, ShownColumn, Tree};
use crate::tui::frame::RowRef;
use crate::tui::listing::{Entry, Item};
use crate::tui::state::State;
use crate::tui::theme::LEAST_BRIGHT;
use crate::tui::views::View;

/// What the last column needs: more where there is more, and for branches.
fn least_last(width: u16, is_tree: bool) -> usize {
    let share = match width {
        _ if is_tree => width * 3 / 10,
        0..100 => width / 5,
        // Arguments have room.
        _ => (u32::from(width) * 11 / 40) as u16,
    };
    usize::from(share).clamp(12, 60)
}

/// How many intervals a column of history shows: more where there is more room.
fn history_width(width: u16) -> usize {
    match width {
        0..140 => 10,
        140..180 => 20,
        180..240 => 30,
        _ => 60,
    }
}

/// The columns there is room for.
pub(super) fn places(state: &State, width: u16) -> Vec<Place> {
    if state.settings.has_states && state.account.is_none() {
        let columns = states::columns(state.frame.as_deref(), &state.settings, width.into());
        return spread(&columns, width);
    }
    let settings = &state.settings;
    let of_parts = || of_parts().iter().map(|column| ShownColumn { column: *column, width: None });
    let mut columns: Vec<ShownColumn> = match state.account {
        Some(view) => view.columns().0.iter().filter_map(|name| ShownColumn::by_name(name)).collect(),
        None if settings.has_parts => of_parts().collect(),
        None => settings.columns.clone(),
    };
    if settings.tree != Tree::No
        && !columns.iter().any(|shown| shown.column.cell() == TableCell::Subtree)
        && let Some(column) = TableColumn::by_name("SUM")
    {
        let place =
            columns.iter().position(|shown| shown.column.name() == "%CPU").map_or(0, |place| place + 1);
        columns.insert(place, ShownColumn { column, width: None });
    }
    let width_of = |shown: &ShownColumn| match shown.column.cell() {
        _ if shown.width.is_some() => shown.width.unwrap_or_default(),
        TableCell::History => history_width(width),
        _ => shown.column.width(settings.is_exact),
    };
    // The width of all with a blank between two.
    let needed = |columns: &[ShownColumn]| {
        columns
            .iter()
            .map(|shown| at_least(width_of(shown), width, settings.tree != Tree::No) + 1)
            .sum::<usize>()
            - 1
    };
    while columns.len() > 1 && needed(&columns) > usize::from(width) {
        drop_highest(&mut columns, |shown| shown.column.rank());
    }
    // The command has the room of those that say nothing.
    columns.retain(|shown| has_something(state, shown, width));
    let with_width = |shown: &ShownColumn| (shown.column, width_of(shown));
    spread(&columns.iter().map(with_width).collect::<Vec<_>>(), width)
}

/// From this width on there is room for columns that say nothing yet.
const WIDE: u16 = 140;

/// Whether a column says something: intervals of the past have no history, and where there is little room and the columns are the usual ones,
/// no row may have had dead threads so far.
fn has_something(state: &State, shown: &ShownColumn, width: u16) -> bool {
    match shown.column.name() {
        _ if shown.width.is_some() => true,
        "HISTORY" => state.strip.is_none(),
        "X" => {
            width >= WIDE
                || state.has_dead_threads
                || state.settings.order().0 == "X"
                || !state.settings.columns.iter().map(|shown| shown.column.name()).eq(FIRST_COLUMNS)
        }
        _ => true,
    }
}

/// The width of a column; of one that grows, its least.
fn at_least(wide: usize, width: u16, is_tree: bool) -> usize {
    if wide == 0 { least_last(width, is_tree) } else { wide }
}

/// Where columns of these widths are, with a blank between two. What is left of the line is for those of width 0.
fn spread(columns: &[(TableColumn, usize)], width: u16) -> Vec<Place> {
    let others = columns.iter().map(|(_, wide)| wide + 1).sum::<usize>().saturating_sub(1);
    let last = usize::from(width).saturating_sub(others).max(12);
    let mut from = 0u16;
    let mut places = Vec::with_capacity(columns.len());
    for (shown, wide) in columns {
        let wide = if *wide == 0 { last } else { *wide };
        let to = from.saturating_add(wide as u16).min(width);
        places.push(Place { from, to, shown: *shown });
        from = (to + 1).min(width);
    }
    places
}

pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer) {
    let width = buffer.area.width;
    let places = places(state, width);
    let header_row = state.layout.header_row;
    if header_row >= buffer.area.height {
        return;
    }
    draw_header(state, look, buffer, &places);
    let Some(frame) = &state.frame else { return };
    let (first, count) = state.layout.rows;
    if state.listing.entries.is_empty() && count > 0 {
        draw_nothing(state, look, buffer, first);
    }
    let seen = state.listing.entries.iter().enumerate().skip(state.top).take(usize::from(count));
    let mut line = cells::Line::new(state, frame, look, &places);
    for (row, (index, entry)) in (first..).zip(seen) {
        if row >= buffer.area.height {
            return;
        }
        let style = style_of(state, look, index, entry);
        // Colours of cells are for the lines without the cursor, whose own colours can be read there.
        if state.has_cursor(index) {
            fill(buffer, row, style);
        }
        line.draw(buffer, row, entry, style, state.has_cursor(index));
    }
}

fn draw_header(state: &State, look: &Look, buffer: &mut Buffer, places: &[Place]) {
    let header_row = state.layout.header_row;
    fill(buffer, header_row, look.theme.header);
    let (sorted, is_ascending) = state.settings.order();
    for place in places {
        let is_sorted = state.settings.sort_name(place.shown.name()) == Some(sorted);
        let style = if is_sorted { look.theme.sorted } else { look.theme.header };
        let name = match place.shown {
            shown if shown.cell() == TableCell::Id && state.settings.has_threads => "TID",
            shown => shown.name(),
        };
        let mark = match (is_sorted, is_ascending) {
            (false, _) => "",
            (true, false) if look.is_ascii => "v",
            (true, true) if look.is_ascii => "^",
            (true, false) => "▾",
            (true, true) => "▴",
        };
        put(buffer, place, header_row, &format!("{name}{mark}"), style);
    }
}

/// Why there is no line.
fn draw_nothing(state: &State, look: &Look, buffer: &mut Buffer, row: u16) {
    let text = if !state.query.is_empty() {
        format!("no row matches `{}`; Esc ends the filter", state.query.text().trim())
    } else if state.listing.quiet > 0 {
        "no traffic in this interval".to_owned()
    } else if !state.settings.has_all {
        "nothing ran in this interval; press i to list all".to_owned()
    } else {
        "there is nothing to list".to_owned()
    };
    write(buffer, 2, row, &text, look.theme.label);
}

fn style_of(state: &State, look: &Look, index: usize, entry: &Entry) -> Style {
    match entry.item {
        _ if state.has_cursor(index) && state.followed.is_some() => look.theme.followed,
        _ if state.has_cursor(index) => look.theme.selected,
        Item::Group(_) => look.theme.group,
        Item::ExitedName(_) | Item::Exited(_) => look.theme.exited,
        Item::Row(at) => {
            let cpu_ns = state.frame.as_ref().map_or(0, |frame| frame.cpu_ns(at));
            of_rows(state, look, at, cpu_ns)
        }
        Item::Alike(sum) => match state.listing.alike(sum) {
            Some(alike) => {
                let cpu_ns = state.listing.sums[sum as usize].total.usage.cpu_ns;
                of_rows(state, look, alike.rows[0], cpu_ns)
            }
            None => look.theme.text,
        },
    }
}

/// The style of a row, or of several that are like this one and had that time together.
fn of_rows(state: &State, look: &Look, at: RowRef, cpu_ns: u64) -> Style {
    let task = state.frame.as_ref().map(|frame| frame.whole(at));
    match (task, steps_back(state, cpu_ns)) {
        (Some(task), _) if task.is_kernel_thread() => look.theme.label,
        (Some(task), false) if task.euid == state.own_uid => look.theme.own,
        (Some(task), true) if task.euid != state.own_uid => look.theme.label,
        _ => look.theme.text,
    }
}

/// Whether a line had so little of the CPUs that it is of less weight, where they are what the view is about.
fn steps_back(state: &State, cpu_ns: u64) -> bool {
    let is_about_cpus = matches!(state.view(), View::Processes | View::Groups);
    let of_interval = state.frame.as_ref().filter(|frame| is_about_cpus && !frame.interval.is_since_boot());
    of_interval.is_some_and(|frame| per_mille(cpu_ns, frame.cpu_length_ns()) < LEAST_BRIGHT)
}
