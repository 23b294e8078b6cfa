//! From rows to bytes: text, JSON, CSV.

pub mod escape;
