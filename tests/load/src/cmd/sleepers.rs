//! `sleepers`: many threads that never run.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit};

use super::release::Release;
use super::{bare_thread, sys};

/// Threads that sleep until stdin is closed or SIGTERM comes
///
/// Prints `ready pid=… threads=… processes=… pids=…` when all of them exist. The threads are spread evenly,
/// the first processes having one more if need be. The first process is this program itself, the others are
/// its children. In the first, only the leader ever runs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many threads there shall be in all, leaders included
    #[arg(long, value_name = "N")]
    threads: usize,
    /// How many processes they shall belong to
    #[arg(long, value_name = "P", default_value_t = 1)]
    processes: usize,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let &Arguments { threads, processes } = arguments;
    ensure!(processes >= 1, "there is at least one process: this one");
    ensure!(threads >= processes, "{processes} processes have at least {processes} threads, not {threads}");
    cpuledger_load::room_for(threads)?;
    raise_own_process_limit()?;
    let release = Release::new()?;
    let share = |index: usize| threads / processes + usize::from(index < threads % processes);

    let (told, tell) = rustix::pipe::pipe().context("make a pipe")?;
    let (mut told, tell) = (File::from(told), tell);
    let mut children: Vec<Pid> = Vec::with_capacity(processes - 1);
    for index in 1..processes {
        children.push(sys::fork(|| sleep(share(index), &tell)).context("make a process")?);
    }
    drop(tell);
    add_threads(share(0) - 1)?;
    let mut ready = Vec::with_capacity(children.len());
    told.read_to_end(&mut ready).context("wait for the processes")?;
    if ready.len() < children.len() {
        bail!("{} of {processes} processes could not make their threads", children.len() - ready.len());
    }

    let pids: Vec<String> = std::iter::once(getpid()).chain(children.iter().copied()).map(text).collect();
    println!("ready pid={} threads={threads} processes={processes} pids={}", pids[0], pids.join(","));
    release.wait(None)?;
    children.into_iter().for_each(sys::kill_and_reap);
    Ok(())
}

fn text(pid: Pid) -> String {
    pid.as_raw_pid().to_string()
}

/// A child's whole life. All copies of the pipe's end are closed when all children are ready, or dead.
fn sleep(threads: usize, tell: &OwnedFd) -> i32 {
    let told = add_threads(threads - 1).and_then(|()| {
        let mut tell = File::from(tell.try_clone()?);
        Ok(tell.write_all(b"+")?)
    });
    match told {
        Ok(()) => close_and_sleep(tell),
        Err(error) => {
            eprintln!("cpuledger-load: {error:#}");
            1
        }
    }
}

fn close_and_sleep(tell: &OwnedFd) -> ! {
    use std::os::fd::AsRawFd;
    // SAFETY: the owner is the parent's frame, to which this process never returns: nothing uses or closes it
    // again.
    unsafe { rustix::io::close(tell.as_raw_fd()) };
    sys::sleep_for_ever()
}

fn add_threads(count: usize) -> Result<()> {
    for made in 0..count {
        bare_thread::start().with_context(|| format!("only {made} of {count} threads could be made"))?;
    }
    Ok(())
}

/// Every user may raise the soft limit to the hard one.
fn raise_own_process_limit() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nproc);
    setrlimit(Resource::Nproc, Rlimit { current: maximum, maximum }).context("raise RLIMIT_NPROC")
}
