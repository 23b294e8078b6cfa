//! Where the cells of a line stand. A cell that does not fit pushes its neighbours to the right, and the line is back
//! in place at the next column that has room to spare, as in procps.

use std::cmp::Reverse;

use crate::cell;
use crate::column::{Align, Lines, Listed, Overflow, Text, listed, listed_fields};
use crate::file_figures as figures;
use crate::sort::Key;
use cpuledger_model::field::{Field, FieldInfo, FieldSet, Unit, Value};
use cpuledger_model::task::Task;
use cpuledger_names::lookups::Lookups;
use cpuledger_names::manner::Manner;
use cpuledger_names::row::{Row, Surroundings};

pub use crate::width::{cut, fitting, width, wrap};

/// One criterion of the order of a listing; the next one decides between rows that are equal.
#[derive(Debug, Clone)]
pub struct Criterion {
    /// The column whose key it is.
    pub by: Chosen,
    /// From large to small.
    pub descending: bool,
}

/// A key, or the text that stands for [`Key::AsShown`].
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Weight<'a> {
    Key(Key<'a>),
    Text(Vec<u8>),
}

/// Where a row belongs by one criterion, which is the same for all rows.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'a> {
    Ascending(Weight<'a>),
    Descending(Reverse<Weight<'a>>),
}

/// Sorts rows; those that are equal in everything keep their order.
pub fn sort(rows: &mut [&Task], criteria: &[Criterion], around: &Surroundings) {
    if criteria.is_empty() {
        return;
    }
    rows.sort_by_cached_key(|&task| {
        let row = Row::new(task, around);
        let rank = |criterion: &Criterion| match criterion.by.weight(&row) {
            weight if criterion.descending => Rank::Descending(Reverse(weight)),
            weight => Rank::Ascending(weight),
        };
        criteria.iter().map(rank).collect::<Vec<_>>()
    });
}

/// The least that a cut last column is taken for when lines are laid out.
const LAST_COLUMN_WIDTH: usize = 3;

/// Places for a set of signals, and how many more there are where the screen has room for all digits.
const SIGNALS_WIDTH: usize = 9;
const MORE_FOR_SIGNALS: usize = 7;
/// Places for the names of signals.
const SIGNAL_NAMES_WIDTH: usize = 31;

/// What a chosen column shows.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// A column of the tables.
    Column(&'static Listed),
    /// A field as it is.
    Field(&'static FieldInfo),
    /// The header in every line, without blanks around it.
    Literal,
}

/// Which line of a process it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The only one, of a process or a task.
    Whole,
    /// That of the process, above those of its threads.
    Process,
    /// That of a thread, below its process.
    Thread,
}

/// One line of a listing.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// What it is about.
    pub row: Row<'a>,
    /// What stands in front of a command: branches of a tree.
    pub prefix: &'a [u8],
    /// The places in it of each generation: a narrow column shows whole generations only.
    pub generation: usize,
    /// Which line of a process it is.
    pub part: Part,
}

impl<'a> From<Row<'a>> for Line<'a> {
    fn from(row: Row<'a>) -> Line<'a> {
        Line { row, prefix: b"", generation: 1, part: Part::Whole }
    }
}

/// A column as it was asked for.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// What it was called.
    pub name: String,
    /// What it shows.
    pub content: Content,
    /// The text above it; empty for none.
    pub header: String,
    /// Its width.
    pub width: usize,
    /// Its place in the column, where that is not the usual one.
    pub align: Option<Align>,
    /// Whether the environment stands after the command.
    pub environment: bool,
    /// Whether signals are written by name.
    pub signal_names: bool,
}

impl Chosen {
    fn new(name: &str, content: Content, header: String, width: usize) -> Chosen {
        Chosen {
            name: name.to_owned(),
            content,
            header,
            width,
            align: None,
            environment: false,
            signal_names: false,
        }
    }

    /// The text in every line.
    pub fn literal(text: &str) -> Chosen {
        Chosen::new("", Content::Literal, text.to_owned(), text.len())
    }

    /// The column, or else the field, of that name.
    pub fn by_name(name: &str) -> Option<Chosen> {
        if let Some((column, header)) = Listed::by_name(name) {
            let width = match column.align {
                // Which pids there can be is the caller's to know.
                Align::Pid => header.len(),
                _ => column.width,
            };
            return Some(Chosen::new(name, Content::Column(column), header.to_owned(), width));
        }
        let info = Field::by_key(name)?.info();
        let header = info.key.to_ascii_uppercase();
        let width = header.len().max(usual_width(info));
        Some(Chosen::new(name, Content::Field(info), header, width))
    }

