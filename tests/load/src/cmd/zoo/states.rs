//! Members in each state that a process can rest in, and with several threads.

use std::ffi::CString;
use std::sync::mpsc::channel;
use std::thread;

use anyhow::{Context, Result};
use cpuledger_load::{Bytes, ThreadTruth};
use rustix::thread::{gettid, set_name};

use super::life::{Ending, Kind, Life};
use crate::cmd::burn::burn_until;
use crate::cmd::sys;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("sleeper", |_| Ok(Ending::Sleep)),
    Kind::new("threads", threads),
    Kind::new("zombie", zombie),
    Kind::new("stopped", stopped),
    Kind::new("leader-exited", leader_exited),
];

const ZOMBIE_STATUS: i32 = 3;

/// Four threads with names of their own, one of which has burned.
fn threads(life: &mut Life) -> Result<Ending> {
    life.set_comm(b"the leader")?;
    let others = [("second", 0), ("third) S 1 (", 0), ("fourth burned", 50_000_000)];
    let others = others.map(|(comm, ns)| start_thread(comm, ns));
    let leader = sleeping_thread(&life.member.truth.comm.0, 0);
    let threads: Vec<ThreadTruth> = std::iter::once(Ok(leader)).chain(others).collect::<Result<_>>()?;
    life.member.tids = threads.iter().map(|thread| thread.tid).collect();
    life.member.truth.threads = threads;
    Ok(Ending::Sleep)
}

/// Starts a thread that burns and then sleeps, and waits until it has burned.
fn start_thread(comm: &'static str, ns: u64) -> Result<ThreadTruth> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let named =
            CString::new(comm).context("a name").and_then(|name| set_name(&name).context("name a thread"));
        burn_until(ns);
        let truth = named.map(|()| sleeping_thread(comm.as_bytes(), sys::thread_cpu_ns()));
        // The leader waits for it; if it does not, the process is at its end.
        let _ = tell.send(truth);
        sys::sleep_for_ever()
    });
    told.recv().context("a thread is lost")?
}

/// The truth about the calling thread, once it sleeps.
fn sleeping_thread(comm: &[u8], cpu_ns: u64) -> ThreadTruth {
    ThreadTruth { tid: gettid().as_raw_pid(), comm: Bytes::from(comm), state: "S".to_string(), cpu_ns }
}

fn zombie(life: &mut Life) -> Result<Ending> {
    burn_until(5_000_000);
    let truth = &mut life.member.truth;
    truth.state = "Z".to_string();
    truth.wait_status = Some(ZOMBIE_STATUS << 8);
    truth.cmdline = Some(Bytes::default());
    truth.cpu_ns = Some(sys::thread_cpu_ns());
    Ok(Ending::Exit(ZOMBIE_STATUS))
}

fn stopped(life: &mut Life) -> Result<Ending> {
    life.member.truth.state = "T".to_string();
    Ok(Ending::Stop)
}

/// The leader is a zombie, but cannot be waited for as long as the other thread lives.
fn leader_exited(life: &mut Life) -> Result<Ending> {
    let other = start_thread("the survivor", 10_000_000)?;
    let leader = ThreadTruth { state: "Z".to_string(), ..sleeping_thread(&life.member.truth.comm.0, 0) };
    life.member.truth.state = "Z".to_string();
    life.member.tids = vec![leader.tid, other.tid];
    life.member.truth.threads = vec![leader, other];
    Ok(Ending::LeaderEnds)
}
