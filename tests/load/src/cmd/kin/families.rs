//! Families that are odd in one way. Most have few members.

use std::ffi::CString;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, getpid, getppid, pidfd_open, set_child_subreaper, setsid, wait, waitpid,
};

use super::make::{fork_free, fork_sibling, fork_with_pid, keep_no_zombies, shared_number, vfork};
use super::member::{burn_and_tell, say, status_of};
use crate::cmd::sys;

/// Long, because each look costs two switches, at which the clocks of the scheduler and the books differ a little.
const MOMENT: Duration = Duration::from_millis(10);

/// What all families are made of.
pub(super) struct Family {
    /// CPU time of each burner.
    ns: u64,
    /// Readable when the first process is gone.
    first_process: OwnedFd,
}

/// A child that waits for its parent's word.
pub(super) struct Waiting {
    word: std::io::PipeWriter,
    child: Pid,
}

impl Waiting {
    /// Lets it burn, and waits for its end.
    pub(super) fn release(mut self) -> Result<()> {
        self.word.write_all(b"+").context("give the word")?;
        reap(self.child)
    }
}

fn reap(child: Pid) -> Result<()> {
    let (_, status) = waitpid(Some(child), WaitOptions::empty())?.context("it was waited for")?;
    match status.exit_status() {
        Some(0) => Ok(()),
        _ => bail!("a member ended with {status:?}"),
    }
}

/// Each is the child of the one before, which waits for its end: first all of them live, then one after the other dies.
pub(super) fn vfork_chain(children: u64) -> Result<()> {
    let made = shared_number().context("map a shared page")?;
    nest(children, made)?;
    say(&format!("brood children={} ns=0\n", made.load(Relaxed)))
}

fn nest(left: u64, made: &AtomicU64) -> Result<()> {
    if left == 0 {
        return Ok(());
    }
    let life = || {
        made.fetch_add(1, Relaxed);
        status_of(nest(left - 1, made))
    };
    reap(vfork(life).context("make a child")?)
}

/// Returns when that parent is dead and another process is the parent.
fn wait_until_orphaned(parent: Pid) {
    while getppid() == Some(parent) {
        thread::sleep(MOMENT);
    }
}

impl Family {
    pub(super) fn new(ns: u64) -> Result<Family> {
        Ok(Family { ns, first_process: pidfd_open(getpid(), PidfdFlags::empty()).context("open a pidfd")? })
    }

    fn burner(&self, role: &str) -> i32 {
        status_of(burn_and_tell(role, self.ns))
    }

    /// Burns, tells, and stays until the first process is gone.
    fn staying_burner(&self, role: &str) -> i32 {
        let status = self.burner(role);
        let _ = poll(&mut [PollFd::new(&self.first_process, PollFlags::IN)], None);
        status
    }

    pub(super) fn child_that_waits(&self) -> Result<Waiting> {
        let (mut heard, word) = std::io::pipe().context("make a pipe")?;
        let child = sys::fork(|| {
            let released = heard.read_exact(&mut [0]).context("wait for the word");
            status_of(released.and_then(|()| burn_and_tell("child", self.ns)))
        });
        Ok(Waiting { word, child: child.context("make a child")? })
    }

    pub(super) fn not_waited_for(&self, by_flag: bool) -> Result<()> {
        if by_flag {
            keep_no_zombies().context("set SA_NOCLDWAIT")?;
        } else {
            sys::ignore_sigchld();
        }
        sys::fork(|| self.burner("child")).context("make a child")?;
        // It fails as soon as there is no child any more, and tells of none.
        if let Ok(Some(found)) = wait(WaitOptions::empty()) {
            bail!("a child is a zombie: {found:?}");
        }
        Ok(())
    }

    pub(super) fn vfork(&self) -> Result<()> {
        reap(vfork(|| self.burner("child")).context("make a child")?)
    }

    pub(super) fn clone_parent(&self) -> Result<()> {
        let middle = sys::fork(|| match fork_sibling(|| self.burner("sibling")) {
            Ok(_) => self.staying_burner("maker"),
            Err(error) => status_of(Err(error.into())),
        });
        let middle = middle.context("make a child")?;
        match wait(WaitOptions::empty())? {
            Some((pid, _)) if pid != middle => Ok(()),
            found => bail!("it was not the sibling that ended: {found:?}"),
        }
    }

    pub(super) fn leader_first(&self) -> Result<()> {
        let child = sys::fork(|| {
            let ns = self.ns;
            let _thread = thread::spawn(move || {
                while !is_leader_dead() {
                    thread::sleep(MOMENT);
                }
                sys::exit_now(status_of(burn_and_tell("thread", ns)));
            });
            match burn_and_tell("leader", self.ns) {
                Ok(()) => sys::exit_thread(),
                Err(error) => status_of(Err(error)),
            }
        });
        reap(child.context("make a child")?)
    }

