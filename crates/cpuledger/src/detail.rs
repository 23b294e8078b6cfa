//! What no source gives and only rows that are shown need: arguments, program, cgroups, where a task waits. It is
//! read from /proc one row at a time.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use crate::render::column::Lookups;
use crate::task::{Pid, Task, TaskId};

/// Arguments that are there and empty.
pub const BLANK: &[u8] = b"\0";

/// Details of the rows they were asked for.
#[derive(Debug, Default)]
pub struct Details {
    leaders: HashMap<Pid, ProcessDetail>,
    /// One for all threads but the leader: it may be dead, and then they still have what it has no more.
    threads: HashMap<Pid, ProcessDetail>,
    /// Where tasks wait: read again for every listing.
    wchan: HashMap<TaskId, Vec<u8>>,
}

/// The file could not be read: nothing is known.
#[derive(Debug, Clone, Copy)]
struct Unreadable;

/// What the tasks of a process share. A member is `None` until it was asked for.
#[derive(Debug, Default)]
struct ProcessDetail {
    /// Start of the leader, where it is known: the pid may be reused.
    start_time_ns: Option<u64>,
    cmdline: Option<Result<Vec<u8>, Unreadable>>,
    exe: Option<Vec<u8>>,
    cgroup: Option<Vec<u8>>,
}

impl Details {
    /// Reads what is wanted of the row and not there yet.
    pub fn learn(&mut self, row: &Task, wanted: Lookups) {
        if wanted.wants(Lookups::CMDLINE.union(Lookups::EXE).union(Lookups::CGROUP)) {
            if row.is_leader() {
                let leader = self.leaders.entry(row.pid).or_default();
                if leader.start_time_ns != Some(row.start_time_ns) {
                    *leader = ProcessDetail { start_time_ns: Some(row.start_time_ns), ..Default::default() };
                    self.threads.remove(&row.pid);
                }
                leader.learn(row, wanted);
            } else {
                self.threads.entry(row.pid).or_default().learn(row, wanted);
            }
        }
        if wanted.wants(Lookups::WCHAN) {
            let path = format!("/proc/{}/task/{}/wchan", row.pid, row.tid);
            self.wchan.insert(row.id(), wait_channel(&fs::read(path).unwrap_or_default()).to_vec());
        }
    }

    /// The arguments, separated by NUL; [`BLANK`]: all are empty; empty: there are none; `None`: not known.
    pub fn cmdline(&self, row: &Task) -> Option<&[u8]> {
        self.process(row)?.cmdline.as_ref()?.as_deref().ok()
    }

    /// The path of the program; empty: none, or not to be read.
    pub fn exe(&self, row: &Task) -> &[u8] {
        self.process(row).and_then(|process| process.exe.as_deref()).unwrap_or_default()
    }

    /// Hierarchy, controllers and path of each cgroup, separated by commas, likewise.
    pub fn cgroup(&self, row: &Task) -> &[u8] {
        self.process(row).and_then(|process| process.cgroup.as_deref()).unwrap_or_default()
    }

    fn process(&self, row: &Task) -> Option<&ProcessDetail> {
        if row.is_leader() { self.leaders.get(&row.pid) } else { self.threads.get(&row.pid) }
    }

    /// The kernel function the task waits in, likewise.
    pub fn wchan(&self, row: &Task) -> &[u8] {
        self.wchan.get(&row.id()).map_or(&[], Vec::as_slice)
    }
}

impl ProcessDetail {
    fn learn(&mut self, row: &Task, wanted: Lookups) {
        let directory = format!("/proc/{}/task/{}", row.pid, row.tid);
        if wanted.wants(Lookups::CMDLINE) && self.cmdline.is_none() {
            // A kernel thread has none: 0 calls instead of 3.
            let read = if row.is_kernel_thread() {
                Ok(Vec::new())
            } else {
                fs::read(format!("{directory}/cmdline"))
            };
            self.cmdline = Some(read.map(without_trailing_nuls).map_err(|_| Unreadable));
        }
        if wanted.wants(Lookups::EXE) && self.exe.is_none() {
            let link = fs::read_link(format!("{directory}/exe")).unwrap_or_default();
            self.exe = Some(link.into_os_string().into_vec());
        }
        if wanted.wants(Lookups::CGROUP) && self.cgroup.is_none() {
            self.cgroup = Some(one_line(&fs::read(format!("{directory}/cgroup")).unwrap_or_default()));
        }
    }
}

/// Nothing but NULs are [`BLANK`], not nothing: a process may overwrite its arguments.
fn without_trailing_nuls(mut cmdline: Vec<u8>) -> Vec<u8> {
    let length = cmdline.iter().rposition(|&byte| byte != 0).map_or(BLANK.len(), |last| last + 1);
    cmdline.truncate(length);
    cmdline
}

/// The lines of /proc/PID/cgroup with a comma between them; those of a root say nothing.
fn one_line(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !line.ends_with(b":/"));
    lines.collect::<Vec<_>>().join(&b',')
}

/// `0` where a task does not wait; some architectures mark functions by dots and underscores in front.
fn wait_channel(text: &[u8]) -> &[u8] {
    let name = text.trim_ascii();
    if name == b"0" {
        return b"";
    }
    let first = name.iter().position(|byte| !matches!(byte, b'.' | b'_')).unwrap_or(name.len());
    &name[first..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc_become_one_line() {
        assert_eq!(without_trailing_nuls(b"a\0\0b\0\0\0".to_vec()), b"a\0\0b");
        assert_eq!(without_trailing_nuls(b"\0\0".to_vec()), BLANK);
        assert_eq!(without_trailing_nuls(Vec::new()), b"");
        assert_eq!(one_line(b"2:cpu:/a\n1:pids:/\n0::/b\n"), b"2:cpu:/a,0::/b");
        assert_eq!(wait_channel(b"0"), b"");
        assert_eq!(wait_channel(b"do_wait"), b"do_wait");
        assert_eq!(wait_channel(b"__x64_sys_poll"), b"x64_sys_poll");
    }

    #[test]
    fn a_reused_pid_is_read_again() {
        let myself = Pid(std::process::id() as i32);
        let row = |start_time_ns| Task {
            pid: myself,
            tid: crate::task::Tid(myself.0),
            start_time_ns,
            ..Task::default()
        };
        let mut details = Details::default();
        details.learn(&row(1), Lookups::CMDLINE);
        assert!(details.cmdline(&row(1)).is_some_and(|cmdline| !cmdline.is_empty()));
        details.leaders.get_mut(&myself).expect("it was learned").cmdline = Some(Ok(b"old".to_vec()));
        details.learn(&row(1), Lookups::CMDLINE);
        assert_eq!(details.cmdline(&row(1)), Some(&b"old"[..]));
        details.learn(&row(2), Lookups::CMDLINE);
        assert_ne!(details.cmdline(&row(2)), Some(&b"old"[..]));
    }
}
