//! A client of the service: calls with a time limit, and what comes back.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::User;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, socket_with,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::descriptors;
use crate::ring::{Reader, RingError};
use crate::varlink::{
    Call, Description, Fault, INTERFACE, Info, List, Listing, MAX_REPLY_BYTES, Messages, Refusal, Reply,
    Subscribe, Subscription,
};

/// The variable with the path of another socket.
pub const SOCKET_VARIABLE: &str = "CPULEDGER_SOCKET";
/// The path of the socket where nothing else is said.
pub const SOCKET: &str = "/run/cpuledger/io.cpuledger.Ledger";

/// The user that the service may run as, beside root.
const SERVICE_USER: &str = "cpuledger";

/// Maximum length of a listing.
const MAX_LISTING_BYTES: u64 = 4 << 30;
/// Bytes that are taken of the connection at once.
const RECEIVED_AT_ONCE: usize = 16 << 10;
/// How often a ring may end before it is mapped.
const MOST_ENDED_RINGS: usize = 3;
/// The kernel takes a time limit of 0 for none.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nothing listens there.
    #[error("no service at {path}: {errno}")]
    NoService {
        /// The path of the socket.
        path: String,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The process at the usual socket belongs to a user who is not trusted.
    #[error(
        "its socket belongs to user {0}, who could show false figures; only root and the user `{SERVICE_USER}` are trusted, or another \
         socket that --socket or $CPULEDGER_SOCKET names"
    )]
    ForeignOwner(u32),
    /// It did not answer in time.
    #[error("the service has not answered within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// It closed the connection.
    #[error("the service has closed the connection")]
    Closed,
    /// A call before was left without its answer, for which that of another could be taken.
    #[error("the service has not answered a call before, so this connection is of no more use")]
    OutOfStep,
    /// The connection fails.
    #[error("the connection to the service: {0}")]
    Connection(Errno),
    /// It answers with an error that the interface declares.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// Its answer is no message, or not what the interface says.
    #[error("the service does not follow the protocol: {0}")]
    Protocol(#[from] Fault),
    /// The reply names a descriptor that has not come with it.
    #[error("the service does not follow the protocol: descriptor {0} is missing")]
    NoDescriptor(usize),
    /// The ring is none, or cannot be mapped.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// There is no memory for a listing.
    #[error("there is no memory for a listing of {0} bytes: free some, or raise the limit")]
    NoMemory(u64),
}

/// What an option of the command line has named.
static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Makes this process connect to that socket, whatever the environment says. The first call holds.
pub fn name_socket(path: &Path) {
    NAMED.get_or_init(|| path.to_path_buf());
}

/// Where the socket is: what [`name_socket`] has named, else what `$CPULEDGER_SOCKET` says, else [`SOCKET`].
pub fn socket_path() -> PathBuf {
    if let Some(path) = NAMED.get() {
        return path.clone();
    }
    match std::env::var_os(SOCKET_VARIABLE) {
        Some(path) if !path.is_empty() => path.into(),
        _ => SOCKET.into(),
    }
}

/// A connection to the service.
#[derive(Debug)]
pub struct Client {
    socket: OwnedFd,
    timeout: Duration,
    received: Messages,
    /// Whether a call has failed, and its answer, or the rest of it, may still come.
    is_out_of_step: bool,
}

impl Client {
    /// Connects to the socket at `path`. No call takes longer than `timeout`, nor does this.
    ///
    /// # Errors
    /// When nothing listens there, or its queue stays full.
    pub fn connect(path: &Path, timeout: Duration) -> Result<Client, ClientError> {
        let refused = |errno| ClientError::NoService { path: path.display().to_string(), errno };
        let address = SocketAddrUnix::new(path).map_err(refused)?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let socket = socket.map_err(refused)?;
        // Where the queue of the socket is full, the kernel takes those in turn that wait. Others may fill it for as long as they like, and
        // a client that only tries from time to time finds it full.
        set_socket_timeout(&socket, Timeout::Send, Some(timeout.max(SHORTEST_WAIT))).map_err(refused)?;
        let deadline = Instant::now() + timeout;
        loop {
            match connect(&socket, &address) {
                Ok(()) => break,
                Err(Errno::INTR) if Instant::now() < deadline => {}
                Err(Errno::AGAIN | Errno::INTR) => return Err(ClientError::TimedOut(timeout)),
                Err(errno) => return Err(refused(errno)),
            }
        }
        ioctl_fionbio(&socket, true).map_err(refused)?;
        Ok(Client { socket, timeout, received: Messages::new(MAX_REPLY_BYTES), is_out_of_step: false })
    }