    /// Changes what is shown under the same header: numbers of users and groups instead of their names, names of tasks
    /// instead of arguments, the environment after commands.
    pub fn reword(&mut self, numbers: bool, true_names: bool, environment: bool) {
        match self.text() {
            Text::NameOf(number) if numbers => {
                self.show(number);
                self.align = Some(Align::Right);
            }
            Text::Function if numbers => self.align = Some(Align::Right),
            Text::Arguments if true_names => self.show("comm"),
            _ => {}
        }
        self.environment = environment && matches!(self.text(), Text::Arguments | Text::Comm);
    }

    /// Names of signals instead of digits, if it is a column of such.
    pub fn name_signals(&mut self) {
        if self.align() == Align::Signals {
            self.signal_names = true;
            self.align = Some(Align::Left);
            self.width = SIGNAL_NAMES_WIDTH;
        }
    }

    fn show(&mut self, name: &str) {
        if let Some((column, _)) = Listed::by_name(name) {
            self.content = Content::Column(column);
        }
    }

    fn text(&self) -> Text {
        match self.content {
            Content::Column(column) => column.text,
            Content::Field(_) | Content::Literal => Text::Usual,
        }
    }

    /// Whether branches of a tree stand in front of it.
    fn is_command(&self) -> bool {
        matches!(self.text(), Text::Arguments | Text::Comm | Text::ShortComm)
    }

    /// The fields it asks of a source.
    pub fn fields(&self) -> FieldSet {
        match self.content {
            Content::Column(column) => column.fields(),
            Content::Field(info) => FieldSet::of(&[info.field]),
            Content::Literal => FieldSet::EMPTY,
        }
    }

    /// What has to be looked up for it.
    pub fn lookups(&self) -> Lookups {
        match self.content {
            Content::Column(column) if self.environment => column.lookups.union(Lookups::ENVIRONMENT),
            Content::Column(column) => column.lookups,
            Content::Field(_) | Content::Literal => Lookups::NONE,
        }
    }

    /// Appends the cell, unaligned.
    pub fn write(&self, line: &Line<'_>, into: &mut Vec<u8>) {
        self.write_within(usize::MAX, line, into);
    }

    /// The same. In front of a command are as many generations as fit into `places` places.
    fn write_within(&self, places: usize, line: &Line<'_>, into: &mut Vec<u8>) {
        if line.part == Part::Whole && line.prefix.is_empty() && !self.environment && !self.signal_names {
            return self.write_cell(&line.row, into); // nearly every cell
        }
        if !self.is_in(line.part) {
            return into.push(b'-');
        }
        if !line.prefix.is_empty() && self.is_command() {
            let generations = places.min(line.prefix.len()) / line.generation;
            into.extend_from_slice(&line.prefix[..generations * line.generation]);
        }
        self.write_cell(&line.row, into);
        if self.signal_names {
            cell::signal_names(into);
        }
        if self.environment && !figures::environment(&line.row).is_empty() {
            into.push(b' ');
            cell::environment(&line.row, into);
        }
    }

    /// Appends the cell of a row, as it stands in any line.
    fn write_cell(&self, row: &Row<'_>, into: &mut Vec<u8>) {
        match self.content {
            Content::Column(column) if knows(row, column) => (column.shown.0)(row, into),
            Content::Column(_) => into.push(b'-'),
            Content::Field(info) => cell::value(into, info.field.value(row.task)),
            Content::Literal => into.extend_from_slice(self.header.as_bytes()),
        }
    }

