//! Commands that a program of their own has, as with git: few need them, and they take long to build.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use cpuledger_program::exit::Failure;

/// Below the folder that `bin` is in, where `make install` and packages put such programs.
const LIBEXEC: &str = "libexec/cpuledger";

/// A command that another program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct External {
    name: &'static str,
    program: &'static str,
    /// Whether the program has several commands, and gets the name of this one first.
    is_one_of_several: bool,
}

/// `cpuledger export`.
pub const EXPORT: External =
    External { name: "export", program: "cpuledger-export", is_one_of_several: false };
/// `cpuledger metrics`.
pub const METRICS: External = External { name: "metrics", program: "cpuledger-net", is_one_of_several: true };
/// `cpuledger push`.
pub const PUSH: External = External { name: "push", program: "cpuledger-net", is_one_of_several: true };
/// `cpuledger mcp`.
pub const MCP: External = External { name: "mcp", program: "cpuledger-net", is_one_of_several: true };

/// `cpuledger web`.
pub const WEB: External = External { name: "web", program: "cpuledger-net", is_one_of_several: true };

/// A command, if it is one of these.
pub fn named(word: &OsStr) -> Option<External> {
    [EXPORT, METRICS, PUSH, MCP, WEB].into_iter().find(|external| word == external.name)
}

/// Becomes the program of a command. It gets the arguments as they are, and its output, exit code and end by a signal are its own.
///
/// # Errors
/// Where it is missing, or cannot be run.
pub fn become_program(external: External, arguments: &[OsString]) -> anyhow::Result<()> {
    let program = match find(external.program)? {
        Ok(program) => program,
        Err(places) => return Err(Failure::NotInstalled(missing(external.name, &places)).into()),
    };
    let mut command = Command::new(&program);
    if external.is_one_of_several {
        command.arg(external.name);
    }
    let error = command.args(arguments).exec();
    Err(anyhow::Error::from(error).context(format!("cannot run {}", program.display())))
}

/// Where a program or script is that belongs to this one; or all places where it could be, if it is in none.
///
/// # Errors
/// Where it cannot be told where this program is.
pub fn find(name: &str) -> anyhow::Result<Result<PathBuf, Vec<PathBuf>>> {
    let own = std::env::current_exe().context("cannot tell where cpuledger is: /proc is needed for that")?;
    let places = places(&own, name);
    let found = places.iter().find(|place| place.exists()).cloned();
    Ok(found.ok_or(places))
}

/// Where a program may be that belongs to this one: beside it, as cargo builds them, or in libexec. `PATH` is not searched: root runs this
/// program, and with a `PATH` that names a folder of another user, that user's program would run as root.
fn places(own: &Path, name: &str) -> Vec<PathBuf> {
    let folder = own.parent();
    let beside = folder.map(|folder| folder.join(name));
    let in_libexec = folder.and_then(Path::parent).map(|prefix| prefix.join(LIBEXEC).join(name));
    [beside, in_libexec].into_iter().flatten().collect()
}

fn missing(command: &str, places: &[PathBuf]) -> String {
    let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    format!(
        "`cpuledger {command}` is a program of its own, and there is no {}: build it with `make all`, or install \
         the package that has it",
        places.join(" and no ")
    )
}
