//! The limits on the number of tasks: what they are, whether they are in the way, and a guard that moves
//! them.

mod cgroup;
mod raised;

use std::fs;
use std::path::Path;

use rustix::process::{Resource, geteuid, getrlimit};

use crate::Error;
use cgroup::PidsLimit;
pub use raised::RaisedLimits;

const PID_MAX: &str = "/proc/sys/kernel/pid_max";
const THREADS_MAX: &str = "/proc/sys/kernel/threads-max";
/// The most that the kernel lets pid_max be (`PID_MAX_LIMIT` on 64 bits).
const PID_MAX_LIMIT: u64 = 4_194_304;
/// Tasks that the rest of the machine may make meanwhile. More than the 300 pids that the kernel keeps for
/// itself.
const SPARE_TASKS: u64 = 512;

/// What limits the number of tasks here.
#[derive(Clone, Debug)]
struct Limits {
    pid_max: u64,
    threads_max: u64,
    /// All tasks of the machine.
    tasks: u64,
    cgroup: Option<PidsLimit>,
    /// The hard RLIMIT_NPROC, where it applies: not to root.
    nproc: Option<u64>,
}

impl Limits {
    fn read() -> Result<Limits, Error> {
        let nproc = getrlimit(Resource::Nproc).maximum;
        Ok(Limits {
            pid_max: read_number(Path::new(PID_MAX))?,
            threads_max: read_number(Path::new(THREADS_MAX))?,
            tasks: tasks_now()?,
            cgroup: cgroup::tightest()?,
            nproc: nproc.filter(|_| !geteuid().is_root()),
        })
    }

    /// The pids and threads that the machine needs for `threads` more.
    fn needed(&self, threads: u64) -> u64 {
        self.tasks + threads + SPARE_TASKS
    }

    /// The first limit that is in the way of `threads` more, as a sentence.
    fn obstacle(&self, threads: u64) -> Option<String> {
        let needed = self.needed(threads);
        let Limits { pid_max, threads_max, tasks, .. } = *self;
        let start = format!("no room for {threads} threads beside the {tasks} tasks there are");
        if pid_max < needed {
            return Some(format!(
                "{start}: kernel.pid_max is {pid_max}; `sysctl kernel.pid_max={PID_MAX_LIMIT}` helps"
            ));
        }
        if threads_max < needed {
            return Some(format!(
                "{start}: kernel.threads-max is {threads_max}; `sysctl kernel.threads-max={needed}` helps"
            ));
        }
        if let Some(PidsLimit { file, most, now }) = self.cgroup.as_ref().filter(|c| c.most < c.now + threads)
        {
            let file = file.display();
            return Some(format!("{start}: the cgroup holds {now} and may hold {most}; raise {file}"));
        }
        let nproc = self.nproc.filter(|&nproc| nproc < threads)?;
        Some(format!("{start}: RLIMIT_NPROC is {nproc}; start as root, or raise it (`ulimit -H -u`)"))
    }
}

/// Checks kernel.pid_max, kernel.threads-max, the pids limits of the cgroups and RLIMIT_NPROC.
///
/// # Errors
/// [`Error::NoRoom`] with the limit that is in the way of `threads` more threads, and how to raise it.
pub fn room_for(threads: usize) -> Result<(), Error> {
    match Limits::read()?.obstacle(threads as u64) {
        Some(sentence) => Err(Error::NoRoom(sentence)),
        None => Ok(()),
    }
}

fn read_number(path: &Path) -> Result<u64, Error> {
    let text = fs::read_to_string(path).map_err(Error::system(format!("read {}", path.display())))?;
    text.trim().parse().map_err(|_| not_understood(path, &text))
}

/// The second half of the fourth field of /proc/loadavg: all tasks.
fn tasks_now() -> Result<u64, Error> {
    const PATH: &str = "/proc/loadavg";
    let text = fs::read_to_string(PATH).map_err(Error::system(format!("read {PATH}")))?;
    let tasks = text.split(' ').nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
    tasks.ok_or_else(|| not_understood(Path::new(PATH), &text))
}

fn not_understood(path: &Path, text: &str) -> Error {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, format!("{text:?} is not understood"));
    Error::System { what: format!("read {}", path.display()), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roomy() -> Limits {
        Limits { pid_max: 4_194_304, threads_max: 1_000_000, tasks: 100, cgroup: None, nproc: None }
    }

    #[test]
    fn each_limit_can_be_in_the_way() {
        assert_eq!(roomy().obstacle(100_000), None);
        let cgroup = PidsLimit { file: "/sys/fs/cgroup/a/pids.max".into(), most: 50_000, now: 7 };
        for (limits, word) in [
            (Limits { pid_max: 32_768, ..roomy() }, "kernel.pid_max is 32768"),
            (Limits { threads_max: 63_000, ..roomy() }, "kernel.threads-max is 63000"),
            (Limits { cgroup: Some(cgroup), ..roomy() }, "raise /sys/fs/cgroup/a/pids.max"),
            (Limits { nproc: Some(4_096), ..roomy() }, "RLIMIT_NPROC is 4096"),
        ] {
            let sentence = limits.obstacle(100_000).expect(word);
            assert!(sentence.contains(word), "{sentence}");
        }
    }

    #[test]
    fn room_is_counted_to_the_last_thread() {
        let limits = Limits { pid_max: 100 + 1_000 + SPARE_TASKS, ..roomy() };
        assert_eq!(limits.obstacle(1_000), None);
        assert!(limits.obstacle(1_001).is_some());
    }
}
