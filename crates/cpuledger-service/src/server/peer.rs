//! What the kernel says of the process at the other end of a connection.

use std::fs::metadata;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::options;

/// No user: the number that stands for all users of other user namespaces.
pub const FOREIGN: u32 = u32::MAX;

/// The process at the other end of a connection, as the kernel knew it when it connected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The number of the connection, which no other one ever has.
    pub connection: u64,
    /// Its pid; 0 where it is in no PID namespace that this process sees. It may have ended, and another have its pid.
    pub pid: i32,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
    /// Its supplementary groups; none where it has more than 1,024.
    pub groups: Vec<u32>,
    /// Whether it is in the user namespace of this process. Where that is not known, it is not.
    pub is_in_our_namespace: bool,
}

impl Peer {
    /// Asks the kernel.
    pub(super) fn of(connection: u64, socket: impl AsFd) -> io::Result<Peer> {
        // Its pid may be 0, which the type that rustix has for it cannot hold.
        let credentials = getsockopt(&socket.as_fd(), PeerCredentials)?;
        Ok(Peer {
            connection,
            pid: credentials.pid(),
            uid: credentials.uid(),
            gid: credentials.gid(),
            // Kernels before 4.13 do not tell, and too many are not kept: then it has none, and is shown less.
            groups: options::peer_groups(&socket).unwrap_or_default(),
            is_in_our_namespace: is_in_our_namespace(&socket, credentials.pid()),
        })
    }

    /// The user for which it is counted what the service gives it. It is [`FOREIGN`] for all peers of other user namespaces together: there, one
    /// user has as many numbers as it likes.
    pub fn user(&self) -> u32 {
        if self.is_in_our_namespace { self.uid } else { FOREIGN }
    }

    /// Whether it belongs to this group.
    pub fn is_member(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}

/// Whether the peer is in our user namespace. Kernels before 6.5 give no descriptor of it, and its pid may belong to another process by
/// now.
fn is_in_our_namespace(socket: impl AsFd, pid: i32) -> bool {
    let process = options::peer_process(&socket);
    let namespace = |process: &str| {
        metadata(format!("/proc/{process}/ns/user")).map(|file| (file.dev(), file.ino())).ok()
    };
    let ours = namespace("self");
    if ours.is_none() || namespace(&pid.to_string()) != ours {
        return false;
    }
    // Its descriptor is readable when it has ended.
    let has_ended = |process: &OwnedFd| {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)) != Ok(0)
    };
    match &process {
        Ok(process) => !has_ended(process),
        Err(error) => error.raw_os_error() == Some(libc::ENOPROTOOPT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::Gid;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_peer_is_known_by_all_its_groups() {
        let (_ours, theirs) = UnixStream::pair().expect("sockets");
        let peer = Peer::of(7, &theirs).expect("the kernel tells");
        assert_eq!((peer.connection, peer.pid), (7, std::process::id().cast_signed()));
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        let mut own: Vec<u32> =
            rustix::process::getgroups().expect("groups").iter().map(|gid| gid.as_raw()).collect();
        let mut told = peer.groups.clone();
        own.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, own);
        assert!(peer.is_member(peer.gid) && !peer.is_member(4_000_000_123));
        assert!(peer.is_in_our_namespace);
        assert_eq!(peer.user(), peer.uid);
        assert_eq!(Peer { is_in_our_namespace: false, ..peer }.user(), FOREIGN);
    }

    /// How many groups are kept of a thread with that number.
    fn kept_groups(count: usize) -> usize {
        let groups: Vec<Gid> = (1..=count as u32).map(Gid::from_raw).collect();
        let of_thread = move || {
            rustix::thread::set_thread_groups(&groups).expect("root may");
            let (_ours, theirs) = UnixStream::pair().expect("sockets");
            Peer::of(7, &theirs).expect("the kernel tells").groups.len()
        };
        std::thread::spawn(of_thread).join().expect("it does not panic")
    }

    #[test]
    fn more_groups_than_a_person_has_are_not_kept_root() {
        if !rustix::process::geteuid().is_root() {
            return cpuledger_load::not_run("only root sets its groups");
        }
        for count in [0, 63, 64, 65, options::MOST_GROUPS] {
            assert_eq!(kept_groups(count), count);
        }
        for count in [options::MOST_GROUPS + 1, 2000, 65_536] {
            assert_eq!(kept_groups(count), 0, "of {count}");
        }
    }
}
