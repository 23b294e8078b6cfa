//! When to end: stdin is closed, or SIGTERM or SIGINT comes. Only a pipe, a socket or a terminal can be closed by its
//! other end. Another stdin, such as the /dev/null of a background job, is not looked at.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::isatty;

use super::sys;

/// The end of a workload, to be waited for. From its making on, all signals of the thread are blocked.
pub(crate) struct Release {
    signals: OwnedFd,
    input: Option<File>,
}

impl Release {
    /// Blocks all signals and takes over those that mean the end.
    pub(crate) fn new() -> Result<Release> {
        sys::block_signals().context("block signals")?;
        let signals = sys::signal_fd(&[libc::SIGTERM, libc::SIGINT]).context("open a signalfd")?;
        Ok(Release { signals, input: watched_input()? })
    }

    /// Waits for the end, or for `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Result<()> {
        let mut input = self.input.as_ref();
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            });
            let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
            fds.extend(input.map(|input| PollFd::new(input, PollFlags::IN)));
            match poll(&mut fds, left.as_ref()) {
                Ok(0) => return Ok(()),
                Err(Errno::INTR) => continue,
                ready => ready.context("wait for the end")?,
            };
            let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
            let (signalled, readable) = (ready(0), ready(1));
            let closed =
                readable && input.as_mut().is_some_and(|input| input.read(&mut [0; 4096]).unwrap_or(0) == 0);
            if signalled || closed {
                return Ok(());
            }
        }
    }
}

/// Stdin, if its other end can close it.
fn watched_input() -> Result<Option<File>> {
    let input = stdin();
    let kind = FileType::from_raw_mode(fstat(input).context("look at stdin")?.st_mode);
    if !matches!(kind, FileType::Fifo | FileType::Socket) && !isatty(input) {
        return Ok(None);
    }
    Ok(Some(File::from(input.try_clone_to_owned().context("take stdin")?)))
}
