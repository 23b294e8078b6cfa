//! The command as a child that does not begin before the ledger stands.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use anyhow::Context;
use cpuledger_program::exit::Failure;
use nix::sys::resource::UsageWho;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::counted::Counted;

/// The first argument of this program as a launcher; the next is the number of its socket, then comes the command.
pub const LAUNCHER: &str = "run-launcher";

/// Exit codes of env(1).
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// A command that waits for its beginning.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    socket: UnixStream,
    /// What the launcher has used: it is not the command's.
    pub used: Counted,
    /// It stays that of the child, whatever becomes of its pid.
    pub pidfd: OwnedFd,
}

impl Launched {
    /// Starts the launcher, and waits until it waits.
    ///
    /// # Errors
    /// When there is no process or descriptor to be had.
    pub fn start(command: &[OsString]) -> anyhow::Result<Launched> {
        let (mut socket, theirs) = UnixStream::pair().context("cannot make a socket")?;
        fcntl_setfd(&theirs, FdFlags::empty()).context("cannot pass a socket on")?;
        let mut launcher = Command::new("/proc/self/exe");
        launcher.arg(LAUNCHER).arg(theirs.as_raw_fd().to_string()).args(command);
        // SAFETY: it does nothing. With it the child is forked, where posix_spawn(3) of glibc has it ignore signals 32 and 33.
        unsafe { launcher.pre_exec(|| Ok(())) };
        let child = launcher.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => anyhow::anyhow!(
                "run needs /proc, and there is none here: mount it with `mount -t proc proc /proc`"
            ),
            _ => anyhow::Error::from(error).context("cannot start a process"),
        })?;
        drop(theirs);
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("cannot watch a process")?;
        let mut used = Counted::default();
        socket
            .read_exact(bytemuck::bytes_of_mut(&mut used))
            .context("the launcher of the command has ended")?;
        Ok(Launched { child, socket, used, pidfd })
    }

    /// Lets the command begin.
    ///
    /// # Errors
    /// When the launcher has ended.
    pub fn go(&mut self) -> io::Result<()> {
        self.socket.write_all(b"g")
    }

    /// Waits for the end of the command. Returns whether it could be executed, too.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn wait(mut self) -> io::Result<(ExitStatus, bool)> {
        let status = self.child.wait()?;
        // An exec closes the other end, and the launcher that fails writes first.
        let has_failed = self.socket.read(&mut [0]).is_ok_and(|count| count > 0);
        Ok((status, !has_failed))
    }
}

/// The exit code of a shell for this end.
pub fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

/// Is the launcher: says that it is there, waits, and becomes the command. If nothing lets it begin, nothing is run.
///
/// # Errors
/// When the command cannot be executed, with the exit code of env(1).
pub fn launch(arguments: &[OsString]) -> anyhow::Result<()> {
    let [number, program, rest @ ..] = arguments else { return Err(misused()) };
    let mut socket = inherited(number).ok_or_else(misused)?;
    socket.write_all(bytemuck::bytes_of(&Counted::of(UsageWho::RUSAGE_SELF).unwrap_or_default()))?;
    let mut go = [0];
    if socket.read(&mut go)? == 0 {
        return Err(Failure::OfCommand(NOT_EXECUTABLE).into());
    }
    let error = Command::new(program).args(rest).exec();
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    // Without it the account would be of the launcher.
    let _ = socket.write_all(b"f");
    let name = program.to_string_lossy();
    let reason = match error.kind() {
        io::ErrorKind::NotFound if !name.contains('/') => "there is no such command in PATH".to_owned(),
        io::ErrorKind::NotFound if Path::new(program).exists() => "its interpreter is missing".to_owned(),
        _ => error.to_string(),
    };
    cpuledger_program::output::warn(&format!("cannot run '{name}': {reason}"));
    Err(Failure::OfCommand(code).into())
}

fn misused() -> anyhow::Error {
    Failure::Usage(format!("{LAUNCHER} is for `cpuledger run` alone")).into()
}

/// The socket of this number, if it is one. The command does not get it.
fn inherited(number: &OsStr) -> Option<UnixStream> {
    let number: RawFd = number.to_str()?.parse().ok().filter(|number| *number > 2)?;
    // SAFETY: it is only asked what it is; a number that is no open descriptor gives an error.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::net::sockopt::socket_type(borrowed).ok()?;
    fcntl_setfd(borrowed.as_fd(), FdFlags::CLOEXEC).ok()?;
    // SAFETY: it is open, and the launcher is the only owner: it was passed on by number, to this process.
    Some(unsafe { UnixStream::from_raw_fd(number) })
}
