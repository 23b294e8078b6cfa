//! `ring`: a file from its disk through io_uring, past the page cache.

use std::ffi::c_void;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringFeatureFlags, IoringOp, IoringSetupFlags,
    IoringSqeFlags, io_uring_cqe, io_uring_enter, io_uring_params, io_uring_ptr, io_uring_setup,
    io_uring_sqe, io_uring_user_data,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use super::read::open_past_cache;

/// Read a file with O_DIRECT through io_uring, once for each byte on stdin
///
/// Prints `ready` once it has read the file for the first time, then `read bytes=…` each time. Where the kernel has no io_uring for this
/// process, it prints `refused` and why, and ends.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The file
    #[arg(long, value_name = "PATH")]
    file: PathBuf,
    /// Bytes of a block, a multiple of 4096
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    block: usize,
    /// Which task asks the disk
    #[arg(long, value_name = "WAY")]
    way: Way,
}

/// Which task asks the disk.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    /// The one that submits
    Own,
    /// A worker thread of the kernel
    Worker,
    /// A thread of the kernel that polls the queue
    Poller,
}

/// Blocks that are asked for at once.
const DEPTH: u32 = 8;

/// A ring, mapped, and room for the blocks.
struct Ring {
    own: OwnedFd,
    rings: *mut u8,
    entries: *mut io_uring_sqe,
    of: io_uring_params,
    blocks: *mut u8,
    block: usize,
    way: Way,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let block = arguments.block;
    let (file, blocks) = open_past_cache(&arguments.file, block)?;
    let mut ring = match Ring::new(block, arguments.way) {
        Ok(ring) => ring,
        Err(error) => return say(&format!("refused {error}")),
    };
    ring.read_all(&file, blocks)?;
    say("ready")?;
    let mut stdin = std::io::stdin().lock();
    while stdin.read(&mut [0])? > 0 {
        let bytes = ring.read_all(&file, blocks)?;
        say(&format!("read bytes={bytes}"))?;
    }
    Ok(())
}

fn say(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    Ok(stdout.flush()?)
}

impl Ring {
    fn new(block: usize, way: Way) -> Result<Ring, Errno> {
        let mut of = io_uring_params::default();
        if way == Way::Poller {
            of.flags = IoringSetupFlags::SQPOLL;
            // In milliseconds.
            of.sq_thread_idle = 100;
        }
        // SAFETY: no other ring's descriptor is in the parameters.
        let own = unsafe { io_uring_setup(DEPTH, &mut of) }?;
        // Linux 5.4, as both rings are one mapping from there on.
        if !of.features.contains(IoringFeatureFlags::SINGLE_MMAP) {
            return Err(Errno::NOSYS);
        }
        let of_submissions = of.sq_off.array as usize + of.sq_entries as usize * size_of::<u32>();
        let of_completions = of.cq_off.cqes as usize + of.cq_entries as usize * size_of::<io_uring_cqe>();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let map = |bytes: usize, offset: u64| {
            // SAFETY: a new mapping of the ring's descriptor, at no address that is in use.
            unsafe { mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, &own, offset) }
        };
        let rings = map(of_submissions.max(of_completions), IORING_OFF_SQ_RING)?;
        let entries = map(of.sq_entries as usize * size_of::<io_uring_sqe>(), IORING_OFF_SQES)?;
        let bytes = DEPTH as usize * block;
        // SAFETY: a new mapping, of nothing that is there.
        let blocks = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }?;
        Ok(Ring { own, rings: rings.cast(), entries: entries.cast(), of, blocks: blocks.cast(), block, way })
    }

    /// A word that is shared with the kernel.
    fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: the kernel has given the offset of an aligned word of 4 bytes in this mapping, which is never unmapped.
        unsafe { &*self.rings.add(offset as usize).cast::<AtomicU32>() }
    }

    /// Reads these blocks, a few at once. Returns how many bytes that were.
    fn read_all(&mut self, file: &File, blocks: u64) -> Result<u64> {
        let mut bytes = 0;
        let mut first = 0;
        while first < blocks {
            let count = (blocks - first).min(DEPTH.into()) as u32;
            (0..count).for_each(|place| self.put(file, first + u64::from(place), place));
            self.submit(count)?;
            for _ in 0..count {
                bytes += self.take()?;
            }
            first += u64::from(count);
        }
        Ok(bytes)
    }

    /// Puts a request for a block into the queue.
    fn put(&mut self, file: &File, number: u64, place: u32) {
        let tail = self.word(self.of.sq_off.tail).load(Ordering::Relaxed);
        let index = tail & self.word(self.of.sq_off.ring_mask).load(Ordering::Relaxed);
        let mut entry = io_uring_sqe { opcode: IoringOp::Read, fd: file.as_raw_fd(), ..Default::default() };
        if self.way == Way::Worker {
            entry.flags = IoringSqeFlags::ASYNC;
        }
        // SAFETY: `place` is less than DEPTH, and the mapping has as many blocks.
        let block = unsafe { self.blocks.add(place as usize * self.block) };
        entry.off_or_addr2.off = number * self.block as u64;
        entry.addr_or_splice_off_in.addr = io_uring_ptr::new(block.cast::<c_void>());
        entry.len.len = self.block as u32;
        entry.user_data = io_uring_user_data::from_u64(number);
        // SAFETY: the index is masked, so that it is in the mapping, and the kernel reads it only after the tail has gone past it.
        unsafe { self.entries.add(index as usize).write(entry) };
        self.word(self.of.sq_off.array + 4 * index).store(index, Ordering::Relaxed);
        self.word(self.of.sq_off.tail).store(tail.wrapping_add(1), Ordering::Release);
    }

    /// Has the kernel begin with them, and waits until all of them have come.
    fn submit(&self, count: u32) -> Result<()> {
        let mut flags = IoringEnterFlags::GETEVENTS;
        flags.set(IoringEnterFlags::SQ_WAKEUP, self.way == Way::Poller);
        // SAFETY: each entry is of a file that is open and of memory that is mapped, until all of them have come.
        let begun = unsafe { io_uring_enter(&self.own, count, count, flags) }.context("enter the ring")?;
        ensure!(begun == count, "the kernel took {begun} of {count} requests");
        Ok(())
    }

    /// Takes what has come of one request, and waits for it if a signal has ended the wait before.
    fn take(&self) -> Result<u64> {
        let head = self.word(self.of.cq_off.head).load(Ordering::Relaxed);
        while self.word(self.of.cq_off.tail).load(Ordering::Acquire) == head {
            // SAFETY: nothing new is submitted.
            match unsafe { io_uring_enter(&self.own, 0, 1, IoringEnterFlags::GETEVENTS) } {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("wait for the ring"),
            }
        }
        let index = head & self.word(self.of.cq_off.ring_mask).load(Ordering::Relaxed);
        let offset = self.of.cq_off.cqes as usize + index as usize * size_of::<io_uring_cqe>();
        // SAFETY: the index is masked, so that it is in the mapping, and the kernel has written it before it moved the tail.
        let result = unsafe { (*self.rings.add(offset).cast::<io_uring_cqe>()).res };
        self.word(self.of.cq_off.head).store(head.wrapping_add(1), Ordering::Release);
        ensure!(result >= 0, "a read has failed: {}", Errno::from_raw_os_error(-result));
        ensure!(result.unsigned_abs() as usize == self.block, "a read has {result} bytes of {}", self.block);
        Ok(result.unsigned_abs().into())
    }
}
