//! Detail of a list of tasks, in one system call into mapped records: a walk that visits no other task.
//!
//! `inspect.bpf.c` is a walk over a list. User space writes tids into a mapped array: each leader before those of its threads that are wanted. The
//! one bpf(2) call appends their records to the same buffers as a walk does (`records.bpf.h`, `src/records.rs`). 60 tasks with all their fields
//! take 11 µs, whatever else lives on the machine. A task that is gone, or is no longer what was asked for, is left out. The inspection needs
//! `bpf_task_from_pid` (Linux 6.2). The ledger begins with a list of all parents, which needs the open-coded task iterator (6.7).

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::Object;

use crate::abi;
use crate::error::Error;
use crate::map::MappedArray;
use crate::object;
use crate::records::{self, Buffers, Mechanism, Walked, with_headroom};

/// The compiled `bpf/inspect.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/inspect.bpf.o.zst"));

/// One task to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Its tid in the initial PID namespace.
    pub tid: i32,
    /// Whether it is the leader of a process, which is then recorded too; else it is a thread of the process that was opened
    /// last.
    pub opens_process: bool,
}

/// The loaded program and its buffers. Nothing is attached or pinned: all is gone when the process is.
pub struct Inspector {
    object: Object,
    /// The program of `object` that looks at tasks.
    inspect: OwnedFd,
    /// And the one that finds those that wait for a CPU.
    list_waiting: OwnedFd,
    buffers: Buffers,
    wanted: MappedArray<abi::cpuledger_wanted>,
    parents: MappedArray<abi::cpuledger_parent>,
    waiting: MappedArray<abi::cpuledger_waiting>,
    /// The last answer of [`Inspector::waiting`].
    found_waiting: Vec<abi::cpuledger_waiting>,
    cpus: u32,
}

/// For how many tasks that wait for a CPU there is room from the start.
const WAITING_ROOM: u32 = 4096;
/// How often at most the queues are read for one answer.
const MOST_PASSES: u32 = 4;

impl Inspector {
    /// Loads the programs, with room for `room` tasks and headroom; for more the programs are loaded anew when it
    /// is needed. `processes` is how many there are about now, for [`Inspector::parents`].
    ///
    /// # Errors
    /// Without BTF, without privilege, and on kernels before 6.7.
    pub fn load(room: u32, processes: u32) -> Result<Inspector, Error> {
        Inspector::load_for(room, with_headroom(processes), WAITING_ROOM)
    }

    fn load_for(room: u32, processes: u32, waiting: u32) -> Result<Inspector, Error> {
        let buffers = Buffers::new(room, true, room)?;
        let wanted = MappedArray::new_writable("wanted", with_headroom(room))?;
        let parents = MappedArray::new("parents", processes)?;
        let waiting = MappedArray::new("waiting", waiting)?;
        let mut object = object::load("cpuledger_inspect", OBJECT, |open| {
            wanted.adopt(open, "wanted_records")?;
            parents.adopt(open, "parent_records")?;
            waiting.adopt(open, "waiting_records")?;
            buffers.adopt(open)
        })?;
        let cpus = records::prepare(&mut object)?;
        let mut keep = |name| {
            let kept = records::program(&mut object, name).as_fd().try_clone_to_owned();
            kept.map_err(|error| Error::from_io("to keep a program", error))
        };
        let (inspect, list_waiting) = (keep("inspect")?, keep("list_waiting")?);
        let found_waiting = Vec::new();
        Ok(Inspector {
            object,
            inspect,
            list_waiting,
            buffers,
            wanted,
            parents,
            waiting,
            found_waiting,
            cpus,
        })
    }

    /// How many tasks it can look at by one call without being loaded anew.
    pub fn room(&self) -> usize {
        self.wanted.capacity() as usize
    }

