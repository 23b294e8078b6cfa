//! `storm`: processes or threads that are made and end without pause.

use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::release::Release;
use super::sys;

const MAX_WORKERS: usize = 1024;
/// How long the workers may take to finish what they have in hand before they are killed.
const FINISH_LIMIT: Duration = Duration::from_secs(5);

/// Loops that make a process (fork, exec, wait) or thread (create, join) and wait for its end
///
/// Each loop is a process of its own. Prints `ready workers=PID,…` at the start, and at the end, after
/// --seconds, on SIGTERM or when stdin is closed, `stormed made=… failed=… cpu_ns=… made_cpu_ns=…`: cpu_ns is
/// RUSAGE_CHILDREN of this program, made_cpu_ns the sum of the workers' RUSAGE_CHILDREN (`-` with --threads).
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many loops
    #[arg(long, value_name = "W", default_value_t = 1)]
    workers: usize,
    /// What each process executes, without arguments
    #[arg(long, value_name = "PATH", default_value = "/bin/true")]
    exec: PathBuf,
    /// End after that many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<u32>,
    /// Make threads, not processes
    #[arg(long, conflicts_with = "exec")]
    threads: bool,
}

/// What workers and parent share. All zeros is a valid start.
#[derive(Default)]
struct Board {
    stop: AtomicBool,
    made: AtomicU64,
    failed: AtomicU64,
    made_cpu_us: AtomicU64,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workers = arguments.workers;
    ensure!((1..=MAX_WORKERS).contains(&workers), "there can be 1 to {MAX_WORKERS} workers, not {workers}");
    let program =
        CString::new(arguments.exec.as_os_str().as_encoded_bytes()).context("the program's path")?;
    if !arguments.threads {
        let access = rustix::fs::access(&program, rustix::fs::Access::EXEC_OK);
        access.with_context(|| format!("{} cannot be executed", arguments.exec.display()))?;
    }
    let release = Release::new()?;
    let board = share_board().context("map a shared page")?;
    let mut pids = Vec::with_capacity(workers);
    for _ in 0..workers {
        let worker = || match arguments.threads {
            true => make_threads(board),
            false => make_processes(board, &program),
        };
        pids.push(sys::fork(worker).context("make a worker")?);
    }
    let list: Vec<String> = pids.iter().map(|pid| pid.as_raw_pid().to_string()).collect();
    println!("ready workers={}", list.join(","));
    release.wait(arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into())))?;

    board.stop.store(true, Relaxed);
    let killed = end_workers(pids)?;
    let cpu_ns = sys::children_usage().cpu_us * 1000;
    // A worker that had to be killed has not told its part.
    let made_cpu_ns = match arguments.threads || killed > 0 {
        true => "-".to_string(),
        false => (board.made_cpu_us.load(Relaxed) * 1000).to_string(),
    };
    let (made, failed) = (board.made.load(Relaxed), board.failed.load(Relaxed));
    println!("stormed made={made} failed={failed} cpu_ns={cpu_ns} made_cpu_ns={made_cpu_ns}");
    Ok(())
}

fn share_board() -> rustix::io::Result<&'static Board> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, of at least a page and so large and aligned enough for the board, which all
    // zeros are. It is never unmapped, and only atomics are in it.
    unsafe {
        let page = mmap_anonymous(std::ptr::null_mut(), size_of::<Board>(), access, MapFlags::SHARED)?;
        Ok(&*page.cast::<Board>())
    }
}

fn make_processes(board: &Board, program: &CStr) -> i32 {
    if sys::unblock_signals().is_err() {
        return 1;
    }
    let (arguments, environment) = (sys::Strings::new([program]), sys::Strings::new([]));
    while !board.stop.load(Relaxed) {
        let execute = || {
            sys::execute(program, &arguments, &environment);
            127
        };
        let status =
            sys::fork(execute).ok().and_then(|pid| waitpid(Some(pid), WaitOptions::empty()).ok().flatten());
        if status.is_some() {
            board.made.fetch_add(1, Relaxed);
        }
        if status.is_none_or(|(_, status)| status.exit_status() != Some(0)) {
            board.failed.fetch_add(1, Relaxed);
        }
    }
    board.made_cpu_us.fetch_add(sys::children_usage().cpu_us, Relaxed);
    0
}

fn make_threads(board: &Board) -> i32 {
    if sys::unblock_signals().is_err() {
        return 1;
    }
    while !board.stop.load(Relaxed) {
        match std::thread::Builder::new().spawn(|| ()).map(std::thread::JoinHandle::join) {
            Ok(Ok(())) => board.made.fetch_add(1, Relaxed),
            _ => board.failed.fetch_add(1, Relaxed),
        };
    }
    0
}

/// Waits for the workers, and kills those that do not end: what they execute may run for ever. Says how many.
fn end_workers(mut workers: Vec<Pid>) -> Result<usize> {
    let deadline = Instant::now() + FINISH_LIMIT;
    while !workers.is_empty() && Instant::now() < deadline {
        let mut living = Vec::new();
        for worker in workers {
            if waitpid(Some(worker), WaitOptions::NOHANG).context("wait for a worker")?.is_none() {
                living.push(worker);
            }
        }
        workers = living;
        std::thread::sleep(Duration::from_millis(1));
    }
    workers.iter().copied().for_each(sys::kill_and_reap);
    Ok(workers.len())
}
