//! The loop that serves the control socket: one thread, any number of connections.
//!
//! The service runs it in a thread of its own, beside the one that closes the intervals. A listing keeps a CPU for as long as a walk takes,
//! and a cut that waited for it would come late. [`Server::serve_until`] takes a deadline all the same, so that a service may do both
//! in one thread, and so that a thread looks from time to time at what else it has to do.
//!
//! - **Garbage** closes the connection that it came by. So does a call that is too long, or does not end in time.
//! - **A peer that does not read** its reply is not read from, either, and is closed after a time. At most one reply waits for each.
//! - **Limits** hold for each user and for all together (see [`Limits`]). A connection beyond them gets one error and is closed.
//! - **Descriptors that run out** leave the listening socket alone for a moment: it stays readable, and asking again at once would spin.

mod connection;
mod handler;
mod limits;
mod listen;
mod peer;
mod serve;
mod users;

pub use handler::{Answer, Gathering, Handler};
pub use limits::Limits;
pub use listen::{ListenError, listen};
pub use peer::Peer;
pub use serve::{Ended, Server};
