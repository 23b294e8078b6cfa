//! What tempts cumulative figures to fall: execs by threads that are not leaders, reused pids, short threads.

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::hint::black_box;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, WaitOptions, getpid, waitpid};

use super::make::fork_with_pid;
use super::member::status_of;
use crate::cmd::burn::burn_until;
use crate::cmd::sys;

/// Where it is not stated how many.
const PAIRS: u64 = 100;
const LIFE_NS: u64 = 300_000;
/// Another process has the pid for a while.
const TAKEN: Duration = Duration::from_millis(5);
const PAGES_BYTES: usize = 64 * 1024;

/// One process for each kind of churn, all killed with the first.
pub(super) fn start() -> Result<()> {
    let me = getpid();
    let lives: [fn(Pid) -> Result<Infallible>; 3] = [exec, |_| reuse(), |_| threads()];
    for life in lives {
        sys::fork(move || match life(me) {
            Ok(never) => match never {},
            Err(error) => status_of(Err(error)),
        })
        .context("make a child")?;
    }
    Ok(())
}

/// Pairs of processes, each of which waits for the other.
pub(super) fn ping_pong(pairs: u64) -> Result<()> {
    for _ in 0..if pairs == 0 { PAIRS } else { pairs } {
        let (hear_ping, ping) = std::io::pipe().context("make a pipe")?;
        let (hear_pong, pong) = std::io::pipe().context("make a pipe")?;
        sys::fork(|| status_of(answer(&hear_ping, &pong))).context("make a process")?;
        sys::fork(|| {
            let begun = (&ping).write_all(b"+").context("begin");
            status_of(begun.and_then(|()| answer(&hear_pong, &ping)))
        })
        .context("make a process")?;
    }
    Ok(())
}

fn answer(mut hear: &PipeReader, mut tell: &PipeWriter) -> Result<()> {
    let mut byte = [0];
    loop {
        hear.read_exact(&mut byte).context("hear")?;
        tell.write_all(&byte).context("answer")?;
    }
}

/// Becomes [`image`].
fn exec(parent: Pid) -> Result<Infallible> {
    let program = std::env::current_exe().context("the own path")?;
    let program = CString::new(program.as_os_str().as_bytes()).context("the own path")?;
    let parent = CString::new(parent.as_raw_pid().to_string()).context("a number")?;
    let words: [&CStr; 6] = [&program, c"kin", c"--kind", c"churn-image", c"--parent", &parent];
    let failed = sys::execute(&program, &sys::Strings::new(words), &sys::Strings::new([]));
    Err(failed).context("execute itself")
}

/// Burns a little, then a thread burns a little and executes this program again.
pub(super) fn image(parent: i32) -> Result<()> {
    let parent = Pid::from_raw(parent).context("--parent is missing")?;
    // The thread that was the executing one has lost the request.
    sys::die_with_parent(Some(parent));
    use_everything();
    let executing = thread::spawn(move || {
        use_everything();
        exec(parent)
    });
    match executing.join().expect("it does not panic")? {}
}

/// CPU time, faults and I/O.
fn use_everything() {
    let begin_ns = sys::thread_cpu_ns();
    black_box(vec![1_u8; PAGES_BYTES]);
    // Nothing depends on what is read and written here.
    let mut bytes = [0; 4096];
    let _ = File::open("/dev/zero").and_then(|mut zeros| zeros.read_exact(&mut bytes));
    let _ = File::options().write(true).open("/dev/null").and_then(|mut null| null.write_all(&bytes));
    burn_until(begin_ns + LIFE_NS);
}

/// One child after another, all with the same pid.
fn reuse() -> Result<Infallible> {
    let child = || {
        use_everything();
        0
    };
    let pid = sys::fork(child).context("make a child")?;
    waitpid(Some(pid), WaitOptions::empty())?;
    loop {
        match fork_with_pid(pid, child) {
            Ok(pid) => drop(waitpid(Some(pid), WaitOptions::empty())?),
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => thread::sleep(TAKEN),
            Err(error) => return Err(error).context("make a child with the same pid"),
        }
    }
}

fn threads() -> Result<Infallible> {
    loop {
        use_everything();
        let thread = thread::Builder::new().spawn(use_everything).context("make a thread")?;
        thread.join().expect("it does not panic");
    }
}
