//! What a column of the tables is.

use crate::sort::Key;
use cpuledger::enrich::lookups::Lookups;
use cpuledger::enrich::row::Row;
use cpuledger::field::FieldSet;

/// Where a cell stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left edge.
    Left,
    /// At the right edge.
    Right,
    /// At the right edge of a column as wide as the largest number of a task.
    Pid,
    /// A set of signals at the right edge: 16 digits where the screen has room for all such columns, else the last 8,
    /// after a `<` if the others are not all 0.
    Signals,
}

/// What becomes of a cell that is wider than its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It pushes the next column to the right.
    Push,
    /// It is cut; in the last column at the width of the screen.
    Cut,
    /// It is cut likewise, and ends in a `+`.
    Plus,
}

/// In which lines a column is shown where a process has a line and each of its threads another; in the others it is `-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// In both.
    Both,
    /// In that of the process.
    Process,
    /// In those of the threads.
    Task,
}

/// Why a column is `-` in every line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// procps shows something that nothing here can know.
    NotKnown,
    /// procps takes the name, and shows `-` too.
    NotShown,
    /// Only what was watched over an interval can tell.
    NotInOneLook,
}

/// One row of a table.
#[derive(Debug)]
pub struct Column {
    /// What `-o` and `--sort` call it, each with the text above it; all mean the same.
    pub names: &'static [(&'static str, &'static str)],
    /// Its width, unless the user says another.
    pub width: usize,
    /// Where a cell stands.
    pub align: Align,
    /// What becomes of a wide cell.
    pub overflow: Overflow,
    /// In which lines it is shown.
    pub lines: Lines,
    /// Why there is nothing but `-`; `None`: there is something.
    pub dash: Option<Dash>,
    /// Fields without which the cell is `-`.
    pub needs: FieldSet,
    /// Fields that make it better.
    pub wishes: FieldSet,
    /// What has to be looked up.
    pub lookups: Lookups,
    /// Appends the cell, unaligned.
    pub write: fn(&Row<'_>, &mut Vec<u8>),
    /// What it is sorted by.
    pub key: for<'a> fn(&Row<'a>) -> Key<'a>,
    /// One sentence for help and documentation.
    pub help: &'static str,
}

impl Column {
    /// What a source should give for it.
    pub fn fields(&self) -> FieldSet {
        self.needs.union(self.wishes)
    }
}

macro_rules! columns {
    ($($($name:literal $header:literal),+; $width:literal $align:ident $overflow:ident $lines:ident;
       [$($field:ident)*] [$($lookup:ident)*] $(wishes [$($wish:ident)*])?; $write:expr; $key:expr; $help:literal)*) => {
        pub(super) static COLUMNS: &[Column] = &[$(Column {
            names: &[$(($name, $header)),+],
            width: $width,
            align: Align::$align,
            overflow: Overflow::$overflow,
            lines: Lines::$lines,
            dash: None,
            needs: FieldSet::of(&[$(Field::$field),*]),
            wishes: FieldSet::of(&[$($(Field::$wish),*)?]),
            lookups: Lookups::NONE$(.union(Lookups::$lookup))*,
            write: $write,
            key: $key,
            help: $help,
        }),*];
    };
}

/// A sort key that is a number of the task.
macro_rules! number {
    ($member:ident) => {
        |row| Key::Number(i128::from(row.task.$member))
    };
}
