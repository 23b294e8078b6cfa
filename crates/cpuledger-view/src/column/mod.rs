//! The tables of columns of `ps`: what each is called, how wide it is, what it needs and how a cell is written.
//! Options, headers, help and sorting derive from them.
//!
//! Names, headers and widths are those of procps 4.0.7, the newest; older versions lack some. Besides, each
//! key of [`cpuledger::field::FIELDS`] that is not already the name of a column is one.

#[macro_use]
mod entry;
mod dashes;
mod files;
mod identity;
mod memory;
mod owner;
mod state;
mod time;

pub use cpuledger::enrich::lookups::Lookups;
pub use entry::{Align, Column, Dash, Lines, Overflow};

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
}
