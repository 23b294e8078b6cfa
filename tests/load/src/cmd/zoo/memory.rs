//! Members with memory of each sort.

use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;

use anyhow::{Context, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous};
use rustix::param::page_size;

use super::life::{Ending, Kind, Life};
use super::scratch::scratch_file;

pub(super) const KINDS: &[Kind] =
    &[Kind::new("large-mapping", large), Kind::new("locked", locked), Kind::new("shared-mappings", shared)];

const MIB: usize = 1 << 20;
const LARGE_BYTES: usize = 4096 * MIB;
const TOUCHED_BYTES: usize = 8 * MIB;
const LOCKED_BYTES: usize = MIB;
const FILE_BYTES: usize = 2 * MIB;
const SHMEM_BYTES: usize = 3 * MIB;

/// New memory that stays until the process ends.
pub(super) struct Mapping {
    start: *mut c_void,
    bytes: usize,
}

impl Mapping {
    /// Anonymous memory, in pages of the base size, so that touching a page makes just that page resident.
    pub(super) fn anonymous(bytes: usize, flags: MapFlags) -> Result<Mapping> {
        // SAFETY: a new mapping at a place of the kernel's choice touches no existing memory.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) };
        let mapping = Mapping { start: start.context("map memory")?, bytes };
        // SAFETY: the range is that of the mapping. A kernel without huge pages refuses, and needs no
        // telling.
        let _ = unsafe { madvise(mapping.start, mapping.bytes, Advice::LinuxNoHugepage) };
        Ok(mapping)
    }

    /// A file's memory, shared.
    fn of_file(file: &OwnedFd, bytes: usize) -> Result<Mapping> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no existing memory.
        let start = unsafe { mmap(null_mut(), bytes, access, MapFlags::SHARED, file, 0) };
        Ok(Mapping { start: start.context("map a file")?, bytes })
    }

    /// Writes to each page of the first `bytes`.
    pub(super) fn touch(&self, bytes: usize) {
        for offset in (0..bytes.min(self.bytes)).step_by(page_size()) {
            // SAFETY: the offset is within the mapping, which is writable and which nothing else uses.
            unsafe { self.start.cast::<u8>().add(offset).write_volatile(1) };
        }
    }

    fn lock(&self) -> Result<()> {
        // SAFETY: the range is that of the mapping.
        unsafe { mlock(self.start, self.bytes) }.context("lock memory")
    }
}

/// Much address space, of which little is used.
fn large(life: &mut Life) -> Result<Ending> {
    let mapping = Mapping::anonymous(LARGE_BYTES, MapFlags::PRIVATE | MapFlags::NORESERVE)?;
    mapping.touch(TOUCHED_BYTES);
    life.member.truth.virtual_bytes = Some(LARGE_BYTES as u64);
    life.member.truth.resident_anon_bytes = Some(TOUCHED_BYTES as u64);
    Ok(Ending::Sleep)
}

fn locked(life: &mut Life) -> Result<Ending> {
    Mapping::anonymous(LOCKED_BYTES, MapFlags::PRIVATE)?.lock()?;
    life.member.truth.locked_bytes = Some(LOCKED_BYTES as u64);
    life.member.truth.resident_anon_bytes = Some(LOCKED_BYTES as u64);
    Ok(Ending::Sleep)
}

/// A shared file and shared anonymous memory. A file of tmpfs is shared memory to the kernel.
fn shared(life: &mut Life) -> Result<Ending> {
    let scratch = scratch_file(&life.member.kind)?;
    rustix::fs::ftruncate(&scratch.file, FILE_BYTES as u64).context("lengthen a file")?;
    Mapping::of_file(&scratch.file, FILE_BYTES)?.touch(FILE_BYTES);
    Mapping::anonymous(SHMEM_BYTES, MapFlags::SHARED)?.touch(SHMEM_BYTES);
    let (file, shmem) = match scratch.in_memory {
        true => (0, FILE_BYTES + SHMEM_BYTES),
        false => (FILE_BYTES, SHMEM_BYTES),
    };
    life.member.truth.resident_file_bytes = Some(file as u64);
    life.member.truth.resident_shmem_bytes = Some(shmem as u64);
    Ok(Ending::Sleep)
}