    /// The field, if it shows one as it is.
    pub(crate) fn value<'a>(&self, row: &Row<'a>) -> Option<Value<'a>> {
        match self.content {
            Content::Field(info) => Some(info.field.value(row.task)),
            Content::Column(_) | Content::Literal => None,
        }
    }

    /// Whether the source knew what it shows.
    pub(crate) fn is_known(&self, row: &Row<'_>) -> bool {
        match self.content {
            Content::Column(column) => knows(row, column),
            Content::Field(_) | Content::Literal => true,
        }
    }

    /// Whether `-` stands for nothing: at the left edge it may be a name.
    pub(crate) fn is_right(&self) -> bool {
        self.align() != Align::Left || self.text() == Text::Policy
    }

    /// Whether its digits are a number: those of signals, addresses and such like are hexadecimal.
    pub(crate) fn is_number(&self) -> bool {
        const HEXADECIMAL_WIDTH: usize = 16;
        matches!(self.align(), Align::Right | Align::Pid) && self.width < HEXADECIMAL_WIDTH
    }

    /// Whether it is shown in that line of a process.
    pub(crate) fn is_in(&self, part: Part) -> bool {
        let Content::Column(column) = self.content else { return true };
        match part {
            Part::Whole => true,
            Part::Process => column.lines != Lines::Task,
            Part::Thread => column.lines != Lines::Process,
        }
    }

    fn align(&self) -> Align {
        if let Some(align) = self.align {
            return align;
        }
        match self.content {
            Content::Column(column) => column.align,
            Content::Field(info) if matches!(info.field, Field::Comm | Field::State) => Align::Left,
            Content::Literal => Align::Left,
            Content::Field(_) => Align::Right,
        }
    }

    /// Whether, as the last column, it may be narrower than its width: what has a width of its own is not.
    fn may_be_narrow(&self) -> bool {
        self.overflow() == Overflow::Cut && self.text() != Text::ShortComm
    }

    /// What decides where the row belongs.
    fn weight<'a>(&self, row: &Row<'a>) -> Weight<'a> {
        let key = match self.content {
            Content::Column(column) if knows(row, column) => (column.shown.1)(row),
            Content::Column(_) => Key::Absent,
            Content::Field(info) => Key::from(info.field.value(row.task)),
            Content::Literal => Key::Absent,
        };
        match key {
            Key::AsShown => {
                let mut text = Vec::new();
                self.write_cell(row, &mut text);
                Weight::Text(text)
            }
            key => Weight::Key(key),
        }
    }

    fn overflow(&self) -> Overflow {
        match self.content {
            _ if self.signal_names => Overflow::Plus,
            Content::Column(column) => column.overflow,
            Content::Field(_) | Content::Literal => Overflow::Push,
        }
    }
}

/// Every name that [`Chosen::by_name`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let columns = listed().flat_map(|column| column.names.iter().map(|(name, _)| *name));
    columns.chain(listed_fields().map(|info| info.key))
}

/// Those of the names that show something, which is what a user may have meant.
pub fn shown_names() -> impl Iterator<Item = &'static str> {
    let columns = listed().filter(|column| column.dash.is_none());
    columns
        .flat_map(|column| column.names.iter().map(|(name, _)| *name))
        .chain(listed_fields().map(|info| info.key))
}

/// What a leader lets go of when it dies before its threads.
const MEMORY: FieldSet = FieldSet::of(&[Field::Vsize, Field::Rss, Field::Shared, Field::Swap, Field::Locked]);

/// Whether the cell is more than `-`. The memory of a process whose leader is dead is not known, as only its threads have
/// it still; procps shows the 0 of the leader, and its readers count on a number.
fn knows(row: &Row<'_>, column: &Listed) -> bool {
    let missing = column.needs.without(row.task.known);
    missing == FieldSet::EMPTY
        || row.manner() == Manner::Procps
            && missing.without(MEMORY) == FieldSet::EMPTY
            && row.task.is_leader()
            && row.is_defunct()
}

fn usual_width(info: &FieldInfo) -> usize {
    match info.unit {
        Unit::Nanoseconds => 15,
        Unit::Bytes => 12,
        Unit::Count => 8,
        Unit::None => 5,
    }
}

/// The columns of a listing side by side.
#[derive(Debug, Clone)]
pub struct Layout {
    columns: Vec<Chosen>,
    /// Of each column, what is the same in every line.
    places: Vec<Place>,
    /// Where lines end: a multiple of the screen's width that the columns fit in.
    line_width: usize,
    cell: Vec<u8>,
}

/// Where a column stands, worked out once.
#[derive(Debug, Clone)]
struct Place {
    align: Align,
    overflow: Overflow,
    /// To which width its cells are padded.
    pad_width: usize,
    /// From its begin to that of the next column.
    stride: usize,
    /// The blanks between it and the next column in any case.
    gap: usize,
    /// Whether of signals the last digits only are shown.
    shortens: bool,
}

impl Layout {
    /// The columns on a screen of that width; `None`: a line may be of any length.
    pub fn new(columns: Vec<Chosen>, screen_width: Option<usize>) -> Layout {
        let gaps = columns.windows(2).map(|pair| gap_between(&pair[0], &pair[1]));
        let least: usize = gaps.chain(columns.iter().map(|column| column.width)).sum();
        let spare = match columns.last() {
            Some(last) if last.may_be_narrow() => last.width.saturating_sub(LAST_COLUMN_WIDTH),
            _ => 0,
        };
        let least = least.saturating_sub(spare).max(1);
        let line_width = screen_width.map_or(usize::MAX / 2, |screen| least.next_multiple_of(screen.max(1)));
        let signals = columns.iter().filter(|column| column.align() == Align::Signals).count();
        let has_wide_signals = least + signals * MORE_FOR_SIGNALS <= line_width;
        let place = |(index, column): (usize, &Chosen)| {
            let next = columns.get(index + 1);
            Place::of(column, next, has_wide_signals)
        };
        let places = columns.iter().enumerate().map(place).collect();
        Layout { columns, places, line_width, cell: Vec::new() }
    }

