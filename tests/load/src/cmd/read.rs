//! `read`: a file from its disk, past the page cache.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

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

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let length = arguments.block;
    ensure!(length > 0 && length.is_multiple_of(4096), "a block has a multiple of 4096 bytes, not {length}");
    let direct = OFlags::DIRECT.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(direct).open(&arguments.file);
    let file = file.with_context(|| format!("cannot open {}", arguments.file.display()))?;
    let blocks = file.metadata()?.len() / length as u64;
    ensure!(blocks > 0, "{} is shorter than a block", arguments.file.display());
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
