//! What each member of a family does: it waits, burns CPU time and says how much.

use std::io::Read;

use anyhow::{Context, Result};
use rustix::process::{getpid, getppid};
use rustix::stdio::stdout;
use rustix::thread::gettid;

use crate::cmd::burn::burn_until;
use crate::cmd::sys;

/// Waits for the start.
pub(in crate::cmd) fn wait_for_byte() -> Result<()> {
    std::io::stdin().read_exact(&mut [0]).context("wait for the start")
}

/// One write, so that lines of several processes do not mix.
pub(in crate::cmd) fn say(line: &str) -> Result<()> {
    rustix::io::write(stdout(), line.as_bytes()).context("write a line")?;
    Ok(())
}

/// Burns CPU time and says so.
pub(super) fn burn_and_tell(role: &str, ns: u64) -> Result<()> {
    burn_until(ns);
    tell(role)
}

/// Prints its role and what it has burned.
pub(super) fn tell(role: &str) -> Result<()> {
    let ppid = getppid().map_or(0, |pid| pid.as_raw_pid());
    let (tid, pid) = (gettid().as_raw_pid(), getpid().as_raw_pid());
    say(&format!("burned role={role} tid={tid} pid={pid} ppid={ppid} ns={}\n", sys::thread_cpu_ns()))
}

/// The exit status of a member.
pub(in crate::cmd) fn status_of(done: Result<()>) -> i32 {
    match done {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("cpuledger-load: {error:#}");
            1
        }
    }
}
