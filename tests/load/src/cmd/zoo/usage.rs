//! Members that have used the machine: through files, or through children.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};

use anyhow::{Context, Result, ensure};
use rustix::fs::{Advice, fadvise};
use rustix::mm::MapFlags;
use rustix::param::page_size;
use rustix::process::{WaitOptions, waitpid};

use super::life::{Ending, Kind, Life};
use super::memory::Mapping;
use super::scratch::scratch_file;
use crate::cmd::burn::burn_until;
use crate::cmd::sys;

pub(super) const KINDS: &[Kind] =
    &[Kind::new("file-io", file_io), Kind::new("waited-children", waited_children)];

const FILE_BYTES: usize = 1 << 20;
const CHILD_BURNS_NS: u64 = 30_000_000;
const CHILD_TOUCHES_PAGES: usize = 1024;

/// Writes a file through to storage, has the kernel forget it, and reads it again.
fn file_io(life: &mut Life) -> Result<Ending> {
    let mut file = File::from(scratch_file(&life.member.kind)?.file);
    let mut buffer = vec![7; FILE_BYTES];
    file.write_all(&buffer).context("write a file")?;
    file.sync_all().context("have a file written through")?;
    fadvise(&file, 0, None, Advice::DontNeed).context("have a file forgotten")?;
    file.rewind().context("go back in a file")?;
    file.read_exact(&mut buffer).context("read a file")?;
    let truth = &mut life.member.truth;
    (truth.read_chars, truth.write_chars) = (Some(FILE_BYTES as u64), Some(FILE_BYTES as u64));
    let counted = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let counts = |key: &str| counted.lines().any(|line| line.starts_with(key) && !line.ends_with(": 0"));
    truth.read_bytes = counts("read_bytes").then_some(FILE_BYTES as u64);
    truth.write_bytes = counts("write_bytes").then_some(FILE_BYTES as u64);
    Ok(Ending::Sleep)
}

/// A child that burned and faulted, and was waited for.
fn waited_children(life: &mut Life) -> Result<Ending> {
    let child =
        sys::fork(|| match Mapping::anonymous(CHILD_TOUCHES_PAGES * page_size(), MapFlags::PRIVATE) {
            Ok(mapping) => {
                mapping.touch(CHILD_TOUCHES_PAGES * page_size());
                burn_until(CHILD_BURNS_NS);
                0
            }
            Err(_) => 1,
        });
    let child = child.context("make a child")?;
    let (_, status) = waitpid(Some(child), WaitOptions::empty())?.context("a child is lost")?;
    ensure!(status.exit_status() == Some(0), "the child failed");
    let usage = sys::children_usage();
    ensure!(usage.minor_faults >= CHILD_TOUCHES_PAGES as u64, "the child's faults were not counted");
    ensure!(usage.cpu_us >= CHILD_BURNS_NS / 1000, "the child's CPU time was not counted");
    life.member.truth.children_cpu_us = Some(usage.cpu_us);
    life.member.truth.children_minor_faults = Some(usage.minor_faults);
    Ok(Ending::Sleep)
}
