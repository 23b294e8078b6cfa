//! Files of runtimes, read with suspicion: whoever runs a container has chosen much of what is in them.
//!
//! A file counts only if it is a regular one that root or this process owns. It is opened without following a link and without waiting, so a
//! FIFO or a device blocks nobody, and no more than a limit is read.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use cpuledger_model::framing::Nameless;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::Deserialize;

/// Bytes of the longest bundle or state of one container that is read. Those of Kubernetes have some 50 KB.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// Bytes of the longest list of containers: 10,000 of them have 6 MB.
pub(super) const MOST_LIST_BYTES: u64 = 8 << 20;

/// The file; `None`: it is not there.
///
/// # Errors
/// When it may not be read, is too long, or is none that a runtime of root makes.
pub(super) fn read(path: &Path, most_bytes: u64) -> Result<Option<Vec<u8>>, Nameless> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::ACCESS | Errno::PERM) => return Err(Nameless::Denied),
        Err(_) => return Err(Nameless::Damaged),
    };
    let of = fstat(&file).map_err(|_| Nameless::Damaged)?;
    let is_file = FileType::from_raw_mode(of.st_mode) == FileType::RegularFile;
    if !is_file || ![0, geteuid().as_raw()].contains(&of.st_uid) {
        return Err(Nameless::Damaged);
    }
    let mut text = Vec::new();
    let read = file.take(most_bytes + 1).read_to_end(&mut text);
    match read {
        Ok(length) if length as u64 > most_bytes => Err(Nameless::TooLarge),
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Nameless::Denied),
        Err(_) => Err(Nameless::Damaged),
    }
}

/// A file of JSON, of which only known members are kept; `None`: it is not there.
///
/// # Errors
/// As [`read`], or when it is no such JSON.
pub(super) fn read_json<T: for<'a> Deserialize<'a>>(
    path: &Path,
    most_bytes: u64,
) -> Result<Option<T>, Nameless> {
    let Some(text) = read(path, most_bytes)? else { return Ok(None) };
    serde_json::from_slice(&text).map(Some).map_err(|_| Nameless::Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, mknodat};

    #[test]
    fn only_a_file_of_bounded_length_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").expect("a file");
        symlink(at("file"), at("link")).expect("a link");
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).expect("a FIFO");
        fs::create_dir(at("folder")).expect("a folder");
        let read = |name: &str| read(&at(name), 4);
        assert_eq!(read("file"), Ok(Some(b"text".to_vec())));
        assert_eq!(read("none"), Ok(None));
        assert_eq!(read("file/none"), Ok(None));
        for name in ["link", "fifo", "folder"] {
            assert_eq!(read(name), Err(Nameless::Damaged), "{name}");
        }
        fs::write(at("file"), "texts").expect("a file");
        assert_eq!(read("file"), Err(Nameless::TooLarge));
        assert_eq!(super::read(Path::new("/dev/zero"), 4), Err(Nameless::Damaged));
    }

    #[test]
    fn deep_json_is_damaged() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep");
        fs::write(&path, "[".repeat(100_000)).expect("a file");
        assert_eq!(read_json::<serde::de::IgnoredAny>(&path, MOST_BYTES).map(|_| ()), Err(Nameless::Damaged));
    }
}
