//! Which rows are shown, and in which order.

pub mod filter;
pub mod sort;
