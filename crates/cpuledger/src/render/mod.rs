//! From rows to bytes: text, JSON, CSV.

pub(crate) mod cell;
pub mod column;
pub mod csv;
mod figures;
pub mod interval;
pub mod json;
pub mod kernel_text;
pub mod layout;
pub mod table;

pub use crate::enrich::row;
pub use crate::text::{escape, manner};
pub use crate::view::key;
