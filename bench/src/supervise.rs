//! A measurement runs in a child of its own process group, so that however it ends (by an error, by Ctrl-C, by a signal) its
//! tasks, files and limits go with it.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::Context;
use cpuledger_load::RaisedLimits;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Set in the child.
const WORKER: &str = "CPULEDGER_BENCH_WORKER";

/// Atop switches process accounting off if it is asked to end.
const GRACE: Duration = Duration::from_secs(2);

/// 100,000 threads need a second or two to die.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether this is the child; if so, it does not outlive its parent.
///
/// # Errors
/// When the kernel refuses that.
pub fn is_worker() -> anyhow::Result<bool> {
    let is_worker = env::var_os(WORKER).is_some();
    if is_worker {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    Ok(is_worker)
}

/// Runs this program again with the same arguments, and cleans up after it.
///
/// # Errors
/// When it cannot be started.
pub fn run() -> anyhow::Result<ExitCode> {
    // The last holder of the limits restores them, also those that a killed child has raised.
    let _limits = RaisedLimits::for_threads(0)?;
    let folder = Folder::new()?;
    let mut signals = Signals::new([SIGCHLD, SIGINT, SIGTERM, SIGHUP])?;
    // What its children leave behind becomes ours, to be waited for.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut worker = Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env(WORKER, "1")
        .env("TMPDIR", &folder.0)
        .process_group(0)
        .spawn()
        .context("cannot start the measurement")?;
    let status = wait(&mut worker, &mut signals);
    end_group(Pid::from_raw(worker.id().cast_signed()))?;
    end_adopted()?;
    Ok(match status {
        Some(status) => u8::try_from(status.code().unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from),
        None => ExitCode::from(130),
    })
}

/// Until the child has ended; `None` if we are told to stop.
fn wait(worker: &mut Child, signals: &mut Signals) -> Option<ExitStatus> {
    loop {
        for signal in signals.wait() {
            match signal {
                SIGCHLD => {
                    if let Ok(Some(status)) = worker.try_wait() {
                        return Some(status);
                    }
                }
                _ => return None,
            }
        }
    }
}

/// Asks all to end, kills them after a timeout, and waits until none is left.
fn end_group(group: Pid) -> anyhow::Result<()> {
    let begin = Instant::now();
    let mut is_killed = false;
    // An answer other than this one means that some live, or are dead and not yet waited for.
    while killpg(group, None::<Signal>) != Err(Errno::ESRCH) {
        if begin.elapsed() > GRACE && !is_killed {
            is_killed = killpg(group, Signal::SIGKILL).is_ok();
        } else if !is_killed {
            let _ = killpg(group, Signal::SIGTERM);
        }
        while matches!(waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)), Ok(status) if status.pid().is_some())
        {
        }
        anyhow::ensure!(begin.elapsed() < PATIENCE, "process group {group} does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Likewise those that have left the group, as atop does: their parent has died, so they are children of this process.
fn end_adopted() -> anyhow::Result<()> {
    let begin = Instant::now();
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return Ok(()),
            Ok(status) if status.pid().is_some() => continue,
            _ => {}
        }
        let signal = if begin.elapsed() > GRACE { Signal::SIGKILL } else { Signal::SIGTERM };
        let children = std::fs::read_to_string("/proc/thread-self/children")?;
        // None has been waited for, so each is the one that it was.
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            let _ = kill(Pid::from_raw(child), signal);
        }
        anyhow::ensure!(begin.elapsed() < PATIENCE, "these do not end: {children}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where the child has its temporary files; gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Folder> {
        let path = env::temp_dir().join(format!("cpuledger-bench-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all::<&Path>(&self.0);
    }
}
