//! A started `cpuledger-load`: its lines as they come, and its end.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::{Error, program};

/// How long a released workload may take to end before it is killed. A hundred thousand threads need a second
/// or two.
const STOP_LIMIT: Duration = Duration::from_secs(120);

/// The program at work. Dropping it releases the workload (closes its stdin), and kills it if it does not
/// end.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: ChildStdout,
    unread: Vec<u8>,
    command: String,
}

impl Running {
    /// Starts `cpuledger-load ARGUMENTS…`.
    pub(crate) fn start<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Result<Running, Error> {
        let arguments: Vec<OsString> = arguments.into_iter().map(|a| a.as_ref().to_owned()).collect();
        let program = program()?;
        let mut child = Command::new(program)
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| Error::Start { program: program.to_path_buf(), source })?;
        let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
        let command = arguments.join(OsStr::new(" ")).to_string_lossy().into_owned();
        Ok(Running { child, stdout, unread: Vec::new(), command })
    }

    /// The pid of the program itself.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// The next line, without its end; `None` if the program has closed its stdout.
    pub(crate) fn line(&mut self, limit: Duration) -> Result<Option<String>, Error> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if !readable_before(&self.stdout, deadline)? {
                return Err(Error::Late { command: self.command.clone(), seconds: limit.as_secs() });
            }
            let mut buffer = [0; 65536];
            match self.stdout.read(&mut buffer).map_err(Error::system("read a workload's line"))? {
                0 => return Ok(None),
                count => self.unread.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// The next line, which must be there: if the program has given up instead, its own sentence is the
    /// error.
    pub(crate) fn expect_line(&mut self, limit: Duration) -> Result<String, Error> {
        match self.line(limit)? {
            Some(line) => Ok(line),
            None => Err(self.last_words()),
        }
    }

    /// The error for a line that should not be.
    pub(crate) fn unexpected(&self, line: &str) -> Error {
        Error::Unexpected { command: self.command.clone(), line: line.to_string() }
    }

    /// Gives the word for which the workload waits.
    pub(crate) fn give_word(&mut self) -> Result<(), Error> {
        let mut stdin = self.child.stdin.as_ref().expect("it has not been released");
        stdin
            .write_all(b"+")
            .map_err(|error| Error::GaveUp(format!("cpuledger-load {} does not hear: {error}", self.command)))
    }

    /// Releases the workload. It ends by itself, or `end` and drop kill it.
    pub(crate) fn release(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits until the program has ended, for at most `limit`; then kills it. Fails unless it ended well.
    pub(crate) fn end(&mut self, limit: Duration) -> Result<(), Error> {
        match self.reap(limit)? {
            status if status.success() => Ok(()),
            _ => Err(self.last_words()),
        }
    }

    /// Ends a workload that waits for no release. The kernel kills its children with it.
    pub(crate) fn kill(&mut self) -> Result<(), Error> {
        // Not a stale pid: the child has not been waited for, or `kill` does nothing.
        self.child.kill().map_err(Error::system("kill a workload"))?;
        self.child.wait().map_err(Error::system("wait for a workload"))?;
        Ok(())
    }

    fn reap(&mut self, limit: Duration) -> Result<ExitStatus, Error> {
        if let Some(status) = self.child.try_wait().map_err(Error::system("wait for a workload"))? {
            return Ok(status);
        }
        let pid = Pid::from_raw(self.pid()).expect("a child's pid is not 0");
        let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(Error::system("open a workload's pidfd"))?;
        for (signal, limit) in [(None, limit), (Some(Signal::TERM), limit / 4), (Some(Signal::KILL), limit)] {
            if let Some(signal) = signal {
                kill_process(pid, signal).map_err(Error::system("signal a workload"))?;
            }
            if readable_before(&ended, Instant::now() + limit)? {
                break;
            }
        }
        self.child.wait().map_err(Error::system("wait for a workload"))
    }

    /// What the program said on stderr: a sentence, so it fits in the pipe and did not have to be read before.
    fn last_words(&mut self) -> Error {
        self.release();
        let status = match self.reap(STOP_LIMIT) {
            Ok(status) => status,
            Err(error) => return error,
        };
        let mut words = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            // Words that cannot be read are as good as none: the status is told then.
            let _ = stderr.read_to_string(&mut words);
        }
        match words.trim_end() {
            "" => Error::GaveUp(format!("cpuledger-load {} ended with {status}", self.command)),
            words => Error::GaveUp(words.to_string()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.release();
        if let Err(error) = self.reap(STOP_LIMIT) {
            eprintln!("cpuledger-load {} is left behind: {error}", self.command);
        }
    }
}

fn readable_before(fd: &impl AsFd, deadline: Instant) -> Result<bool, Error> {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut fds, Some(&left)) {
            Err(rustix::io::Errno::INTR) => continue,
            ready => return Ok(ready.map_err(Error::system("wait for a workload"))? > 0),
        }
    }
}

/// The value of `key=` in a line of `key=value` words.
pub(crate) fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// The number after `key=` in a line of `key=value` words.
pub(crate) fn number<N: std::str::FromStr>(line: &str, key: &str) -> Option<N> {
    value(line, key)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_belongs_to_its_whole_key() {
        let line = "ready pid=12 ppid=7 comm= threads=3x";
        assert_eq!(number(line, "pid"), Some(12));
        assert_eq!(number(line, "ppid"), Some(7));
        assert_eq!(value(line, "comm"), Some(""));
        assert_eq!(number::<u32>(line, "threads"), None);
        assert_eq!(value(line, "id"), None);
    }
}
