//! What answers the calls.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::peer::Peer;
use crate::varlink::{LedgerRequest, Refusal, Reply};

/// A reply, with the descriptors beside it and the frame behind it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Answer {
    /// The reply.
    pub reply: Reply,
    /// At most [`MAX_DESCRIPTORS`](crate::MAX_DESCRIPTORS) of them, named by their index.
    pub descriptors: Vec<Arc<OwnedFd>>,
    /// Bytes that follow the reply.
    pub frame: Option<Arc<Vec<u8>>>,
}

impl Answer {
    /// A reply with these parameters.
    ///
    /// # Errors
    /// When they do not serialize to an object.
    pub fn new(parameters: &impl Serialize, descriptors: Vec<Arc<OwnedFd>>) -> Result<Answer, Refusal> {
        let reply = Reply::new(parameters)
            .map_err(|fault| Refusal::Unavailable { sentence: format!("no reply could be made: {fault}") })?;
        Ok(Answer { reply, descriptors, frame: None })
    }
}

/// How calls gather before a turn: until none has come for a while.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Gathering {
    /// They do if at least that number is there already.
    pub least: usize,
    /// The while.
    pub pause: Duration,
    /// No longer than this in all.
    pub longest: Duration,
}

/// What answers the calls of a [`Server`](super::Server).
pub trait Handler {
    /// A turn has ended. All calls that it answered had arrived before it began: what was made for one of them, such as a walk, was recent
    /// enough for all. How calls shall gather before the next one, which answers them together.
    fn end_turn(&mut self) -> Option<Gathering> {
        None
    }

    /// Answers a call. No other connection is served meanwhile.
    ///
    /// # Errors
    /// What the call is refused for.
    fn answer(&mut self, peer: &Peer, request: LedgerRequest) -> Result<Answer, Refusal>;

    /// Whether calls of this peer are read and answered now, by a refusal at least.
    ///
    /// # Errors
    /// How long they wait.
    fn may_call(&mut self, _peer: &Peer) -> Result<(), Duration> {
        Ok(())
    }

    /// A call of this peer, whatever it says, has taken this CPU time: to read it, to answer it, and to send what its socket takes at once.
    fn has_called(&mut self, _peer: &Peer, _time: Duration) {}

    /// The rest of a frame that is sent to this peer has taken this CPU time.
    fn has_used(&mut self, _peer: &Peer, _time: Duration) {}

    /// The connection has ended: so have its subscriptions.
    fn closed(&mut self, _peer: &Peer) {}
}
