//! `burn`: threads and children that use a stated amount of CPU time, then say exactly how much.

use std::ffi::CString;
use std::hint::black_box;
use std::thread::Builder;

use anyhow::{Context, Result};
use rustix::process::{WaitOptions, getpid, getppid, wait};
use rustix::stdio::stdout;
use rustix::thread::{gettid, name, set_name};

use super::sys::{self, thread_cpu_ns};

/// Threads and children that use CPU time, then say how much
///
/// Each burner prints, in one write just before its end, `burned tid=… pid=… ppid=… comm=… ns=…`: its CPU
/// time by CLOCK_THREAD_CPUTIME_ID. With neither --threads nor --children, the leader burns; else it only
/// waits.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// CPU time of each burner, in milliseconds
    #[arg(long, value_name = "N")]
    cpu_ms: u32,
    /// How many threads of this process burn, beside the leader
    #[arg(long, value_name = "T", default_value_t = 0)]
    threads: usize,
    /// How many child processes burn
    #[arg(long, value_name = "C", default_value_t = 0)]
    children: usize,
    /// Ignore SIGCHLD, so that the children's time is added to no process
    #[arg(long)]
    ignore_sigchld: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let ns = u64::from(arguments.cpu_ms) * 1_000_000;
    if arguments.ignore_sigchld {
        sys::ignore_sigchld();
    }
    if arguments.threads == 0 && arguments.children == 0 {
        return burn_and_tell(ns);
    }
    for index in 0..arguments.children {
        sys::fork(|| child(index, ns)).context("make a child")?;
    }
    let threads: Result<Vec<_>> = (0..arguments.threads)
        .map(|index| {
            let thread = Builder::new().name(format!("burn-thread-{index}"));
            thread.spawn(move || burn_and_tell(ns)).context("make a thread")
        })
        .collect();
    for thread in threads? {
        thread.join().expect("a burning thread does not panic")?;
    }
    // Without children left this fails; with SIGCHLD ignored, only then.
    while wait(WaitOptions::empty()).is_ok() {}
    Ok(())
}

fn child(index: usize, ns: u64) -> i32 {
    let named = CString::new(format!("burn-child-{index}")).context("a name");
    match named.and_then(|name| set_name(&name).context("set a name")).and_then(|()| burn_and_tell(ns)) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("cpuledger-load: {error:#}");
            1
        }
    }
}

fn burn_and_tell(ns: u64) -> Result<()> {
    burn_until(ns);
    let comm = name().context("read the own name")?;
    let ppid = getppid().map_or(0, |pid| pid.as_raw_pid());
    let (tid, pid, comm) =
        (gettid().as_raw_pid(), getpid().as_raw_pid(), comm.to_string_lossy().into_owned());
    let line = format!("burned tid={tid} pid={pid} ppid={ppid} comm={comm} ns={}\n", thread_cpu_ns());
    rustix::io::write(stdout(), line.as_bytes()).context("write what was burned")?;
    Ok(())
}

/// Uses CPU time until this thread has used `ns` in all, and some 10 µs more at most. Asks the clock, which
/// is a system call, seldom, so that most of it is user time.
pub(crate) fn burn_until(ns: u64) {
    while thread_cpu_ns() < ns {
        for number in 0..2_000_u32 {
            black_box(number);
        }
    }
}
