//! The cells of one line.

use cpuledger::Task;
use cpuledger::interval::{Row, Usage};
use cpuledger_view::column::TableCell;
use cpuledger_view::interval::column::{CellContext, TableColumn, per_mille};
use cpuledger_view::layout;
use cpuledger_view::shares::cells::Cells;
use cpuledger_view::shares::{StateCell, StateColumn};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::part::{How, Part};
use crate::tui::frame::Frame;
use crate::tui::listing::{Entry, Item};
use crate::tui::state::State;
use crate::tui::theme::LEAST_BRIGHT;
use crate::tui::view::canvas::{Look, draw_sparkline, write};
use crate::tui::view::place::{Place, put, put_cell, put_part};
use crate::tui::view::states;

/// What lines are drawn with.
pub(super) struct Line<'a> {
    state: &'a State,
    frame: &'a Frame,
    look: &'a Look,
    places: &'a [Place],
    cell: Vec<u8>,
    /// What has full height in the column of history.
    most: u64,
}

/// A line that is being drawn.
#[derive(Clone, Copy)]
struct At<'a> {
    row: u16,
    entry: &'a Entry,
    style: Style,
    has_cursor: bool,
    /// It is part of a line above.
    part: Option<&'a Part>,
}

impl At<'_> {
    /// How a figure is shown.
    fn how(&self, column: TableColumn) -> How {
        self.part.map_or(How::Usual, |part| part.how(column))
    }

    /// Whether it is of the dead.
    fn is_dead(&self) -> bool {
        matches!(self.entry.item, Item::Exited(_) | Item::ExitedName(_))
    }

    /// The style of a cell whose meaning has a colour.
    fn styled(&self, style: Style) -> Style {
        if self.has_cursor { self.style } else { self.style.patch(style) }
    }
}

