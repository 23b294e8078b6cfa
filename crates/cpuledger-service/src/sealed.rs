//! Sealed memory: bytes in a memfd that nothing can change any more, the process that made them included.
//!
//! What a service leaves for the next one travels as such a descriptor.

use std::io::Write;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    MemfdFlags, Mode, OFlags, SealFlags, fchmod, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs,
    memfd_create, open,
};
use rustix::io::Errno;

use crate::mapping::{CONSTANT, Constant, WORD};

/// Why bytes could not be sealed, or a descriptor is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The kernel refuses a step.
    #[error("sealed memory: {step}: {errno}")]
    Kernel {
        /// What was tried.
        step: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
    /// It is a file that its owner could still change.
    #[error("the memory is not sealed (seals {found:#x}): its owner could change it while it is read")]
    Unsealed {
        /// The seals that it has.
        found: u32,
    },
    /// It is in a file system where a page may be missing, as that of huge pages.
    #[error("the memory is in a file system of type {found:#x}, and not in that of memfd_create(2)")]
    OtherFileSystem {
        /// The magic number of that file system.
        found: u64,
    },
    /// Longer than the reader takes.
    #[error("{length} bytes of sealed memory, and at most {limit} are read")]
    TooLong {
        /// Its length.
        length: u64,
        /// The limit.
        limit: u64,
    },
}

/// For `map_err`: the step that failed.
pub(crate) fn failed(step: &'static str) -> impl Fn(Errno) -> SealError {
    move |errno| SealError::Kernel { step, errno }
}

/// An empty memfd that takes seals, and that only its owner may open again.
pub(crate) fn memory_file(name: &str) -> Result<OwnedFd, SealError> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        // Before Linux 6.3 nothing seals the x bits.
        Err(Errno::INVAL) => memfd_create(name, flags),
        created => created,
    }
    .map_err(failed("memfd_create"))?;
    fchmod(&file, Mode::RUSR).map_err(failed("fchmod"))?;
    Ok(file)
}

/// Opens the file of `fd` once more, for reading only.
pub(crate) fn reopened(fd: impl AsFd) -> Result<OwnedFd, SealError> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(failed("open it again by /proc/self/fd, for reading only"))
}

/// Refuses a descriptor of a file that lacks one of the seals of `needed`, or whose pages may be missing.
pub(crate) fn check_seals(fd: impl AsFd, needed: SealFlags) -> Result<(), SealError> {
    /// TMPFS_MAGIC, which a memfd has, too.
    const TMPFS: u64 = 0x0102_1994;
    let found = fstatfs(&fd).map_err(failed("fstatfs"))?.f_type as u64;
    if found != TMPFS {
        return Err(SealError::OtherFileSystem { found });
    }
    // A file of a tmpfs that takes no seals.
    let found = match fcntl_get_seals(&fd) {
        Err(Errno::INVAL) => SealFlags::empty(),
        seals => seals.map_err(failed("F_GET_SEALS"))?,
    };
    if found.contains(needed) { Ok(()) } else { Err(SealError::Unsealed { found: found.bits() }) }
}

/// The length of a file.
pub(crate) fn length_of(fd: impl AsFd) -> Result<u64, SealError> {
    let length = fstat(&fd).map_err(failed("fstat"))?.st_size;
    Ok(u64::try_from(length).unwrap_or(0))
}

/// A memfd with these bytes, sealed, and open for reading only.
///
/// # Errors
/// When the kernel refuses a step, or /proc is not mounted.
pub fn seal(name: &str, bytes: &[u8]) -> Result<OwnedFd, SealError> {
    let mut file = std::fs::File::from(memory_file(name)?);
    file.write_all(bytes).map_err(|error| {
        let errno = error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
        failed("write")(errno)
    })?;
    fcntl_add_seals(&file, CONSTANT).map_err(failed("F_ADD_SEALS"))?;
    reopened(&file)
}

/// Sealed bytes, mapped for reading.
#[derive(Debug)]
pub struct Sealed {
    mapping: Option<Constant>,
    length: usize,
}

impl Sealed {
    /// Maps what `fd` holds, if that is at most `limit` bytes.
    ///
    /// # Errors
    /// When a seal is missing, when it is longer than that, or the kernel refuses to map it.
    pub fn open(fd: impl AsFd, limit: u64) -> Result<Sealed, SealError> {
        check_seals(&fd, CONSTANT)?;
        let length = length_of(&fd)?;
        if length > limit {
            return Err(SealError::TooLong { length, limit });
        }
        let length = usize::try_from(length).map_err(|_| SealError::TooLong { length, limit })?;
        // The kernel maps whole pages, so the last word is mapped too.
        let words = length.div_ceil(WORD);
        let mapping = match words {
            0 => None,
            _ => Some(Constant::new(&fd, words).map_err(failed("mmap"))?),
        };
        Ok(Sealed { mapping, length })
    }
}

impl Deref for Sealed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.mapping.as_ref().map_or(&[], |mapping| mapping.bytes(self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_bytes_come_back() {
        for length in [0, 1, 7, 8, 4095, 4096, 4097, 100_000] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            let fd = seal("test", &bytes).expect("sealed");
            assert_eq!(&*Sealed::open(&fd, 100_000).expect("opened"), &bytes[..]);
            assert_eq!(rustix::io::write(&fd, b"x"), Err(Errno::BADF));
        }
    }

    #[test]
    fn what_can_change_is_refused() {
        let file = memory_file("test").expect("a memfd");
        rustix::io::write(&file, b"bytes").expect("written");
        assert!(matches!(Sealed::open(&file, 10), Err(SealError::Unsealed { .. })));
        let length_only = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, length_only).expect("seals");
        assert!(matches!(Sealed::open(&file, 10), Err(SealError::Unsealed { .. })));
        assert!(matches!(Sealed::open(program(), 10), Err(SealError::OtherFileSystem { .. })));
        let shared = tempfile::tempfile_in("/dev/shm").expect("a file of a tmpfs");
        assert!(matches!(Sealed::open(shared, 10), Err(SealError::Unsealed { found: 0 | 1 })));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let fd = seal("test", &[0; 11]).expect("sealed");
        assert!(matches!(Sealed::open(&fd, 10), Err(SealError::TooLong { length: 11, limit: 10 })));
    }

    fn program() -> OwnedFd {
        std::fs::File::open("/proc/self/exe").expect("this program").into()
    }
}
