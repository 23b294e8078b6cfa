//! What the next intervals shall be: the state says it, the feed keeps to it.

use cpuledger::{Accounts, FieldSet};

/// What the next intervals shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription {
    /// How long they are.
    pub delay_ns: u64,
    /// Fields that will be looked at.
    pub fields: FieldSet,
    /// Tasks are shown.
    pub has_threads: bool,
    /// What did not run is wanted too.
    pub has_all: bool,
    /// What is kept besides, for the view that is shown.
    pub accounts: Accounts,
    /// What is kept for it where the source grants it.
    pub also: Accounts,
}
