//! The exit hook: the final figures of every task that dies, from the ring that the last switch fills; and the parent of every
//! process at its fork.
//!
//! The ledger sees deaths at its own switch hook (`ledger::cut`). For the walk, `lifecycle.bpf.c` sees the last switch of each task (`prev` is `TASK_DEAD`), when its figures are final. It puts a record into a ring of 4 MiB,
//! which user space empties without a system call. If the ring is full, the time is added up by parent in a hash map: the identity is lost
//! and counted, the time is not. The hook loops over nothing.
//!
//! At a fork, another hook puts the child and its parent into a ring of 1 MiB. When the child dies, the kernel may name another parent: it
//! replaces one that died first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::{Pod, try_pod_read_unaligned as decode};
use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};

use crate::abi;
use crate::error::Error;
use crate::object;

/// The compiled `bpf/lifecycle.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lifecycle.bpf.o.zst"));

/// What was gathered since the last time.
#[derive(Debug, Default)]
pub struct Drained {
    /// Tasks in the order of their last switch on each CPU.
    pub exits: Vec<abi::cpuledger_exit>,
    /// Processes that were forked. Those that found the ring full are missing.
    pub births: Vec<abi::cpuledger_birth>,
    /// Exits that found the ring full, by the pid of the parent of the process; pid 0 where that list was full too.
    pub folds: Vec<(i32, abi::cpuledger_fold)>,
}

/// Records of a ring. Only its callback has them besides, and that runs within [`ExitHook::gather`].
type Gathered<R> = Arc<Mutex<Vec<R>>>;

/// The attached hooks; dropping it, or the death of this process, detaches them.
pub struct ExitHook {
    object: Object,
    rings: RingBuffer<'static>,
    exits: Gathered<abi::cpuledger_exit>,
    births: Gathered<abi::cpuledger_birth>,
    /// Folds only grow in the kernel, which would lose an exit between a read and a removal.
    seen_folds: HashMap<i32, abi::cpuledger_fold>,
    _links: Vec<Link>,
}

/// Lets the records of a ring be gathered.
fn add_ring<'ring, R: Pod + Send>(
    builder: &mut RingBufferBuilder<'ring, 'static>,
    ring: &'ring dyn MapCore,
) -> Result<Gathered<R>, libbpf_rs::Error> {
    let gathered = Gathered::<R>::default();
    let sink = Arc::clone(&gathered);
    builder.add(ring, move |bytes: &[u8]| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).extend(decode::<R>(bytes));
        0
    })?;
    Ok(gathered)
}

/// Moves what was gathered.
fn take<R>(gathered: &Gathered<R>, into: &mut Vec<R>) {
    into.clear();
    std::mem::swap(into, &mut gathered.lock().unwrap_or_else(PoisonError::into_inner));
}

impl ExitHook {
    /// Loads and attaches the hooks.
    ///
    /// # Errors
    /// Without BTF, without privilege, or when the kernel refuses them.
    pub fn attach() -> Result<ExitHook, Error> {
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to attach the exit hook", &error);
        let mut object = object::load("cpuledger_exits", OBJECT, |_| Ok(()))?;
        let mut builder = RingBufferBuilder::new();
        let [of_exits, of_births] = ["exits", "births"].map(|name| object::map(&object, name));
        let exits = add_ring(&mut builder, &of_exits).map_err(refused)?;
        let births = add_ring(&mut builder, &of_births).map_err(refused)?;
        let rings = builder.build().map_err(refused)?;
        let nothing = [0u8; size_of::<abi::cpuledger_fold>()];
        object::map_mut(&mut object, "folds")
            .update(&0i32.to_ne_bytes(), &nothing, MapFlags::ANY)
            .map_err(refused)?;
        let links =
            object.progs_mut().map(|program| program.attach()).collect::<Result<_, _>>().map_err(refused)?;
        Ok(ExitHook { object, rings, exits, births, seen_folds: HashMap::new(), _links: links })
    }

    /// Empties the rings into memory without a system call.
    fn gather(&mut self) {
        // consume() fails only if the callback does, and ours does not.
        let _ = self.rings.consume();
    }

    /// Everything since the last call.
    ///
    /// # Errors
    /// When the kernel refuses to read the folded exits.
    pub fn drain(&mut self, into: &mut Drained) -> Result<(), Error> {
        self.gather();
        take(&self.exits, &mut into.exits);
        take(&self.births, &mut into.births);
        into.folds.clear();
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to read the folded exits", &error);
        let folds = object::map_mut(&mut self.object, "folds");
        for key in folds.keys() {
            let Some(value) = folds.lookup(&key, MapFlags::ANY).map_err(refused)? else { continue };
            let (Ok(parent), Ok(now)) = (decode::<i32>(&key), decode::<abi::cpuledger_fold>(&value)) else {
                continue;
            };
            let seen = self.seen_folds.entry(parent).or_default();
            // The hook adds to the two one after the other: a time may come without its exit.
            let new = abi::cpuledger_fold {
                exits: now.exits - seen.exits,
                runtime_ns: now.runtime_ns - seen.runtime_ns,
            };
            if new.exits > 0 || new.runtime_ns > 0 {
                into.folds.push((parent, new));
                *seen = now;
            }
        }
        Ok(())
    }
}
