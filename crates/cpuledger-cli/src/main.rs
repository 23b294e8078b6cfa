//! The binary: `cpuledger top`, `ps`, `doctor`; called as `ptop` it is `cpuledger top`.

mod cli;
mod cmd;
mod exit;
mod output;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let called_as_ptop =
        arguments.first().and_then(|name| Path::new(name).file_name()).is_some_and(|name| name == "ptop");
    exit::report(if called_as_ptop { cmd::run_as_ptop(arguments) } else { cmd::run(arguments) })
}
