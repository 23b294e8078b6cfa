//! What answers the calls.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::Serialize;

use crate::varlink::{LedgerRequest, Refusal, Reply};

/// The process at the other end of a connection, as the kernel knew it when it connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The number of the connection, which no other one ever has.
    pub connection: u64,
    /// Its pid; 0 where it is in no PID namespace that this process sees. It may have ended, and another have its pid.
    pub pid: i32,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
}

/// A reply, with the descriptors beside it.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The reply.
    pub reply: Reply,
    /// At most [`MAX_DESCRIPTORS`](crate::MAX_DESCRIPTORS) of them, named by their index.
    pub descriptors: Vec<Arc<OwnedFd>>,
}

impl Answer {
    /// A reply with these parameters.
    ///
    /// # Errors
    /// When they do not serialize to an object.
    pub fn new(parameters: &impl Serialize, descriptors: Vec<Arc<OwnedFd>>) -> Result<Answer, Refusal> {
        let reply = Reply::new(parameters)
            .map_err(|fault| Refusal::Unavailable { sentence: format!("no reply could be made: {fault}") })?;
        Ok(Answer { reply, descriptors })
    }
}

/// What answers the calls of a [`Server`](super::Server).
pub trait Handler {
    /// A turn begins: all calls that it answers have arrived. What is made for one of them, such as a walk, is recent enough for all.
    fn begin_turn(&mut self) {}

    /// Answers a call. No other connection is served meanwhile.
    ///
    /// # Errors
    /// What the call is refused for.
    fn answer(&mut self, peer: &Peer, request: LedgerRequest) -> Result<Answer, Refusal>;

    /// The connection has ended: so have its subscriptions.
    fn closed(&mut self, _peer: &Peer) {}
}
