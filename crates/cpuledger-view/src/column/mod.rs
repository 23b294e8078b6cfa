//! The one registry of columns: an entry for each, by topic. It says how `ps` lists the column, how `top` and the screen show it, which
//! figure it is for JSON, CSV, orders and filters, and what has to be looked up. Options, headers, help, manual and documents derive
//! from it.
//!
//! Names, headers and widths of `ps` are those of procps 4.0.7, the newest; older versions lack some. Besides, each key of
//! [`cpuledger_model::field::FIELDS`] is a column under its own name, of `ps` unless a name of the registry is spelled like it.
//!
//! # To add an entry
//!
//! An entry in a file of `crates/cpuledger-view/src/column/`, which has a file for each topic, says everything about a column, and leaves out
//! what the column does not have. A field needs one with `in_table` to appear in the rows of groups, on the help page, and under a shorter header. A counter is in the detail pane if `COUNTS` of `tui/view/detail.rs` has a line for it. For example, `time.rs`:
//!
//! ```text
//! "time" "TIME", "atime" "TIME", "cputime" "TIME"; 8 Right Push Both; [User System] [];
//!     (cell::time, |r| Key::from(r.cpu_ticks()));
//!     "CPU time, [days-]hh:mm:ss." => {
//!         in_table: in_table!(10 "TIME+" right 9 rank 6 Time sums; "CPU time since the start: minutes, seconds, hundredths."),
//!         orders: &["TIME"],
//!         procps: &[TopField { place: 18, name: "TIME", by: By::Time }, TopField { place: 19, name: "TIME+", by: By::Time }],
//!         aix: Some(('x', "time")),
//!     }
//! ```
//!
//! | member | what it says | what reads it |
//! |---|---|---|
//! | the names, width and alignment, `shown` (`listed`) | how `ps` lists it and, second in `shown`, sorts it | `ps`: `-o`, `--sort`, `--help`, `L`, its JSON and CSV |
//! | `[Field …]`, `[LOOKUP …]` | what a source has to read, and what has to be looked up | `ps` |
//! | `as …` | what options such as `n`, `c` and `e` change of its text | `ps` |
//! | `figure` | the field of a task, or the part of an interval, that it shows | `top`: JSON, CSV, orders, filters |
//! | `in_table` | its place, header, width, rank and kind of cell | the screen, its column and sort menus, filters; the text of `top --batch` for places 0 to 11 |
//! | `orders`, `procps` | its other names in `top -o`, and its names in procps' top | `top` |
//! | `aliases` | its other names in filters | filters, help |
//! | `order_letter`, `aix` | its letters | `ps O`, `ps -o %p` |
//!
//! A new entry with `in_table` takes the next free place, so it is not in the text of `top --batch` (`BATCH_PLACES`). Another text of one field is
//! an entry for `ps` (`shown`). For `top` and the screen it needs a `TableCell` of its own, and for JSON and CSV a field. Then run what
//! is listed above from `cargo test -p cpuledger-view` on. `CPULEDGER_WRITE_DOCS=1 cargo test -p cpuledger-view` writes the tables of `docs/ps.md` and
//! `docs/privileges.md`.

use cpuledger_model::field::{FIELDS, FieldInfo};

#[macro_use]
mod entry;
mod accounts;
mod dashes;
mod files;
mod identity;
mod interval;
mod memory;
mod owner;
mod state;
mod states;
mod time;

pub use entry::{
    Align, BATCH_PLACES, By, Column, Dash, InTable, Lines, Listed, Overflow, Shown, TableCell, Text, TopField,
};

/// Every column but the plain fields, by topic.
static TOPICS: [&[Column]; 10] = [
    identity::COLUMNS,
    owner::COLUMNS,
    state::COLUMNS,
    time::COLUMNS,
    memory::COLUMNS,
    accounts::COLUMNS,
    files::COLUMNS,
    dashes::COLUMNS,
    states::COLUMNS,
    interval::COLUMNS,
];

/// Every column but the plain fields, by topic.
pub fn columns() -> impl Iterator<Item = &'static Column> {
    TOPICS.into_iter().flatten()
}

/// Those that filters have other names for: shares first, then what an interval does not tell alone.
pub fn aliased() -> Vec<&'static Column> {
    let is_share = |column: &Column| {
        let cell = column.in_table.as_ref().map(|of| of.cell);
        matches!(cell, Some(TableCell::Share | TableCell::ElapsedShare | TableCell::MemoryShare))
    };
    let aliased = |column: &&'static Column| !column.aliases.is_empty();
    let mut all: Vec<_> = TOPICS.into_iter().rev().flatten().filter(aliased).collect();
    all.sort_by_key(|column| !is_share(column));
    all
}

/// Those of the listings of `ps`.
pub fn listed() -> impl Iterator<Item = &'static Listed> {
    columns().filter_map(|column| column.listed.as_ref())
}

/// The fields that are columns of `ps` as they are: those whose keys are no names of it.
pub fn listed_fields() -> impl Iterator<Item = &'static FieldInfo> {
    FIELDS.iter().filter(|info| Listed::by_name(info.key).is_none())
}

/// The columns of the table of `top` and of the screen, from left to right.
pub fn in_table() -> Vec<(&'static Column, &'static InTable)> {
    let mut all: Vec<_> = columns().filter_map(|column| Some((column, column.in_table.as_ref()?))).collect();
    all.sort_by_key(|(_, of)| of.place);
    all
}

/// The fields of procps' top, in its order.
pub fn top_fields() -> Vec<TopField> {
    let mut all: Vec<TopField> = columns().flat_map(|column| column.procps).copied().collect();
    all.sort_by_key(|field| field.place);
    all
}

impl Listed {
    /// The column of that name, and its header.
    pub fn by_name(name: &str) -> Option<(&'static Listed, &'static str)> {
        listed().find_map(|column| {
            let (_, header) = column.names.iter().find(|(alias, _)| *alias == name)?;
            Some((column, *header))
        })
    }
}
