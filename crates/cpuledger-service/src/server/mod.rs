//! The loop that serves the control socket: one thread, any number of connections.
//!
//! The service runs it in a thread of its own, beside the one that closes the intervals. A listing keeps a CPU for as long as a walk takes,
//! and a cut that waited for it would come late. [`Server::serve_until`] takes a deadline all the same, so that a service may do both
//! in one thread, and so that a thread looks from time to time at what else it has to do.
//!
//! - **Garbage** closes the connection that it came by. So does a call that is too long, or does not end in time.
//! - **A peer that does not read** its reply is not read from, either, and after a time the rest of the reply is dropped. At most one reply
//!   waits for each.
//! - **What a peer has not read** is in memory of the kernel that is this process's, also when the connection is closed on this side. So a
//!   connection is left, and counts for its user, until its peer has read what was sent, or closes it.
//! - **Listings** that are on their way are counted, too, and calls of a user that has not read many of them wait.
//! - **Limits** hold for each user and for all together (see [`Limits`]). A connection beyond them gets one error and is closed.
//! - **Descriptors that run out** leave the listening socket alone for a moment: it stays readable, and asking again at once would spin.

mod connection;
mod handler;
mod limits;
mod listen;
mod options;
mod peer;
mod serve;
mod unread;
mod users;

pub use connection::thread_time;
pub use handler::{Answer, Gathering, Handler};
pub use limits::Limits;
pub use listen::{ListenError, SocketFile, listen};
pub use peer::{FOREIGN, Peer};
pub use serve::{Ended, Server};
