//! `slew`: lets the clocks of the machine run slower or faster, as NTP does.

use anyhow::{Context, Result};

use super::sys;

/// Let the clocks of this machine run slower or faster, by a tenth at most
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Microseconds by which they advance in a hundredth of a second: 9000 to 11000; 10000 is as usual
    #[arg(long, value_name = "N")]
    tick: u32,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    sys::set_tick(arguments.tick).context("set the tick of the clocks; it needs root")
}
