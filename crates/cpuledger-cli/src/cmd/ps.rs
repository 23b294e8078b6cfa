//! `cpuledger ps`: tasks once, as procps prints them.

use std::ffi::OsString;

/// Runs `ps` with these options.
///
/// # Errors
/// Bad options, no source, nothing matched.
pub fn run(_arguments: &[OsString]) -> anyhow::Result<()> {
    Ok(())
}
