//! Where numbers come from. Each source fills the same [`crate::Snapshot`] and leaves unknown what it cannot give.

pub mod choose;
pub mod cost;
mod families;
pub(crate) mod interface;
pub(crate) mod io_access;
pub mod kernel_text;
pub mod ledger;
pub mod netlink;
mod open;
pub mod procfs;
pub(crate) mod records;
pub mod service;
pub mod snapshots;
pub mod status;
mod totals;
mod unseen;
pub mod walk;

pub use cpuledger_client::families::{Families, FamilyVisitor, Member};
pub use cpuledger_client::gap::tell_gap;
pub use cpuledger_client::replay;
pub use cpuledger_model::exit::{Birth, Death, Exit, Exits, Fold};
pub use cpuledger_model::source_kind::SourceKind;
pub use interface::{Source, Visitor, visit};
pub use open::open;
