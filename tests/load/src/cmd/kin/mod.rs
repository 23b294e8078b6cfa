//! `kin`: families in which it is not obvious which process accounts for which.

mod churn;
mod families;
pub(super) mod make;
pub(super) mod member;
mod sums;

use std::io::Read;

use anyhow::{Context, Result};
use rustix::process::getpid;

use member::{burn_and_tell, say, wait_for_byte};

/// One family whose members burn CPU time and say how much
///
/// Prints `ready pid=…`, waits for a byte on stdin, then does what the kind says. Each member that has burned prints, in one
/// write, `burned role=… tid=… pid=… ppid=… ns=…`: its CPU time by CLOCK_THREAD_CPUTIME_ID. The first process, and those
/// that stay, live until stdin is closed.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which family
    #[arg(long, value_name = "KIND")]
    kind: Kind,
    /// CPU time of each burner, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 20)]
    cpu_ms: u64,
    /// How many children, where the kind has many
    #[arg(long, value_name = "N", default_value_t = 0)]
    children: u64,
    /// The parent of a program that executes itself again and again
    #[arg(long, value_name = "PID", default_value_t = 0, hide = true)]
    parent: i32,
}

/// The families.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// A child of a process that ignores SIGCHLD
    SigchldIgnored,
    /// A child of a process with SA_NOCLDWAIT
    NoCldWait,
    /// A child made as vfork(2) does, which borrows its parent's memory
    Vfork,
    /// A child made with CLONE_PARENT: it is its maker's sibling
    CloneParent,
    /// A process whose leader ends before its thread
    LeaderFirst,
    /// A process whose thread executes another program
    ExecByThread,
    /// A grandchild that burns when its parent is dead
    DoubleFork,
    /// A grandchild that burns when its parent is dead, below a subreaper that is not its nearest ancestor alive
    Subreaper,
    /// A daemon as daemon(3) and a second fork make it; it stays
    Daemon,
    /// A child that exists before the program says that it is ready
    Before,
    /// Three children, one after another, with the same pid
    PidReuse,
    /// An orphan burns while another process has the pid of its dead parent
    PidReuseByStranger,
    /// Processes with living threads, dead threads and dead children; all others stay
    Sums,
    /// Many children of 1 to 3 ms that are not waited for; prints `brood children=… ns=…` at the end
    Brood,
    /// Children that end at once, one after another, of a thread whose leader never wakes; prints `brood children=… ns=0`, and ends when stdin is closed
    BroodByThread,
    /// Nested children made as vfork(2) does: as many as --children, all alive at once; prints `brood children=… ns=0` at the end
    VforkChain,
    /// Execs by threads, reused pids and short threads, without end
    Churn,
    /// Pairs of processes that wake each other through pipes, without end: as many as --children, or 100
    PingPong,
    /// What an exec has put into place
    #[value(hide = true)]
    AfterExec,
    /// Likewise, for ever
    #[value(hide = true)]
    ChurnImage,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let ns = arguments.cpu_ms * 1_000_000;
    match arguments.kind {
        Kind::AfterExec => return burn_and_tell("after-exec", ns),
        Kind::ChurnImage => return churn::image(arguments.parent),
        Kind::BroodByThread => return sums::brood_by_thread(arguments.children),
        _ => {}
    }
    let family = families::Family::new(ns)?;
    let before = (arguments.kind == Kind::Before).then(|| family.child_that_waits()).transpose()?;
    say(&format!("ready pid={}\n", getpid().as_raw_pid()))?;
    wait_for_byte()?;
    match arguments.kind {
        Kind::SigchldIgnored => family.not_waited_for(false)?,
        Kind::NoCldWait => family.not_waited_for(true)?,
        Kind::Vfork => family.vfork()?,
        Kind::CloneParent => family.clone_parent()?,
        Kind::LeaderFirst => family.leader_first()?,
        Kind::ExecByThread => family.exec_by_thread(arguments.cpu_ms)?,
        Kind::DoubleFork => family.double_fork()?,
        Kind::Subreaper => family.subreaper()?,
        Kind::Daemon => family.daemon()?,
        Kind::Before => before.context("it was made")?.release()?,
        Kind::PidReuse => family.pid_reuse()?,
        Kind::PidReuseByStranger => family.pid_reuse_by_stranger()?,
        Kind::Sums => sums::sums(ns)?,
        Kind::Brood => sums::brood(arguments.children)?,
        Kind::VforkChain => families::vfork_chain(arguments.children)?,
        Kind::Churn => churn::start()?,
        Kind::PingPong => churn::ping_pong(arguments.children)?,
        Kind::AfterExec | Kind::ChurnImage | Kind::BroodByThread => {}
    }
    std::io::stdin().read_to_end(&mut Vec::new()).context("wait for the end")?;
    Ok(())
}
