//! What guests are made of besides a kernel: for each architecture an emulator, and an initramfs with the tests.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;

use cpuledger_vm::extent::Chosen;
use cpuledger_vm::{Architecture, Machine};

use crate::binaries;
use crate::boot::Guest;
use crate::emulator::Emulator;
use crate::memory::in_memory;
use crate::programs::Programs;
use crate::toolchain::Toolchain;
use crate::{Impossible, Wanted};

/// Of one architecture.
struct Kit {
    architecture: Architecture,
    emulator: Emulator,
    initramfs: PathBuf,
    /// Its content, which goes with us.
    _open: File,
}

/// Of all architectures that are wanted and to be had.
pub struct Kits {
    kits: Vec<Kit>,
    /// The emulator that is stable with a thread a CPU.
    concurrent: Option<Emulator>,
}

impl Kits {
    /// Makes those that these guests need. `left_out` gets a sentence on each that
    /// cannot be made here.
    pub fn make(wanted: &[Wanted<'_>], cache: &Path, left_out: &mut Vec<String>) -> anyhow::Result<Kits> {
        let mut kits = Kits { kits: Vec::new(), concurrent: None };
        let architectures: BTreeSet<Architecture> =
            wanted.iter().map(|guest| guest.machine.architecture()).collect();
        let make = |architecture| {
            let guests = wanted.iter().filter(|guest| guest.machine.architecture() == architecture);
            let suites = Chosen::of(|suite| guests.clone().any(|guest| guest.suites.has(suite)));
            (architecture, Kit::make(architecture, cache, suites))
        };
        // At the same time: at the end of each build a linker works alone.
        let made: Vec<(Architecture, anyhow::Result<Kit>)> = thread::scope(|scope| {
            let threads: Vec<_> = architectures
                .into_iter()
                .map(|architecture| scope.spawn(move || make(architecture)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("what is made does not panic")).collect()
        });
        for (architecture, kit) in made {
            match kit {
                Ok(kit) => kits.kits.push(kit),
                Err(error) => leave_out(architecture, error, left_out)?,
            }
        }
        if wanted.iter().any(|guest| guest.machine == Machine::Concurrent) {
            match Emulator::concurrent(cache, &Emulator::of_system(Machine::Concurrent.architecture())?) {
                Ok(emulator) => kits.concurrent = Some(emulator),
                Err(error) => left_out.push(format!("THE GUEST WITH A THREAD A CPU HAS NOT RUN: {error:#}")),
            }
        }
        Ok(kits)
    }

    /// The guest, if what it needs could be made.
    pub fn guest<'a>(&'a self, wanted: Wanted<'a>) -> Option<Guest<'a>> {
        let Wanted { kernel, machine, suites } = wanted;
        let kit = self.kits.iter().find(|kit| kit.architecture == machine.architecture())?;
        let emulator = match machine {
            Machine::Concurrent => self.concurrent.as_ref()?,
            _ => &kit.emulator,
        };
        Some(Guest { kernel, machine, emulator, initramfs: &kit.initramfs, suites })
    }
}

impl Kit {
    fn make(architecture: Architecture, cache: &Path, suites: Chosen) -> anyhow::Result<Kit> {
        let emulator = Emulator::of_system(architecture)?;
        let toolchain = Toolchain::find(architecture, cache)?;
        let programs = Programs::find(architecture, cache)?;
        let (initramfs, open) = in_memory(&binaries::initramfs(&toolchain, &programs, suites)?)?;
        Ok(Kit { architecture, emulator, initramfs, _open: open })
    }
}

/// Without another architecture than the machine's the matrix is not whole, and `left_out` says so; without its own it is none.
pub fn leave_out(
    architecture: Architecture,
    error: anyhow::Error,
    left_out: &mut Vec<String>,
) -> anyhow::Result<()> {
    if architecture == Architecture::Amd64 || !error.is::<Impossible>() {
        return Err(error);
    }
    left_out.push(format!("THE GUESTS OF {} HAVE NOT RUN: {error:#}", architecture.name()));
    Ok(())
}
