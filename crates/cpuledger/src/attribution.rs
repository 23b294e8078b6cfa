//! Whose the CPU time of an interval is. One engine for every source; it knows no source, no file and no clock.
//!
//! A source delivers [`Increment`]s (what each task used between two cuts), deaths, folds (the time of the dead whose identity was lost), and
//! which process forked which. [`Attribution`] gives every nanosecond to exactly one process, which is alive at the cut:
//!
//! - what a living task used is *self* of its process;
//! - what a dead thread used goes to *exited threads* of its process, if that is alive at the cut;
//! - what a dead process used goes to *exited children* of its heir: its accounting parent or, if that is dead, the heir of that.
//!
//! The ledger delivers increments as they are. Walk, netlink and procfs tell cumulative figures: [`difference`] makes
//! increments of them.

pub mod difference;
mod engine;
mod members;
mod near;
mod written;

pub use engine::{Attribution, Increment, Parts};
