//! A directory of segments. Nothing in it is followed that is a symbolic link.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, SeekFrom, Stat};

/// The permissions of files and directories.
const FILE_MODE: Mode = Mode::from_raw_mode(0o640);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o750);

/// The file that a writer holds the lock of.
const LOCK: &str = "lock";

/// How often a writer tries to get the lock, and how long it waits in between.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// What the end of a file's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// It was closed cleanly.
    Closed,
    /// A writer was ended, or could not go on, before it was closed.
    CutOff,
    /// It is being written, or was when the writer was ended.
    Open,
}

impl State {
    /// In the order in which a file can have them: one that is looked for like this is found whatever a writer does meanwhile.
    pub(crate) const ALL: [State; 3] = [State::Open, State::Closed, State::CutOff];

    fn ending(self) -> &'static str {
        match self {
            State::Closed => "seg",
            State::CutOff => "cut",
            State::Open => "open",
        }
    }
}

/// The name of a segment: the number of its first record, and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) sequence: u64,
    pub(crate) state: State,
}

impl Name {
    pub(crate) fn text(self) -> String {
        format!("{:016}.{}", self.sequence, self.state.ending())
    }

    fn read(text: &str) -> Option<Name> {
        let (digits, ending) = text.split_once('.')?;
        let state = State::ALL.into_iter().find(|state| state.ending() == ending)?;
        let name = Name { sequence: digits.parse().ok()?, state };
        (name.text() == text).then_some(name)
    }
}

/// Whether what was found under a name is the open file. Where the name cannot be looked up, it is, as long as it has any name.
fn is_found(file: impl AsFd, found: rustix::io::Result<Stat>) -> bool {
    let Ok(own) = rustix::fs::fstat(file) else { return true };
    match found {
        Ok(found) => (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => false,
        Err(_) => own.st_nlink > 0,
    }
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Folder {
    descriptor: OwnedFd,
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder { descriptor: rustix::fs::open(path, flags, Mode::empty())?, path: path.into() })
    }

    /// Made where it is missing, but not the directory that it is in.
    pub(crate) fn make(path: &Path) -> io::Result<Folder> {
        match rustix::fs::mkdir(path, FOLDER_MODE) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Folder::open(path),
            Err(error) => Err(error.into()),
        }
    }

    /// A directory in it, which is no link.
    pub(crate) fn inner(&self, name: &str) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(&self.descriptor, name, flags, Mode::empty())?;
        Ok(Folder { descriptor, path: self.path.join(name) })
    }

    /// Likewise, made where it is missing.
    pub(crate) fn make_inner(&self, name: &str) -> io::Result<Folder> {
        match rustix::fs::mkdirat(&self.descriptor, name, FOLDER_MODE) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.inner(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether its path still leads to it: it was neither deleted nor moved.
    pub(crate) fn is_in_place(&self) -> bool {
        is_found(&self.descriptor, rustix::fs::stat(&self.path))
    }

    /// Whether this file still has this name in it.
    pub(crate) fn has(&self, name: &str, file: &File) -> bool {
        is_found(file, rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW))
    }

    /// Likewise of the lock.
    pub(crate) fn has_lock(&self, lock: &File) -> bool {
        self.has(LOCK, lock)
    }

    /// Whether there is something of this name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The names of what is in it, by the descriptor alone: this process may have given up the right to open the directory.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        rustix::fs::seek(&self.descriptor, SeekFrom::Start(0))?;
        let mut space = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(&self.descriptor, &mut space);
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            names.extend(entry?.file_name().to_str().map(str::to_owned).ok());
        }
        Ok(names)
    }

    /// The segments in it, in the order of their records.
    pub(crate) fn segments(&self) -> io::Result<Vec<Name>> {
        let mut names: Vec<Name> = self.names()?.iter().filter_map(|name| Name::read(name)).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// A file for reading. `None`: there is none, or what has the name is a directory, a link, a pipe or a device.
    pub(crate) fn read(&self, name: &str) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(file) => file,
            // A link, and a socket.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        Ok((kind == FileType::RegularFile).then(|| file.into()))
    }

    /// A file that was not there before.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.descriptor, name, flags, FILE_MODE)?.into())
    }

    /// The lock, until the file is closed; `None`: another has it.
    pub(crate) fn lock(&self) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.descriptor, LOCK, flags, FILE_MODE)?;
        for _ in 0..LOCK_ATTEMPTS {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file.into())),
                // A reader may have it for an instant.
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Whether a writer has the lock of the directory that has this one of a tier.
    pub(crate) fn is_locked(&self) -> io::Result<bool> {
        let name = Path::new("..").join(LOCK);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.descriptor, &name, flags, Mode::empty()) {
            Ok(file) => {
                let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
                // Where nothing can be locked, no writer has it.
                Ok(locked == Err(rustix::io::Errno::WOULDBLOCK))
            }
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Never in the place of another file.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&self.descriptor, from, &self.descriptor, to, flags) {
            // A file system that cannot do that.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                Ok(rustix::fs::renameat(&self.descriptor, from, &self.descriptor, to)?)
            }
            result => Ok(result?),
        }
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// What is in it stays there if the machine loses power.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.descriptor)?)
    }

    /// What its file system has free for us.
    pub(crate) fn free_bytes(&self) -> io::Result<u64> {
        let of = rustix::fs::fstatvfs(&self.descriptor)?;
        Ok(of.f_bavail.saturating_mul(of.f_frsize))
    }
}
