//! The exit hook: the final figures of every task that dies, from the ring that the last switch fills.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};

use crate::abi;
use crate::error::Error;
use crate::map::decode;
use crate::object;

/// The compiled `bpf/lifecycle.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lifecycle.bpf.o"));

/// What was gathered since the last time.
#[derive(Debug, Default)]
pub struct Drained {
    /// Tasks in the order of their last switch on each CPU.
    pub exits: Vec<abi::cpuledger_exit>,
    /// Exits that found the ring full, by the pid of the parent of the process; pid 0 where that list was full too.
    pub folds: Vec<(i32, abi::cpuledger_fold)>,
}

/// The attached hook; dropping it, or the death of this process, detaches it.
pub struct ExitHook {
    object: Object,
    ring: RingBuffer<'static>,
    /// Shared only with the ring's callback, which runs within [`ExitHook::gather`].
    gathered: Arc<Mutex<Vec<abi::cpuledger_exit>>>,
    /// Folds only grow in the kernel, which would lose an exit between a read and a removal.
    seen_folds: HashMap<i32, abi::cpuledger_fold>,
    _link: Link,
}

impl ExitHook {
    /// Loads and attaches the hook.
    ///
    /// # Errors
    /// Without BTF, without privilege, or when the kernel refuses it.
    pub fn attach() -> Result<ExitHook, Error> {
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to attach the exit hook", &error);
        let mut object = object::load("cpuledger_exits", OBJECT, |_| Ok(()))?;
        let gathered = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&gathered);
        let mut builder = RingBufferBuilder::new();
        let exits = object::map_mut(&mut object, "exits");
        builder
            .add(&exits, move |bytes: &[u8]| {
                let mut gathered = sink.lock().unwrap_or_else(PoisonError::into_inner);
                gathered.extend(decode::<abi::cpuledger_exit>(bytes));
                0
            })
            .map_err(refused)?;
        let ring = builder.build().map_err(refused)?;
        let nothing = [0u8; size_of::<abi::cpuledger_fold>()];
        object::map_mut(&mut object, "folds")
            .update(&0i32.to_ne_bytes(), &nothing, MapFlags::ANY)
            .map_err(refused)?;
        let program = object.progs_mut().next().expect("the embedded object holds one program");
        let link = program.attach().map_err(refused)?;
        Ok(ExitHook { object, ring, gathered, seen_folds: HashMap::new(), _link: link })
    }

    /// Empties the ring into memory without a system call.
    fn gather(&mut self) {
        // consume() fails only if the callback does, and ours does not.
        let _ = self.ring.consume();
    }

    /// Everything since the last call.
    ///
    /// # Errors
    /// When the kernel refuses to read the folded exits.
    pub fn drain(&mut self, into: &mut Drained) -> Result<(), Error> {
        self.gather();
        into.exits.clear();
        into.folds.clear();
        std::mem::swap(&mut into.exits, &mut self.gathered.lock().unwrap_or_else(PoisonError::into_inner));
        let refused = |error: libbpf_rs::Error| Error::from_libbpf("to read the folded exits", &error);
        let folds = object::map_mut(&mut self.object, "folds");
        for key in folds.keys() {
            let Some(value) = folds.lookup(&key, MapFlags::ANY).map_err(refused)? else { continue };
            let (Some(parent), Some(now)) = (decode::<i32>(&key), decode::<abi::cpuledger_fold>(&value))
            else {
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
