//! What cumulative figures grew by, from one cut to the next.
//!
//! [`Books`] turn snapshots of all tasks and the exits between them into increments. `lives` does it for the figures that
//! the ledger reads of the tasks that ran.
//!
//! A cut is the instant at which a snapshot was begun. A death after it belongs to the next interval, so that a task that
//! dies between the walk and the reading of the exits is counted once. A dying task leaves the task list before it stops to run: what it
//! uses after that is part of its exit record.

mod baseline;
mod books;
mod deaths;
pub(crate) mod kernel_accounts;
pub(crate) mod lives;
mod numbers;

pub use books::{Books, CutFacts};
pub use deaths::bound_exits;
