//! The listening socket of a service that no service manager has made one for.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen as start, socket_with,
};

/// Connections that wait to be accepted.
const QUEUE: i32 = 1024;

/// Why there is no listening socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// There is one already.
    #[error("another service answers at {0}: stop it, or name another socket")]
    Taken(String),
    /// Something else has that name.
    #[error("{0} is no socket: remove it, or name another one")]
    NoSocket(String),
    /// The kernel refuses it.
    #[error("{path}: {error}")]
    Kernel {
        /// The path.
        path: String,
        /// The kernel's answer.
        error: io::Error,
    },
}

/// The file of a socket that listens here. It is removed when this is dropped, unless it was replaced by that of another service.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// While it is open, no other file has its inode.
    file: File,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found =
            std::fs::symlink_metadata(&self.path).and_then(|found| Ok((found, self.file.metadata()?)));
        if found.is_ok_and(|(found, own)| (found.dev(), found.ino()) == (own.dev(), own.ino())) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path` for any user of the machine. A socket that a killed service has left there is replaced.
///
/// # Errors
/// When a service answers there, something else has that name, or the kernel refuses it.
pub fn listen(path: &Path) -> Result<(OwnedFd, SocketFile), ListenError> {
    let name = || path.display().to_string();
    let failed = |error: io::Error| ListenError::Kernel { path: name(), error };
    let address = SocketAddrUnix::new(path).map_err(|errno| failed(errno.into()))?;
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Err(ListenError::NoSocket(name())),
        Ok(_) => match connect(new_socket().map_err(failed)?, &address) {
            // It was left by one that was killed.
            Err(Errno::CONNREFUSED) => std::fs::remove_file(path).map_err(failed)?,
            // AGAIN: its queue is full.
            Ok(()) | Err(Errno::AGAIN) => return Err(ListenError::Taken(name())),
            Err(errno) => return Err(failed(errno.into())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let socket = new_socket().map_err(failed)?;
    bind(&socket, &address).map_err(|errno| failed(errno.into()))?;
    // Any user may ask. What it gets is decided for each.
    let file = SocketFile { path: path.to_owned(), file: open_to_all(path).map_err(failed)? };
    start(&socket, QUEUE).map_err(|errno| failed(errno.into()))?;
    Ok((socket, file))
}

/// Lets every user connect to the socket that was made there, and returns it. In a folder of another user, something else may have that name
/// by now, and a link to a file of root's must not be followed.
fn open_to_all(path: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = File::from(open(path, flags, Mode::empty())?);
    if !found.metadata()?.file_type().is_socket() {
        return Err(io::Error::other("the socket was replaced by something else"));
    }
    std::fs::set_permissions(
        format!("/proc/self/fd/{}", found.as_raw_fd()),
        PermissionsExt::from_mode(0o666),
    )?;
    Ok(found)
}

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_was_left_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let first = listen(&path).expect("a socket");
        assert_eq!(std::fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o666);
        let error = listen(&path).expect_err("it is taken");
        assert!(matches!(error, ListenError::Taken(_)), "{error}");
        // The one that was killed removes nothing.
        let (socket, left) = first;
        drop(socket);
        let second = listen(&path).expect("nothing answers there any more");
        drop(left);
        assert!(path.exists(), "the socket of the second is its own");
        drop(second);
        assert!(!path.exists(), "it removes its own");
        let file = folder.path().join("file");
        std::fs::write(&file, "text").expect("a file");
        assert!(matches!(listen(&file), Err(ListenError::NoSocket(_))));
        assert!(matches!(listen(&folder.path().join("no/socket")), Err(ListenError::Kernel { .. })));
    }

    #[test]
    fn what_has_replaced_the_socket_is_not_opened_to_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let (secret, link) = (folder.path().join("secret"), folder.path().join("socket"));
        std::fs::write(&secret, "text").expect("a file");
        std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).expect("its owner may");
        std::os::unix::fs::symlink(&secret, &link).expect("a link");
        for path in [&secret, &link] {
            let error = open_to_all(path).expect_err("it is no socket").to_string();
            assert!(error.contains("replaced"), "{error}");
        }
        let mode = std::fs::metadata(&secret).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
