//! A member's life: it becomes what it shall be, tells the truth about itself, and rests. And how its parent
//! hears it.

use std::ffi::CString;
use std::fs::File;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cpuledger_load::{Bytes, Member, Truth};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
    recvmsg, send, socketpair, sockopt::set_socket_passcred,
};
use rustix::process::{Pid, Signal, getpid, kill_process};
use rustix::thread::{gettid, set_name};
use serde::{Deserialize, Serialize};

use crate::cmd::sys;

/// The longest name that a task can have.
const COMM_BYTES: usize = 15;
/// A report is a datagram; the longest holds the member with the long argument.
const REPORT_BYTES: usize = 192 * 1024;
const REPORT_LIMIT: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };
/// Generous: a task of SCHED_IDLE on a busy machine waits long for its last few microseconds.
const REST_LIMIT: Duration = Duration::from_secs(20);

/// A kind of member.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) needs_root: bool,
    /// Whether it is the first process of a PID namespace.
    pub(super) in_pid_namespace: bool,
    /// How many members say that they are there: itself and those that it starts.
    pub(super) members: usize,
    /// Makes the process what it shall be, and says how it shall rest.
    pub(super) live: fn(&mut Life) -> Result<Ending>,
}

impl Kind {
    pub(super) const fn new(name: &'static str, live: fn(&mut Life) -> Result<Ending>) -> Kind {
        Kind { name, needs_root: false, in_pid_namespace: false, members: 1, live }
    }

    pub(super) const fn needing_root(name: &'static str, live: fn(&mut Life) -> Result<Ending>) -> Kind {
        Kind { needs_root: true, ..Kind::new(name, live) }
    }
}

/// A member from within.
pub(super) struct Life<'a> {
    /// Where reports go.
    pub(super) tell: BorrowedFd<'a>,
    /// The parent as this process sees it.
    pub(super) parent: Option<Pid>,
    /// What is known of itself so far; the pid is found out by the hearer.
    pub(super) member: Member,
}

/// How a member rests once it has told everything.
pub(super) enum Ending {
    /// It sleeps.
    Sleep,
    /// It exits with this status, and stays a zombie.
    Exit(i32),
    /// It stops itself.
    Stop,
    /// Its leader ends, the other threads stay.
    LeaderEnds,
}

#[derive(Serialize, Deserialize)]
enum Report {
    Member(Box<Member>),
    Failed(String),
}

/// The two ends of reports: the hearer learns the speaker's pid from the kernel, in its own PID namespace.
pub(super) fn channel() -> Result<(OwnedFd, OwnedFd)> {
    let (hear, tell) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_passcred(&hear, true)?;
    Ok((hear, tell))
}

/// The whole life of a member, in its own process. Returns only if it failed.
pub(super) fn begin(kind: &Kind, tell: BorrowedFd, parent: Option<Pid>) -> i32 {
    let life = Life { tell, parent, member: new_member(kind.name) };
    life.run(|life| {
        sys::unblock_signals().context("unblock signals")?;
        leave_standard_streams()?;
        life.set_comm(comm_of(kind.name))?;
        (kind.live)(life)
    })
}

pub(super) fn new_member(kind: &str) -> Member {
    let truth = Truth { state: "S".to_string(), ..Truth::default() };
    Member { kind: kind.to_string(), pid: 0, tids: Vec::new(), truth }
}

/// The name that a member of this kind gets unless it is about names.
pub(super) fn comm_of(kind: &str) -> &[u8] {
    &kind.as_bytes()[..kind.len().min(COMM_BYTES)]
}

/// The parent's pipe must not stay open because of a member, nor its input be shared.
fn leave_standard_streams() -> Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null").context("open /dev/null")?;
    rustix::stdio::dup2_stdin(&null).context("leave stdin")?;
    rustix::stdio::dup2_stdout(&null).context("leave stdout")
}

