//! The binary as a library: `cpuledger top`, `ps`, `doctor`. Called as `ptop` it is `cpuledger top`, as `top` or `ps` procps' program
//! of that name. Its only interface is the command line.

mod cli;
mod cmd;
mod colors;
mod end;
mod exit;
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod memory;
mod output;
#[cfg(test)]
mod pages;
mod privileges;
mod record;
#[cfg(test)]
mod recorded;
#[allow(dead_code, reason = "the other commands that read recordings are to come")]
mod recording;
#[cfg(test)]
mod registry;
mod stop;
mod tui;
mod values;
mod when;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match memory::ensure_stack() {
        Ok(()) => run(),
        Err(error) => exit::report(Err(error)).into(),
    }
}

/// Not a part of `main`, whose frame has to fit into any stack.
#[inline(never)]
fn run() -> ExitCode {
    memory::reserve_stack();
    // A write beyond the limit of the size of files fails, and is an error as any other. A handler, and not to ignore the signal: a command
    // that is run has neither.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // A link is the command that it is named after.
    let name = arguments.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    let run = match name.as_encoded_bytes() {
        b"ptop" => cmd::run_as_ptop,
        b"top" => |arguments: Vec<OsString>| cmd::run_as_top(&arguments),
        b"ps" => |arguments: Vec<OsString>| cmd::run_as_ps(&arguments),
        _ => cmd::run,
    };
    // A command that is run has the limits of the caller.
    if arguments.get(1).is_none_or(|word| !word.as_encoded_bytes().starts_with(b"run")) {
        privileges::raise_open_files();
    }
    exit::report(privileges::refuse_setuid().map_err(Into::into).and_then(|()| run(arguments))).into()
}
