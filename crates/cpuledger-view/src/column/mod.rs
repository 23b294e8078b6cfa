//! The one registry of columns: an entry for each, by topic. It says how `ps` lists the column, how `top` and the screen show it, which
//! figure it is for JSON, CSV, orders and filters, and what has to be looked up. Options, headers, help, manual and documents derive
//! from it.
//!
//! Names, headers and widths of `ps` are those of procps 4.0.7, the newest; older versions lack some. Besides, each key of
//! [`cpuledger::field::FIELDS`] is a column under its own name, of `ps` unless a name of the registry is spelled like it.

use cpuledger::field::{FIELDS, FieldInfo};

#[macro_use]
mod entry;
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
    Align, BATCH_PLACES, By, Column, Dash, InTable, Lines, Listed, Overflow, TableCell, Text, TopField,
};

/// Every column but the plain fields, by topic.
static TOPICS: [&[Column]; 9] = [
    identity::COLUMNS,
    owner::COLUMNS,
    state::COLUMNS,
    time::COLUMNS,
    memory::COLUMNS,
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
