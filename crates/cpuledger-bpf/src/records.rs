//! The records of tasks and processes: the mapped buffers that the programs fill, and the one call that makes them do it.

use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use bytemuck::{Pod, bytes_of_mut};
use libbpf_rs::{Object, OpenObject, ProgramMut, libbpf_sys};
use rustix::io::Errno;

use crate::abi;
use crate::cpus;
use crate::error::Error;
use crate::map::MappedArray;

/// How the kernel is made to visit its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The open-coded task iterator (Linux 6.7): one bpf(2) call, one RCU read-side section.
    OneCall,
    /// A bpf iterator (Linux 5.8): one open and one read(2), the RCU lock retaken for each task.
    Iterator,
}

/// The records of one walk, valid until the next.
#[derive(Debug, Clone, Copy)]
pub struct Walked<'a> {
    /// Every visited task; with [`Mechanism::OneCall`] each leader is followed by its threads.
    pub tasks: &'a [abi::cpuledger_task],
    /// The rest of each of them, in their order; empty where only groups were loaded that have no part in it.
    pub rests: &'a [abi::cpuledger_task_rest],
    /// Every visited process; with [`Mechanism::Iterator`] sorted by pid.
    pub processes: &'a [abi::cpuledger_process],
    /// When the walk began, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// The same instant, CLOCK_BOOTTIME.
    pub begin_boottime_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// `CPULEDGER_LACKS_*`, or-ed.
    pub lacks: u32,
    /// With [`Mechanism::Iterator`] records do not know their process and processes not the sum of their threads.
    pub mechanism: Mechanism,
}

impl Walked<'_> {
    /// What this walk told, with these records.
    pub fn with<'b>(
        &self,
        tasks: &'b [abi::cpuledger_task],
        rests: &'b [abi::cpuledger_task_rest],
        processes: &'b [abi::cpuledger_process],
    ) -> Walked<'b> {
        let Walked { begin_ns, begin_boottime_ns, end_ns, lacks, mechanism, .. } = *self;
        Walked { tasks, rests, processes, begin_ns, begin_boottime_ns, end_ns, lacks, mechanism }
    }
}

/// Where the programs write.
pub(crate) struct Buffers {
    pub(crate) tasks: MappedArray<abi::cpuledger_task>,
    /// Where the programs have it: as long as `tasks`.
    rests: Option<MappedArray<abi::cpuledger_task_rest>>,
    pub(crate) processes: MappedArray<abi::cpuledger_process>,
}

impl Buffers {
    /// Room for `tasks`, with the rest of each or without, and `processes`, with headroom.
    pub(crate) fn new(tasks: u32, has_rest: bool, processes: u32) -> Result<Buffers, Error> {
        let room = with_headroom(tasks);
        let tasks = MappedArray::new("tasks", room)?;
        let rests = has_rest.then(|| MappedArray::new("rests", room)).transpose()?;
        let processes = MappedArray::new("processes", with_headroom(processes))?;
        Ok(Buffers { tasks, rests, processes })
    }

    /// Makes the programs use these buffers.
    pub(crate) fn adopt(&self, open: &mut OpenObject) -> Result<(), Error> {
        self.tasks.adopt(open, "task_records")?;
        self.rests.as_ref().map_or(Ok(()), |rests| rests.adopt(open, "rest_records"))?;
        self.processes.adopt(open, "process_records")
    }

    /// Whether all fits that the programs came across.
    pub(crate) fn hold(&self, walk: &abi::cpuledger_walk) -> bool {
        walk.tasks <= self.tasks.capacity() && walk.processes <= self.processes.capacity()
    }

    /// What the programs have written, by their answer.
    pub(crate) fn walked(&mut self, walk: &abi::cpuledger_walk, mechanism: Mechanism) -> Walked<'_> {
        Walked {
            tasks: self.tasks.records(walk.tasks),
            rests: self.rests.as_mut().map_or(&[], |rests| rests.records(walk.tasks)),
            processes: self.processes.records(walk.processes),
            begin_ns: walk.begin_ns,
            begin_boottime_ns: walk.begin_boottime_ns,
            end_ns: walk.end_ns,
            lacks: walk.lacks,
            mechanism,
        }
    }
}

/// Room for a sixteenth more than were seen, and some: every page of it has to be cleared.
pub(crate) fn with_headroom(count: u32) -> u32 {
    count + count / 16 + 256
}

/// A program of the object by name; names are constants of this crate.
pub(crate) fn program<'a>(object: &'a mut Object, name: &str) -> ProgramMut<'a> {
    object.progs_mut().find(|program| program.name() == name).expect("the embedded object defines it")
}

/// Runs a `SEC("syscall")` program; the kernel copies `arguments` in and out.
pub(crate) fn run<R: Pod>(object: &mut Object, name: &str, arguments: &mut R) -> Result<(), Error> {
    run_program(program(object, name).as_fd(), name, arguments)
}

/// The same for a caller that has kept the program: finding it by name takes 6 µs of an interval, as nothing is in the caches.
pub(crate) fn run_program<R: Pod>(
    program: BorrowedFd<'_>,
    name: &str,
    arguments: &mut R,
) -> Result<(), Error> {
    let context = bytes_of_mut(arguments);
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        ctx_in: context.as_mut_ptr().cast(),
        ctx_size_in: context.len() as u32,
        ..Default::default()
    };
    // SAFETY: `ctx_in` and its size are those of a slice that outlives the call; of the rest 0 is none.
    match unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) } {
        0 => Ok(()),
        code => {
            Err(Error::from_errno(&format!("to run the program `{name}`"), Errno::from_raw_os_error(-code)))
        }
    }
}

/// Lets the programs learn what the sum of RSS over CPUs needs. Returns what the numbers of all CPUs are below.
pub(crate) fn prepare(object: &mut Object) -> Result<u32, Error> {
    let ranges = cpus::possible()?;
    learn_cpus(object, &ranges)?;
    Ok(cpus::ids_of(&ranges))
}

/// Lets the programs learn where each of these CPUs has its part of a counter; whether they know it of all.
pub(crate) fn learn_cpus(object: &mut Object, ranges: &[RangeInclusive<u32>]) -> Result<bool, Error> {
    let mut learned = abi::cpuledger_cpu_range::default();
    for (place, range) in ranges.iter().enumerate() {
        learned = abi::cpuledger_cpu_range {
            first: *range.start(),
            end: range.end() + 1,
            is_next: u32::from(place > 0),
            is_known: 0,
        };
        run(object, "prepare", &mut learned)?;
    }
    Ok(learned.is_known != 0)
}
