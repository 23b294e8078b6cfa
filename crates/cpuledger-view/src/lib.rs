//! From rows and intervals to bytes: which rows, in which order, as text, JSON or CSV.
//!
//! Everything here is pure: no file, no clock, no system call. What a row shows besides its task has been looked up before
//! ([`cpuledger_names`]).

pub(crate) mod cell;
pub mod column;
pub mod csv;
pub mod devices;
pub mod figure;
mod file_figures;
pub mod filter;
pub mod group;
pub mod interval;
pub mod json;
pub mod key;
pub mod layout;
pub mod member;
pub mod near;
pub mod pairs;
pub mod query;
pub mod report;
pub mod shares;
pub mod sort;
pub mod table;
pub mod tree;
pub mod width;
pub mod wire;
