//! From rows to bytes: text, JSON, CSV.

mod cell;
pub mod column;
pub mod csv;
pub mod escape;
pub mod interval;
pub mod json;
pub mod key;
pub mod layout;
pub mod row;
