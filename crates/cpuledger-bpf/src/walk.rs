//! The walk: every task of the machine, or of one process, in one system call into mapped records.
//!
//! # How it works
//!
//! A `SEC("syscall")` program runs the open-coded task iterator (Linux 6.7) inside one RCU read-side section. It writes fixed-size records into
//! three mapped arrays. One is for tasks, one for the rest of each task at the same index, and one for what the threads of a process share. User
//! space passes scope and field groups in the context of the one bpf(2) call, and gets the counts back in it. It reads the records in place.
//!
//! - **Never truncated.** The counts say how many records were needed. If that is more than fit, the programs are loaded anew with larger
//!   buffers, and the walk is repeated.
//! - **Cheap to verify.** Branches inside an iterator loop multiply in the verifier. So code for leaders only, for rare cases, or for the rest of a
//!   task is in global functions, which the verifier checks once. With the rest in the loop it processed 12,800 instructions, and now 3,700. Such functions take no kernel pointers, so these travel as numbers. Pointers are loaded
//!   through an untrusted pointer: for each load through a trusted one, the verifier searches all kernel types by name. Loading went from
//!   900 ms to 25 ms.
//! - **Kernel types** (`src/btf.rs`). libbpf compares each struct that an object names with all types of the kernel by name. Instead, one pass
//!   extracts all named types, with what they contain, and libbpf gets these as its BTF. A listing loads in 24 ms instead of 32.
//!   `bpf_rdonly_cast` takes numbers of the whole BTF, which are read-only data. Functions of the kernel are called by numbers, too, which the same pass
//!   finds: for a `__ksym`, libbpf reads all types again. A test compares every program with the one that the whole BTF makes. If the BTF has an unknown form, or /proc is not mounted, libbpf searches the whole.
//! - **Cheap to run.** The hot loads go through trusted pointers. Per-CPU parts of RSS are summed for leaders only. The cgroups of one css_set
//!   are remembered for the next task.
//! - **Only what is shown.** Two objects are made from the same source. The small one does not have the rest of a task (groups, cgroups,
//!   namespaces, activity). It loads sooner, and the kernel fetches fewer cache lines a task. `Extent` of
//!   `crates/cpuledger-bpf/src/walk.rs` chooses.
//! - **It keeps its CPU.** The whole walk is one RCU read-side section, so that all rows are of one instant. A kernel without preemption runs no
//!   other task on that CPU meanwhile: for 16 ms with 100,000 threads, 47 ms with 300,000, and 79 ms with all fields. For a million it
//!   would be about 0.16 to 0.26 s (`cpuledger-bench stalls`). A real-time task on that CPU waits 68 to 92 ms beside walks of 300,000 threads. Beside
//!   `ps -e` of procps it waits 115 ms, because getdents(2) visits the threads in one piece too. So walks are not split: that would give up
//!   the one instant, and the kernel's own listing keeps a CPU for longer. RCU complains after 21 s. Intervals of the ledger need no walk.
//! - **Little memory.** The kernel clears an array before it can be written. For 25 MB that takes longer than the walk, and several times as long
//!   on a virtual machine whose host has to find the pages first. So what few listings show is in the rest, for which only the whole object
//!   has an array, and a listing of processes has no room for threads. Another thread makes the arrays, while libbpf reads the kernel's types.
//! - **Lines by several threads.** Records are cut into parts of 2,048 tasks. With more than two parts, each CPU (at most 8) makes the lines of
//!   every n-th part for `ps`, and one thread writes them in order.
//! - **Older kernels** have no such iterator. A bpf iterator (`iter/task`, 5.8) fills the same records in one read(2). It retakes the RCU lock for
//!   each task, and visits tasks in the order of tids, so user space sums the threads.
//! - **Scopes.** `Leaders` does not visit threads: its cost does not depend on their number, and totals of a process with several threads are
//!   unknown (not zero). `Processes` visits and sums them. `Tasks` records them.

use std::io::Read;

use bytemuck::bytes_of_mut;
use libbpf_rs::{Iter, Link, MapCore, MapFlags, Object, OpenObject};

use crate::abi;
use crate::error::Error;
use crate::object;
use crate::records::{self, Buffers, Mechanism, Walked};

/// The compiled `bpf/walk.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/walk.bpf.o.zst"));
/// Without the rest of each task.
static SLIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/walk_slim.bpf.o.zst"));

