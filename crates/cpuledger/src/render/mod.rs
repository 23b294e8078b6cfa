//! From rows to bytes: text, JSON, CSV.

pub(crate) mod cell;
pub mod column;
pub mod csv;
pub mod escape;
mod figures;
pub mod interval;
mod invisible;
pub mod json;
pub mod kernel_text;
pub mod key;
pub mod layout;
pub mod manner;
pub mod row;
pub mod table;
