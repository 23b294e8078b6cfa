//! The table: as many columns as there is room for, and of the lines only those in sight.

use cpuledger::interval::{Row, Usage};
use cpuledger_view::column::TableCell;
use cpuledger_view::interval::column::{CellContext, TableColumn, of_parts};
use cpuledger_view::layout;
use cpuledger_view::shares::cells::Cells;
use cpuledger_view::shares::columns::ViewColumn;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;

use super::canvas::{Look, fill, write};
use super::states;
use crate::tui::config::{ShownColumn, Tree};
use crate::tui::frame::Frame;
use crate::tui::listing::{Entry, Item};
use crate::tui::state::State;

/// The narrowest last column.
const LEAST_LAST: usize = 12;

/// Where a column is.
pub(super) struct Place {
    /// From this column of the screen.
    pub from: u16,
    /// To this one, exclusive.
    pub to: u16,
    /// Which.
    pub shown: ViewColumn,
}

/// The columns there is room for.
pub(super) fn places(state: &State, width: u16) -> Vec<Place> {
    if state.settings.has_states {
        let columns = states::columns(state.frame.as_deref(), &state.settings, width.into());
        return spread(&columns, width);
    }
    let settings = &state.settings;
    let of_parts = || of_parts().iter().map(|column| ShownColumn { column: *column, width: None });
    let mut columns: Vec<ShownColumn> =
        if settings.has_parts { of_parts().collect() } else { settings.columns.clone() };
    if settings.tree != Tree::No
        && !columns.iter().any(|shown| shown.column.cell() == TableCell::Subtree)
        && let Some(column) = TableColumn::by_name("SUM")
    {
        let place =
            columns.iter().position(|shown| shown.column.name() == "%CPU").map_or(0, |place| place + 1);
        columns.insert(place, ShownColumn { column, width: None });
    }
    let width_of =
        |shown: &ShownColumn| at_least(shown.width.unwrap_or(shown.column.width(settings.is_exact)));
    // The width of all with a blank between two.
    let needed = |columns: &[ShownColumn]| columns.iter().map(|shown| width_of(shown) + 1).sum::<usize>() - 1;
    while columns.len() > 1 && needed(&columns) > usize::from(width) {
        let highest = columns.iter().map(|shown| shown.column.rank()).max();
        let place = columns.iter().rposition(|shown| Some(shown.column.rank()) == highest);
        place.map(|place| columns.remove(place));
    }
    let with_width = |shown: &ShownColumn| {
        let wide = shown.width.unwrap_or(shown.column.width(settings.is_exact));
        (ViewColumn::Column(shown.column), wide)
    };
    spread(&columns.iter().map(with_width).collect::<Vec<_>>(), width)
}

/// The width of a column; of one that grows, its least.
fn at_least(width: usize) -> usize {
    if width == 0 { LEAST_LAST } else { width }
}