/// How much of a task the programs read: the less, the sooner they are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Numbers, names, CPU times and what a process shares.
    Brief,
    /// All but the rest of a task.
    Slim,
    /// Everything.
    Whole,
}

impl Extent {
    /// The least that has these groups (`CPULEDGER_READ_*`).
    pub fn of(groups: u32) -> Extent {
        match groups {
            _ if groups & !abi::CPULEDGER_READ_BRIEFLY == 0 => Extent::Brief,
            _ if groups & abi::CPULEDGER_WALK_WHOLLY == 0 => Extent::Slim,
            _ => Extent::Whole,
        }
    }

    /// The object, and what its programs cannot read.
    fn object(self) -> (&'static [u8], u32) {
        match self {
            Extent::Brief | Extent::Slim => (SLIM, abi::CPULEDGER_WALK_WHOLLY),
            Extent::Whole => (OBJECT, 0),
        }
    }
}

/// Records of the first buffer, before the first walk has told how many there are.
const FIRST_CAPACITY: u32 = 1024;

/// Maximum number of attempts to fit a walk into its buffers: more are needed only in a race against a fork bomb.
const ATTEMPTS: u32 = 16;

/// Which of the programs is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    Brief,
    ByTid,
    ByTidPlain,
}

impl Form {
    fn program(self) -> &'static str {
        match self {
            Form::Whole => "walk_once",
            Form::Brief => "walk_briefly",
            Form::ByTid => "walk_seq",
            Form::ByTidPlain => "walk_seq_plain",
        }
    }

    fn mechanism(self) -> Mechanism {
        match self {
            Form::Whole | Form::Brief => Mechanism::OneCall,
            Form::ByTid | Form::ByTidPlain => Mechanism::Iterator,
        }
    }
}

/// What a walk shall visit and read.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// One of the `CPULEDGER_WALK_*`.
    pub scope: u32,
    /// `CPULEDGER_READ_*`, or-ed.
    pub groups: u32,
    /// Only this process; `None`: all.
    pub only_pid: Option<i32>,
}

/// The loaded programs and their buffers. Nothing is attached or pinned: all is gone when the process is.
pub struct Walker {
    object: Object,
    form: Form,
    /// What it can read: `CPULEDGER_READ_*`.
    groups: u32,
    iterator: Option<Link>,
    buffers: Buffers,
    cpus: u32,
}

impl Walker {
    /// Loads the walk: the one-call form where the kernel takes it, else the bpf iterator.
    ///
    /// # Errors
    /// Without BTF, without privilege, or when the kernel refuses both forms (the error of the older one is returned).
    pub fn load() -> Result<Walker, Error> {
        Walker::load_for(FIRST_CAPACITY, FIRST_CAPACITY, u32::MAX)
    }

    /// As [`Walker::load`], with room for `tasks` and `processes` and headroom, since loading anew is the only way to more. It can
    /// read these groups of fields (`CPULEDGER_READ_*`): a few are cheaper than all.
    ///
    /// # Errors
    /// As [`Walker::load`].
    pub fn load_for(tasks: u32, processes: u32, groups: u32) -> Result<Walker, Error> {
        let room = (tasks, processes);
        let form = if Extent::of(groups) == Extent::Brief { Form::Brief } else { Form::Whole };
        match Walker::load_programs(form, room, groups) {
            Err(Error::Refused { .. }) => Walker::load_iterator(room),
            loaded => loaded,
        }
    }

    /// Loads one form of the walk.
    ///
    /// # Errors
    /// As [`Walker::load`], and where the kernel does not have what that form needs.
    pub fn load_mechanism(mechanism: Mechanism) -> Result<Walker, Error> {
        let room = (FIRST_CAPACITY, FIRST_CAPACITY);
        match mechanism {
            Mechanism::OneCall => Walker::load_programs(Form::Whole, room, u32::MAX),
            Mechanism::Iterator => Walker::load_iterator(room),
        }
    }

    fn load_iterator(room: (u32, u32)) -> Result<Walker, Error> {
        match Walker::load_programs(Form::ByTid, room, u32::MAX) {
            Err(Error::Refused { .. }) => Walker::load_programs(Form::ByTidPlain, room, u32::MAX),
            loaded => loaded,
        }
    }

    /// Loads the bpf iterator in the form for kernels before 5.17: without the sum of RSS over CPUs, which kernels before
    /// 6.2 have no use for.
    ///
    /// # Errors
    /// As [`Walker::load`].
    pub fn load_plain_iterator() -> Result<Walker, Error> {
        Walker::load_programs(Form::ByTidPlain, (FIRST_CAPACITY, FIRST_CAPACITY), u32::MAX)
    }

