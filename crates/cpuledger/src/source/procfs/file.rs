//! Files and directories of /proc: opened by number, read whole into one reused buffer.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use cpuledger_proc::number;
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, seek};
use rustix::io::Errno;

use crate::error::Error;

/// Where procfs belongs.
pub const PROC: &str = "/proc";

/// Bytes of a file read at once: more than any `stat`, and than a `status` without thousands of groups.
const FILE_BYTES: usize = 16 << 10;

/// A `status` of 65,536 groups is 0.7 MB; beyond this limit a file is not one of those.
const MAX_FILE_BYTES: usize = 4 << 20;

/// Bytes of a directory read at once: 40,000 tasks. The pages beyond the last entry are never touched.
const DIRECTORY_BYTES: usize = 1 << 20;

/// What becomes of an attempt to read something of a task.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attempt<T> {
    /// It was read.
    Done(T),
    /// The task is gone, or was never there.
    Gone,
    /// It is there, but not for us, or not to be had.
    Denied,
}

impl<T> Attempt<T> {
    /// Tells what is about the task from what is not.
    ///
    /// # Errors
    /// What is not about the task: no descriptors or memory.
    pub fn from_result(result: Result<T, Errno>) -> Result<Attempt<T>, Errno> {
        match result {
            Ok(value) => Ok(Attempt::Done(value)),
            Err(Errno::NOENT | Errno::SRCH) => Ok(Attempt::Gone),
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(errno),
            // Whatever else is odd about one task must not hide all the others.
            Err(_) => Ok(Attempt::Denied),
        }
    }
}

/// A path of a task below a directory of /proc, on the stack: `123/task/456/stat`.
#[derive(Debug, Clone, Copy)]
pub struct Name {
    bytes: [u8; Name::MAX_BYTES],
    length: usize,
}

impl Name {
    /// Two numbers of 11 bytes, `/task/` between and the longest name of a file after them, and NULs.
    const MAX_BYTES: usize = 48;

    /// The directory itself.
    pub const EMPTY: Name = Name { bytes: [0; Name::MAX_BYTES], length: 0 };

    /// With these bytes after what is there.
    #[must_use]
    pub fn then(mut self, bytes: &[u8]) -> Name {
        let end = self.length + bytes.len();
        debug_assert!(end < Name::MAX_BYTES);
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
        self
    }

    /// With this number after what is there.
    #[must_use]
    pub fn then_number(self, number: i32) -> Name {
        self.then(itoa::Buffer::new().format(number).as_bytes())
    }

    /// As the kernel takes it.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).expect("a name is shorter than its buffer of NULs")
    }
}

/// Opens a directory only to name files below it: as long as it is open, they are those of the same task.
///
/// # Errors
/// Only those that are not about the task: no file descriptors, no memory.
pub fn open_place(at: BorrowedFd<'_>, name: &Name) -> Result<Attempt<OwnedFd>, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Attempt::from_result(openat(at, name.as_c_str(), flags, Mode::empty()))
}

/// Opens a procfs: a /proc on which none is mounted is an empty folder.
pub fn open_root(path: &Path) -> Result<OwnedFd, Error> {
    let failed = |source: io::Error| Error::Procfs { path: path.display().to_string(), source };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
    let filesystem = rustix::fs::fstatfs(&root).map_err(|errno| failed(errno.into()))?;
    if filesystem.f_type != rustix::fs::PROC_SUPER_MAGIC {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "it is not a procfs")));
    }
    Ok(root)
}

/// The reused buffers.
pub struct Buffers {
    file: Vec<u8>,
    directory: Vec<u8>,
}

impl Buffers {
    /// Empty ones.
    pub fn new() -> Buffers {
        Buffers { file: vec![0; FILE_BYTES], directory: Vec::with_capacity(DIRECTORY_BYTES) }
    }