    /// Checks that the service at `path` belongs to root or to its own user. A socket that the caller names is the caller's choice.
    ///
    /// # Errors
    /// When it belongs to another user, or the kernel does not say whose it is.
    pub fn check_owner(&self, path: &Path) -> Result<(), ClientError> {
        if path != Path::new(SOCKET) {
            return Ok(());
        }
        let peer = getsockopt(&self.socket, PeerCredentials)
            .map_err(|errno| ClientError::Connection(Errno::from_raw_os_error(errno as i32)))?;
        if owner_is_trusted(peer.uid()) { Ok(()) } else { Err(ClientError::ForeignOwner(peer.uid())) }
    }

    /// From now on no call takes longer than this.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// What the service is, and what this caller may have.
    ///
    /// # Errors
    /// When it does not answer, or refuses it.
    pub fn info(&mut self) -> Result<Info, ClientError> {
        Ok(self.call("Info", &serde_json::json!({}))?.0)
    }

    /// The fields that a row may have.
    ///
    /// # Errors
    /// When it does not answer, or refuses it.
    pub fn describe(&mut self) -> Result<Description, ClientError> {
        Ok(self.call("Describe", &serde_json::json!({}))?.0)
    }

    /// Subscribes, and maps the ring. The subscription ends with this connection. A ring that another one has followed before it was mapped is
    /// asked for again.
    ///
    /// # Errors
    /// When the service does not answer, refuses it, or sends no ring.
    pub fn subscribe(&mut self, wanted: &Subscribe) -> Result<(Subscription, Reader), ClientError> {
        let mut attempts = 0;
        loop {
            let (subscription, descriptors): (Subscription, _) = self.call("Subscribe", wanted)?;
            let ring =
                descriptors.get(subscription.ring).ok_or(ClientError::NoDescriptor(subscription.ring))?;
            match Reader::open(ring) {
                Err(RingError::Ended) if attempts < MOST_ENDED_RINGS => attempts += 1,
                opened => return Ok((subscription, opened?)),
            }
        }
    }

    /// Lists tasks: one frame.
    ///
    /// # Errors
    /// When the service does not answer, refuses it, or does not send all of it in time, or there is no memory for it.
    pub fn list(&mut self, wanted: &List) -> Result<(Listing, Vec<u8>), ClientError> {
        let deadline = Instant::now() + self.timeout;
        let call = Call { upgrade: true, ..Call::new(&format!("{INTERFACE}.List"), wanted)? };
        let (reply, _) = self.call_until(&call, deadline)?;
        let listing: Listing = serde_json::from_value(reply.parameters.into()).map_err(Fault::from)?;
        let frame = self.bytes(listing.length);
        self.is_out_of_step |= frame.is_err();
        Ok((listing, frame?))
    }

