//! What a column of the tables is.

use crate::figure::{Key, OF_NAME};
use crate::sort;
use cpuledger_model::field::{Field, FieldSet};
use cpuledger_names::lookups::Lookups;
use cpuledger_names::named::NameKey;
use cpuledger_names::row::Row;

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

/// What the text of a column is, where options of `ps` change it or the layout depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// Nothing of that kind.
    Usual,
    /// The name of a user or of a group; `n` shows the column of its number.
    NameOf(&'static str),
    /// Where a task waits; with `n`, at the right edge.
    Function,
    /// Arguments: branches of a tree stand in front of them, and `e` appends the environment; `c` shows the name.
    Arguments,
    /// The name of a task, likewise.
    Comm,
    /// Its first characters: branches of a tree stand in front of them.
    ShortComm,
    /// The scheduling policy, of which `-` is none though it stands at the left edge.
    Policy,
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

/// A column: one entry for all that lists, shows, sorts or filters by it.
#[derive(Debug)]
pub struct Column {
    /// What it shows, under the key that JSON, CSV, orders and filters know; `None`: something that has no key.
    pub figure: Option<Key>,
    /// How `ps` shows it; `None`: not at all.
    pub listed: Option<Listed>,
    /// How the text of `top` and the screen show it; `None`: only as its key.
    pub in_table: Option<InTable>,
    /// The letter by which `O` of `ps` orders by it.
    pub order_letter: Option<char>,
    /// The letter of AIX by which `-o` of `ps` takes it, and the name that it stands for.
    pub aix: Option<(char, &'static str)>,
    /// What `-o` of `top` takes besides the header and the key.
    pub orders: &'static [&'static str],
    /// The fields of procps' top that it is.
    pub procps: &'static [TopField],
    /// What filters call it besides the header and the key, each with what help says of it.
    pub aliases: &'static [(&'static str, &'static str)],
}

impl Column {
    /// Shown nowhere yet.
    pub const NOWHERE: Column = Column {
        figure: None,
        listed: None,
        in_table: None,
        order_letter: None,
        aix: None,
        orders: &[],
        procps: &[],
        aliases: &[],
    };

    /// What `ps` calls it: the first of its names, or its key.
    pub fn name_in_ps(&self) -> Option<&'static str> {
        let listed = self.listed.as_ref().and_then(|listed| listed.names.first());
        listed.map(|(name, _)| *name).or_else(|| self.key().map(Key::name))
    }

    /// Its key, if it has one.
    pub fn key(&self) -> Option<Key> {
        self.figure
    }
}

/// How a row is written, and what it is sorted by.
pub type Shown = (fn(&Row<'_>, &mut Vec<u8>), for<'a> fn(&Row<'a>) -> sort::Key<'a>);

/// A column of the listings of `ps`.
#[derive(Debug)]
pub struct Listed {
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
    /// What its text is.
    pub text: Text,
    /// Why there is nothing but `-`; `None`: there is something.
    pub dash: Option<Dash>,
    /// Fields without which the cell is `-`.
    pub needs: FieldSet,
    /// Fields that make it better.
    pub optional: FieldSet,
    /// What has to be looked up.
    pub lookups: Lookups,
    /// What appends the cell, unaligned, and what it is sorted by.
    pub shown: Shown,
    /// One sentence for help and documentation.
    pub help: &'static str,
}

impl Listed {
    /// What a source should give for it.
    pub fn fields(&self) -> FieldSet {
        self.needs.union(self.optional)
    }
}

/// A column of the table of `top` and of the screen.
#[derive(Debug)]
pub struct InTable {
    /// Its place from left to right; the text of `--batch` has those below [`BATCH_PLACES`], the screen all.
    pub place: u8,
    /// Its header.
    pub header: &'static str,
    /// Its usual width; 0: what is left of the line.
    pub width: usize,
    /// Whether cells begin at the left.
    pub is_left: bool,
    /// Where space is short, those of the highest rank go first.
    pub rank: u8,
    /// Whether it makes sense for rows that were put together.
    pub is_of_sums: bool,
    /// What stands in it.
    pub cell: TableCell,
    /// One sentence for help and documentation.
    pub help: &'static str,
}

/// Number of columns in the text of `--batch`.
pub const BATCH_PLACES: u8 = 12;

/// What stands in a column of the table, which each program writes in its manner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableCell {
    /// The id of the task where tasks are shown, else that of the process.
    Id,
    /// The id of the process.
    Pid,
    /// The figure as it is.
    Value,
    /// The figure, a size.
    Size,
    /// The figure, bytes of the interval, by second.
    Rate,
    /// The figure, a time, in percent of the interval.
    Share,
    /// The figure, a time, in percent of the time that the row was alive: of all its threads. Of the interval, where that is not known.
    ElapsedShare,
    /// The figure, a size, in percent of the machine's memory.
    MemoryShare,
    /// The effective user.
    User,
    /// The priority; `rt`: real-time.
    Priority,
    /// CPU time of the whole life.
    Time,
    /// The name, or arguments.
    Command,
    /// Self, exited threads and exited children as a bar.
    Parts,
    /// The share of a CPU in each of the last intervals.
    History,
    /// CPU time of the subtree, in percent of the interval.
    Subtree,
    /// A name that its cgroup leads to.
    Name(NameKey),
}

impl TableCell {
    /// Whether rows can be sorted by it.
    pub fn has_order(self) -> bool {
        !matches!(self, TableCell::Parts | TableCell::History | TableCell::Subtree) && self.name().is_none()
    }

    /// The name of a cgroup that it shows.
    pub fn name(self) -> Option<NameKey> {
        match self {
            TableCell::Name(name) => Some(name),
            _ => None,
        }
    }

    /// What a source has to tell for it, beside the figure.
    pub fn fields(self) -> FieldSet {
        if self.name().is_some() { OF_NAME } else { FieldSet::EMPTY }
    }
}

/// A field of procps' top.
#[derive(Debug, Clone, Copy)]
pub struct TopField {
    /// Its place in the list of `-O`.
    pub place: u8,
    /// Its name.
    pub name: &'static str,
    /// What rows are sorted by.
    pub by: By,
}

/// What rows of procps' top are sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    /// The share of CPU time.
    #[default]
    Share,
    /// CPU time of the whole life.
    Time,
    /// The name, or the arguments.
    Command,
    /// The name of a user: that of the real, effective or saved one.
    User(Field),
    /// A field, as it is at the end of the iteration.
    Total(Field),
    /// A field, by what it has grown since the iteration before.
    Growth(Field),
    /// From the start on: the oldest is the highest.
    Age,
}