/// Where columns of these widths are, with a blank between two. What is left of the line is for those of width 0.
fn spread(columns: &[(ViewColumn, usize)], width: u16) -> Vec<Place> {
    let needed = columns.iter().map(|(_, wide)| at_least(*wide) + 1).sum::<usize>().saturating_sub(1);
    let spare = usize::from(width).saturating_sub(needed);
    let mut from = 0u16;
    let mut places = Vec::with_capacity(columns.len());
    for (shown, wide) in columns {
        let wide = at_least(*wide) + if *wide == 0 { spare } else { 0 };
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
    fill(buffer, header_row, look.theme.header);
    for place in &places {
        let (sorted, is_ascending) = state.settings.order();
        let is_sorted = state.settings.sort_name(place.shown.name()) == Some(sorted);
        let style = if is_sorted { look.theme.sorted } else { look.theme.header };
        let name = match place.shown {
            ViewColumn::Column(column) if column.cell() == TableCell::Id && state.settings.has_threads => {
                "TID"
            }
            shown => shown.name(),
        };
        let mark = match (is_sorted, is_ascending) {
            (false, _) => "",
            (true, false) => "v",
            (true, true) => "^",
        };
        let text = format!("{name}{mark}");
        put(buffer, place, header_row, &text, style);
    }
    let Some(frame) = &state.frame else { return };
    let (first, count) = state.layout.rows;
    let seen = state.listing.entries.iter().enumerate().skip(state.top).take(usize::from(count));
    let mut cell = Vec::new();
    for (row, (index, entry)) in (first..).zip(seen) {
        if row >= buffer.area.height {
            return;
        }
        let style = style_of(state, look, index, entry);
        draw_entry(state, frame, look, buffer, (row, entry), &places, style, &mut cell);
        if state.has_cursor(index) {
            fill(buffer, row, style);
        }
    }
}

fn style_of(state: &State, look: &Look, index: usize, entry: &Entry) -> Style {
    match entry.item {
        _ if state.has_cursor(index) && state.followed.is_some() => look.theme.followed,
        _ if state.has_cursor(index) => look.theme.selected,
        Item::Group(_) => look.theme.group,
        Item::ExitedName(_) | Item::Exited(_) => look.theme.exited,
        Item::Row(_) => look.theme.text,
    }
}

#[allow(clippy::too_many_arguments)] // all of them are needed for one line
fn draw_entry(
    state: &State,
    frame: &Frame,
    look: &Look,
    buffer: &mut Buffer,
    (row, entry): (u16, &Entry),
    places: &[Place],
    style: Style,
    cell: &mut Vec<u8>,
) {
    let (shown, is_task) = state.cells(frame, entry.item);
    let Row { task, usage, .. } = &shown;
    let settings = &state.settings;
    let cpus = if settings.is_of_machine { u64::from(frame.interval.online_cpus.max(1)) } else { 1 };
    let context = CellContext {
        length_ns: frame.cpu_length_ns() * cpus,
        users: &frame.users,
        memory_total_bytes: frame.around.statistics.memory.map(|memory| memory.total),
        has_arguments: settings.has_arguments && matches!(entry.item, Item::Row(_)),
        cmdline: state.arguments.of(task),
        is_task,
        subtree_ns: entry.subtree_ns,
        named: Some(&frame.around.named),
        is_exact: settings.is_exact,
    };
    let states = Cells::of(usage, frame.cpu_length_ns(), settings.is_exact);
    for (index, place) in places.iter().enumerate() {
        let column = match place.shown {
            ViewColumn::State(_) => {
                draw_state(buffer, (index, places), row, &states, look, style);
                continue;
            }
            ViewColumn::Column(column) => column,
        };
        let shows = column.cell();
        if shows == TableCell::Parts {
            draw_parts(
                buffer,
                place,
                row,
                (usage, context.length_ns.max(state.listing.most_ns)),
                look,
                style,
            );
            continue;
        }
        cell.clear();
        let is_sum = matches!(entry.item, Item::Group(_) | Item::ExitedName(_));
        if shows == TableCell::Command {
            append_branches(cell, entry, look);
        }
        match (is_sum, shows) {
            (true, TableCell::Id) => append_count(state, entry.item, look, cell),
            (true, TableCell::Command) => cell.extend_from_slice(sum_name(state, entry.item).as_bytes()),
            (true, _) if !column.is_of_sums() => {}
            _ => column.append(cell, &shown, &context),
        }
        if shows == TableCell::Command {
            scroll(cell, state.scrolled);
        }
        put_cell(buffer, place, row, &String::from_utf8_lossy(cell), style);
    }
}

/// A cell of states. CPU time that is not known by mode stands in the cells of user and system time, as one.
fn draw_state(
    buffer: &mut Buffer,
    (index, places): (usize, &[Place]),
    row: u16,
    states: &Cells,
    look: &Look,
    style: Style,
) {
    let place = &places[index];
    let ViewColumn::State(column) = place.shown else { return };
    match column.name {
        "STATES" => states::draw_bar(states, buffer, look, (place.from, row), place.to - place.from, style),
        "USR" if states.is_undivided() => {
            let to = places.get(index + 1).map_or(place.to, |next| next.to);
            let both = Place { from: place.from, to, shown: place.shown };
            put(buffer, &both, row, &states.undivided_text(), style);
        }
        "SYS" if states.is_undivided() => {}
        _ => put_cell(buffer, place, row, &states.text(column), style),
    }
}

fn append_count(state: &State, item: Item, look: &Look, cell: &mut Vec<u8>) {
    if let Item::Group(index) | Item::ExitedName(index) = item {
        let sign = if look.is_ascii { "x" } else { "×" };
        cell.extend_from_slice(format!("{sign}{}", state.listing.sums[index as usize].rows).as_bytes());
    }
}

fn sum_name(state: &State, item: Item) -> &str {
    match item {
        Item::Group(index) | Item::ExitedName(index) => state.listing.sums[index as usize].name.label(),
        Item::Row(_) | Item::Exited(_) => "",
    }
}

/// What stands in front of a command: lines to its parent, and whether something is below it.
fn append_branches(cell: &mut Vec<u8>, entry: &Entry, look: &Look) {
    let [stem, branch, last] = if look.is_ascii { ["| ", "|-", "`-"] } else { ["│ ", "├─", "└─"] };
    for generation in 0..entry.depth {
        let follows = entry.follows >> generation & 1 != 0;
        let piece = match (generation + 1 == entry.depth, follows) {
            (true, true) => branch,
            (true, false) => last,
            (false, true) => stem,
            (false, false) => "  ",
        };
        cell.extend_from_slice(piece.as_bytes());
    }
    match entry.fold {
        Some(true) => cell.extend_from_slice(b"[+] "),
        Some(false) if entry.depth == 0 && !matches!(entry.item, Item::Row(_)) => {
            cell.extend_from_slice(b"[-] ")
        }
        _ => {}
    }
}

/// Drops this number of columns of the text.
fn scroll(cell: &mut Vec<u8>, columns: usize) {
    if columns > 0 {
        let text = String::from_utf8_lossy(cell);
        let kept: String = text.chars().skip(columns).collect();
        *cell = kept.into_bytes();
    }
}

/// Writes a figure or a text into its cell. A figure that is too long for it is cut with a `+`, as it would be another one.
fn put_cell(buffer: &mut Buffer, place: &Place, row: u16, text: &str, style: Style) {
    let width = usize::from(place.to - place.from);
    if place.shown.is_left() || layout::width(text.as_bytes()) <= width {
        return put(buffer, place, row, text, style);
    }
    let mut bytes = text.as_bytes().to_vec();
    layout::cut(&mut bytes, width.saturating_sub(1));
    put(buffer, place, row, &(String::from_utf8_lossy(&bytes) + "+"), style);
}

/// Writes text, aligned; what is too long is cut.
fn put(buffer: &mut Buffer, place: &Place, row: u16, text: &str, style: Style) {
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

/// Self, exited threads and exited children as one bar. Its full width is one CPU or, where that is more, the time of the line with the most.
fn draw_parts(
    buffer: &mut Buffer,
    place: &Place,
    row: u16,
    (usage, full_ns): (&Usage, u64),
    look: &Look,
    style: Style,
) {
    let width = u64::from(place.to - place.from);
    let full_ns = full_ns.max(1);
    let marks = if look.is_ascii { ["|", "+", "="] } else { ["█", "▓", "▒"] };
    let styles = [look.theme.user, look.theme.system, look.theme.stolen];
    let parts = [usage.self_ns, usage.exited_threads_ns.unwrap_or(0), usage.exited_children_ns.unwrap_or(0)];
    let (mut column, mut sum) = (place.from, 0u64);
    for ((part_ns, mark), part_style) in parts.into_iter().zip(marks).zip(styles) {
        sum = sum.saturating_add(part_ns);
        let cells = (u128::from(width) * u128::from(sum) + u128::from(full_ns / 2)) / u128::from(full_ns);
        let end = place.from + (cells as u16).min(width as u16);
        while column < end {
            column = write(buffer, column, row, mark, style.patch(part_style));
        }
    }
}
