//! Exit codes of commands that have sources.

use cpuledger_program::exit;

/// Says what went wrong, and returns the exit code.
pub fn report(result: anyhow::Result<()>) -> u8 {
    exit::report(result, is_of_source)
}

/// Whether an error is that no source can be used.
pub fn is_of_source(error: &anyhow::Error) -> bool {
    error.downcast_ref::<cpuledger::Error>().is_some()
        || error.downcast_ref::<cpuledger_client::Error>().is_some()
}
