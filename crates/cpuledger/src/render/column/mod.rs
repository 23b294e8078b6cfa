//! The tables of columns of `ps`: what each is called, how wide it is, what it needs and how a cell is written.
//! Options, headers, help and sorting derive from them.
//!
//! Names, headers and widths are those of procps 4.0.7, the newest; older versions lack some. Besides, each
//! key of [`crate::field::FIELDS`] that is not already the name of a column is one.

use crate::field::FieldSet;
use crate::render::row::Row;
use crate::view::sort::Key;

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

/// What a column needs to have been looked up besides the fields of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lookups(u32);

impl Lookups {
    /// Nothing.
    pub const NONE: Lookups = Lookups(0);
    /// Names of users.
    pub const USERS: Lookups = Lookups(1);
    /// Names of groups.
    pub const GROUPS: Lookups = Lookups(1 << 1);
    /// Names of terminals.
    pub const TERMINALS: Lookups = Lookups(1 << 2);
    /// When the machine was booted, and the time zone.
    pub const CALENDAR: Lookups = Lookups(1 << 3);
    /// How much memory there is.
    pub const MEMORY: Lookups = Lookups(1 << 4);
    /// Arguments of a process.
    pub const CMDLINE: Lookups = Lookups(1 << 5);
    /// Path of the program of a process.
    pub const EXE: Lookups = Lookups(1 << 6);
    /// Cgroups of a process.
    pub const CGROUP: Lookups = Lookups(1 << 7);
    /// Where a task waits in the kernel.
    pub const WCHAN: Lookups = Lookups(1 << 8);
    /// Signals, supplementary groups and sizes of memory: `status`.
    pub const STATUS: Lookups = Lookups(1 << 9);
    /// Names of supplementary groups.
    pub const SUPPLEMENTARY: Lookups = Lookups(1 << 10);
    /// Addresses and the limit of resident memory: `stat`.
    pub const ADDRESSES: Lookups = Lookups(1 << 11);
    /// Bytes and calls of reading and writing: `io`.
    pub const IO: Lookups = Lookups(1 << 12);
    /// Shares of memory that is mapped several times: `smaps_rollup`.
    pub const SHARES: Lookups = Lookups(1 << 13);
    /// How likely the kernel kills it where memory is short: `oom_score`, `oom_score_adj`.
    pub const OOM: Lookups = Lookups(1 << 14);
    /// Autogroup of the scheduler: `autogroup`.
    pub const AUTOGROUP: Lookups = Lookups(1 << 15);
    /// Who logged in: `loginuid`.
    pub const LOGIN: Lookups = Lookups(1 << 16);
    /// Namespaces: `ns`.
    pub const NAMESPACES: Lookups = Lookups(1 << 17);
    /// Open files: `fd`.
    pub const OPEN_FILES: Lookups = Lookups(1 << 18);
    /// Security label: `attr/current`.
    pub const LABEL: Lookups = Lookups(1 << 19);
    /// Environment: `environ`.
    pub const ENVIRONMENT: Lookups = Lookups(1 << 20);
    /// Which node of memory a CPU belongs to.
    pub const NODES: Lookups = Lookups(1 << 21);
    /// Whether systemd manages this machine's cgroups.
    pub const SYSTEMD: Lookups = Lookups(1 << 22);

    /// What systemd has written down of logins and machines.
    pub const REGISTERED: Lookups = Lookups(1 << 23);

    /// Both together.
    pub const fn union(self, other: Lookups) -> Lookups {
        Lookups(self.0 | other.0)
    }

    /// Without those of `other`.
    pub const fn without(self, other: Lookups) -> Lookups {
        Lookups(self.0 & !other.0)
    }

    /// What both have.
    pub const fn intersection(self, other: Lookups) -> Lookups {
        Lookups(self.0 & other.0)
    }

    /// Whether something of `other` is in it.
    pub const fn wants(self, other: Lookups) -> bool {
        self.0 & other.0 != 0
    }
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

mod dashes;
mod files;
mod identity;
mod memory;
mod owner;
mod state;
mod time;

/// Every column but the plain fields, by topic.
pub fn columns() -> impl Iterator<Item = &'static Column> {
    let topics = [
        identity::COLUMNS,
        owner::COLUMNS,
        state::COLUMNS,
        time::COLUMNS,
        memory::COLUMNS,
        files::COLUMNS,
        dashes::COLUMNS,
    ];
    topics.into_iter().flatten()
}

impl Column {
    /// The column of that name, and its header.
    pub fn by_name(name: &str) -> Option<(&'static Column, &'static str)> {
        columns().find_map(|column| {
            let (_, header) = column.names.iter().find(|(alias, _)| *alias == name)?;
            Some((column, *header))
        })
    }

    /// What a source should give for it.
    pub fn fields(&self) -> FieldSet {
        self.needs.union(self.wishes)
    }
}
