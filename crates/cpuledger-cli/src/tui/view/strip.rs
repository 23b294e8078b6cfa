//! The graph of the head: what was used of the machine in the last minutes or, on the way through time, around the interval that is
//! shown, and where that is. A cell has two intervals side by side, in dots; ASCII has the higher of them.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::canvas::{Look, step, write};
use crate::tui::state::{State, TimeLine};
use crate::tui::travel::Cell;

/// Dots above each other in a cell; ASCII has steps instead.
const DOTS: u32 = 4;
const STEPS: u32 = 8;

/// What is written in front of the cells of one line, and where there is little room.
const LIVE: [&str; 2] = ["CPU until now ", "until now "];
const PAST: [&str; 2] = ["CPU over time ", "over time "];

/// Cells that have room behind the longer words, and behind the shorter ones.
const LEAST_CELLS: [usize; 2] = [12, 4];

/// What is written in front of more lines than one.
const SCALE: [&str; 3] = ["100 % ", "  CPU ", "  0 % "];

/// From this height on there is an empty line below the head.
pub(super) const LEAST_HEIGHT_WITH_GAP: u16 = 30;

/// From this width on, the graph has lines of its own, if there is an empty one below the head.
const LEAST_WIDTH_OF_GRAPH: u16 = 100;

/// It is not wider than this.
const MOST_OF_GRAPH: u16 = 80;

/// Blanks in front of the graph.
const BEFORE_GRAPH: u16 = 2;

/// Where the graph is if it has lines of its own.
pub(super) fn own_lines(state: &State, (width, height): (u16, u16)) -> Option<Rect> {
    let has_room = width >= LEAST_WIDTH_OF_GRAPH && height >= LEAST_HEIGHT_WITH_GAP;
    let wide = (width * 2 / 5).min(MOST_OF_GRAPH);
    // The balance to the nanosecond takes all of its line.
    let first = if state.settings.is_exact { 2 } else { 1 };
    has_room.then(|| Rect::new(width - wide, first, wide, 4 - first))
}

/// How much of the lines is left of the graph.
pub(super) fn left_of(graph: Option<Rect>, width: u16) -> u16 {
    graph.map_or(width, |graph| graph.left() - BEFORE_GRAPH)
}

/// The intervals of a column of the screen, by their place among all: the one at its left half, and the one at its right.
type Column = [Option<usize>; 2];

/// What the graph shows.
struct Graph {
    cells: Vec<Cell>,
    /// The interval that the screen shows.
    position: usize,
    /// It is of the past, and has a column of its own.
    is_past: bool,
}

impl Graph {
    /// `None`: no interval is over.
    fn of(state: &State) -> Option<Graph> {
        if let Some(strip) = &state.strip {
            let (cells, position) = (strip.cells.clone(), strip.position);
            return (!cells.is_empty()).then_some(Graph { cells, position, is_past: true });
        }
        let cells: Vec<Cell> = state.history.machine().collect();
        let position = cells.len().checked_sub(1)?;
        Some(Graph { cells, position, is_past: false })
    }

    /// The columns that are seen in this room, and which of them has the interval that is shown alone.
    fn columns(&self, room: usize) -> (Vec<Column>, Option<usize>) {
        let count = self.cells.len();
        // Those that are left of it, the nearest first.
        let end = if self.is_past { self.position } else { count };
        let left = |nth: usize| -> Column {
            let right = end - 1 - nth * 2;
            [right.checked_sub(1), Some(right)]
        };
        let mut before: Vec<Column> = (0..end.div_ceil(2)).take(room).map(left).collect();
        if !self.is_past {
            before.reverse();
            return (before, None);
        }
        let right = |nth: usize| -> Column {
            let left = end + 1 + nth * 2;
            [Some(left), Some(left + 1).filter(|next| *next < count)]
        };
        let after = (count - 1 - end).div_ceil(2);
        // What is shown is in the middle, unless there is nothing more on a side.
        let room = room.saturating_sub(1);
        let after_seen = after.min(room.saturating_sub(before.len().min(room / 2)));
        before.truncate(room - after_seen);
        before.reverse();
        let here = before.len();
        before.push([Some(self.position); 2]);
        before.extend((0..after_seen).map(right));
        (before, Some(here))
    }

