//! One generic netlink socket: many requests in one send, many answers in one receive.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recvmmsg,
    send, setsockopt, socket, sockopt,
};

use super::layout::Unknown;
use super::message::{self, Body, Message, Request};

/// Requests in one send, answers in one receive. These answers take at most 150 kB of the receive buffer, of which every
/// socket has 208 KiB unless the machine is set up otherwise.
pub const BATCH: usize = 64;

/// Room for one answer: the longest known is of a death, with 1,432 bytes. What is longer is told as such.
const ANSWER_BYTES: usize = 2048;

/// What receiving gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// The number of messages received; more may be waiting.
    Some(usize),
    /// The socket is empty.
    Nothing,
    /// Messages were dropped since the last time, because the socket was full.
    Overrun,
}

/// What goes wrong with a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The kernel's answer.
    Errno(Errno),
    /// What came is not understood.
    Unknown(Unknown),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure::Errno(errno)
    }
}

impl From<Unknown> for Failure {
    fn from(unknown: Unknown) -> Failure {
        Failure::Unknown(unknown)
    }
}

/// The socket and its buffers.
pub struct Socket {
    fd: OwnedFd,
    /// The number of the family TASKSTATS.
    family: u16,
    /// Of the next query, so that an answer that is no longer waited for is recognised.
    sequence: u32,
    out: Vec<u8>,
    room: Vec<u8>,
    lengths: Vec<usize>,
}

impl Socket {
    /// Opens one.
    pub fn open() -> Result<Socket, Failure> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkGeneric,
        )?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        let mut socket = Socket {
            fd,
            family: 0,
            sequence: 0,
            out: Vec::new(),
            room: vec![0; BATCH * ANSWER_BYTES],
            lengths: Vec::with_capacity(BATCH),
        };
        socket.family = socket.find_family()?;
        Ok(socket)
    }

    fn find_family(&mut self) -> Result<u16, Failure> {
        let request = Request {
            family: message::CONTROLLER,
            flags: 0,
            sequence: 0,
            command: message::GET_FAMILY,
            attribute: message::FAMILY_NAME,
            payload: b"TASKSTATS\0",
        };
        self.ask(&request)?;
        let mut answer = Err(Errno::ENOMSG);
        self.receive_all(|message| match message.body {
            Body::Family(number) => answer = Ok(number),
            Body::Outcome(errno) if errno != 0 => answer = Err(Errno::from_raw(errno)),
            _ => {}
        })?;
        Ok(answer?)
    }

    /// Makes room for about this number of bytes of messages, as far as the kernel lets us.
    pub fn set_receive_bytes(&self, bytes: usize) {
        // With CAP_NET_ADMIN beyond the limit of the machine; without it up to that. Less room loses more messages, which
        // are counted.
        if setsockopt(&self.fd, sockopt::RcvBufForce, &bytes).is_err() {
            let _ = setsockopt(&self.fd, sockopt::RcvBuf, &bytes);
        }
    }

    /// The number of the family.
    pub fn family(&self) -> u16 {
        self.family
    }

    /// Sends one request.
    pub fn ask(&mut self, request: &Request<'_>) -> Result<(), Errno> {
        self.out.clear();
        request.append_to(&mut self.out);
        self.flush()
    }

    /// Sends queries of these numbers, tasks or processes as the attribute says; returns the sequence of the first. The
    /// kernel answers each before this returns.
    pub fn query(&mut self, queries: impl Iterator<Item = (u16, i32)>) -> Result<u32, Errno> {
        self.out.clear();
        let first = self.sequence;
        for (attribute, number) in queries {
            let request = Request {
                family: self.family,
                flags: 0,
                sequence: self.sequence,
                command: message::GET,
                attribute,
                payload: &number.to_ne_bytes(),
            };
            request.append_to(&mut self.out);
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.flush().map(|()| first)
    }

    fn flush(&self) -> Result<(), Errno> {
        loop {
            match send(self.fd.as_raw_fd(), &self.out, MsgFlags::empty()) {
                Err(Errno::EINTR) => {}
                sent => return sent.map(drop),
            }
        }
    }

    /// Hands out the messages that are there, until the socket is empty; returns whether some were dropped.
    pub fn receive_all(&mut self, mut each: impl FnMut(Message<'_>)) -> Result<bool, Failure> {
        let mut is_overrun = false;
        loop {
            match self.receive(&mut each)? {
                Received::Some(_) => {}
                Received::Overrun => is_overrun = true,
                Received::Nothing => return Ok(is_overrun),
            }
        }
    }

    /// Hands out the messages of one receive.
    pub fn receive(&mut self, mut each: impl FnMut(Message<'_>)) -> Result<Received, Failure> {
        let count = match self.receive_datagrams() {
            Ok(count) => count,
            Err(Errno::EAGAIN) => return Ok(Received::Nothing),
            Err(Errno::EINTR) => return Ok(Received::Some(0)),
            Err(Errno::ENOBUFS) => return Ok(Received::Overrun),
            Err(errno) => return Err(errno.into()),
        };
        for (datagram, &length) in self.room.chunks_exact(ANSWER_BYTES).zip(&self.lengths) {
            // One that fills its room may have been longer.
            let whole = datagram.get(..length).filter(|whole| whole.len() < ANSWER_BYTES);
            message::for_each(whole.ok_or(Unknown::Nothing)?, self.family, &mut each)?;
        }
        Ok(if count == 0 { Received::Nothing } else { Received::Some(count) })
    }

    /// Receives what is there into the room, each datagram into its part.
    fn receive_datagrams(&mut self) -> Result<usize, Errno> {
        self.lengths.clear();
        let mut headers = MultiHeaders::<NetlinkAddr>::preallocate(BATCH, None);
        let mut parts: Vec<[IoSliceMut<'_>; 1]> =
            self.room.chunks_exact_mut(ANSWER_BYTES).map(|part| [IoSliceMut::new(part)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let results = recvmmsg(self.fd.as_raw_fd(), &mut headers, parts.iter_mut(), flags, None)?;
        for result in results {
            // Only the kernel has port 0; what another process sends is not looked at.
            let is_kernel = result.address.is_some_and(|address| address.pid() == 0);
            self.lengths.push(if is_kernel { result.bytes } else { 0 });
        }
        Ok(self.lengths.len())
    }
}
