//! The binary as a library: `cpuledger top`, `ps`, `doctor`; called as `ptop` it is `cpuledger top`. Its only interface is the
//! command line.

mod cli;
mod cmd;
mod exit;
#[doc(hidden)]
pub mod fuzzing;
mod memory;
mod near;
mod output;
#[cfg(test)]
mod pages;
mod privileges;
mod tui;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    memory::reserve_stack();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let called_as_ptop =
        arguments.first().and_then(|name| Path::new(name).file_name()).is_some_and(|name| name == "ptop");
    let run = if called_as_ptop { cmd::run_as_ptop } else { cmd::run };
    privileges::raise_open_files();
    exit::report(privileges::refuse_setuid().map_err(Into::into).and_then(|()| run(arguments)))
}
