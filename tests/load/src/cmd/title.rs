//! `title`: a process whose arguments, as /proc shows them, are as long as asked for: longer than any exec allows.

use std::io::Write;

use anyhow::{Context, Result};

use super::release::Release;
use super::sys;
use super::zoo::memory_map;

/// What the arguments repeat: escapes, a line break, and JSON.
const REPEATED: &[u8] = b"\x1b[31m\x07\r\n\"}],\"pid\":1,\0";

/// Sleep with arguments of many bytes, full of escape sequences
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many MiB
    #[arg(long, value_name = "N", default_value_t = 32)]
    mib: usize,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let release = Release::new()?;
    let mut bytes: Vec<u8> = REPEATED.iter().copied().cycle().take(arguments.mib << 20).collect();
    // Without it the kernel would take them for a title that a daemon has written over its arguments.
    *bytes.last_mut().context("no arguments at all")? = 0;
    let begin = bytes.as_ptr() as u64;
    let mut map = memory_map()?;
    map.arguments = begin..begin + bytes.len() as u64;
    sys::set_memory_map(&map).context("show other arguments")?;
    println!("ready pid={}", std::process::id());
    std::io::stdout().flush().context("say so")?;
    release.wait(None)?;
    drop(bytes);
    Ok(())
}
