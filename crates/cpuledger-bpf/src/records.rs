//! The records of tasks and processes: the mapped buffers that the programs fill, and the one call that makes them do it.

use std::os::fd::AsFd;

use libbpf_rs::{MapHandle, Object, OpenObject, ProgramInput, ProgramMut};

use crate::abi;
use crate::map::MappedArray;
use crate::object::Error;
use crate::walk::{Mechanism, Walked};

/// Where the programs write, each in the array of maps that the programs know.
pub(crate) struct Buffers {
    pub(crate) tasks: MappedArray<abi::cpuledger_task>,
    pub(crate) processes: MappedArray<abi::cpuledger_process>,
    task_buffer: MapHandle,
    process_buffer: MapHandle,
}

impl Buffers {
    pub(crate) fn new(tasks: u32, processes: u32) -> Result<Buffers, Error> {
        let tasks = MappedArray::new("tasks", with_headroom(tasks))?;
        let processes = MappedArray::new("processes", with_headroom(processes))?;
        Ok(Buffers {
            task_buffer: tasks.outer("task_buffer")?,
            process_buffer: processes.outer("process_buffer")?,
            tasks,
            processes,
        })
    }

    /// Hands the buffers to the programs. After each exchange of a map the kernel waits until no program uses the old
    /// one, 10 ms or so: both waits pass at once.
    pub(crate) fn publish(&self) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let tasks = scope.spawn(|| self.tasks.publish(&self.task_buffer));
            self.processes.publish(&self.process_buffer)?;
            tasks.join().expect("an exchange of maps does not panic")
        })
    }

    /// Makes the programs use these arrays of maps.
    pub(crate) fn adopt(&self, open: &mut OpenObject) -> Result<(), Error> {
        adopt(open, "task_buffer", &self.task_buffer)?;
        adopt(open, "process_buffer", &self.process_buffer)
    }

    /// What the programs have written, by their answer.
    pub(crate) fn walked(&mut self, walk: &abi::cpuledger_walk, mechanism: Mechanism) -> Walked<'_> {
        Walked {
            tasks: self.tasks.records(walk.tasks),
            processes: self.processes.records(walk.processes),
            begin_ns: walk.begin_ns,
            end_ns: walk.end_ns,
            lacks: walk.lacks,
            mechanism,
        }
    }

    /// Makes room for `tasks` and `processes` with headroom.
    pub(crate) fn reserve(&mut self, tasks: u32, processes: u32) -> Result<(), Error> {
        if tasks > self.tasks.capacity() {
            let larger = MappedArray::new("tasks", with_headroom(tasks))?;
            larger.publish(&self.task_buffer)?;
            self.tasks = larger;
        }
        if processes > self.processes.capacity() {
            let larger = MappedArray::new("processes", with_headroom(processes))?;
            larger.publish(&self.process_buffer)?;
            self.processes = larger;
        }
        Ok(())
    }
}

/// Room for a sixteenth more than were seen, and some: every page of it has to be cleared.
pub(crate) fn with_headroom(count: u32) -> u32 {
    count + count / 16 + 256
}

/// Makes the programs use `outer` as the array of maps of that name, which is a constant of this crate.
pub(crate) fn adopt(open: &mut OpenObject, name: &str, outer: &MapHandle) -> Result<(), Error> {
    let mut map = open.maps_mut().find(|map| map.name() == name).expect("the embedded object defines it");
    map.reuse_fd(outer.as_fd())
        .map_err(|error| Error::from_libbpf("to hand a buffer to the programs", &error))
}

/// A program of the object by name; names are constants of this crate.
pub(crate) fn program<'a>(object: &'a mut Object, name: &str) -> ProgramMut<'a> {
    object.progs_mut().find(|program| program.name() == name).expect("the embedded object defines it")
}

/// Runs a `SEC("syscall")` program; the kernel copies `walk` in and out.
pub(crate) fn run(object: &mut Object, name: &str, walk: &mut abi::cpuledger_walk) -> Result<(), Error> {
    let input = ProgramInput { context_in: Some(bytes_mut(walk)), ..Default::default() };
    program(object, name)
        .test_run(input)
        .map_err(|error| Error::from_libbpf(&format!("to run the program `{name}`"), &error))?;
    Ok(())
}

/// CPUs that this machine may ever have.
pub(crate) fn possible_cpus() -> Result<u32, Error> {
    let cpus =
        libbpf_rs::num_possible_cpus().map_err(|error| Error::from_libbpf("to count the CPUs", &error))?;
    Ok(cpus as u32)
}

/// Lets the programs learn what the sum of RSS over CPUs needs.
pub(crate) fn prepare(object: &mut Object, cpus: u32) -> Result<(), Error> {
    run(object, "prepare", &mut abi::cpuledger_walk { cpus, ..Default::default() })
}

/// The bytes of the arguments, in which the kernel answers.
pub(crate) fn bytes_mut(walk: &mut abi::cpuledger_walk) -> &mut [u8] {
    // SAFETY: the record is integers without padding (abi.h asserts its size), and any bytes are a valid one.
    unsafe {
        std::slice::from_raw_parts_mut(std::ptr::from_mut(walk).cast(), size_of::<abi::cpuledger_walk>())
    }
}