    fn load_programs(form: Form, room: (u32, u32), groups: u32) -> Result<Walker, Error> {
        let chosen = form.program();
        let (object, unreadable) = Extent::of(groups).object();
        let mechanism = form.mechanism();
        // It needs 5.19, and prepares the sum of RSS.
        let prepares = matches!(form, Form::Whole | Form::ByTid) && groups & abi::CPULEDGER_READ_RSS != 0;
        let readable = match form {
            Form::Brief => abi::CPULEDGER_READ_BRIEFLY,
            Form::Whole if !prepares => !unreadable & !abi::CPULEDGER_READ_RSS,
            _ => !unreadable,
        };
        let choose = |open: &mut OpenObject| {
            for mut program in open.progs_mut() {
                let name = program.name().to_owned();
                program.set_autoload(name == chosen || (name == "prepare" && prepares));
            }
        };
        let has_rest = readable & abi::CPULEDGER_WALK_WHOLLY != 0;
        let make = || Buffers::new(room.0, has_rest, room.1);
        let (mut object, buffers) =
            object::load_beside("cpuledger_walk", object, choose, make, Buffers::adopt)?;
        let iterator = match mechanism {
            Mechanism::OneCall => None,
            Mechanism::Iterator => Some(
                records::program(&mut object, chosen)
                    .attach()
                    .map_err(|error| Error::from_libbpf("to attach the task iterator", &error))?,
            ),
        };
        // Of no use but for that sum.
        let cpus = if prepares { records::prepare(&mut object)? } else { 0 };
        Ok(Walker { object, form, groups: readable, iterator, buffers, cpus })
    }

    /// Which form was loaded.
    pub fn mechanism(&self) -> Mechanism {
        self.form.mechanism()
    }

    /// The groups of fields that the loaded form can read (`CPULEDGER_READ_*`); others are left out.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Walks; a walk that does not fit is repeated with larger buffers, for which the programs are
    /// loaded anew, so the answer is whole.
    ///
    /// # Errors
    /// When the kernel refuses the call or the memory, or tasks appear faster than buffers can grow.
    pub fn walk(&mut self, request: &Request) -> Result<Walked<'_>, Error> {
        let scope = match (self.mechanism(), request.scope) {
            // Threads are summed by the caller, so it needs them all.
            (Mechanism::Iterator, abi::CPULEDGER_WALK_PROCESSES) => abi::CPULEDGER_WALK_TASKS,
            (_, scope) => scope,
        };
        let mut walk = abi::cpuledger_walk::default();
        for attempt in 0.. {
            walk = abi::cpuledger_walk {
                scope,
                groups: request.groups,
                only_pid: request.only_pid.unwrap_or(0),
                cpus: self.cpus,
                ..Default::default()
            };
            match self.mechanism() {
                Mechanism::OneCall => records::run(&mut self.object, self.form.program(), &mut walk)?,
                Mechanism::Iterator => self.iterate(&mut walk)?,
            }
            if self.buffers.hold(&walk) {
                break;
            }
            if attempt == ATTEMPTS {
                return Err(Error::Incomplete {
                    what: "tasks are created faster than the buffers can grow".to_owned(),
                });
            }
            *self = Walker::load_programs(self.form, (walk.tasks, walk.processes), self.groups)?;
        }
        Ok(self.buffers.walked(&walk, self.form.mechanism()))
    }

    /// Reads a bpf iterator to its end.
    fn iterate(&mut self, walk: &mut abi::cpuledger_walk) -> Result<(), Error> {
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to run the task iterator", &error);
        let state = object::map_mut(&mut self.object, "seq_state");
        state.update(&0u32.to_ne_bytes(), bytes_of_mut(walk), MapFlags::ANY).map_err(refused)?;
        let link = self.iterator.as_ref().expect("loading made it");
        let mut iterator = Iter::new(link).map_err(refused)?;
        let mut nothing = [0u8; 64];
        let failed = |error| Error::from_io("to read the task iterator", error);
        while iterator.read(&mut nothing).map_err(failed)? > 0 {}
        let result = state.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(refused)?;
        bytes_of_mut(walk).copy_from_slice(&result.expect("an array has all its entries"));
        Ok(())
    }
}
