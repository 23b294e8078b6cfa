//! What a process takes of the machine, and whether it stays so.

use std::fs;

use anyhow::{Context, Result};

use crate::Findings;

/// Memory may move by so much, and a half, about what it was in the warm-up: one storm is worse than another of its kind, and
/// allocators keep what they had.
const MEMORY_SLACK_KIB: u64 = 8192;
/// While a larger ledger takes over, both are open.
const FILES_SLACK: u64 = 40;

/// The most that a process has had, while it warmed up and since.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    warm_kib: u64,
    warm_files: u64,
    most_kib: u64,
    most_files: u64,
    is_told: bool,
}

impl Limits {
    /// Looks at the process. More than after the warm-up is a finding, told once.
    ///
    /// # Errors
    /// If the process is not there.
    pub fn look(&mut self, who: &str, pid: u32, is_warm: bool, findings: &Findings) -> Result<()> {
        let (kib, files) = (anonymous_kib(pid)?, open_files(pid)?);
        if !is_warm {
            self.warm_kib = self.warm_kib.max(kib);
            self.warm_files = self.warm_files.max(files);
        }
        self.most_kib = self.most_kib.max(kib);
        self.most_files = self.most_files.max(files);
        let is_over = kib > self.warm_kib + self.warm_kib / 2 + MEMORY_SLACK_KIB
            || files > self.warm_files + FILES_SLACK;
        if is_over && !std::mem::replace(&mut self.is_told, true) {
            let Limits { warm_kib, warm_files, .. } = self;
            findings.add(format!(
                "{who} has {kib} KiB and {files} files, after {warm_kib} and {warm_files} in the warm-up"
            ));
        }
        Ok(())
    }
}

impl std::fmt::Display for Limits {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Limits { warm_kib, warm_files, most_kib, most_files, .. } = self;
        write!(
            formatter,
            "at most {most_kib} KiB and {most_files} files (warm-up: {warm_kib} and {warm_files})"
        )
    }
}

/// Its own memory: what it maps of the kernel's is as large as the ledger, which has limits of its own.
fn anonymous_kib(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("a reader is gone")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
    line.split_ascii_whitespace().next().and_then(|number| number.parse().ok()).context("no number")
}

fn open_files(pid: u32) -> Result<u64> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd")).context("a reader is gone")?.count() as u64)
}