    /// Bytes that follow a reply. They may take longer than the time limit, as long as they keep coming.
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, ClientError> {
        let no_memory = || ClientError::NoMemory(length);
        let length = usize::try_from(length.min(MAX_LISTING_BYTES + 1)).map_err(|_| no_memory())?;
        let first = self.received.take_bytes(length);
        let mut bytes = Vec::new();
        // Not more than is needed: where the memory begins, its pages are whole.
        bytes
            .try_reserve_exact(length)
            .ok()
            .filter(|()| length as u64 <= MAX_LISTING_BYTES)
            .ok_or_else(no_memory)?;
        bytes.extend_from_slice(&first);
        let mut deadline = Instant::now() + self.timeout;
        while bytes.len() < length {
            match recv(&self.socket, spare_capacity(&mut bytes), RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Err(ClientError::Closed),
                Ok(_) => deadline = Instant::now() + self.timeout,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, deadline)?,
                Err(errno) => return Err(ClientError::Connection(errno)),
            }
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    /// The process that listens at the socket, if it was not its manager, or another one before it.
    pub fn process(&self) -> Option<i32> {
        getsockopt(&self.socket, PeerCredentials).ok().map(|of| of.pid())
    }

    /// Whether calls can be made: the service is still there, as far as the connection tells, and each call was answered or refused. Takes one
    /// system call and no time.
    pub fn is_connected(&self) -> bool {
        !self.is_out_of_step && !self.has_ended()
    }

    /// Whether a call has failed whose answer may still come.
    pub fn is_out_of_step(&self) -> bool {
        self.is_out_of_step
    }

    /// Whether the service has closed the connection.
    pub fn has_ended(&self) -> bool {
        let mut socket = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let ended = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        match poll(&mut socket, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(_) => socket[0].revents().intersects(ended),
            Err(errno) => errno != Errno::INTR,
        }
    }

    /// The socket, for a caller that polls it: while [`Client::is_connected`], it is readable between calls only if the service has ended.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Calls a method of the ledger's interface.
    fn call<T: DeserializeOwned>(
        &mut self,
        method: &str,
        parameters: &impl Serialize,
    ) -> Result<(T, Vec<OwnedFd>), ClientError> {
        let call = Call::new(&format!("{INTERFACE}.{method}"), parameters)?;
        let (reply, descriptors) = self.call_raw(&call)?;
        let value = serde_json::from_value(reply.parameters.into()).map_err(Fault::from)?;
        Ok((value, descriptors))
    }

    /// Calls any method, and returns its reply with the descriptors beside it.
    ///
    /// # Errors
    /// When the service does not answer, or refuses it. After any error but a refusal, the connection is of no more use: calls fail, and
    /// [`Client::is_connected`] says so.
    pub fn call_raw(&mut self, call: &Call) -> Result<(Reply, Vec<OwnedFd>), ClientError> {
        self.call_until(call, Instant::now() + self.timeout)
    }

    fn call_until(&mut self, call: &Call, deadline: Instant) -> Result<(Reply, Vec<OwnedFd>), ClientError> {
        if self.is_out_of_step {
            return Err(ClientError::OutOfStep);
        }
        let answer = self.exchange(call, deadline);
        let is_in_step = matches!(answer, Ok(_) | Err(ClientError::Refused(_) | ClientError::Closed));
        self.is_out_of_step = !is_in_step;
        answer
    }

    fn exchange(&mut self, call: &Call, deadline: Instant) -> Result<(Reply, Vec<OwnedFd>), ClientError> {
        let sent = self.send(&call.to_bytes(), deadline);
        // A service that closes at once, because a limit is reached, has said so before.
        if let Err(error) = sent
            && !matches!(error, ClientError::Closed)
        {
            return Err(error);
        }
        let mut descriptors = Vec::new();
        loop {
            if let Some(message) = self.received.next_message()? {
                let reply = Reply::parse(&message)?;
                return match Refusal::of(&reply) {
                    Some(refusal) => Err(refusal.into()),
                    None => Ok((reply, descriptors)),
                };
            }
            let mut bytes = [0; RECEIVED_AT_ONCE];
            match descriptors::receive(&self.socket, &mut bytes, &mut descriptors) {
                Ok(0) | Err(Errno::CONNRESET) => return Err(ClientError::Closed),
                Ok(count) => self.received.push(&bytes[..count]),
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, deadline)?,
                Err(errno) => return Err(ClientError::Connection(errno)),
            }
        }
    }

    fn send(&self, mut bytes: &[u8], deadline: Instant) -> Result<(), ClientError> {
        while !bytes.is_empty() {
            match descriptors::send(&self.socket, [bytes, &[]], &[]) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, deadline)?,
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ClientError::Closed),
                Err(errno) => return Err(ClientError::Connection(errno)),
            }
        }
        Ok(())
    }

    fn wait(&self, events: PollFlags, deadline: Instant) -> Result<(), ClientError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ClientError::TimedOut(self.timeout));
        }
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        match poll(&mut [PollFd::new(&self.socket, events)], Some(&left)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(ClientError::Connection(errno)),
        }
    }
}

/// Whether the figures of a service of this user are believed.
fn owner_is_trusted(uid: u32) -> bool {
    uid == 0
        || User::from_name(SERVICE_USER).ok().flatten().is_some_and(|service| service.uid.as_raw() == uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_user_is_not_believed() {
        let of_service = User::from_name(SERVICE_USER).ok().flatten().map(|user| user.uid.as_raw());
        assert!(owner_is_trusted(0));
        for uid in [1, 1000, 65_534, u32::MAX] {
            assert_eq!(owner_is_trusted(uid), of_service == Some(uid), "{uid}");
        }
    }
}
