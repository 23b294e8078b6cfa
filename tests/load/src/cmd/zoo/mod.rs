//! `zoo`: one process of each odd kind, with the truth about it.

mod arguments;
mod comm;
mod identity;
mod life;
mod memory;
mod namespace;
mod scheduling;
mod scratch;
mod states;
mod usage;

use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use cpuledger_load::Member;
use rustix::process::{Pid, geteuid, getpid};

use super::release::Release;
use super::sys;
pub(crate) use arguments::{memory_map, requested_by_environment, resume};
use life::Kind;

/// One process of each odd kind, held until stdin is closed or SIGTERM comes
///
/// Prints a line of JSON for each member, `{"kind":…,"pid":…,"tids":[…],"truth":{…}}`, when it has reached
/// the state in which it will rest, and finally `ready`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only members of this kind; may be given several times
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(kinds().map(|kind| kind.name)))]
    only: Vec<String>,
}

fn kinds() -> impl Iterator<Item = &'static Kind> {
    let with_one_topic = [
        states::KINDS,
        scheduling::KINDS,
        namespace::KINDS,
        memory::KINDS,
        comm::KINDS,
        identity::KINDS,
        usage::KINDS,
        arguments::KINDS,
    ];
    with_one_topic.into_iter().flatten()
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let chosen: Vec<&Kind> = kinds().filter(|kind| arguments.includes(kind)).collect();
    if let Some(kind) = chosen.iter().find(|kind| kind.needs_root).filter(|_| !geteuid().is_root()) {
        bail!("{} and others need root; start as root, or name other kinds with --only", kind.name);
    }
    let release = Release::new()?;
    let mut zoo = Zoo::open()?;
    for kind in chosen {
        let members = zoo.admit(kind).with_context(|| format!("the member {:?}", kind.name))?;
        for member in members {
            println!("{}", serde_json::to_string(&member).context("write a member as JSON")?);
        }
    }
    println!("ready");
    release.wait(None)
}

impl Arguments {
    fn includes(&self, kind: &Kind) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == kind.name)
    }
}

/// The members' parent and what it hears from them.
struct Zoo {
    hear: OwnedFd,
    tell: OwnedFd,
    children: Vec<Pid>,
}

impl Zoo {
    fn open() -> Result<Zoo> {
        let (hear, tell) = life::channel().context("make a socket pair")?;
        Ok(Zoo { hear, tell, children: Vec::new() })
    }

    /// Starts a process of this kind and waits until it and those that it starts are at rest.
    fn admit(&mut self, kind: &Kind) -> Result<Vec<Member>> {
        let child = if kind.in_pid_namespace {
            sys::fork_in_pid_namespace(|| life::begin(kind, self.tell.as_fd(), None))
        } else {
            let parent = getpid();
            sys::fork(|| life::begin(kind, self.tell.as_fd(), Some(parent)))
        };
        self.children.push(child.context("make a process")?);
        let mut members = Vec::with_capacity(kind.members);
        for _ in 0..kind.members {
            let member = life::hear(&self.hear)?;
            life::wait_for_rest(&member)?;
            members.push(member);
        }
        ensure!(members.iter().any(|member| member.kind == kind.name), "another one answered");
        Ok(members)
    }
}

impl Drop for Zoo {
    fn drop(&mut self) {
        self.children.drain(..).for_each(sys::kill_and_reap);
    }
}
