//! The walk for the text of /proc/PID/{stat,statm,status}: all that they show, of every task, in one system call.

use libbpf_rs::Object;

use crate::abi;
use crate::cpus;
use crate::error::Error;
use crate::map::MappedArray;
use crate::object;
use crate::records::{self, with_headroom};

/// The compiled `bpf/status.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/status.bpf.o.zst"));

/// Records of a first buffer of what tasks share: more is made when a walk wants more.
const FIRST_SHARED: u32 = 256;

/// Maximum number of attempts to fit a walk into its buffers: more are needed only in a race against a fork bomb.
const ATTEMPTS: u32 = 16;

/// What a walk reads beside what all three files show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads {
    /// What status shows: without it there are no credentials and no placements.
    pub status: bool,
    /// What stat shows.
    pub stat: bool,
}

/// The records of one walk, valid until the next. Indices in them point into the other lists.
#[derive(Debug, Clone, Copy)]
pub struct StatusRecords<'a> {
    /// Every visited task, each leader before its threads.
    pub tasks: &'a [abi::cpuledger_status_task],
    /// Every process.
    pub processes: &'a [abi::cpuledger_status_process],
    /// What tasks have of memory.
    pub memories: &'a [abi::cpuledger_status_memory],
    /// Users, groups and capabilities.
    pub credentials: &'a [abi::cpuledger_status_credentials],
    /// Where tasks may run.
    pub placements: &'a [abi::cpuledger_status_placement],
    /// When the walk began, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// `CPULEDGER_LACKS_*`, or-ed.
    pub lacks: u32,
}

/// The loaded program and its buffers. Nothing is attached or pinned: all is gone when the process is.
pub struct StatusWalker {
    object: Object,
    tasks: MappedArray<abi::cpuledger_status_task>,
    processes: MappedArray<abi::cpuledger_status_process>,
    memories: MappedArray<abi::cpuledger_status_memory>,
    credentials: MappedArray<abi::cpuledger_status_credentials>,
    placements: MappedArray<abi::cpuledger_status_placement>,
    cpus: u32,
}

impl StatusWalker {
    /// Loads the program, with room for `tasks` and `processes` and headroom; for more it is loaded anew when it is needed.
    ///
    /// # Errors
    /// Without BTF, without privilege, on kernels before 6.7, and with more CPUs than a record can name.
    pub fn load(tasks: u32, processes: u32) -> Result<StatusWalker, Error> {
        StatusWalker::with_room(&abi::cpuledger_status_walk {
            tasks,
            processes,
            memories: processes,
            credentials: processes,
            placements: FIRST_SHARED,
            ..Default::default()
        })
    }

    /// With room for as many records as a walk wanted, and headroom.
    fn with_room(room: &abi::cpuledger_status_walk) -> Result<StatusWalker, Error> {
        let cpus = cpus::cpu_ids()?;
        if cpus > abi::CPULEDGER_STATUS_MASK_WORDS * u64::BITS {
            return Err(Error::Incomplete {
                what: format!("{cpus} CPUs are more than its records can name"),
            });
        }
        let tasks = MappedArray::new("tasks", with_headroom(room.tasks))?;
        let processes = MappedArray::new("processes", with_headroom(room.processes))?;
        let memories = MappedArray::new("memories", with_headroom(room.memories))?;
        let credentials = MappedArray::new("credentials", with_headroom(room.credentials))?;
        let placements = MappedArray::new("placements", with_headroom(room.placements))?;
        let mut object = object::load("cpuledger_status", OBJECT, |open| {
            tasks.adopt(open, "task_records")?;
            processes.adopt(open, "process_records")?;
            memories.adopt(open, "memory_records")?;
            credentials.adopt(open, "credentials_records")?;
            placements.adopt(open, "placement_records")
        })?;
        records::prepare(&mut object)?;
        Ok(StatusWalker { object, tasks, processes, memories, credentials, placements, cpus })
    }

    /// Whether all fits that a walk wanted.
    fn holds(&self, wanted: &abi::cpuledger_status_walk) -> bool {
        wanted.tasks <= self.tasks.capacity()
            && wanted.processes <= self.processes.capacity()
            && wanted.memories <= self.memories.capacity()
            && wanted.credentials <= self.credentials.capacity()
            && wanted.placements <= self.placements.capacity()
    }

    /// Walks over all tasks, or over the leaders alone, whose processes then have no totals if they have several threads.
    /// `scope` is one of the `CPULEDGER_WALK_*`; totals are summed in `CPULEDGER_WALK_PROCESSES`. What only one of the files
    /// shows is read if it is asked for; statm is read in any case. A walk that does not fit is repeated with larger buffers.
    ///
    /// # Errors
    /// When the kernel refuses the call or the memory, or tasks appear faster than buffers can grow.
    pub fn walk(&mut self, scope: u32, reads: Reads) -> Result<StatusRecords<'_>, Error> {
        for _ in 0..ATTEMPTS {
            let mut walk = abi::cpuledger_status_walk {
                scope,
                cpus: self.cpus,
                reads_status: u32::from(reads.status),
                reads_stat: u32::from(reads.stat),
                ..Default::default()
            };
            records::run(&mut self.object, "walk_status", &mut walk)?;
            if self.holds(&walk) {
                return Ok(self.records(&walk));
            }
            *self = StatusWalker::with_room(&walk)?;
        }
        Err(Error::Incomplete { what: "tasks are created faster than the buffers can grow".to_owned() })
    }

    fn records(&mut self, walk: &abi::cpuledger_status_walk) -> StatusRecords<'_> {
        StatusRecords {
            tasks: self.tasks.records(walk.tasks),
            processes: self.processes.records(walk.processes),
            memories: self.memories.records(walk.memories),
            credentials: self.credentials.records(walk.credentials),
            placements: self.placements.records(walk.placements),
            begin_ns: walk.begin_ns,
            end_ns: walk.end_ns,
            lacks: walk.lacks,
        }
    }
}
