//! The service manager, if there is one: what it is told, and given to keep (sd_notify(3), sd_pid_notify_with_fds(3)).
//!
//! Nothing here waits for a manager that does not read. A message that its socket has no room for is lost, and the next one says the same.
//! What it is given to keep must not be lost: that has a deadline.

use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, connect, sendmsg, socket_with,
};
use sd_notify::NotifyState::{self, Custom};

/// How long the manager may take to read all that it is given when the service begins or ends.
const READING: Duration = Duration::from_secs(5);

/// Whether there is a manager that may keep descriptors over a restart. Before systemd 254 it does not say whether it does.
pub fn may_keep() -> bool {
    socket_name().is_some() && std::env::var("FDSTORE").as_deref() != Ok("0")
}

/// What is said to the manager until a deadline.
#[derive(Debug)]
pub struct Talk {
    deadline: Instant,
}

impl Talk {
    /// The manager has some seconds from now on.
    pub fn begin() -> Talk {
        Talk { deadline: Instant::now() + READING }
    }

    /// Gives the manager a descriptor to keep, by this name.
    ///
    /// # Errors
    /// When it cannot be sent, or not in time.
    pub fn store(&self, name: &str, fd: BorrowedFd<'_>) -> io::Result<()> {
        // By itself the manager would drop those that poll(2) says are at their end.
        self.say(&[Custom("FDSTORE=1"), Custom(&format!("FDNAME={name}")), Custom("FDPOLL=0")], Some(fd))
    }

    /// The manager drops what it keeps by these names; it has done so afterwards. One that does not answer in time has them longer.
    pub fn forget(&self, names: &[String]) {
        let forgotten = names.iter().try_for_each(|name| {
            self.say(&[Custom("FDSTOREREMOVE=1"), Custom(&format!("FDNAME={name}"))], None)
        });
        let _ = forgotten.and_then(|()| self.wait_until_read());
    }

    /// Waits until the manager has read all that it was told before.
    ///
    /// # Errors
    /// When it has not in time.
    pub fn wait_until_read(&self) -> io::Result<()> {
        let (reader, writer) = io::pipe()?;
        self.say(&[NotifyState::Custom("BARRIER=1")], Some(writer.as_fd()))?;
        drop(writer);
        // The manager closes the other end.
        self.wait(&reader, PollFlags::empty())
    }

    /// Sends a message as soon as there is room for it.
    fn say(&self, states: &[NotifyState<'_>], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let socket = socket()?;
        loop {
            match send(&socket, states, fd) {
                Err(Errno::AGAIN) => self.wait(&socket, PollFlags::OUT)?,
                sent => return Ok(sent?),
            }
        }
    }

    fn wait(&self, fd: impl AsFd, events: PollFlags) -> io::Result<()> {
        let rest = self.deadline.saturating_duration_since(Instant::now());
        let rest = Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: rest.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&fd, events)], Some(&rest))? {
            0 => Err(io::Error::new(io::ErrorKind::TimedOut, "the service manager does not read")),
            _ => Ok(()),
        }
    }
}

/// The service reads its configuration; [`alive`] follows.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    };
}

/// It ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// It lives, has this number of connections and, unless it reads its configuration, is ready. Whether the manager will know.
pub fn alive(connections: usize, is_ready: bool) -> bool {
    let status = format!("{connections} connections");
    let states = [NotifyState::Watchdog, NotifyState::Status(&status), NotifyState::Ready];
    tell(if is_ready { &states } else { &states[..2] })
}

/// Whether the message has found room. Where there is no manager, there is none to tell.
fn tell(states: &[NotifyState<'_>]) -> bool {
    let sent = socket().map(|socket| send(&socket, states, None));
    !matches!(sent, Ok(Err(Errno::AGAIN)))
}

/// What `NOTIFY_SOCKET` says.
fn socket_name() -> Option<std::ffi::OsString> {
    std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty())
}

/// A socket that sends to the manager, and never waits.
fn socket() -> io::Result<OwnedFd> {
    let name = socket_name().ok_or(io::ErrorKind::NotFound)?;
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name),
        None => SocketAddrUnix::new(OsStr::as_bytes(&name)),
    }?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    connect(&socket, &address)?;
    Ok(socket)
}

fn send(socket: &OwnedFd, states: &[NotifyState<'_>], fd: Option<BorrowedFd<'_>>) -> Result<(), Errno> {
    let text: String = states.iter().map(|state| format!("{state}\n")).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let beside: Vec<BorrowedFd<'_>> = fd.into_iter().collect();
    if !beside.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&beside));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(text.as_bytes())], &mut control, flags).map(drop)
}