impl<'a> Line<'a> {
    pub(super) fn new(state: &'a State, frame: &'a Frame, look: &'a Look, places: &'a [Place]) -> Line<'a> {
        Line { state, frame, look, places, cell: Vec::new(), most: state.history.most() }
    }

    /// Draws a line.
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        row: u16,
        entry: &Entry,
        style: Style,
        has_cursor: bool,
    ) {
        let Line { state, frame, look, places, .. } = *self;
        let (shown, is_task) = state.cells(frame, entry.item);
        let part = Part::of(state, frame, entry, &shown, places);
        let at = At { row, entry, style, has_cursor, part: part.as_ref() };
        let settings = &state.settings;
        let context = CellContext {
            length_ns: frame.cpu_length_ns() * state.cpus_in_whole(frame),
            interval_ns: frame.cpu_length_ns(),
            users: &frame.users,
            memory_total_bytes: frame.around.statistics.memory.map(|memory| memory.total),
            has_arguments: state.shows_arguments() && matches!(entry.item, Item::Row(_) | Item::Alike(_)),
            cmdline: arguments(state, entry, &shown.task).map(|line| match settings.arguments {
                Some(_) => line,
                None => without_directory(line),
            }),
            is_task,
            subtree_ns: entry.subtree_ns,
            named: Some(&frame.around.named),
            has_units: true,
            is_exact: settings.is_exact,
        };
        let states = Cells::of(&shown.usage, frame.cpu_length_ns(), settings.is_exact);
        for (index, place) in places.iter().enumerate() {
            if let TableColumn::State(column) = place.shown {
                self.draw_state(buffer, (index, column), at, &states);
                continue;
            }
            match place.shown.cell() {
                TableCell::Parts => {
                    let full_ns = context.length_ns.max(state.listing.most_ns);
                    let row = part.as_ref().map_or(&shown, |part| &part.row);
                    draw_parts(buffer, place, at, (&row.usage, full_ns), look);
                }
                TableCell::History => self.draw_history(buffer, place, at),
                _ => self.draw_column(buffer, place, at, &shown, &context),
            }
        }
    }

    fn draw_column(
        &mut self,
        buffer: &mut Buffer,
        place: &Place,
        at: At<'_>,
        shown: &Row,
        context: &CellContext<'_>,
    ) {
        let column = place.shown;
        let shows = column.cell();
        let how = at.how(column);
        let shown = match (how, at.part) {
            (How::Nowhere, _) => return,
            (How::AsPart, Some(part)) => &part.row,
            _ => shown,
        };
        self.cell.clear();
        let is_alike = matches!(at.entry.item, Item::Alike(_));
        let is_sum = is_alike || matches!(at.entry.item, Item::Group(_) | Item::ExitedName(_));
        if shows == TableCell::Command {
            append_branches(&mut self.cell, at.entry, self.look);
        }
        let branches = self.cell.len();
        match (is_sum, shows) {
            (true, TableCell::Id) => append_count(self.state, at.entry.item, self.look, &mut self.cell),
            (true, TableCell::Command) if !is_alike => {
                append_sum_name(self.state, at.entry.item, self.look, &mut self.cell)
            }
            (true, _) if !(column.is_of_sums() || is_alike && is_in_common(column)) => {}
            _ => column.append(&mut self.cell, shown, context),
        }
        if shows == TableCell::Command {
            scroll(&mut self.cell, self.state.scrolled);
            let width = usize::from(place.to - place.from);
            if has_names(self.state, at.entry.item) {
                cut_list(&mut self.cell, width, self.look.is_ascii);
            } else if !context.has_arguments {
                shorten(&mut self.cell, branches, width, self.look.is_ascii);
            }
        }
        let text = String::from_utf8_lossy(&self.cell);
        if !context.is_exact && is_zero(column, &text) {
            return self.draw_nothing(buffer, place, at);
        }
        let style = match shows {
            TableCell::Share if column.name() == "%CPU" && !at.is_dead() => {
                let heat = self.look.theme.heat(per_mille(shown.usage.cpu_ns, context.interval_ns));
                heat.map_or(at.style, |heat| at.styled(heat))
            }
            _ => at.style,
        };
        if how == How::InParentheses && text != "-" {
            return put_part(buffer, place, at.row, &text, style);
        }
        put_cell(buffer, place, at.row, &text, style);
        if shows == TableCell::Command && context.has_arguments && !at.has_cursor {
            dim_arguments(buffer, place, at.row, (text.as_ref(), branches), self.look);
        }
    }

    /// A cell of states. CPU time that is not known by mode stands in the cells of user and system time, as one.
    fn draw_state(
        &self,
        buffer: &mut Buffer,
        (index, column): (usize, &StateColumn),
        at: At<'_>,
        states: &Cells,
    ) {
        let place = &self.places[index];
        match column.name {
            "STATES" => {
                let width = place.to - place.from;
                let style = (at.style, !at.is_dead());
                states::draw_bar(states, buffer, self.look, (place.from, at.row), width, style);
            }
            "USR" if states.is_undivided() => {
                let to = self.places.get(index + 1).map_or(place.to, |next| next.to);
                let both = Place { from: place.from, to, shown: place.shown };
                put(buffer, &both, at.row, &states.undivided_text(), at.style);
            }
            "SYS" if states.is_undivided() => {}
            _ => {
                let text = states.text(column);
                let is_zero = !states.is_exact() && matches!(text.as_str(), "0.0" | "(0.0)");
                if is_zero {
                    return self.draw_nothing(buffer, place, at);
                }
                let style = match column.cell {
                    // Of the living alone: the others are not measured by the interval.
                    _ if at.is_dead() => at.style,
                    StateCell::Share(parts) => at.styled(states::style_of(parts, states, self.look)),
                    StateCell::Io if text != "-" => at.styled(self.look.theme.error),
                    StateCell::Io | StateCell::Held | StateCell::Bar => at.style,
                };
                put_cell(buffer, place, at.row, &text, style);
            }
        }
    }

    /// What is nothing, with less ink.
    fn draw_nothing(&self, buffer: &mut Buffer, place: &Place, at: At<'_>) {
        let dot = if self.look.is_ascii { "." } else { "·" };
        put_cell(buffer, place, at.row, dot, at.styled(self.look.theme.label));
    }

    /// The share of a CPU in the last intervals; the most that any row had has full height.
    fn draw_history(&self, buffer: &mut Buffer, place: &Place, at: At<'_>) {
        let Item::Row(row) = at.entry.item else { return };
        if self.state.strip.is_some() {
            return;
        }
        let shares = self.state.history.of(row.kind, self.frame.whole(row).id());
        let width = usize::from(place.to - place.from);
        let seen = &shares[shares.len().saturating_sub(width)..];
        let theme = &self.look.theme;
        let style = |share| at.styled(if share < LEAST_BRIGHT { theme.idle } else { theme.user });
        let from = place.to - seen.len() as u16;
        draw_sparkline(seen, self.most, self.look, buffer, (from, at.row), style);
    }
}

/// The arguments of a line, separated by NUL, as far as they are known.
fn arguments<'a>(state: &'a State, entry: &Entry, task: &Task) -> Option<&'a [u8]> {
    match entry.item {
        Item::Alike(sum) => state.listing.alike(sum)?.of.arguments.as_deref(),
        _ => state.arguments.of(task),
    }
}

/// Gives what stands behind the name of a program less weight.
fn dim_arguments(buffer: &mut Buffer, place: &Place, row: u16, (text, branches): (&str, usize), look: &Look) {
    let Some(length) = text.get(branches..).and_then(|name| name.find(' ')) else { return };
    let from = place.from + layout::width(&text.as_bytes()[..branches + length]) as u16;
    let area = Rect::new(from, row, place.to.saturating_sub(from), 1);
    buffer.set_style(area.intersection(buffer.area), look.theme.label);
}

