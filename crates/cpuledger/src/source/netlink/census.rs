//! Which tasks there are: taskstats answers for a number and lists none, so the numbers are those of /proc.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use cpuledger_model::boottime::{Boottime, TICK_NS};
use cpuledger_model::task::Comm;
use cpuledger_proc::task::stat::parse_stat;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::error::Error;
use crate::source::procfs::file::{Attempt, Buffers, Name, PROC, open_root};

use super::reaped::Said;

/// What the directory of a process tells of it without being opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its threads, a dead leader included.
    pub threads: u32,
    /// Effective user of the leader: directories of /proc that every user may enter belong to it.
    pub euid: u32,
    /// Effective group, likewise.
    pub egid: u32,
}

impl Process {
    /// One that was there at a cut, and is gone.
    pub fn gone(pid: i32, euid: u32, egid: u32) -> Process {
        Process { pid, threads: 1, euid, egid }
    }
}

/// /proc and the buffers to list it.
pub struct Census {
    root: OwnedFd,
    buffers: Buffers,
    pids: Vec<i32>,
    tids: Vec<i32>,
}

impl Census {
    /// Opens /proc.
    pub fn open() -> Result<Census, Error> {
        let root = open_root(Path::new(PROC))?;
        Ok(Census { root, buffers: Buffers::new(), pids: Vec::new(), tids: Vec::new() })
    }

    /// The numbers of all processes.
    pub fn processes(&mut self) -> Result<Vec<i32>, Error> {
        self.buffers.list_processes(self.root.as_fd(), &mut self.pids)?;
        Ok(std::mem::take(&mut self.pids))
    }

    /// Gives the list back, to be filled again.
    pub fn reuse(&mut self, pids: Vec<i32>) {
        self.pids = pids;
    }

    /// One process; `None` where it is gone or hidden.
    pub fn process(&self, pid: i32) -> Option<Process> {
        let name = Name::EMPTY.then_number(pid).then(b"/task");
        let status = statat(&self.root, name.as_c_str(), AtFlags::empty()).ok()?;
        // Links: one for each thread, two besides.
        let threads = u32::try_from(status.st_nlink).unwrap_or(u32::MAX).saturating_sub(2);
        Some(Process { pid, threads, euid: status.st_uid, egid: status.st_gid })
    }

    /// Whether a task of a process is there, dead or alive.
    pub fn is_there(&self, pid: i32, tid: i32) -> bool {
        let name = Name::EMPTY.then_number(pid).then(b"/task/").then_number(tid);
        statat(&self.root, name.as_c_str(), AtFlags::empty()).is_ok()
    }

    /// What a process says of those it has waited for; `None` where it is gone or hidden.
    pub fn said(&mut self, pid: i32) -> Option<Said> {
        let name = Name::EMPTY.then_number(pid).then(b"/stat");
        let Ok(Attempt::Done(line)) = self.buffers.read(self.root.as_fd(), &name) else { return None };
        let stat = parse_stat(line).filter(|stat| stat.threads > 0)?;
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let ticks = stat.children_user_ticks.saturating_add(stat.children_system_ticks);
        // Each of the four is rounded down.
        let of_life =
            stat.user_ticks.saturating_add(stat.system_ticks).saturating_add(ticks).saturating_add(4);
        let zombie = (stat.state == b'Z').then(|| (stat.ppid, of_life.saturating_mul(tick_ns)));
        Some(Said { children_ns: ticks.saturating_mul(tick_ns), start: started(stat.start_ticks), zombie })
    }

    /// The name of a process as /proc shows it: that of a kernel worker with what it works on. `None` where it is gone or hidden.
    pub fn comm(&mut self, pid: i32) -> Option<Comm> {
        let name = Name::EMPTY.then_number(pid).then(b"/comm");
        let Ok(Attempt::Done(line)) = self.buffers.read(self.root.as_fd(), &name) else { return None };
        Some(Comm::new(line.strip_suffix(b"\n").unwrap_or(line)))
    }

    /// The start of a task, in whole ticks; `None` where it is gone or hidden.
    pub fn start(&mut self, pid: i32, tid: i32) -> Option<Boottime> {
        // Of the task alone: the file of a process sums its threads first.
        let name = Name::EMPTY.then_number(pid).then(b"/task/").then_number(tid).then(b"/stat");
        let Ok(Attempt::Done(line)) = self.buffers.read(self.root.as_fd(), &name) else { return None };
        parse_stat(line).map(|stat| started(stat.start_ticks))
    }

    /// The tids of a process, its leader included; none where it is gone.
    ///
    /// # Errors
    /// Only those that are not about the process.
    pub fn threads(&mut self, pid: i32) -> Result<&[i32], Error> {
        self.tids.clear();
        let name = Name::EMPTY.then_number(pid).then(b"/task");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(&self.root, name.as_c_str(), flags, Mode::empty());
        if let Attempt::Done(directory) = Attempt::from_result(opened).map_err(failed)? {
            self.buffers.list(directory.as_fd(), &mut self.tids).map_err(failed)?;
        }
        Ok(&self.tids)
    }
}

fn started(ticks: u64) -> Boottime {
    Boottime::from_ns(ticks.saturating_mul(TICK_NS))
}

fn failed(errno: Errno) -> Error {
    Error::Procfs { path: PROC.to_owned(), source: errno.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_there_with_our_threads() {
        let mut census = Census::open().expect("procfs");
        let myself = std::process::id().cast_signed();
        for _ in 0..2 {
            let pids = census.processes().expect("procfs");
            assert!(pids.contains(&myself) && pids.contains(&1), "{pids:?}");
            census.reuse(pids);
        }
        let process = census.process(myself).expect("we live");
        assert!(process.threads >= 2, "one for each test and one besides");
        assert!(census.said(myself).is_some_and(|said| said.start > Boottime::default()));
        let own = std::fs::read("/proc/self/comm").expect("a name");
        assert_eq!(census.comm(myself), Some(Comm::new(own.trim_ascii_end())));
        assert_eq!(census.start(myself, myself), census.said(myself).map(|said| said.start));
        assert_eq!((census.start(i32::MAX, i32::MAX), census.start(1, myself)), (None, None));
        assert_eq!(process.euid, rustix::process::geteuid().as_raw());
        assert!(census.threads(myself).expect("procfs").contains(&myself));
        assert_eq!(census.process(i32::MAX), None);
        assert!(census.is_there(myself, myself) && !census.is_there(1, myself));
        assert!(census.threads(i32::MAX).expect("no error").is_empty());
    }
}