    /// How many intervals on a click on a column goes: to that of its two which is nearer.
    fn steps(&self, column: Column) -> i64 {
        let steps = column.into_iter().flatten().map(|cell| cell as i64 - self.position as i64);
        steps.min_by_key(|steps| steps.abs()).unwrap_or(0)
    }
}

/// The words of one line.
fn words(state: &State, width: u16) -> &'static str {
    let words = if state.strip.is_some() { PAST } else { LIVE };
    let fits = |(words, cells): &(&str, usize)| words.len() + cells <= width.into();
    words.into_iter().zip(LEAST_CELLS).find(fits).map_or("", |(words, _)| words)
}

/// How wide the words are.
fn before(state: &State, area: Rect) -> u16 {
    if area.height > 1 { SCALE[0].len() as u16 } else { words(state, area.width).len() as u16 }
}

/// The graph as it is seen.
struct Seen {
    graph: Graph,
    columns: Vec<Column>,
    /// Which of the columns has the interval that is shown alone, between two sides of a frame.
    here: Option<usize>,
    /// How wide the words are, which are in front of the columns.
    before: u16,
    /// Where the columns begin: the newest is at the right edge.
    from: u16,
}

impl Seen {
    /// `None`: no interval is over.
    fn of(state: &State, area: Rect) -> Option<Seen> {
        let graph = Graph::of(state)?;
        let frame = if graph.is_past { 2 } else { 0 };
        let before = before(state, area);
        let (columns, here) = graph.columns(usize::from(area.width.saturating_sub(before + frame)));
        let from = area.right().saturating_sub(columns.len() as u16 + frame);
        Some(Seen { graph, columns, here, before, from })
    }
}

/// Where the columns are, and what a click on each of them does. `None`: there are none.
pub(super) fn place(state: &State, area: Rect) -> Option<TimeLine> {
    let Seen { graph, columns, here, from, .. } = Seen::of(state, area)?;
    let mut steps: Vec<i64> = columns.into_iter().map(|column| graph.steps(column)).collect();
    if let Some(here) = here {
        // The lines on both sides of it.
        steps.splice(here..=here, [0; 3]);
    }
    Some(TimeLine { from, rows: (area.top(), area.bottom()), steps })
}

/// Draws it there.
pub(super) fn draw(state: &State, look: &Look, buffer: &mut Buffer, area: Rect) {
    let Some(Seen { graph, columns, here, before, from }) = Seen::of(state, area) else { return };
    let mut column = from;
    if area.height > 1 {
        for (row, words) in (area.top()..area.bottom()).zip(scale(area.height)) {
            write(buffer, column.saturating_sub(before), row, words, look.theme.label);
        }
    } else {
        write(buffer, column.saturating_sub(before), area.top(), words(state, area.width), look.theme.label);
    }
    for (nth, of) in columns.into_iter().enumerate() {
        let is_here = here == Some(nth);
        if is_here {
            draw_side(buffer, column, area, look, 0);
            column += 1;
        }
        draw_column(&graph, of, look, buffer, (column, area), is_here);
        column += 1;
        if is_here {
            draw_side(buffer, column, area, look, 1);
            column += 1;
        }
    }
}

/// What stands in front of each line, of two or three.
fn scale(height: u16) -> impl Iterator<Item = &'static str> {
    SCALE.into_iter().enumerate().filter(move |(nth, _)| height > 2 || *nth < 2).map(|(_, words)| words)
}

