//! `actor`: a process with the credentials that it is told to take, which runs a little all the time, and whose threads and children end.

use std::ffi::CString;
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior};
use rustix::stdio::stdin;
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities, set_name, set_thread_res_gid,
    set_thread_res_uid,
};

use super::sys;

/// Between two times that it runs.
const REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };
/// How long it runs then.
const WORK: Duration = Duration::from_micros(50);

/// Take credentials, then run a little all the time until stdin is closed
///
/// Its name changes to that of --name when all is so.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The name, at most 15 bytes
    #[arg(long)]
    name: CString,
    /// Real, effective and saved user
    #[arg(long, value_delimiter = ',')]
    users: Vec<u32>,
    /// Real, effective and saved group
    #[arg(long, value_delimiter = ',')]
    groups: Vec<u32>,
    /// Saved user of its second thread alone
    #[arg(long)]
    saved_user_of_thread: Option<u32>,
    /// Keep CAP_NET_RAW as a permitted capability, through a change of users
    #[arg(long)]
    capable: bool,
    /// Whether its memory may be looked at by its user in the end
    #[arg(long)]
    dumpable: Option<bool>,
    /// Have a thread of this name end before it takes anything
    #[arg(long)]
    former_thread: Option<CString>,
    /// Leave a child that has ended, and is not waited for
    #[arg(long)]
    zombie: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(name) = arguments.former_thread.clone() {
        let former = thread::spawn(move || {
            set_name(&name).context("take a name")?;
            work();
            anyhow::Ok(())
        });
        former.join().map_err(|_| anyhow::anyhow!("the former thread has failed"))??;
    }
    let (told, ready) = channel();
    let (users, groups, saved) =
        (arguments.users.clone(), arguments.groups.clone(), arguments.saved_user_of_thread);
    let thread = thread::spawn(move || {
        let saved = saved.map(|saved| vec![users[0], users[1], saved]);
        take(&saved.unwrap_or(users), &groups)?;
        let _ = told.send(());
        rest_and_work(|| {});
        anyhow::Ok(())
    });
    let _ = ready.recv();
    set_keep_capabilities(arguments.capable).context("keep capabilities")?;
    take(&arguments.users, &arguments.groups)?;
    if arguments.capable {
        let sets = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::NET_RAW,
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, sets).context("keep one capability")?;
    }
    if let Some(dumpable) = arguments.dumpable {
        let behavior = if dumpable { DumpableBehavior::Dumpable } else { DumpableBehavior::NotDumpable };
        set_dumpable_behavior(behavior).context("set whether it is dumpable")?;
    }
    if arguments.zombie {
        sys::fork(|| 0).context("make a child")?;
    }
    set_name(&arguments.name).context("take a name")?;
    rest_and_work(|| {
        let _ = thread::spawn(work).join();
    });
    thread.join().map_err(|_| anyhow::anyhow!("the second thread has failed"))?
}

/// Takes what is given.
fn take(users: &[u32], groups: &[u32]) -> Result<()> {
    if let [real, effective, saved] = *groups {
        let [real, effective, saved] = [real, effective, saved].map(Gid::from_raw);
        set_thread_res_gid(real, effective, saved).context("take groups")?;
    }
    if let [real, effective, saved] = *users {
        take_users(real, effective, saved)?;
    }
    Ok(())
}

fn take_users(real: u32, effective: u32, saved: u32) -> Result<()> {
    let [real, effective, saved] = [real, effective, saved].map(Uid::from_raw);
    set_thread_res_uid(real, effective, saved).context("take users")
}

/// Until the other end of stdin is closed.
fn rest_and_work(mut more: impl FnMut()) {
    loop {
        let mut input = [PollFd::from_borrowed_fd(stdin(), PollFlags::empty())];
        if poll(&mut input, Some(&REST)).is_ok_and(|ready| ready > 0) {
            return;
        }
        work();
        more();
    }
}

fn work() {
    let begin = Instant::now();
    while begin.elapsed() < WORK {
        black_box((0..100).sum::<u64>());
    }
}
