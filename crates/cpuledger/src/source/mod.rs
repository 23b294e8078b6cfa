//! Where numbers come from. Each source fills the same [`crate::Snapshot`] and leaves unknown what it cannot give.

pub mod choose;
pub mod cost;
mod exit;
mod families;
mod interface;
pub(crate) mod io_access;
pub mod kernel_text;
mod kind;
pub mod ledger;
mod namespace;
pub mod netlink;
mod open;
pub mod procfs;
pub(crate) mod records;
pub mod status;
mod unseen;
pub mod walk;

pub use exit::{Death, Exit, Exits, Fold};
pub use interface::{Families, FamilyVisitor, Member, Source, Visitor};
pub use kind::SourceKind;
pub use open::{Best, open, open_best};