/// Arguments without the directory of the program: where they are shown because there is room, that is for what tells rows apart.
fn without_directory(cmdline: &[u8]) -> &[u8] {
    if !cmdline.starts_with(b"/") {
        return cmdline;
    }
    let end = cmdline.iter().position(|byte| matches!(byte, 0 | b' ')).unwrap_or(cmdline.len());
    let name = cmdline[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |place| place + 1);
    if name == end { cmdline } else { &cmdline[name..] }
}

/// Whether processes that are alike have the same in that column.
fn is_in_common(column: TableColumn) -> bool {
    let is_parent = column.key().is_some_and(|key| key.name() == "ppid");
    is_parent || column.cell() == TableCell::User || column.cell().name().is_some()
}

/// Whether a figure is nothing, which a dot says with less ink.
fn is_zero(column: TableColumn, text: &str) -> bool {
    let is_figure = matches!(
        column.cell(),
        TableCell::Share
            | TableCell::ElapsedShare
            | TableCell::Rate
            | TableCell::Subtree
            | TableCell::MemoryShare
    );
    is_figure && matches!(text, "0.0" | "0B")
}

fn append_count(state: &State, item: Item, look: &Look, cell: &mut Vec<u8>) {
    if let Item::Group(index) | Item::ExitedName(index) | Item::Alike(index) = item {
        let sign = if look.is_ascii { "x" } else { "×" };
        cell.extend_from_slice(format!("{sign}{}", state.listing.sums[index as usize].rows).as_bytes());
    }
}

fn append_sum_name(state: &State, item: Item, look: &Look, cell: &mut Vec<u8>) {
    let (Item::Group(index) | Item::ExitedName(index)) = item else { return };
    let Some(others) = state.listing.others(index) else {
        cell.extend_from_slice(state.listing.sums[index as usize].name.label().as_bytes());
        return;
    };
    let sign = if look.is_ascii { 'x' } else { '×' };
    let counted = |(name, count): &(String, usize)| match count {
        1 => name.clone(),
        count => format!("{name} {sign}{count}"),
    };
    let mut names: Vec<String> = others.names.iter().map(counted).collect();
    if others.more > 0 {
        names.push(format!("{} more", others.more));
    }
    cell.extend_from_slice(names.join(", ").as_bytes());
}

/// Whether it is a line with several names.
fn has_names(state: &State, item: Item) -> bool {
    matches!(item, Item::ExitedName(index) if state.listing.others(index).is_some())
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
        Some(false) if !matches!(entry.item, Item::Row(_)) => cell.extend_from_slice(b"[-] "),
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

/// Takes what there is no room for from the middle of a name: both its ends say which it is.
fn shorten(cell: &mut Vec<u8>, branches: usize, width: usize, is_ascii: bool) {
    if layout::width(cell) <= width {
        return;
    }
    let text = String::from_utf8_lossy(cell).into_owned();
    let Some((before, name)) = text.split_at_checked(branches.min(text.len())) else { return };
    let gap = if is_ascii { "~" } else { "…" };
    let room = width.saturating_sub(before.chars().count() + 1);
    let letters: Vec<char> = name.chars().collect();
    // Letters may be two columns wide; what is too long still is cut where the column ends.
    let head = room.div_ceil(2).min(letters.len());
    let tail = (room / 2).min(letters.len() - head);
    let [head, tail] = [&letters[..head], &letters[letters.len() - tail..]].map(String::from_iter);
    *cell = format!("{before}{head}{gap}{tail}").into_bytes();
}

/// Cuts a list at its end, and says so.
fn cut_list(cell: &mut Vec<u8>, width: usize, is_ascii: bool) {
    if layout::width(cell) > width {
        layout::cut(cell, width.saturating_sub(1));
        cell.extend_from_slice(if is_ascii { "~" } else { "…" }.as_bytes());
    }
}

/// Self, exited threads and exited children as one bar. Its full width is one CPU or, where that is more, the time of the line with the most.
fn draw_parts(buffer: &mut Buffer, place: &Place, at: At<'_>, (usage, full_ns): (&Usage, u64), look: &Look) {
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
            column = write(buffer, column, at.row, mark, at.styled(part_style));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_without_its_directory() {
        for (line, expected) in [
            ("/usr/bin/make\0-C\0/src", "make\0-C\0/src"),
            ("make\0/src", "make\0/src"),
            ("/sbin/init splash /x", "init splash /x"),
            ("/odd/\0x", "/odd/\0x"),
            ("", ""),
        ] {
            assert_eq!(without_directory(line.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        let shortened = |name: &str, branches, width| {
            let mut cell = name.as_bytes().to_vec();
            shorten(&mut cell, branches, width, false);
            String::from_utf8(cell).expect("UTF-8")
        };
        assert_eq!(shortened("/system.slice/postgresql.service", 0, 15), "/system…service");
        assert_eq!(shortened("└─kworker/u8:3", "└─".len(), 10), "└─kwor…8:3");
        assert_eq!(shortened("short", 0, 15), "short");
        assert_eq!(shortened("größer", 0, 1), "…");
    }
}
