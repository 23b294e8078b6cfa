//! What the service and its clients share. One ledger, any number of readers:
//!
//! - [`ring`]: frames in sealed memory. The service writes, readers map the memory for reading only and wait by futex.
//! - [`sealed`]: bytes in a memfd that nothing can change any more, for what is kept over a restart.
//! - [`varlink`]: the control protocol, by which a reader asks for a ring or a listing. [`client`] calls it, and [`server`] serves it.
//!
//! A frame is bytes here. What it holds, and what a caller may see, is decided elsewhere.

pub mod client;
mod descriptors;
mod inherited;
mod mapping;
pub mod ring;
pub mod sealed;
pub mod server;
pub mod varlink;

pub use descriptors::MAX_DESCRIPTORS;
pub use inherited::{Inherited, inherited};