/// A side of the frame around the interval that is shown.
fn draw_side(buffer: &mut Buffer, column: u16, area: Rect, look: &Look, side: usize) {
    for row in area.top()..area.bottom() {
        let mark = match (look.is_ascii || area.height == 1, row) {
            (true, _) => ["[", "]"],
            (false, row) if row == area.top() => ["┌", "┐"],
            (false, row) if row + 1 == area.bottom() => ["└", "┘"],
            (false, _) => ["│", "│"],
        };
        write(buffer, column, row, mark[side], look.theme.mark);
    }
}

/// One column, from the bottom to the top.
fn draw_column(
    graph: &Graph,
    of: Column,
    look: &Look,
    buffer: &mut Buffer,
    (column, area): (u16, Rect),
    is_here: bool,
) {
    let levels = if look.is_ascii { STEPS } else { DOTS };
    let cells = of.map(|cell| cell.and_then(|cell| graph.cells.get(cell).copied()));
    let is_gap = cells.contains(&Some(Cell::Gap));
    for (nth, row) in (area.top()..area.bottom()).rev().enumerate() {
        let of_row = |height: u32| height.saturating_sub(nth as u32 * levels).min(levels);
        let all = levels * u32::from(area.height);
        let heights = cells.map(|cell| cell.map_or([0, 0], |cell| heights(cell, all).map(of_row)));
        let is_bottom = nth == 0;
        let (mark, style) = match heights {
            _ if is_gap && is_bottom => (if look.is_ascii { '?' } else { '·' }, look.theme.label),
            _ if is_gap => (' ', look.theme.label),
            [[0, _], [0, _]] if !is_bottom => (' ', look.theme.label),
            // It is known that nothing was used, which is not the same as unknown.
            [[0, _], [0, _]] => {
                (mark(cells.map(|cell| u32::from(cell.is_some())), look, true), look.theme.idle)
            }
            [[left, _], [right, _]] => {
                let least = cells.map(|cell| u32::from(is_bottom && cell.is_some()));
                let dots = [left.max(least[0]), right.max(least[1])];
                (mark(dots, look, false), style(heights, (nth, area.height), levels, look))
            }
        };
        let style = if is_here { look.theme.selected } else { style };
        write(buffer, column, row, &mark.to_string(), style);
    }
}

/// How high an interval is of so many levels, rounded up as what was used is seen; and how much of it is user time.
fn heights(cell: Cell, levels: u32) -> [u32; 2] {
    let Cell::Used { share, user } = cell else { return [0, 0] };
    let height = (share * levels).div_ceil(1000).min(levels);
    [height, user.map_or(height, |user| ((user * levels + 500) / 1000).min(height))]
}

/// The colour of a cell: that of what it has most of, and brighter above.
fn style(heights: [[u32; 2]; 2], (nth, lines): (usize, u16), levels: u32, look: &Look) -> Style {
    let all: u32 = heights.iter().map(|[height, _]| height).sum();
    let user: u32 = heights.iter().map(|[_, user]| user).sum();
    if user * 2 < all {
        return look.theme.system;
    }
    let last = look.theme.graph.len() - 1;
    let place = match lines {
        // By what is there.
        1 => (all as usize * last).div_ceil(2 * levels as usize),
        lines => nth * last / (usize::from(lines) - 1),
    };
    look.theme.graph[place.min(last)]
}

/// The character for these levels of the left and the right half.
fn mark([left, right]: [u32; 2], look: &Look, is_idle: bool) -> char {
    const LEFT: [u32; 5] = [0x00, 0x40, 0x44, 0x46, 0x47];
    const RIGHT: [u32; 5] = [0x00, 0x80, 0xa0, 0xb0, 0xb8];
    if look.is_ascii {
        let share = if is_idle { 0 } else { left.max(right) * 1000 / STEPS };
        return step(share, true);
    }
    let dots = |of: [u32; 5], level: u32| of[(level as usize).min(of.len() - 1)];
    match dots(LEFT, left) | dots(RIGHT, right) {
        0 => ' ',
        dots => char::from_u32(0x2800 + dots).unwrap_or(' '),
    }
}
