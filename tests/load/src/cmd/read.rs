//! `read`: a file from its disk, past the page cache.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rustix::fs::OFlags;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// Read a file in blocks with O_DIRECT, one after the other, without end
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The file
    #[arg(long, value_name = "PATH")]
    file: PathBuf,
    /// Bytes of a block, a multiple of 4096
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    block: usize,
}

/// Opens a file for reading past the page cache, in blocks of that many bytes. Returns how many of them it has, too: one at least.
pub(super) fn open_past_cache(path: &Path, block: usize) -> Result<(File, u64)> {
    ensure!(block > 0 && block.is_multiple_of(4096), "a block has a multiple of 4096 bytes, not {block}");
    let direct = OFlags::DIRECT.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(direct).open(path);
    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
    let blocks = file.metadata()?.len() / block as u64;
    ensure!(blocks > 0, "{} is shorter than a block", path.display());
    Ok((file, blocks))
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let length = arguments.block;
    let (file, blocks) = open_past_cache(&arguments.file, length)?;
    // SAFETY: a new mapping, of nothing that is there.
    let buffer = unsafe {
        mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    }?;
    // SAFETY: the mapping is of that length, may be read and written, begins as zeros, is never unmapped and has no other name.
    let block = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
    for number in (0..blocks).cycle() {
        file.read_exact_at(block, number * length as u64)?;
    }
    Ok(())
}
