//! Where the cells of a line stand. A cell that does not fit pushes its neighbours to the right, and the line is back
//! in place at the next column that has room to spare, as in procps.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::field::{FIELDS, Field, FieldInfo, FieldSet, Unit, Value};
use crate::machine::tid_digits;
use crate::render::cell;
use crate::render::column::{Align, COLUMNS, Column, Lookups, Overflow};
use crate::render::escape::append_escaped;
use crate::render::row::Row;
use crate::view::sort::Key;

/// The least that a cut last column is taken for when lines are laid out.
const LAST_COLUMN_WIDTH: usize = 3;

/// What a chosen column shows.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// A column of [`COLUMNS`].
    Column(&'static Column),
    /// A field as it is.
    Field(&'static FieldInfo),
}

/// A column as somebody asked for it.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// What it shows.
    pub content: Content,
    /// The text above it; empty for none.
    pub header: String,
    /// Its width.
    pub width: usize,
}

impl Chosen {
    /// The column, or else the field, of that name.
    pub fn by_name(name: &str) -> Option<Chosen> {
        if let Some((column, header)) = Column::by_name(name) {
            let width = match column.align {
                Align::Pid => tid_digits().max(header.len()),
                _ => column.width,
            };
            return Some(Chosen { content: Content::Column(column), header: header.to_owned(), width });
        }
        let info = Field::by_key(name)?.info();
        let header = info.key.to_ascii_uppercase();
        let width = header.len().max(usual_width(info));
        Some(Chosen { content: Content::Field(info), header, width })
    }

    /// The fields it asks of a source.
    pub fn fields(&self) -> FieldSet {
        match self.content {
            Content::Column(column) => column.fields(),
            Content::Field(info) => FieldSet::of(&[info.field]),
        }
    }

    /// What has to be looked up for it.
    pub fn lookups(&self) -> Lookups {
        match self.content {
            Content::Column(column) => column.lookups,
            Content::Field(_) => Lookups::NONE,
        }
    }

    /// What a row is sorted by.
    pub fn key<'a>(&self, row: &Row<'a>) -> Key<'a> {
        match self.content {
            Content::Column(column) if knows(row, column) => (column.key)(row),
            Content::Column(_) => Key::Absent,
            Content::Field(info) => Key::from(info.field.value(row.task)),
        }
    }

    /// Appends the cell, unaligned.
    fn write(&self, row: &Row<'_>, into: &mut Vec<u8>) {
        match self.content {
            Content::Column(column) if knows(row, column) => (column.write)(row, into),
            Content::Column(_) => into.push(b'-'),
            Content::Field(info) => write_value(info.field.value(row.task), into),
        }
    }

    fn align(&self) -> Align {
        match self.content {
            Content::Column(column) => column.align,
            Content::Field(info) if matches!(info.field, Field::Comm | Field::State) => Align::Left,
            Content::Field(_) => Align::Right,
        }
    }

    fn overflow(&self) -> Overflow {
        match self.content {
            Content::Column(column) => column.overflow,
            Content::Field(_) => Overflow::Push,
        }
    }
}

/// Every name that [`Chosen::by_name`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let columns = COLUMNS.iter().flat_map(|column| column.names.iter().map(|(name, _)| *name));
    columns.chain(field_columns().map(|info| info.key))
}

/// The fields that are no column of the table, and so are columns as they are.
pub fn field_columns() -> impl Iterator<Item = &'static FieldInfo> {
    FIELDS.iter().filter(|info| Column::by_name(info.key).is_none())
}

fn knows(row: &Row<'_>, column: &Column) -> bool {
    column.needs.without(row.task.known) == FieldSet::EMPTY
}

fn usual_width(info: &FieldInfo) -> usize {
    match info.unit {
        Unit::Nanoseconds => 15,
        Unit::Bytes => 12,
        Unit::Count => 8,
        Unit::None => 5,
    }
}