impl Life<'_> {
    /// Names the leader, and says so.
    pub(super) fn set_comm(&mut self, comm: &[u8]) -> Result<()> {
        set_name(&CString::new(comm).context("a name has no NUL")?).context("set the name")?;
        self.member.truth.comm = Bytes::from(comm);
        Ok(())
    }

    /// Lives, reports and rests. Returns an exit status only if that failed.
    pub(super) fn run(mut self, live: impl FnOnce(&mut Self) -> Result<Ending>) -> i32 {
        let rested = live(&mut self).and_then(|ending| self.rest(ending));
        let Err(error) = rested;
        // If nothing listens any more, the report is dropped.
        let _ = self.report(&Report::Failed(format!("{error:#}")));
        1
    }

    fn rest(&mut self, ending: Ending) -> Result<std::convert::Infallible> {
        if self.member.tids.is_empty() && self.parent.is_some() {
            self.member.tids.push(gettid().as_raw_pid());
        }
        // A change of the user ids has cancelled it.
        sys::die_with_parent(self.parent);
        let report = Report::Member(Box::new(self.member.clone()));
        self.report(&report)?;
        match ending {
            Ending::Sleep => sys::sleep_for_ever(),
            Ending::Exit(status) => sys::exit_now(status),
            Ending::LeaderEnds => sys::exit_thread(),
            Ending::Stop => {
                kill_process(getpid(), Signal::STOP).context("stop itself")?;
                sys::sleep_for_ever()
            }
        }
    }

    fn report(&self, report: &Report) -> Result<()> {
        let json = serde_json::to_vec(report).context("write a report as JSON")?;
        ensure!(json.len() <= REPORT_BYTES, "a report of {} bytes is too long", json.len());
        send(self.tell, &json, SendFlags::NOSIGNAL).context("send a report")?;
        Ok(())
    }
}

/// The next member that says it is there.
pub(super) fn hear(hear: &OwnedFd) -> Result<Member> {
    let mut fds = [PollFd::new(hear, PollFlags::IN)];
    ensure!(poll(&mut fds, Some(&REPORT_LIMIT))? > 0, "said nothing for {} s", REPORT_LIMIT.tv_sec);
    let mut json = vec![0; REPORT_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut json)];
    let received = recvmsg(hear.as_fd(), &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let speaker = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(credentials) => Some(credentials.pid.as_raw_pid()),
        _ => None,
    });
    let pid = speaker.context("the kernel does not say who spoke")?;
    let mut member =
        match serde_json::from_slice(&json[..received.bytes]).context("a report is not understood")? {
            Report::Member(member) => *member,
            Report::Failed(reason) => bail!("{reason}"),
        };
    member.pid = pid;
    if member.tids.is_empty() {
        member.tids.push(pid);
    }
    if !member.truth.namespace_pids.is_empty() {
        member.truth.namespace_pids.insert(0, pid);
    }
    Ok(member)
}

/// Waits until the member and its threads are in the states that they have told.
pub(super) fn wait_for_rest(member: &Member) -> Result<()> {
    let pid = member.pid;
    let threads = member.truth.threads.iter();
    let threads = threads.map(|thread| (format!("/proc/{pid}/task/{}/stat", thread.tid), &thread.state));
    let deadline = Instant::now() + REST_LIMIT;
    for (path, state) in threads.chain([(format!("/proc/{pid}/stat"), &member.truth.state)]) {
        while !is_in_state(&path, state)? {
            ensure!(Instant::now() < deadline, "{path} does not come to show state {state}");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    Ok(())
}

/// The state is the field after the name, which ends at the last parenthesis.
fn is_in_state(path: &str, state: &str) -> Result<bool> {
    let stat = std::fs::read(path).with_context(|| format!("read {path}"))?;
    let end = stat.iter().rposition(|&byte| byte == b')').with_context(|| format!("{path} has no name"))?;
    Ok(stat[end..].strip_prefix(b") ").is_some_and(|rest| rest.starts_with(state.as_bytes())))
}
