//! `cpuledger top`: what ran, interval after interval.

/// Options of `top`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs `top`.
///
/// # Errors
/// No source, or nowhere to write.
pub fn run(_arguments: &Arguments) -> anyhow::Result<()> {
    crate::output::write(b"")
}
