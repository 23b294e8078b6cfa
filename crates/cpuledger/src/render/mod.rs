//! From rows to bytes: text, JSON, CSV.

mod cell;
pub mod column;
pub mod escape;
pub mod layout;
pub mod row;
