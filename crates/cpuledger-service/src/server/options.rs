//! Options of sockets that rustix has not.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Since Linux 6.16: whether descriptors may come by the socket.
const SO_PASSRIGHTS: libc::c_int = 83;
/// Since Linux 4.12: what the socket has of the kernel's memory.
const SO_MEMINFO: libc::c_int = 55;
/// Where that tells of what was sent and not read.
const SK_MEMINFO_WMEM_ALLOC: usize = 2;

/// Groups of one peer, at most. The kernel allows 65,536, and a user gets as many in a user namespace: each connection keeps its list.
pub(super) const MOST_GROUPS: usize = 1024;

/// The supplementary groups of the peer.
///
/// # Errors
/// When it has more than [`MOST_GROUPS`], or the kernel does not tell.
pub(super) fn peer_groups(socket: impl AsFd) -> io::Result<Vec<u32>> {
    let mut groups = vec![0; 64];
    loop {
        match option(&socket, libc::SO_PEERGROUPS, &mut groups) {
            Ok(count) => {
                groups.truncate(count);
                groups.shrink_to_fit();
                return Ok(groups);
            }
            Err((error, needed))
                if error.raw_os_error() == Some(libc::ERANGE)
                    && (groups.len() + 1..=MOST_GROUPS).contains(&needed) =>
            {
                groups.resize(needed, 0);
            }
            Err((error, _)) => return Err(error),
        }
    }
}

/// A descriptor of the peer's process.
pub(super) fn peer_process(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut fd: [RawFd; 1] = [-1];
    match option(&socket, libc::SO_PEERPIDFD, &mut fd) {
        // SAFETY: the kernel has just opened it for this caller.
        Ok(1) if fd[0] >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd[0]) }),
        Ok(_) => Err(io::ErrorKind::InvalidData.into()),
        Err((error, _)) => Err(error),
    }
}

/// Memory of the kernel that holds what the peer has not read, which is this process's until then. Where the kernel does not tell, there is none.
pub(super) fn unread_bytes(socket: impl AsFd) -> usize {
    let mut memory = [0_u32; 16];
    match option(&socket, SO_MEMINFO, &mut memory) {
        // The kernel says that all is read before it takes off the last byte.
        Ok(count) if count > SK_MEMINFO_WMEM_ALLOC => {
            memory[SK_MEMINFO_WMEM_ALLOC].saturating_sub(1) as usize
        }
        _ => 0,
    }
}

/// Refuses descriptors that come by the connections of a listening socket. The process that has the last descriptor of a file
/// may have to wait when it closes it: up to nine hours, for a TCP socket that lingers. Returns whether the kernel can do that.
pub(super) fn refuse_descriptors(listener: impl AsFd) -> bool {
    let off: libc::c_int = 0;
    // SAFETY: the kernel reads a number of that size at that address.
    let answer = unsafe {
        libc::setsockopt(
            listener.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const off).cast(),
            size_of_val(&off) as libc::socklen_t,
        )
    };
    answer == 0
}

/// An option of a socket that is numbers. Returns how many the kernel has stored or, beside its error, how many there are.
fn option<T: Copy + Into<i64>>(
    socket: impl AsFd,
    name: libc::c_int,
    numbers: &mut [T],
) -> Result<usize, (io::Error, usize)> {
    let mut length = size_of_val(numbers) as libc::socklen_t;
    // SAFETY: the kernel stores at most `length` bytes at that address, which is the size of `numbers`. Any bits are a valid number.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let count = length as usize / size_of::<T>();
    if answer == 0 { Ok(count.min(numbers.len())) } else { Err((io::Error::last_os_error(), count)) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_the_peer_has_not_read_is_known() {
        let (mut ours, mut theirs) = UnixStream::pair().expect("sockets");
        assert_eq!(unread_bytes(&ours), 0);
        ours.write_all(b"a").expect("there is room");
        assert!((1..8192).contains(&unread_bytes(&ours)), "{}", unread_bytes(&ours));
        theirs.read_exact(&mut [0]).expect("it is there");
        assert_eq!(unread_bytes(&ours), 0);
    }
}