    /// Its columns.
    pub fn columns(&self) -> &[Chosen] {
        &self.columns
    }

    /// Appends the line of headers, unless all are empty.
    pub fn write_header(&mut self, out: &mut Vec<u8>) {
        if self.columns.iter().any(|column| !column.header.is_empty()) {
            self.write_header_anyway(out);
        }
    }

    /// Appends the line of headers, be it blank.
    pub fn write_header_anyway(&mut self, out: &mut Vec<u8>) {
        self.write(out, false, |column, _, cell| cell.extend_from_slice(column.header.as_bytes()));
    }

    /// Appends a line.
    pub fn write_line(&mut self, line: &Line<'_>, out: &mut Vec<u8>) {
        self.write(out, true, |column, room, cell| column.write_within(room, line, cell));
    }

    fn write(&mut self, out: &mut Vec<u8>, cuts: bool, write_cell: impl Fn(&Chosen, usize, &mut Vec<u8>)) {
        let cell = &mut self.cell;
        let last = self.columns.len().saturating_sub(1);
        // Where the line is, where it should be, and the blanks due in any case.
        let (mut at, mut due, mut gap) = (0usize, 0usize, 0usize);
        for (index, (column, place)) in self.columns.iter().zip(&self.places).enumerate() {
            let begin = due.max(at + gap);
            let room = if index == last || begin >= self.line_width {
                self.line_width.saturating_sub(begin).max(1)
            } else {
                column.width
            };
            let cuts_to_room = cuts && place.overflow != Overflow::Push;
            let blanks_before = |pad: usize| if due + pad > at { due + pad - at } else { gap };
            let blanks;
            let mut cells;
            if place.align == Align::Left && !column.signal_names {
                // The blanks before it do not depend on it, so it is written in its place.
                blanks = blanks_before(0);
                out.resize(out.len() + blanks, b' ');
                let start = out.len();
                write_cell(column, room, out);
                cells = width(&out[start..]);
                if cuts_to_room && cells > room {
                    cell.clear();
                    cell.extend(out.drain(start..));
                    cells = cut_to(cell, room, place.overflow);
                    out.extend_from_slice(cell);
                }
            } else {
                cell.clear();
                write_cell(column, room, cell);
                if place.shortens && cuts {
                    shorten_signals(cell);
                }
                cells = if place.align == Align::Left || !cuts { width(cell) } else { cell.len() };
                if cuts_to_room && cells > room {
                    cells = cut_to(cell, room, place.overflow);
                }
                blanks = blanks_before(place.pad_width.saturating_sub(cells));
                out.resize(out.len() + blanks, b' ');
                out.extend_from_slice(cell);
            }
            at += blanks + cells;
            due += place.stride;
            gap = place.gap;
        }
        out.push(b'\n');
    }
}

/// Cuts a cell to its room, and returns its width.
fn cut_to(cell: &mut Vec<u8>, room: usize, overflow: Overflow) -> usize {
    match overflow {
        Overflow::Plus => {
            cut(cell, room - 1);
            cell.push(b'+');
        }
        _ => cut(cell, room),
    }
    width(cell)
}

impl Place {
    fn of(column: &Chosen, next: Option<&Chosen>, has_wide_signals: bool) -> Place {
        let align = column.align();
        let is_signals = align == Align::Signals;
        let more = if is_signals && has_wide_signals { MORE_FOR_SIGNALS } else { 0 };
        let gap = next.map_or(0, |next| gap_between(column, next));
        Place {
            align,
            overflow: column.overflow(),
            pad_width: match align {
                Align::Left => 0,
                Align::Signals => SIGNALS_WIDTH + more,
                Align::Right | Align::Pid => column.width,
            },
            stride: column.width + more + gap,
            gap,
            shortens: is_signals && !has_wide_signals,
        }
    }
}

/// Of 16 digits the last 8, with a `<` in front if the others are not all 0.
fn shorten_signals(digits: &mut Vec<u8>) {
    const SHOWN: usize = 8;
    let Some(hidden) = digits.len().checked_sub(SHOWN) else { return };
    let is_more = digits[..hidden].iter().any(|&digit| digit != b'0');
    digits.drain(..hidden);
    if is_more {
        digits.insert(0, b'<');
    }
}

/// The blanks between two columns that are as wide as they should be.
fn gap_between(column: &Chosen, next: &Chosen) -> usize {
    let is_literal = |column: &Chosen| matches!(column.content, Content::Literal);
    usize::from(!is_literal(column) && !is_literal(next))
}

#[cfg(test)]
mod tests;
