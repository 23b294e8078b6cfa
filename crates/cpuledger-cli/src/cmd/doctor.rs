//! `cpuledger doctor`: each source, usable or not, the fact behind it, the mend.

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs `doctor`.
///
/// # Errors
/// Nowhere to write.
pub fn run(_arguments: &Arguments) -> anyhow::Result<()> {
    Err(crate::exit::Failure::Partial("not there".to_owned()).into())
}
