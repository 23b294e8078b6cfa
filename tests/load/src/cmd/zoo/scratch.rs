//! Files that no other process sees.

use std::env::temp_dir;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{FsWord, fstatfs};
use rustix::process::getpid;

const TMPFS_MAGIC: FsWord = 0x0102_1994;

/// A file that no folder holds any more.
pub(super) struct Scratch {
    pub(super) file: OwnedFd,
    /// Whether it lies in tmpfs.
    pub(super) in_memory: bool,
}

/// Makes a file in the first folder that is not of tmpfs, or else in the first that works.
pub(super) fn scratch_file(kind: &str) -> Result<Scratch> {
    let mut found = None;
    for folder in [temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from(".")] {
        match scratch_file_in(&folder, kind) {
            Ok(scratch) if !scratch.in_memory => return Ok(scratch),
            scratch => found = found.or(Some(scratch)),
        }
    }
    found.context("no folder was tried")?
}

fn scratch_file_in(folder: &Path, kind: &str) -> Result<Scratch> {
    let path = folder.join(format!("cpuledger-load.{kind}.{}", getpid().as_raw_pid()));
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    let file = file.with_context(|| format!("make {}", path.display()))?;
    fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
    let in_memory = fstatfs(&file).context("ask for the filesystem")?.f_type == TMPFS_MAGIC;
    Ok(Scratch { file: file.into(), in_memory })
}
