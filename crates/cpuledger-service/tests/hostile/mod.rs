//! What a hostile reader does with the descriptor of a ring, by raw system calls.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;

use rustix::fs::{FallocateFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, open};
use rustix::io::{Errno, write};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mprotect};

/// A page of a file, mapped until the process ends.
#[derive(Debug, Clone, Copy)]
pub struct Page(*mut u8);

// SAFETY: the page stays mapped, and only its atomics are given out.
unsafe impl Send for Page {}

const PAGE: usize = 4096;

impl Page {
    pub fn new(fd: impl AsFd, protection: ProtFlags, flags: MapFlags) -> Result<Page, Errno> {
        // SAFETY: a fresh mapping; nothing else is touched.
        unsafe { mmap(std::ptr::null_mut(), PAGE, protection, flags, fd, 0) }
            .map(|address| Page(address.cast()))
    }

    /// Where the readers of a ring wait for its first frame.
    pub fn futex(self) -> &'static AtomicU32 {
        // SAFETY: byte 72 of a page that stays mapped; it is aligned.
        unsafe { &*self.0.add(72).cast() }
    }

    fn protect_for_writing(self) -> Result<(), Errno> {
        // SAFETY: the page is this value's own.
        unsafe { mprotect(self.0.cast(), PAGE, MprotectFlags::READ | MprotectFlags::WRITE) }
    }

    fn remove(self) -> Result<(), Errno> {
        // SAFETY: the page is this value's own, and only its atomics are given out.
        unsafe { madvise(self.0.cast(), PAGE, Advice::LinuxRemove) }
    }
}

/// Tries everything with the descriptor, and again with one that it opens by `/proc/self/fd` for writing, where it may. Returns each
/// attempt with the answer of the kernel.
pub fn attempts(fd: &OwnedFd) -> Vec<(&'static str, Result<(), Errno>)> {
    let mut attempts = of_descriptor(fd, ["write", "map", "shorten", "lengthen", "punch", "seal"]);
    let page = Page::new(fd, ProtFlags::READ, MapFlags::SHARED).expect("it may be read");
    attempts.push(("mprotect", page.protect_for_writing()));
    attempts.push(("madvise", page.remove()));
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    match open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Err(errno) => attempts.push(("open again", Err(errno))),
        Ok(writable) => attempts.extend(of_descriptor(
            &writable,
            [
                "write to it opened again",
                "map it opened again",
                "shorten it opened again",
                "lengthen it opened again",
                "punch it opened again",
                "seal it opened again",
            ],
        )),
    }
    attempts
}

fn of_descriptor(fd: &OwnedFd, names: [&'static str; 6]) -> Vec<(&'static str, Result<(), Errno>)> {
    let both = ProtFlags::READ | ProtFlags::WRITE;
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let answers = [
        write(fd, &[0xff; 8]).map(drop),
        Page::new(fd, both, MapFlags::SHARED).map(drop),
        ftruncate(fd, 0),
        ftruncate(fd, 1 << 20),
        fallocate(fd, punch, 0, PAGE as u64),
        fcntl_add_seals(fd, SealFlags::WRITE),
    ];
    names.into_iter().zip(answers).collect()
}