    /// Reads a file whole, in one read where it fits.
    ///
    /// # Errors
    /// Only those that are not about the task.
    pub fn read(&mut self, at: BorrowedFd<'_>, name: &Name) -> Result<Attempt<&[u8]>, Errno> {
        let attempt = Attempt::from_result(self.read_file(at, name))?;
        Ok(match attempt {
            Attempt::Done(length) => Attempt::Done(&self.file[..length]),
            Attempt::Gone => Attempt::Gone,
            Attempt::Denied => Attempt::Denied,
        })
    }

    fn read_file(&mut self, at: BorrowedFd<'_>, name: &Name) -> Result<usize, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(at, name.as_c_str(), flags, Mode::empty())?;
        let mut length = 0;
        loop {
            let read = rustix::io::read(&file, &mut self.file[length..])?;
            length += read;
            // /proc fills the buffer as far as it can: less than that is the end.
            if length < self.file.len() {
                return Ok(length);
            }
            if length >= MAX_FILE_BYTES {
                return Err(Errno::FBIG);
            }
            self.file.resize(length * 2, 0);
        }
    }

    /// The pid of every process that can be seen.
    pub fn list_processes(&mut self, root: BorrowedFd<'_>, pids: &mut Vec<i32>) -> Result<(), Error> {
        let failed = |errno: Errno| Error::Procfs { path: PROC.to_owned(), source: errno.into() };
        seek(root, SeekFrom::Start(0)).map_err(failed)?;
        match self.list(root, pids).map_err(failed)? {
            Attempt::Done(()) => Ok(()),
            Attempt::Gone => Err(failed(Errno::NOENT)),
            Attempt::Denied => Err(failed(Errno::ACCESS)),
        }
    }

    /// The numbers among the names of an open directory, from where it stands.
    ///
    /// # Errors
    /// Only those that are not about the task.
    pub fn list(&mut self, directory: BorrowedFd<'_>, numbers: &mut Vec<i32>) -> Result<Attempt<()>, Errno> {
        numbers.clear();
        let entries: &mut [MaybeUninit<u8>] = self.directory.spare_capacity_mut();
        let mut list = || {
            let mut entries = RawDir::new(directory, entries);
            while let Some(entry) = entries.next() {
                let number = number::unsigned(entry?.file_name().to_bytes());
                numbers.extend(
                    number.and_then(|number| i32::try_from(number).ok()).filter(|&number| number > 0),
                );
            }
            Ok(())
        };
        Attempt::from_result(list())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn names_are_built_on_the_stack() {
        let name =
            Name::EMPTY.then_number(i32::MAX).then(b"/task/").then_number(i32::MAX).then(b"/schedstat");
        assert_eq!(name.as_c_str(), c"2147483647/task/2147483647/schedstat");
        assert_eq!(Name::EMPTY.as_c_str(), c"");
    }

    #[test]
    fn a_long_file_is_read_whole() {
        let path = std::env::temp_dir().join(format!("cpuledger-long-{}", std::process::id()));
        let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &content).expect("a temporary file");
        let folder = std::fs::File::open(std::env::temp_dir()).expect("a folder");
        let name = Name::EMPTY.then(b"cpuledger-long-").then_number(std::process::id().cast_signed());
        let mut buffers = Buffers::new();
        for _ in 0..2 {
            let read = buffers.read(folder.as_fd(), &name).expect("no error");
            assert_eq!(read, Attempt::Done(&content[..]));
        }
        std::fs::remove_file(&path).expect("it is ours");
        assert_eq!(buffers.read(folder.as_fd(), &name), Ok(Attempt::Gone));
    }

    #[test]
    fn our_threads_are_listed() {
        let directory = openat(CWD, c"/proc/self/task", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
            .expect("procfs");
        let (mut buffers, mut tids) = (Buffers::new(), Vec::new());
        assert_eq!(buffers.list(directory.as_fd(), &mut tids), Ok(Attempt::Done(())));
        assert_eq!(tids.first(), Some(&std::process::id().cast_signed()));
    }
}
