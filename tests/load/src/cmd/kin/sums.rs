//! Processes whose sums are known: with living threads, dead threads, dead children; and many children of a short life.

use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use anyhow::{Context, Result};
use rustix::process::{Pid, WaitOptions, getpid, wait, waitpid};

use super::make::{shared_number, wait_for_usage};
use super::member::{burn_and_tell, say, status_of, tell, wait_for_byte};
use crate::cmd::burn::burn_until;
use crate::cmd::sys;

/// Threads or children of each process.
const PARTS: usize = 2;
/// Children of a brood that live at the same time.
const AT_ONCE: u64 = 4;

/// A process that burns alone, one whose threads stay, one whose threads end, one whose children end. Each leader tells last.
pub(super) fn sums(ns: u64) -> Result<()> {
    let lives: [fn(u64) -> Result<()>; 4] = [alone, living_threads, dead_threads, dead_children];
    for life in lives {
        sys::fork(move || match life(ns) {
            Ok(()) => sys::sleep_for_ever(),
            Err(error) => status_of(Err(error)),
        })
        .context("make a child")?;
    }
    Ok(())
}

fn alone(ns: u64) -> Result<()> {
    burn_and_tell("alone", ns)
}

fn living_threads(ns: u64) -> Result<()> {
    static TOLD: Barrier = Barrier::new(PARTS + 1);
    for _ in 0..PARTS {
        thread::spawn(move || {
            let told = burn_and_tell("living-threads", ns / PARTS as u64);
            TOLD.wait();
            match told {
                Ok(()) => sys::sleep_for_ever(),
                Err(error) => sys::exit_now(status_of(Err(error))),
            }
        });
    }
    TOLD.wait();
    tell("living-threads")
}

fn dead_threads(ns: u64) -> Result<()> {
    let threads: Vec<_> =
        (0..PARTS).map(|_| thread::spawn(move || burn_and_tell("dead-threads", ns / PARTS as u64))).collect();
    for thread in threads {
        thread.join().expect("it does not panic")?;
    }
    tell("dead-threads")
}

fn dead_children(ns: u64) -> Result<()> {
    let children: Vec<Pid> = (0..PARTS)
        .map(|_| {
            sys::fork(|| {
                burn_until(ns / PARTS as u64);
                0
            })
        })
        .collect::<Result<_, _>>()
        .context("make a child")?;
    // What the kernel says of them, their ends included.
    for child in children {
        let (pid, ppid) = (child.as_raw_pid(), getpid().as_raw_pid());
        let ns = wait_for_usage(child).context("wait for a child")?;
        say(&format!("burned role=dead-children tid={pid} pid={pid} ppid={ppid} ns={ns}\n"))?;
    }
    tell("dead-children")
}

/// Of 1, 2 and 3 ms in turn.
fn length_ns(number: u64) -> u64 {
    (1 + number % 3) * 1_000_000
}

/// Children that are not waited for, some at a time.
pub(super) fn brood(children: u64) -> Result<()> {
    let told = shared_number().context("map a shared page")?;
    sys::ignore_sigchld();
    for first in (0..children).step_by(AT_ONCE as usize) {
        for number in first..children.min(first + AT_ONCE) {
            let life = move || {
                burn_until(length_ns(number));
                told.fetch_add(sys::thread_cpu_ns(), Relaxed);
                0
            };
            sys::fork(life).context("make a child")?;
        }
        // It fails when the last of them is gone.
        while wait(WaitOptions::empty()).is_ok() {}
    }
    say(&format!("brood children={children} ns={}\n", told.load(Relaxed)))
}

/// Children that a thread makes and waits for. The leader waits for the thread, and has nothing else to do.
pub(super) fn brood_by_thread(children: u64) -> Result<()> {
    let make = move || {
        say(&format!("ready pid={}\n", getpid().as_raw_pid()))?;
        wait_for_byte()?;
        for _ in 0..children {
            let child = sys::fork(|| 0).context("make a child")?;
            waitpid(Some(child), WaitOptions::empty()).context("wait for a child")?;
        }
        say(&format!("brood children={children} ns=0\n"))?;
        // It lives until stdin is closed.
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map(drop).context("read stdin")
    };
    thread::spawn(make).join().expect("it does not panic")
}
