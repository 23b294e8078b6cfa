//! Commands that a program of their own has, as with git: few need them, and they take long to build.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use cpuledger_program::exit::Failure;

/// Below the folder that `bin` is in, where `make install` and packages put such programs.
const LIBEXEC: &str = "libexec/cpuledger";

/// Such programs with their commands. One that has several gets the name of the command first.
const PROGRAMS: [(&str, &[&str]); 2] =
    [("cpuledger-export", &["export"]), ("cpuledger-net", &["metrics", "push", "mcp", "web"])];

/// The program that has a command, and whether it has others too; `None`: this one has it, or none.
pub fn program_of(command: &OsStr) -> Option<(&'static str, bool)> {
    let (program, commands) =
        PROGRAMS.iter().find(|(_, commands)| commands.iter().any(|own| command == *own))?;
    Some((program, commands.len() > 1))
}

/// Becomes the program of a command. It gets the arguments as they are, and its output, exit code and end by a signal are its own.
///
/// # Errors
/// Where it is missing, or cannot be run.
pub fn become_program(name: impl AsRef<OsStr>, arguments: &[OsString]) -> anyhow::Result<()> {
    let name = name.as_ref();
    let (program, is_one_of_several) = program_of(name).context("no program has this command")?;
    let program = match find(program)? {
        Ok(program) => program,
        Err(places) => {
            return Err(Failure::NotInstalled(format!(
                "`cpuledger {}` is a program of its own, and there is no {places}: build it with `make all`, or install \
                 the package that has it",
                name.display()
            ))
            .into());
        }
    };
    let mut command = Command::new(&program);
    if is_one_of_several {
        command.arg(name);
    }
    let error = command.args(arguments).exec();
    Err(anyhow::Error::from(error).context(format!("cannot run {}", program.display())))
}

/// Where a program or script is that belongs to this one; or all places where it could be, as words, if it is in none.
///
/// # Errors
/// Where it cannot be told where this program is.
pub fn find(name: &str) -> anyhow::Result<Result<PathBuf, String>> {
    let own = std::env::current_exe().context("cannot tell where cpuledger is: /proc is needed for that")?;
    let places = places(&own, name);
    let found = places.iter().find(|place| place.exists()).cloned();
    let words =
        || places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" and no ");
    Ok(found.ok_or_else(words))
}

/// Where a program may be that belongs to this one: beside it, as cargo builds them, or in libexec. `PATH` is not searched: root runs this
/// program, and with a `PATH` that names a folder of another user, that user's program would run as root.
fn places(own: &Path, name: &str) -> Vec<PathBuf> {
    let folder = own.parent();
    let beside = folder.map(|folder| folder.join(name));
    let in_libexec = folder.and_then(Path::parent).map(|prefix| prefix.join(LIBEXEC).join(name));
    [beside, in_libexec].into_iter().flatten().collect()
}
