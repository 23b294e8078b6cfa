//! What a span of recorded intervals says, as text, JSON or CSV.

pub mod column;
pub mod csv;
pub mod devices;
mod document;
pub mod json;
pub mod text;

pub use cpuledger_report::Labels;
pub use document::{About, Comparison, Document};
