//! Which rows are shown, and in which order.

pub mod filter;
pub mod key;
pub mod query;
pub mod sort;
pub mod tree;
