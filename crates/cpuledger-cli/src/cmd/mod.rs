//! One module a command.

pub mod doctor;
pub mod ps;
pub mod status;
pub mod top;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;

use crate::cli::{Cli, Command, Ptop};

/// Runs the command that the arguments ask for; the first is the name of the program.
///
/// # Errors
/// Whatever ended the command; `exit::report` turns it into a sentence and a code.
pub fn run(arguments: Vec<OsString>) -> anyhow::Result<()> {
    // Options of ps are its own, down to `-v`: they do not pass through clap.
    if arguments.get(1).is_some_and(|name| name == "ps") {
        return ps::run(&arguments[2..]);
    }
    if arguments.len() == 3 && arguments[1] == "help" && arguments[2] == "ps" {
        return ps::run(&["--help".into()]);
    }
    let cli = Cli::try_parse_from(arguments)?;
    let result = match cli.command {
        Command::Top(arguments) => top::run(&arguments),
        Command::Ps { arguments } => ps::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    };
    if cli.verbose {
        say_more(&result);
    }
    result
}

/// Runs `top` as `ptop`, whose options are those of `top` alone.
///
/// # Errors
/// As [`run`].
pub fn run_as_ptop(arguments: Vec<OsString>) -> anyhow::Result<()> {
    let ptop = Ptop::try_parse_from(arguments)?;
    let result = top::run(&ptop.top);
    if ptop.verbose {
        say_more(&result);
    }
    result
}

/// What the verifier said.
fn say_more(result: &anyhow::Result<()>) {
    let error = result.as_ref().err().and_then(|error| error.downcast_ref::<cpuledger::Error>());
    for line in error.map_or(&[][..], cpuledger::Error::log) {
        let _ = writeln!(io::stderr(), "{line}");
    }
}