/// A field of procps' top that is a field of a task.
pub(super) const fn total(place: u8, name: &'static str, field: Field) -> TopField {
    TopField { place, name, by: By::Total(field) }
}

/// A list of columns of `ps`, each with the field that it shows and what else shows it behind `=>`, as members of [`Column`].
macro_rules! columns {
    ($($($name:literal $header:literal),+; $width:literal $align:ident $overflow:ident $lines:ident;
       [$($field:ident)*] [$($lookup:ident)*] $(optional [$($option:ident)*])? $(as $text:ident $(($number:literal))?)?; $shown:expr; $help:literal
       $(=> $($figure:ident)? { $($facet:ident: $value:expr),+ $(,)? })?)*) => {
        pub(super) static COLUMNS: &[Column] = &[$(Column {
            listed: Some(Listed {
                names: &[$(($name, $header)),+],
                width: $width,
                align: Align::$align,
                overflow: Overflow::$overflow,
                lines: Lines::$lines,
                text: text!($($text $(($number))?)?),
                dash: None,
                needs: FieldSet::of(&[$(Field::$field),*]),
                optional: FieldSet::of(&[$($(Field::$option),*)?]),
                lookups: Lookups::NONE$(.union(Lookups::$lookup))*,
                shown: $shown,
                help: $help,
            }),
            $($(figure: Some(Figure::Field(Field::$figure)),)? $($facet: $value,)+)?
            ..Column::NOWHERE
        }),*];
    };
}

/// A column of what only an interval tells: `KEY HEADER WIDTH; VALUE; HELP; HELP OF PS`, and what else shows it behind `=>`.
macro_rules! part {
    ($key:literal $header:literal $width:literal; $value:expr; $help:literal; $in_ps:literal
     $(=> { $($facet:ident: $shown:expr),+ $(,)? })?) => {
        Column {
            figure: Some(Figure::Part(&Part { key: $key, help: $help, value: $value })),
            listed: watched(&[($key, $header)], $width, $in_ps),
            $($($facet: $shown,)+)?
            ..Column::NOWHERE
        }
    };
}

/// A column of `top` that is a field, or drawn: `FIELD`, what [`in_table!`] takes, and what else shows it behind `=>`.
macro_rules! field {
    ($($field:ident)?; $($place:literal $header:literal $side:ident $width:literal rank $rank:literal $cell:ident $($sums:ident)?; $help:literal)?
     $(=> { $($facet:ident: $shown:expr),+ $(,)? })?) => {
        Column {
            $(figure: Some(Figure::Field(Field::$field)),)?
            $(in_table: in_table!($place $header $side $width rank $rank $cell $($sums)?; $help),)?
            $($($facet: $shown,)+)?
            ..Column::NOWHERE
        }
    };
}

/// What the text of a column is, if that is said.
macro_rules! text {
    () => {
        Text::Usual
    };
    ($text:ident) => {
        Text::$text
    };
    ($text:ident ($number:literal)) => {
        Text::$text($number)
    };
}

/// A column of the table, as `PLACE HEADER SIDE WIDTH rank RANK CELL; HELP`.
macro_rules! in_table {
    ($place:literal $header:literal $side:ident $width:literal rank $rank:literal $cell:ident $(($name:ident))? $($sums:ident)?; $help:expr) => {
        Some(InTable {
            place: $place,
            header: $header,
            width: $width,
            is_left: in_table!(@$side),
            rank: $rank,
            is_of_sums: in_table!(@$($sums)?),
            cell: TableCell::$cell$((NameKey::$name))?,
            help: $help,
        })
    };
    (@left) => { true };
    (@right) => { false };
    (@sums) => { true };
    (@) => { false };
}

/// A number of the task, as it is.
macro_rules! number {
    ($($member:tt)+) => {
        (|row, cell| cell::unsigned(cell, row.task.$($member)+), by_number!($($member)+))
    };
}

/// A sort key that is a number of the task.
macro_rules! by_number {
    ($($member:tt)+) => {
        |row| Key::from(row.task.$($member)+)
    };
}

/// A text that was looked up; `-` where there is none.
macro_rules! detail {
    ($detail:ident) => {
        (
            |row, cell| cell::text_or_dash(row, cell, row.around.details.$detail(row.task)),
            |row| Key::Bytes(row.around.details.$detail(row.task)),
        )
    };
}
