//! Where it listens: addresses, paths, and sockets that a service manager hands over.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::net::{AddressFamily, getsockname};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// A place to listen at, as an option has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An address and a port.
    Address(SocketAddr),
    /// The path of a Unix socket.
    Path(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err("a path is missing after `unix:`".into()),
                path => Ok(Place::Path(path.into())),
            };
        }
        // As Go's servers take it.
        let address = match text.strip_prefix(':') {
            Some(port) => format!("[::]:{port}"),
            None => text.to_owned(),
        };
        address.parse().map(Place::Address).map_err(|_| {
            format!("`{text}` is no address with a port, such as 127.0.0.1:10911, nor a path, such as unix:/run/metrics.sock")
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Address(address) => address.fmt(formatter),
            Place::Path(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// A stream of either kind.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection.
pub struct Accepted {
    /// What is said.
    pub stream: Box<dyn Stream>,
    /// Who is at the other end: an address without its port, or a user.
    pub peer: String,
    /// Whether a browser of this machine may be at the other end, which a page of another site has sent: then the name counts by which
    /// this server is called.
    pub checks_host: bool,
}

/// A socket that listens.
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket, and its path if this program made it.
    Unix(UnixListener, Option<PathBuf>),
}

impl Listener {
    /// Listens there.
    ///
    /// # Errors
    /// When the address is taken, or the kernel refuses it.
    pub async fn bind(place: &Place) -> io::Result<Listener> {
        match place {
            Place::Address(address) => Ok(Listener::Tcp(TcpListener::bind(address).await?)),
            Place::Path(path) => {
                remove_left_over(path)?;
                Ok(Listener::Unix(UnixListener::bind(path)?, Some(path.clone())))
            }
        }
    }

    /// Takes a socket that listens already.
    ///
    /// # Errors
    /// When it is neither TCP nor a Unix socket.
    pub fn take(socket: OwnedFd) -> io::Result<Listener> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        match getsockname(socket.as_fd())?.address_family() {
            AddressFamily::UNIX => Ok(Listener::Unix(UnixListener::from_std(socket.into())?, None)),
            AddressFamily::INET | AddressFamily::INET6 => {
                Ok(Listener::Tcp(TcpListener::from_std(socket.into())?))
            }
            _ => Err(io::Error::other("it is neither TCP nor a Unix socket")),
        }
    }

    /// The next connection.
    ///
    /// # Errors
    /// When the kernel has none to give, for example as there are too many open files.
    pub async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let checks_host = stream.local_addr()?.ip().to_canonical().is_loopback();
                let peer = peer.ip().to_canonical().to_string();
                Ok(Accepted { stream: Box::new(stream), peer, checks_host })
            }
            Listener::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred().map_or_else(|_| "?".into(), |peer| peer.uid().to_string());
                Ok(Accepted { stream: Box::new(stream), peer: format!("user {user}"), checks_host: false })
            }
        }
    }

    /// Whether only programs of this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Listener::Tcp(listener) => {
                listener.local_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback())
            }
            Listener::Unix(..) => true,
        }
    }

    /// What it is called in messages, where it speaks this protocol.
    pub fn name(&self, scheme: &str) -> String {
        match self {
            Listener::Tcp(listener) => listener
                .local_addr()
                .map_or_else(|_| "an address".into(), |address| format!("{scheme}://{address}")),
            Listener::Unix(_, Some(path)) => format!("unix:{}", path.display()),
            Listener::Unix(_, None) => "a Unix socket".into(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, Some(path)) = self {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A socket at which nothing listens any more is in the way of the next one.
fn remove_left_over(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
    let refuses = || {
        let answer = std::os::unix::net::UnixStream::connect(path);
        answer.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    if is_socket && refuses() { std::fs::remove_file(path) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_addresses_or_paths() {
        let place = |text: &str| text.parse::<Place>();
        assert_eq!(place("127.0.0.1:10911"), Ok(Place::Address(([127, 0, 0, 1], 10911).into())));
        assert_eq!(place(":9100").map(|place| place.to_string()), Ok("[::]:9100".into()));
        assert_eq!(place("[::1]:1").map(|place| place.to_string()), Ok("[::1]:1".into()));
        assert_eq!(place("unix:/run/m").map(|place| place.to_string()), Ok("unix:/run/m".into()));
        for wrong in ["", "unix:", "localhost", "127.0.0.1", "10911", "host:1", "127.0.0.1:70000"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
