//! Arguments of processes, as far as they are known.

use cpuledger::{Boottime, Comm, Pid, Task, TaskId};
use rustc_hash::FxHashMap;

/// Arguments that have been read, by process.
#[derive(Debug, Default)]
pub struct Arguments {
    known: FxHashMap<Pid, (Boottime, Comm, Box<[u8]>)>,
}

/// Maximum number of entries; beyond it the cache is cleared.
const REMEMBERED_ARGUMENTS: usize = 65_536;

impl Arguments {
    /// Remembers those of a process that has this name, separated by NUL: with another program it has another.
    pub fn learn(&mut self, process: TaskId, comm: Comm, cmdline: Box<[u8]>) {
        if self.known.len() >= REMEMBERED_ARGUMENTS {
            self.known.clear();
        }
        self.known.insert(Pid(process.tid.0), (process.start_time_ns, comm, cmdline));
    }

    /// Those of the process of a row, separated by NUL; `None`: not known.
    pub fn of(&self, row: &Task) -> Option<&[u8]> {
        let (start_time_ns, comm, cmdline) = self.known.get(&row.pid)?;
        let is_same = row.start_time_ns == *start_time_ns && row.comm == *comm;
        (!row.is_leader() || is_same).then_some(cmdline)
    }
}
