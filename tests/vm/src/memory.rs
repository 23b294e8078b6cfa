//! Files in memory.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use anyhow::Context;
use rustix::fs::MemfdFlags;

/// A file without a name, which goes with us however we end; its path holds for us and for what we start.
///
/// # Errors
/// Without memory.
pub fn in_memory(content: &[u8]) -> anyhow::Result<(PathBuf, File)> {
    let file = rustix::fs::memfd_create("initramfs", MemfdFlags::empty()).context("no file in memory")?;
    let mut file = File::from(file);
    file.write_all(content).context("the initramfs does not fit into memory")?;
    Ok((format!("/proc/self/fd/{}", file.as_raw_fd()).into(), file))
}
