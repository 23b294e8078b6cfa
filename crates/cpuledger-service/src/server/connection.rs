//! One connection: what has come, what is to be sent, and since when it keeps the service waiting.
//!
//! What was sent and is not read is memory of this process, whether the connection is closed here or not. So the kernel holds little of
//! it: the rest of a reply, and of a frame behind it, waits here until the peer reads, and can be dropped.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use rustix::time::{ClockId, clock_gettime};

use super::handler::Answer;
use super::limits::Limits;
use super::options;
use super::peer::Peer;
use crate::descriptors;
use crate::varlink::{MAX_CALL_BYTES, Messages};

/// Bytes that a peer may leave unread, before the rest waits for it: the least that there is. The kernel doubles it.
const SENT_AHEAD: usize = 2048;
/// The same while a frame is sent.
const SENT_AHEAD_OF_FRAME: usize = 64 << 10;
/// Bytes of a frame that are sent before other connections are looked at again.
const SENT_AT_ONCE: usize = 1 << 20;

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    pub(super) peer: Peer,
    calls: Messages,
    /// A reply that the socket has not taken whole.
    reply: Vec<u8>,
    /// Descriptors that go with its first byte.
    descriptors: Vec<Arc<OwnedFd>>,
    /// The frame that follows it.
    frame: Option<Arc<Vec<u8>>>,
    /// Bytes of both that the socket has taken.
    sent: usize,
    /// Memory that the kernel may have of a frame that the peer has not read.
    ahead: usize,
    /// CPU time that sending frames has taken, and that is not charged yet.
    used: Duration,
    /// The peer sends no more.
    has_ended: bool,
    /// Since when a call, or the reading of a reply, has not ended.
    waits_since: Option<Instant>,
    /// What epoll was told to look at.
    pub(super) interest: EventFlags,
    /// It is closed, but for what its peer has not read.
    pub(super) is_left: bool,
    /// It is not read for a while.
    pub(super) is_held: bool,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, peer: Peer) -> Connection {
        // Without it, a peer may leave unread what is usual for sockets.
        let _ = set_socket_send_buffer_size(&socket, SENT_AHEAD);
        Connection {
            socket,
            peer,
            calls: Messages::new(MAX_CALL_BYTES),
            reply: Vec::new(),
            descriptors: Vec::new(),
            frame: None,
            sent: 0,
            ahead: 0,
            used: Duration::ZERO,
            has_ended: false,
            waits_since: None,
            interest: EventFlags::IN,
            is_left: false,
            is_held: false,
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
        if self.is_answering() {
            return Ok(None);
        }
        self.calls.next_message().map_err(|_| Closed)
    }

    /// Sends what the socket takes of an answer, and keeps the rest.
    pub(super) fn answer(&mut self, answer: Answer) -> Result<(), Closed> {
        let Answer { reply, descriptors, frame } = answer;
        self.reply = reply.to_bytes();
        self.descriptors = descriptors;
        self.ahead = frame.as_ref().map_or(0, |frame| 2 * SENT_AHEAD_OF_FRAME.min(frame.len() + SENT_AHEAD));
        self.frame = frame;
        if self.ahead > 0 {
            // If the kernel refuses, it takes more turns.
            let _ = set_socket_send_buffer_size(&self.socket, SENT_AHEAD_OF_FRAME);
        }
        self.send()
    }

    /// Sends what the socket takes of the answer.
    pub(super) fn send(&mut self) -> Result<(), Closed> {
        let begin = self.frame.is_some().then(thread_time);
        let sent = self.send_some();
        self.used += begin.map_or(Duration::ZERO, |begin| thread_time().saturating_sub(begin));
        sent
    }

    fn send_some(&mut self) -> Result<(), Closed> {
        let frame = self.frame.as_deref().map_or(&[][..], Vec::as_slice);
        let (length, most) = (self.reply.len() + frame.len(), self.sent + SENT_AT_ONCE);
        while self.sent < length {
            let reply = &self.reply[self.sent.min(self.reply.len())..];
            let frame = &frame[self.sent.saturating_sub(self.reply.len())..];
            let beside: Vec<BorrowedFd<'_>> = self.descriptors.iter().map(|fd| fd.as_fd()).collect();
            match descriptors::send(&self.socket, [reply, frame], &beside) {
                Ok(count) => {
                    self.descriptors = Vec::new();
                    self.sent += count;
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(_) => return Err(Closed),
            }
            if self.sent >= most {
                return Ok(());
            }
        }
        self.drop_answer();
        if self.ahead > 0 {
            // It is writable again when the peer has read it.
            set_socket_send_buffer_size(&self.socket, SENT_AHEAD).map_err(|_| Closed)?;
        }
        Ok(())
    }

    fn drop_answer(&mut self) {
        (self.reply, self.frame, self.sent) = (Vec::new(), None, 0);
        self.descriptors = Vec::new();
    }

    /// The socket is writable: sends what it takes or, if nothing is left to be sent, knows that the peer has read a frame.
    pub(super) fn go_on(&mut self) -> Result<(), Closed> {
        if self.reply.is_empty() {
            self.ahead = 0;
            return Ok(());
        }
        self.send()
    }

    /// Whether the peer has not got its answer yet or, of a frame, has not read it.
    pub(super) fn is_answering(&self) -> bool {
        !self.reply.is_empty() || self.ahead > 0
    }

    /// The frame that is being sent, and what the kernel may hold of it.
    pub(super) fn unread(&self) -> (Option<&Arc<Vec<u8>>>, usize) {
        (self.frame.as_ref(), self.ahead)
    }

    /// The CPU time that frames have taken since this was asked last.
    pub(super) fn take_used(&mut self) -> Duration {
        std::mem::take(&mut self.used)
    }

    /// Closes it as far as that frees memory: drops what is left to be sent, and takes nothing more. Whether its peer has read all that was
    /// sent.
    pub(super) fn leave(&mut self) -> bool {
        self.drop_answer();
        self.calls = Messages::new(0);
        self.is_left = true;
        // It fails if the peer has closed.
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.is_read()
    }

    /// Whether the peer has read all that was sent, or has closed.
    pub(super) fn is_read(&self) -> bool {
        options::unread_bytes(&self.socket) == 0
    }

    /// Where a turn leaves it. Whether it keeps the service waiting, and from when on.
    ///
    /// # Errors
    /// When it has ended, and nothing is left to be sent.
    pub(super) fn settle(&mut self, now: Instant) -> Result<bool, Closed> {
        if self.has_ended && !self.is_answering() {
            return Err(Closed);
        }
        let waits = self.is_answering() || self.calls.pending() > 0;
        self.waits_since = waits.then(|| self.waits_since.unwrap_or(now));
        Ok(waits)
    }

    /// A call was answered: the time of the next begins.
    pub(super) fn begin_anew(&mut self) {
        self.waits_since = None;
    }

    /// When it is closed, if it goes on keeping the service waiting.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let time = if self.is_answering() { limits.reply_time } else { limits.call_time };
        self.waits_since.map(|since| since + time)
    }

    /// What epoll is to look at: an answer that is left, or calls.
    pub(super) fn wanted(&self) -> EventFlags {
        match (self.is_answering(), self.has_ended) {
            // Only when something changes: the end of the connection would be told of again and again.
            _ if self.is_left => EventFlags::OUT | EventFlags::ET,
            (true, _) => EventFlags::OUT,
            _ if self.is_held => EventFlags::empty(),
            (false, true) => EventFlags::empty(),
            (false, false) => EventFlags::IN,
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// CPU time of this thread.
pub fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