    /// Looks at these tasks, in their order. A leader that opens a process is followed by those of its threads that are
    /// wanted. A task that is gone, or is no longer the leader or thread that it was, is left out, and so are the threads of a
    /// process that is gone. A tid may have a new owner: `start_time_ns` of the record tells.
    ///
    /// `groups` are `CPULEDGER_READ_*`, or-ed; `CPULEDGER_READ_DETAIL` is always read. Totals of a process are known only if
    /// it has one thread.
    ///
    /// # Errors
    /// When the kernel refuses the call or the memory.
    pub fn inspect(&mut self, wanted: &[Wanted], groups: u32) -> Result<Walked<'_>, Error> {
        let count = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
        self.reserve(count)?;
        for (entry, wanted) in self.wanted.records_mut().iter_mut().zip(wanted) {
            let opens_process = u32::from(wanted.opens_process);
            *entry = abi::cpuledger_wanted { tid: wanted.tid, opens_process };
        }
        let mut walk = abi::cpuledger_walk { groups, cpus: self.cpus, wanted: count, ..Default::default() };
        records::run_program(self.inspect.as_fd(), "inspect", &mut walk)?;
        Ok(self.buffers.walked(&walk, Mechanism::OneCall))
    }

    /// All processes with their parents of now. Those that do not fit are left out: more were made since it was loaded than
    /// the headroom holds.
    ///
    /// # Errors
    /// When the kernel refuses the call.
    pub fn parents(&mut self) -> Result<&[abi::cpuledger_parent], Error> {
        let mut walk = abi::cpuledger_walk::default();
        records::run(&mut self.object, "list_parents", &mut walk)?;
        Ok(self.parents.records(walk.processes.min(self.parents.capacity())))
    }

    /// The tasks that wait for a CPU, of all scheduling classes but those of real time and deadlines: each once, in no order. A task that
    /// moves from one CPU to another may be in neither queue when that is read, and the kernel moves dozens at once. So the queues are
    /// read until that finds no further task. None where the kernel does not tell them.
    ///
    /// # Errors
    /// When the kernel refuses the call or the memory.
    pub fn waiting(&mut self) -> Result<&[abi::cpuledger_waiting], Error> {
        let (mut found, mut known) = (std::mem::take(&mut self.found_waiting), HashSet::new());
        found.clear();
        for _ in 0..MOST_PASSES {
            let before = found.len();
            let records = self.read_queues()?.iter();
            found.extend(records.filter(|record| known.insert((record.tid, record.start_time_ns))));
            if found.len() == before {
                break;
            }
        }
        found.shrink_to(WAITING_ROOM as usize);
        self.found_waiting = found;
        Ok(&self.found_waiting)
    }

    /// What is in the queues of the CPUs, which are read one after the other.
    fn read_queues(&mut self) -> Result<&[abi::cpuledger_waiting], Error> {
        let mut count = self.list_waiting()?;
        let capacity = self.waiting.capacity();
        if count > capacity {
            let room = with_headroom(count).max(capacity.saturating_mul(2));
            *self = Inspector::load_for(self.wanted.capacity(), self.parents.capacity(), room)?;
            count = self.list_waiting()?;
        }
        Ok(self.waiting.records(count.min(self.waiting.capacity())))
    }

    fn list_waiting(&self) -> Result<u32, Error> {
        let mut walk = abi::cpuledger_walk { wanted: self.cpus, ..Default::default() };
        records::run_program(self.list_waiting.as_fd(), "list_waiting", &mut walk)?;
        Ok(walk.tasks)
    }

    /// Makes room for this number of tasks, each perhaps a process: at least twice the present room, so that it is rarely done.
    fn reserve(&mut self, count: u32) -> Result<(), Error> {
        let capacity = self.wanted.capacity();
        if count > capacity {
            let room = count.max(capacity.saturating_mul(2));
            *self = Inspector::load_for(room, self.parents.capacity(), self.waiting.capacity())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Inspector;
    use crate::cpus;
    use crate::error::Error;
    use crate::records::learn_cpus;

    #[test]
    fn a_cpu_of_which_nothing_can_be_learned_is_no_success_wherever_it_stands_root() -> Result<(), Error> {
        let mut inspector = Inspector::load(1, 1)?;
        let object = &mut inspector.object;
        let possible = cpus::possible()?;
        // No kernel has one with this number: it is not below the highest possible one.
        let none = cpus::ids_of(&possible);
        assert!(learn_cpus(object, &possible)?, "the possible ones are all known");
        for (ranges, why) in [
            (vec![none..=none], "it alone"),
            (vec![0..=none], "the last of a range"),
            (vec![none..=none + 1], "the first of a range"),
            (vec![0..=none, 0..=0], "in a range before"),
        ] {
            assert!(!learn_cpus(object, &ranges)?, "{why}: {ranges:?}");
        }
        assert!(learn_cpus(object, &possible)?, "they can be learned again");
        Ok(())
    }
}