    pub(super) fn exec_by_thread(&self, cpu_ms: u64) -> Result<()> {
        let program = std::env::current_exe().context("the own path")?;
        let program = CString::new(program.as_os_str().as_bytes()).context("the own path")?;
        // The thread's clock goes on after the exec.
        let twice = CString::new((2 * cpu_ms).to_string()).context("a number")?;
        let words = [&program, c"kin", c"--kind", c"after-exec", c"--cpu-ms", &twice];
        let child = sys::fork(|| {
            let (leader_is_ready, wait_for_leader) = mpsc::channel();
            let program = &program;
            thread::scope(|scope| {
                scope.spawn(move || {
                    let _ = wait_for_leader.recv();
                    let burned = burn_and_tell("before-exec", self.ns);
                    let (arguments, environment) = (sys::Strings::new(words), sys::Strings::new([]));
                    let failed = sys::execute(program, &arguments, &environment);
                    sys::exit_now(status_of(burned.and(Err(failed.into()))));
                });
                let burned = burn_and_tell("leader", self.ns);
                let _ = leader_is_ready.send(());
                match burned {
                    Ok(()) => sys::sleep_for_ever(),
                    Err(error) => sys::exit_now(status_of(Err(error))),
                }
            })
        });
        reap(child.context("make a child")?)
    }

    pub(super) fn double_fork(&self) -> Result<()> {
        let middle = sys::fork(|| self.parent_of_orphan()).context("make a child")?;
        reap(middle)
    }

    /// Burns and ends; its child burns when it is dead.
    fn parent_of_orphan(&self) -> i32 {
        let parent = getpid();
        let orphan = fork_free(|| {
            wait_until_orphaned(parent);
            self.burner("orphan")
        });
        match orphan {
            Ok(_) => self.burner("parent"),
            Err(error) => status_of(Err(error.into())),
        }
    }

    pub(super) fn subreaper(&self) -> Result<()> {
        sys::fork(|| {
            let made = set_child_subreaper(Some(getpid())).context("become a subreaper").and_then(|()| {
                sys::fork(|| status_of(self.double_fork()) + self.staying_burner("ancestor"))
                    .context("make a child")
            });
            match made {
                // What it adopts stays a zombie: that changes nothing.
                Ok(_) => self.staying_burner("subreaper"),
                Err(error) => status_of(Err(error)),
            }
        })
        .context("make a child")?;
        Ok(())
    }

    pub(super) fn daemon(&self) -> Result<()> {
        let first = fork_free(|| {
            let in_session = || -> Result<()> {
                setsid().context("make a session")?;
                let parent = getpid();
                fork_free(|| {
                    wait_until_orphaned(parent);
                    self.staying_burner("daemon")
                })?;
                Ok(())
            };
            status_of(in_session())
        });
        reap(first.context("make a child")?)
    }

    pub(super) fn pid_reuse(&self) -> Result<()> {
        let pid = sys::fork(|| self.burner("first")).context("make a child")?;
        reap(pid)?;
        for role in ["second", "third"] {
            reap(fork_with_pid(pid, || self.burner(role)).context("make a child with the same pid")?)?;
        }
        Ok(())
    }

    pub(super) fn pid_reuse_by_stranger(&self) -> Result<()> {
        let (mut heard, mut word) = std::io::pipe().context("make a pipe")?;
        let parent = sys::fork(|| {
            let orphan = fork_free(|| {
                let released = heard.read_exact(&mut [0]).context("wait for the word");
                status_of(released.and_then(|()| burn_and_tell("orphan", self.ns)))
            });
            match orphan {
                Ok(_) => self.burner("parent"),
                Err(error) => status_of(Err(error.into())),
            }
        });
        let parent = parent.context("make a child")?;
        reap(parent)?;
        let (mut namesake_is_there, tell) = std::io::pipe().context("make a pipe")?;
        sys::fork(|| {
            let namesake = fork_with_pid(parent, || {
                let told = (&tell).write_all(b"+").context("tell that it is there");
                status_of(told) + self.staying_burner("namesake")
            });
            match namesake {
                Ok(_) => self.staying_burner("stranger"),
                Err(error) => status_of(Err(error.into())),
            }
        })
        .context("make a child")?;
        namesake_is_there.read_exact(&mut [0]).context("wait for the namesake")?;
        word.write_all(b"+").context("give the word")
    }
}

/// Of the own process.
fn is_leader_dead() -> bool {
    // A name may hold anything, but the state follows the last parenthesis.
    let stat = fs::read_to_string(format!("/proc/{}/stat", getpid().as_raw_pid())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z"))
}
