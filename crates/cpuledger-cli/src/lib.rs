//! The binary as a library: `cpuledger top`, `ps`, `doctor`. Called as `ptop` it is `cpuledger top`, as `top` or `ps` procps' program
//! of that name. Its only interface is the command line.

mod cli;
mod cmd;
mod exit;
pub mod fuzzing;
mod memory;
#[cfg(test)]
mod pages;
mod privileges;
mod record;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod registry;
mod stop;
mod tui;
mod values;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    cpuledger_program::start(run, exit::is_of_source)
}

fn run() -> anyhow::Result<()> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // A link is the command that it is named after.
    let name = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    let run = match name.as_encoded_bytes() {
        b"ptop" => cmd::run_as_ptop,
        b"top" => |arguments: Vec<OsString>| cmd::run_as_top(&arguments),
        b"ps" => |arguments: Vec<OsString>| cmd::ps::run(arguments.get(1..).unwrap_or_default()),
        _ => cmd::run,
    };
    // A command that is run has the limits of the caller.
    if arguments.get(1).is_none_or(|word| !word.as_encoded_bytes().starts_with(b"run")) {
        privileges::raise_open_files();
    }
    privileges::refuse_setuid()?;
    run(arguments)
}