fn write_value(value: Value<'_>, into: &mut Vec<u8>) {
    match value {
        Value::Absent => into.push(b'-'),
        Value::Unsigned(number) => cell::unsigned(into, number),
        Value::Signed(number) => cell::unsigned(into, number),
        Value::Letter(letter) => into.push(letter),
        Value::Bytes(bytes) => append_escaped(into, bytes),
    }
}

/// The columns of a listing side by side.
#[derive(Debug)]
pub struct Layout {
    columns: Vec<Chosen>,
    /// Where lines end: a multiple of the screen's width that the columns fit in.
    line_width: usize,
    cell: Vec<u8>,
}

impl Layout {
    /// The columns on a screen of that width; `None`: a line may be of any length.
    pub fn new(columns: Vec<Chosen>, screen_width: Option<usize>) -> Layout {
        let least: usize = columns.iter().map(|column| column.width + 1).sum();
        let spare = match columns.last() {
            Some(last) if last.overflow() == Overflow::Cut => last.width.saturating_sub(LAST_COLUMN_WIDTH),
            _ => 0,
        };
        let least = least.saturating_sub(1 + spare).max(1);
        let line_width = screen_width.map_or(usize::MAX / 2, |screen| least.next_multiple_of(screen.max(1)));
        Layout { columns, line_width, cell: Vec::new() }
    }

    /// Its columns.
    pub fn columns(&self) -> &[Chosen] {
        &self.columns
    }

    /// Appends the line of headers, unless all are empty.
    pub fn write_header(&mut self, out: &mut Vec<u8>) {
        if self.columns.iter().any(|column| !column.header.is_empty()) {
            self.write(out, false, |column, cell| cell.extend_from_slice(column.header.as_bytes()));
        }
    }

    /// Appends the line of a row.
    pub fn write_row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) {
        self.write(out, true, |column, cell| column.write(row, cell));
    }

    fn write(&mut self, out: &mut Vec<u8>, cuts: bool, write_cell: impl Fn(&Chosen, &mut Vec<u8>)) {
        let cell = &mut self.cell;
        let last = self.columns.len().saturating_sub(1);
        // Where the line is, where it should be, and the blanks due in any case.
        let (mut at, mut due, mut gap) = (0usize, 0usize, 0usize);
        for (index, column) in self.columns.iter().enumerate() {
            cell.clear();
            write_cell(column, cell);
            let (align, overflow) = (column.align(), column.overflow());
            let begin = due.max(at + gap);
            let room = if index == last || begin >= self.line_width {
                self.line_width.saturating_sub(begin).max(1)
            } else {
                column.width
            };
            let mut cells = if align == Align::Left || !cuts { width(cell) } else { cell.len() };
            if cuts && cells > room && overflow != Overflow::Push {
                match overflow {
                    Overflow::Plus => {
                        cut(cell, room - 1);
                        cell.push(b'+');
                    }
                    _ => cut(cell, room),
                }
                cells = width(cell);
            }
            let pad = if align == Align::Left { 0 } else { column.width.saturating_sub(cells) };
            let blanks = if due + pad > at { due + pad - at } else { gap };
            out.resize(out.len() + blanks, b' ');
            out.extend_from_slice(cell);
            at += blanks + cells;
            due += column.width + 1;
            gap = 1;
        }
        out.push(b'\n');
    }
}

/// The places that text takes on a screen.
pub(crate) fn width(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    str::from_utf8(text).map_or(text.len(), UnicodeWidthStr::width)
}

/// Cuts text to `places` on a screen, between two characters.
pub(crate) fn cut(text: &mut Vec<u8>, places: usize) {
    if text.is_ascii() {
        return text.truncate(places);
    }
    let mut taken = 0;
    let end = str::from_utf8(text).ok().and_then(|text| {
        let beyond = text.char_indices().find(|(_, character)| {
            taken += character.width().unwrap_or(0);
            taken > places
        });
        beyond.map(|(index, _)| index)
    });
    text.truncate(end.unwrap_or(text.len()));
}

#[cfg(test)]
mod tests;
