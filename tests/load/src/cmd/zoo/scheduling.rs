//! Members with a nice value or a scheduling policy of their own.

use anyhow::{Context, Result};
use rustix::process::setpriority_process;

use super::life::{Ending, Kind, Life};
use crate::cmd::sys;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("nice-7", |life| nice(life, 7)),
    Kind::needing_root("nice-minus-5", |life| nice(life, -5)),
    Kind::needing_root("fifo", |life| policy(life, libc::SCHED_FIFO, 3)),
    Kind::needing_root("round-robin", |life| policy(life, libc::SCHED_RR, 2)),
    Kind::new("batch", |life| policy(life, libc::SCHED_BATCH, 0)),
    Kind::new("idle-policy", |life| policy(life, libc::SCHED_IDLE, 0)),
];

fn nice(life: &mut Life, nice: i32) -> Result<Ending> {
    setpriority_process(None, nice).context("set the nice value")?;
    life.member.truth.nice = Some(nice);
    Ok(Ending::Sleep)
}

fn policy(life: &mut Life, policy: i32, rt_priority: i32) -> Result<Ending> {
    let set = sys::set_policy(policy, rt_priority);
    set.context("set the scheduling policy (the cpu cgroup needs cpu.rt_runtime_us for a real-time one)")?;
    life.member.truth.policy = Some(policy);
    life.member.truth.rt_priority = Some(rt_priority);
    Ok(Ending::Sleep)
}
