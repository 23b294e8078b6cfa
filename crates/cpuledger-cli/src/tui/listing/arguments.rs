//! Arguments of processes, as far as they are known.

use cpuledger::{Boottime, Comm, Pid, Task, TaskId};
use rustc_hash::FxHashMap;

/// Arguments that have been read, by process.
#[derive(Debug, Default)]
pub struct Arguments {
    known: FxHashMap<Pid, Known>,
    /// Those that could not be read for the last frame.
    failed: Vec<Pid>,
}

/// Arguments of one process.
#[derive(Debug)]
struct Known {
    start: Boottime,
    /// With another program it has another name.
    comm: Comm,
    read: Boottime,
    cmdline: Box<[u8]>,
}

/// Maximum number of entries; beyond it the cache is cleared.
const REMEMBERED_ARGUMENTS: usize = 65_536;

impl Arguments {
    /// A further frame begins: what could not be read is tried again.
    pub fn begin(&mut self) {
        for pid in self.failed.drain(..) {
            self.known.remove(&pid);
        }
    }

    /// Remembers those of a process that has this name, separated by NUL; `None`: they could not be read.
    pub fn learn(&mut self, process: TaskId, comm: Comm, read: Boottime, cmdline: Option<Box<[u8]>>) {
        if self.known.len() >= REMEMBERED_ARGUMENTS {
            self.known.clear();
        }
        let pid = Pid(process.tid.0);
        if cmdline.is_none() {
            self.failed.push(pid);
        }
        let cmdline = cmdline.unwrap_or_default();
        self.known.insert(pid, Known { start: process.start_time_ns, comm, read, cmdline });
    }

    /// Those of the process of a row, separated by NUL; `None`: not known. A thread that is younger than what was read may be of
    /// another process with this number.
    pub fn of(&self, row: &Task) -> Option<&[u8]> {
        let known = self.known.get(&row.pid)?;
        let is_same = if row.is_leader() {
            row.start_time_ns == known.start && row.comm == known.comm
        } else {
            row.start_time_ns <= known.read
        };
        is_same.then_some(&known.cmdline)
    }
}

#[cfg(test)]
mod tests {
    use cpuledger::Tid;

    use super::*;

    fn row(tid: i32, start_ns: u64) -> Task {
        Task { pid: Pid(7), tid: Tid(tid), start_time_ns: Boottime::from_ns(start_ns), ..Task::default() }
    }

    fn known(arguments: Option<&[u8]>) -> Arguments {
        let mut known = Arguments::default();
        let leader = row(7, 100);
        known.learn(leader.id(), leader.comm, Boottime::from_ns(200), arguments.map(Into::into));
        known
    }

    #[test]
    fn who_has_the_pid_later_has_other_arguments() {
        let arguments = known(Some(b"a"));
        assert_eq!(
            (arguments.of(&row(7, 100)), arguments.of(&row(8, 150))),
            (Some(&b"a"[..]), Some(&b"a"[..]))
        );
        assert_eq!(arguments.of(&row(7, 300)), None, "another leader");
        assert_eq!(arguments.of(&row(8, 300)), None, "a thread of another process, perhaps");
        let other_program = Task { comm: Comm::new(b"b"), ..row(7, 100) };
        assert_eq!(arguments.of(&other_program), None);
    }

    #[test]
    fn a_failed_read_is_tried_again_with_the_next_frame() {
        let mut arguments = known(None);
        assert_eq!(arguments.of(&row(7, 100)), Some(&b""[..]), "it is not asked for again at once");
        arguments.begin();
        assert_eq!(arguments.of(&row(7, 100)), None);
        let mut arguments = known(Some(b"a"));
        arguments.begin();
        assert_eq!(arguments.of(&row(7, 100)), Some(&b"a"[..]));
    }
}
