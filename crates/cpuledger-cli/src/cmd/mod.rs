//! One module a command.

pub mod doctor;
pub mod ps;
pub mod top;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;

use crate::cli::{Cli, Command};

/// Runs the command that the arguments ask for; the first is the name of the program.
///
/// # Errors
/// Whatever ended the command; `exit::report` turns it into a sentence and a code.
pub fn run(arguments: Vec<OsString>) -> anyhow::Result<()> {
    // Options of ps are its own, down to `-v`: they do not pass through clap.
    if arguments.get(1).is_some_and(|name| name == "ps") {
        return ps::run(&arguments[2..]);
    }
    let cli = Cli::try_parse_from(arguments)?;
    let result = match cli.command {
        Command::Top(arguments) => top::run(&arguments),
        Command::Ps { arguments } => ps::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    };
    if let (true, Err(error)) = (cli.verbose, &result) {
        for line in error.downcast_ref::<cpuledger::Error>().map_or(&[][..], cpuledger::Error::log) {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
    result
}
