//! Whose the CPU time of an interval is. One engine for every source; it knows no source, no file and no clock.
//!
//! A source delivers [`Increment`]s (what each task used), deaths, and the parents of processes. [`Attribution`] gives every
//! nanosecond to exactly one process:
//!
//! - what a living task used is *self* of its process;
//! - what a dead thread used goes to *exited threads* of its process while that lives;
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
