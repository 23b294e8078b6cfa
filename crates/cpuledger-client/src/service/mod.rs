//! The books of `cpuledger serve`: intervals from its ring of frames, and listings on demand. A reader needs no privilege and loads nothing.

mod asking;
mod connection;
mod families;
mod follower;
mod gathering;
mod listing;
mod reader;

pub use connection::{answers, listens, recording};
pub use cpuledger_service::client::{name_socket, socket_path};
pub use listing::ServiceListing;
pub use reader::{Ended, ServiceLedger};
