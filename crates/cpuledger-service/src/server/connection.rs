//! One connection: what has come, what is to be sent, and since when it keeps the service waiting.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::handler::Answer;
use super::limits::Limits;
use super::peer::Peer;
use crate::descriptors;
use crate::varlink::{MAX_CALL_BYTES, Messages};

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    pub(super) peer: Peer,
    calls: Messages,
    /// Bytes of a reply that the socket has not taken.
    reply: Vec<u8>,
    /// Descriptors that go with its first byte.
    descriptors: Vec<Arc<OwnedFd>>,
    /// The peer sends no more.
    has_ended: bool,
    /// Since when a call, or the reading of a reply, has not ended.
    waits_since: Option<Instant>,
    /// What epoll was told to look at.
    pub(super) interest: EventFlags,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, peer: Peer) -> Connection {
        Connection {
            socket,
            peer,
            calls: Messages::new(MAX_CALL_BYTES),
            reply: Vec::new(),
            descriptors: Vec::new(),
            has_ended: false,
            waits_since: None,
            interest: EventFlags::IN,
        }
    }

    /// Bytes of calls that were not answered yet.
    pub(super) fn pending(&self) -> usize {
        self.calls.pending()
    }

    /// Takes what has come: once, so that no connection keeps the others waiting.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Closed> {
        match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => self.has_ended = true,
            Ok((_, count)) => self.calls.push(&buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Err(Closed),
        }
        Ok(())
    }

    /// The next call that is whole, while no reply is left to be sent.
    pub(super) fn next_call(&mut self) -> Result<Option<Vec<u8>>, Closed> {
        if !self.reply.is_empty() {
            return Ok(None);
        }
        self.calls.next_message().map_err(|_| Closed)
    }

    /// Sends what the socket takes of an answer, and keeps the rest.
    pub(super) fn answer(&mut self, answer: Answer) -> Result<(), Closed> {
        self.reply = answer.reply.to_bytes();
        self.descriptors = answer.descriptors;
        self.send()
    }

    /// Sends what the socket takes of the reply.
    pub(super) fn send(&mut self) -> Result<(), Closed> {
        while !self.reply.is_empty() {
            let beside: Vec<BorrowedFd<'_>> = self.descriptors.iter().map(|fd| fd.as_fd()).collect();
            match descriptors::send(&self.socket, &self.reply, &beside) {
                Ok(count) => {
                    self.descriptors = Vec::new();
                    self.reply.drain(..count);
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(_) => return Err(Closed),
            }
        }
        self.reply = Vec::new();
        Ok(())
    }

    /// Where a turn leaves it. Whether it keeps the service waiting, and from when on.
    ///
    /// # Errors
    /// When it has ended, and nothing is left to be sent.
    pub(super) fn settle(&mut self, now: Instant) -> Result<bool, Closed> {
        if self.has_ended && self.reply.is_empty() {
            return Err(Closed);
        }
        let waits = !self.reply.is_empty() || self.calls.pending() > 0;
        self.waits_since = waits.then(|| self.waits_since.unwrap_or(now));
        Ok(waits)
    }

    /// A call was answered: the time of the next begins.
    pub(super) fn begin_anew(&mut self) {
        self.waits_since = None;
    }

    /// When it is closed, if it goes on keeping the service waiting.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let time = if self.reply.is_empty() { limits.call_time } else { limits.reply_time };
        self.waits_since.map(|since| since + time)
    }

    /// What epoll is to look at: a reply that is left, or calls.
    pub(super) fn wanted(&self) -> EventFlags {
        match (self.reply.is_empty(), self.has_ended) {
            (false, _) => EventFlags::OUT,
            (true, true) => EventFlags::empty(),
            (true, false) => EventFlags::IN,
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
