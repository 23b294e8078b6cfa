//! How a program begins.

use std::process::ExitCode;
use std::sync::Arc;

use signal_hook::consts::SIGXFSZ;

use crate::{exit, memory};

/// Runs a program, and says what went wrong. `is_of_source` says whether an error is that no source can be used.
pub fn start(run: fn() -> anyhow::Result<()>, is_of_source: fn(&anyhow::Error) -> bool) -> ExitCode {
    match memory::ensure_stack() {
        Ok(()) => exit::report(prepared(run), is_of_source).into(),
        Err(error) => exit::report(Err(error), is_of_source).into(),
    }
}

/// Not a part of `start`, whose frame has to fit into any stack.
#[inline(never)]
fn prepared(run: fn() -> anyhow::Result<()>) -> anyhow::Result<()> {
    memory::reserve_stack();
    // A write beyond the limit of the size of files fails, and is an error as any other. A handler, and not to ignore the signal: a command
    // that is run has neither.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    run()
}
